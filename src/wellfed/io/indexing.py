"""Making the indexes of many files: how far it is, once that takes long, and its end when nobody waits any more."""

from __future__ import annotations

import contextlib
import logging
import threading
from time import monotonic
from typing import TYPE_CHECKING

from wellfed.io.giving_up import give_up_when

if TYPE_CHECKING:
    from collections.abc import Iterator

_logger = logging.getLogger("wellfed.io")
_FIRST_SECONDS = 10.0  # The next lines come after twice as long each time.


class LongWalk:
    """Logs how far a walk over files is, once it has taken a while. Thread-safe.

    Args:
      files: How many are walked.
      nbytes: What they hold together; None where that is not known. [bytes]
    """

    def __init__(self, files: int, nbytes: int | None = None) -> None:
        self._files, self._bytes = files, nbytes
        self._lock = threading.Lock()
        self._passed, self._start, self._seconds = 0, monotonic(), _FIRST_SECONDS

    def passed(self, count: int) -> None:
        """Says that so many bytes more were walked."""
        with self._lock:
            self._passed += count
            seconds = monotonic() - self._start
            if seconds < self._seconds:
                return
            self._seconds = 2 * seconds
        whole = f" of {self._bytes / 1e9:,.1f}" if self._bytes else ""
        _logger.warning(
            "making the index of %d file%s: %s%s GB after %.0f s. It is kept for the next time; `wellfed index` makes "
            "it beforehand",
            self._files,
            "" if self._files == 1 else "s",
            f"{self._passed / 1e9:,.1f}",
            whole,
            seconds,
        )


@contextlib.contextmanager
def walks_end_here() -> Iterator[None]:
    """Has walks that were begun in this block, in threads with a copy of its context too, end when it is left."""
    left = threading.Event()
    with give_up_when(left.is_set):
        try:
            yield
        finally:
            left.set()
