"""`wellfed index`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.io import RecordIndex


@click.command("index", no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Check each payload's sum too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(paths: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Write the index of each file of PATHS, so that its records are addressable at once.

    A path is a data set's folder, a TFRecord file, or a pattern of files. Indexes are written into .wellfed beside the
    files. An index that fits its file is kept.

    \b
    Example: wellfed index 'train-*.tfrecord'
    """
    for path in paths:
        for file in summary.files_of(path):
            render.indexed(file, RecordIndex.for_file(file, check=check), as_json=as_json)
