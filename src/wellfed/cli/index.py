"""`wellfed index`."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.progress import bytes_bar
from wellfed.cli.values import place
from wellfed.io import RecordIndex
from wellfed.io.indexing import walks_end_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_THREADS = 8  # Walking headers waits for the disk more than for the processor.


@click.command("index", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Check each payload's sum too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(paths: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Write the index of each file of PATHS, so that its records are addressable at once.

    A path is a data set's folder, a TFRecord file, or a pattern of files. Indexes are written into .wellfed beside the
    files, or where that cannot be, into the user's cache folder. An index that fits its file is kept. Several files
    are walked at a time.

    \b
    Example: wellfed index 'train-*.tfrecord'
    """
    files = [file for path in paths for file in summary.files_of(path)]
    made: list[RecordIndex] = []
    try:
        with bytes_bar(lambda: files) as progress:
            made += _made(files, check=check, progress=progress)
    finally:
        for file, index in zip(files, made, strict=False):
            render.indexed(file, index, as_json=as_json)


def _made(files: Sequence[str], *, check: bool, progress: Callable[[int], object] | None) -> Iterator[RecordIndex]:
    """The index of each file, in order, as far as the first that fails."""

    def make(file: str) -> RecordIndex:
        index = RecordIndex.for_file(file, check=check, progress=progress)
        if RecordIndex.find(file) is None:
            due = "its index can be written neither beside it nor into the user's cache folder (XDG_CACHE_HOME)"
            raise OSError(errno.EACCES, due, file)
        return index

    with ThreadPoolExecutor(_THREADS, "wellfed-index") as pool, walks_end_here():
        for one in [pool.submit(copy_context().run, make, file) for file in files]:
            yield one.result()
