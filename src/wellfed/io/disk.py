"""Rows at random from files that memory does not hold: some are asked for together, before the first of them is read.

Left to itself, a fault reads the 128 KiB around the place, of which a row at random needs a few: the disk is busy with
bytes that nobody wants, and what was wanted leaves memory for them. And it waits for each row by itself.

Files that memory does hold are better read around, the more the better: soon all of them are there.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from wellfed.io.usable import usable_memory

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # Not Linux: what a thread reads from the disk is not known there.
    getrusage = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable

_SHARE = 0.75  # Files take at most so much of the memory that may be used, where they are to stay there.
_PATIENCE = 8  # Calls without a read from the disk, before rows are not asked for any more: 0.4 us a row.


class Disk:
    """Asks for rows of mapped files while the files are larger than memory and the disk is read. Thread-safe.

    Args:
      nbytes: Of all files that rows come from. [bytes]

    Attributes:
      is_read_at_random: Whether they are larger than memory.
    """

    def __init__(self, nbytes: int) -> None:
        self.is_read_at_random = os.name != "nt" and nbytes > _SHARE * usable_memory()
        self._left = _PATIENCE  # Two threads that change it at once may ask once too often or too seldom.
        self._seen = threading.local()

    def ask(self, for_them: Callable[[], object]) -> None:
        """Calls what asks for rows that this thread is about to need, unless all of late were in memory."""
        if not self.is_read_at_random:
            return
        reads = _reads()
        if reads != getattr(self._seen, "reads", None):
            self._left = _PATIENCE
        self._seen.reads = reads  # What is asked for now counts the next time.
        if self._left > 0:
            self._left -= 1
            for_them()


def _reads() -> object:
    """What this thread has had to read from a disk so far; another value each time where that is not known."""
    if getrusage is None:
        return object()
    usage = getrusage(RUSAGE_THREAD)
    return usage.ru_majflt, usage.ru_inblock
