"""`wellfed schema`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.values import number, place


@click.command("schema", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("--scan/--no-scan", default=None, help="Read the records. Default: only where no schema tells.")
@click.option("--limit", type=number, metavar="RECORDS", help="Read at most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a feature.")
def command(paths: tuple[str, ...], scan: bool | None, limit: int | None, as_json: bool) -> None:
    """Show which features the records of PATHS hold: TFRecord files or patterns, or the folder of a data set.

    Of a data set, its schema. Of bare files, what the records of all of them show: kinds, counts, ranges, and what byte
    strings look like.

    \b
    Example: wellfed schema 'train-*.tfrecord'
    """
    for group in summary.groups_of(paths):
        render.schema(summary.describe(group, scan=scan, limit=limit), as_json=as_json)
