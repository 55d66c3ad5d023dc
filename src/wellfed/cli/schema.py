"""`wellfed schema`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.values import place


@click.command("schema", no_args_is_help=True)
@click.argument("path", type=place)
@click.option("--scan/--no-scan", default=None, help="Read the records. Default: only where no schema tells.")
@click.option("--limit", type=click.IntRange(min=1), metavar="RECORDS", help="Read at most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a feature.")
def command(path: str, scan: bool | None, limit: int | None, as_json: bool) -> None:
    """Show which features the records of PATH hold: a data set's folder, a TFRecord file, or a pattern of files.

    Of a data set, its schema. Of bare files, what their records show: kinds, counts, ranges, and what byte strings look
    like.

    \b
    Example: wellfed schema 'train-*.tfrecord'
    """
    render.schema(summary.describe(path, scan=scan, limit=limit), as_json=as_json)
