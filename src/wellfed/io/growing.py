"""Where the records of a file stand, as far as a walk over it has come."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.walk import Damage, Run, Walker

_LIKELY_RECORDS = 1 << 23  # As many, at 64 MiB, are made room for at once; beyond that room doubles.
_FIRST_WALK = 1024  # Records that are walked at least: a call costs as much as 100 headers.


class Growing:
    """The offsets of a plain file's records, walked only as far as they were asked for. Thread-safe.

    Args:
      walker: Stands in front of the first record.
      file_bytes: The file's length. [bytes]

    Attributes:
      complete: True once the walk has come to the file's end.
    """

    def __init__(self, walker: Walker, file_bytes: int) -> None:
        self._walker, self._bytes = walker, file_bytes
        self._lock = threading.Lock()
        self._offsets = np.zeros(_FIRST_WALK + 1, np.uint64)
        self._count = 0
        self.complete = False

    @property
    def offsets(self) -> NDArray[np.uint64]:
        """As `RecordIndex.offsets`, so far: uint64 (known + 1,).

        Later walks do not change it, but for its last entry where damage follows.
        """
        count = self._count
        return self._offsets[: count + 1]

    @property
    def damage(self) -> list[Damage]:
        """What was left out so far."""
        return self._walker.damage

    def ensure(self, count: int) -> int:
        """Walks on until `count` records are known or the file ends.

        Returns:
          How many are known; fewer than `count` only at the file's end.

        Raises:
          RecordError: Damage was met before that (where the walker raises); what was known stays known.
          NotTFRecordError: The file looks like something else.
          FileChangedError: The file was cut or replaced meanwhile.
          OSError: It cannot be read.
        """
        if self._count < count and not self.complete:
            with self._lock:
                while self._count < count and not self.complete:
                    self._walk(max(count - self._count, _FIRST_WALK))
        return self._count

    def _next_run(self, count: int) -> Run | None:
        return self._walker.next_run(count)

    def _walk(self, count: int) -> None:
        run = self._next_run(count)
        if run is None:
            self.complete = True
            return
        known = self._count + len(run)
        offsets = self._offsets
        if known >= len(offsets):
            # A new array: views of the old one stay what they are. Room for the whole file, if all of it is like
            # what was seen and that is not much: a file may begin with its shortest records.
            likely = min(self._bytes * known // self._walker.position * 17 // 16, _LIKELY_RECORDS)
            offsets = np.zeros(max(2 * known, likely) + 1, np.uint64)
            offsets[: self._count + 1] = self._offsets[: self._count + 1]
        np.add(run.offsets, np.uint64(run.base), out=offsets[self._count : known + 1])
        self._offsets = offsets
        self._count = known  # Last: `offsets` reads it first.
