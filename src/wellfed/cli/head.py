"""`wellfed head`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.values import number, place


@click.command("head", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("-n", "--records", "count", type=number, default=5, show_default=True, help="How many.")
@click.option("--split", help="Of a data set. Default: its first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a record.")
def command(paths: tuple[str, ...], count: int, split: str | None, as_json: bool) -> None:
    """Show the first records of PATHS: TFRecord files or patterns, all together, or the folder of a data set.

    Pictures are shown by format and size, classes by name, numbers by their first few.

    \b
    Example: wellfed head out/ --split test -n 3
    """
    for group in summary.groups_of(paths):
        found = summary.head(group, count=count, split=split)
        render.head(found, as_json=as_json)
        if found.error is not None:
            raise found.error
