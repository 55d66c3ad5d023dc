"""Rows at random from files that memory does not hold: each unit's are asked for together, before the first is read.

Left to itself, a fault reads the 128 KiB around the place, of which a row at random needs a few: the disk is busy with
bytes that nobody wants, and what was wanted leaves memory for them. And it waits for each row by itself.

Files that memory does hold are better read around, the more the better: soon all of them are there.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wellfed.feed.usable import usable_memory

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # Not Linux: what a thread reads from the disk is not known there.
    getrusage = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellfed import _native
    from wellfed.feed.mixing import UInt64s
    from wellfed.io import MappedFile

_SHARE = 0.75  # Files take at most so much of the memory that may be used, where they are to stay there.
_PATIENCE = 8  # Units without a read from the disk, before rows are not asked for any more: 0.4 us a row.


class Disk:
    """Asks for rows of mapped files while the files are larger than memory and the disk is read. Thread-safe.

    Args:
      files: All that rows come from.
    """

    def __init__(self, files: Sequence[MappedFile]) -> None:
        size = sum(file.size for file in files)
        larger = os.name != "nt" and size > _SHARE * usable_memory()
        for file in files:
            if larger:
                file.read_at_random()
            else:
                file.read_whole()
        # Two threads that change it at once may ask for a unit too many or too few.
        self._left = _PATIENCE if larger else None

    @contextmanager
    def reading(self, shards: _native.ShardSet, rows: UInt64s) -> Iterator[None]:
        """Wraps the reading of a unit's rows."""
        if self._left is None:
            yield
            return
        before = _reads()
        if self._left > 0:
            self._left -= 1
            shards.ask_for(rows)
        yield
        if _reads() != before:
            self._left = _PATIENCE


def _reads() -> object:
    """What this thread has had to read from a disk so far; another value each time where that is not known."""
    if getrusage is None:
        return object()
    usage = getrusage(RUSAGE_THREAD)
    return usage.ru_majflt, usage.ru_inblock
