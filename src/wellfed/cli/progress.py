"""The progress bar on stderr, where stderr is a terminal."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.errors import WellfedError
from wellfed.io import is_plain
from wellfed.io.files import is_url, local_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wellfed.packing import Progress


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Gives the callback that moves a bar with items/s, MB/s and the time left; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    # 60 ms that a script's stderr does not pay.
    console, rich = importlib.import_module("rich.console"), importlib.import_module("rich.progress")

    columns = (rich.BarColumn(), rich.TextColumn("{task.fields[text]}"))
    with rich.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1, text="listing")

        def show(now: Progress) -> None:
            bar.update(task, completed=now.items, total=now.total_items, text=describe(now))

        yield show


@contextlib.contextmanager
def bytes_bar(files: Callable[[], Sequence[str]]) -> Iterator[Callable[[int], None] | None]:
    """Gives the callback that moves a bar over files by the bytes that were read; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    console, rich = importlib.import_module("rich.console"), importlib.import_module("rich.progress")
    columns = (rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=_length_of(files()))
        yield lambda count: bar.advance(task, count)


def _length_of(files: Sequence[str]) -> int | None:
    """What will be read of files; None where that is known only once it is read: compressed ones, and URLs. [bytes]."""
    try:
        if any(is_url(file) or not is_plain(file) for file in files):
            return None
        return sum(Path(local_path(file)).stat().st_size for file in files)
    except (OSError, WellfedError):  # Whoever reads the file says so.
        return None


def describe(now: Progress) -> str:
    """Returns the text beside the bar.

    >>> from wellfed.packing import Progress
    >>> describe(Progress(500, 1000, 2_000_000, 4_000_000, 1, 3, 2.0, 0, 0))
    '500/1,000 items  250 items/s  1.0 MB/s  2 s left'
    """
    rates = f"{now.items_per_second:,.0f} items/s  {now.bytes_per_second / 1e6:,.1f} MB/s"
    rest = "" if now.seconds_left is None else f"  {now.seconds_left:.0f} s left"
    return f"{now.items:,}/{now.total_items:,} items  {rates}{rest}"
