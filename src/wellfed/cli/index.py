"""`wellfed index`."""

from __future__ import annotations

import errno

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.values import place
from wellfed.io import RecordIndex


@click.command("index", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Check each payload's sum too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(paths: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Write the index of each file of PATHS, so that its records are addressable at once.

    A path is a data set's folder, a TFRecord file, or a pattern of files. Indexes are written into .wellfed beside the
    files, or where that cannot be, into the user's cache folder. An index that fits its file is kept.

    \b
    Example: wellfed index 'train-*.tfrecord'
    """
    for path in paths:
        for file in summary.files_of(path):
            index = RecordIndex.for_file(file, check=check)
            if RecordIndex.find(file) is None:
                due = "its index can be written neither beside it nor into the user's cache folder (XDG_CACHE_HOME)"
                raise OSError(errno.EACCES, due, file)
            render.indexed(file, index, as_json=as_json)
