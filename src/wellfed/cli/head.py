"""`wellfed head`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.values import place


@click.command("head", no_args_is_help=True)
@click.argument("path", type=place)
@click.option("-n", "--records", "count", type=click.IntRange(min=1), default=5, show_default=True, help="How many.")
@click.option("--split", help="Of a data set. Default: its first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a record.")
def command(path: str, count: int, split: str | None, as_json: bool) -> None:
    """Show the first records of PATH: a data set's folder, a TFRecord file, or a pattern of files.

    Pictures are shown by format and size, classes by name, numbers by their first few.

    \b
    Example: wellfed head out/ --split test -n 3
    """
    found = summary.head(path, count=count, split=split)
    render.head(found, as_json=as_json)
    if found.error is not None:
        raise found.error
