"""A plain file that is walked as its records are read: what the walk fetched is kept until it is read.

fetched    |   block 0   |   block 1   |   block 2   |
walked     |  run  | run | run | run |  run  |            runs: records that lie end to end in memory
read       |  xxx  | xxx | xx                             a run goes when the last of its records was read
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wellfed.io.growing import Growing
from wellfed.io.index import RecordIndex, tables_of
from wellfed.io.sidecar import Tables
from wellfed.io.walk import MappedWindow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.walk import Run, Walker

Lying = tuple["NDArray[np.uint8]", "NDArray[np.uint64]"]  # Memory, and where the headers of some records stand in it.


class PassedFile(Growing):
    """The offsets of a file's records so far, and the memory of those that nobody has read yet. Thread-safe.

    Args:
      path: The file, as the caller named it.
      walker: Stands in front of its first record; does not check payloads.
      file_bytes: Its length. [bytes]
      keep_bytes: Records that were fetched and not read take this much at most; the first ones go then, and are
        fetched again by whoever does read them. [bytes]
    """

    def __init__(self, path: str, walker: Walker, file_bytes: int, keep_bytes: int) -> None:
        super().__init__(walker, file_bytes)
        self._path, self._keep_bytes = path, keep_bytes
        self._kept: deque[_Kept] = deque()  # In the file's order.
        self._kept_bytes = 0
        self._keeping = threading.Lock()
        window = walker.window
        self._mapped = window.mapped.data if isinstance(window, MappedWindow) else None

    def held(self, start: int, stop: int) -> list[Lying] | None:
        """Where the records [start, stop) lie in memory; None where not all of them do."""
        if self._mapped is not None:
            return [(self._mapped, self.offsets[start:stop])]
        found, at = [], start
        with self._keeping:
            for kept in self._kept:
                if kept.first > at or at >= stop:
                    break
                if kept.last > at:
                    last = min(stop, kept.last)
                    found.append((kept.run.block, kept.run.offsets[at - kept.first : last - kept.first]))
                    at = last
        return found if at >= stop else None

    def took(self, rows: NDArray[np.int64]) -> None:
        """Says that records were read, once each; the memory that nobody needs any more is let go."""
        rows = np.sort(rows)
        with self._keeping:
            for kept in self._kept:
                if kept.first > rows[-1]:
                    break
                first, last = np.searchsorted(rows, (kept.first, kept.last))
                kept.left -= int(last - first)
            self._kept_bytes -= sum(kept.nbytes for kept in self._kept if kept.left <= 0)
            self._kept = deque(kept for kept in self._kept if kept.left > 0)

    def is_near_end(self, ahead: int) -> bool:
        """Whether the walk has come within `ahead` bytes of the file's end."""
        return self._walker.position + ahead >= self._bytes

    def index(self) -> RecordIndex:
        """The index of what was walked, for reading; for keeping too once that is `complete`."""
        if self.complete:
            return RecordIndex(self._path, tables_of(self._walker, self.offsets, "", checked=False))
        none = np.zeros((0, 2), np.uint64)
        return RecordIndex(self._path, Tables(self.offsets, none, none, "", checked=False, stream_bytes=self._bytes))

    def _next_run(self, count: int) -> Run | None:
        del count
        run = self._walker.next_run()  # As long as they come: their bytes are at hand.
        if run is not None and self._mapped is None:
            kept = _Kept(run, len(run))
            with self._keeping:
                self._kept.append(kept)
                self._kept_bytes += kept.nbytes
                while self._kept_bytes > self._keep_bytes and len(self._kept) > 1:
                    self._kept_bytes -= self._kept.popleft().nbytes
        return run


@dataclass
class _Kept:
    """A run, and how many of its records were not read yet."""

    run: Run
    left: int

    @property
    def first(self) -> int:
        return self.run.record_index

    @property
    def last(self) -> int:
        return self.run.record_index + len(self.run)

    @property
    def nbytes(self) -> int:
        return int(self.run.offsets[-1] - self.run.offsets[0])
