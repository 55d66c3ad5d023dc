"""`wellfed export`."""

from __future__ import annotations

from typing import Any

import click

from wellfed.cli import render
from wellfed.cli.values import place, words
from wellfed.packing import export


@click.command("export", no_args_is_help=True)
@click.argument("folder", type=place)
@click.argument("out", type=place)
@click.option(
    "--to",
    type=click.Choice(["folders", "csv", "parquet"]),
    default="folders",
    show_default=True,
    help="Pictures by split and class, or a table a split.",
)
@click.option("--split", help="Only this one. Default: all.")
@click.option("--features", type=words, metavar="NAME,...", help="Only these. Default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: str, out: str, as_json: bool, **options: Any) -> None:
    """Turn the data set in FOLDER back into files in OUT.

    Pictures go to OUT/train/cat/1.jpg with the bytes that are stored; tables to OUT/train.csv or OUT/train.parquet,
    classes by name.

    \b
    Example: wellfed export out/ pictures/ --split test
    """
    render.exported(export(folder, out, **options), as_json=as_json)
