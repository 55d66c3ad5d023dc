"""Records of a plain file behind a URL, by number.

at random       neighbours come by one request, others by one each, several under way
in file order   blocks of 8 MiB, fetched ahead, each once
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellfed.errors import IndexFileError
from wellfed.io.attempts import changed
from wellfed.io.proof import gather, prove

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.columns import Bytes
    from wellfed.io.access import Access
    from wellfed.io.blocks import Content
    from wellfed.io.index import RecordIndex

_SPARSE = 2  # Records that are a smaller part of their range than one half are copied out of it.


class RemoteShelf:
    """See `wellfed.io.shelf`."""

    def __init__(self, index: RecordIndex, access: Access, *, check: bool) -> None:
        self._index, self._access, self._check = index, access, check
        self._file = access.remote(index.path)
        if self._file.size != index.stream_bytes:
            raise changed(index.path, f"it has {self._file.size} bytes, {index.stream_bytes} when it was indexed")

    def read(self, rows: NDArray[np.int64], *, in_order: bool = False) -> Bytes:
        """See `Shelf`."""
        starts = self._index.offsets[rows].astype(np.int64)
        ends = self._index.ends_of(rows).astype(np.int64)
        outside = np.flatnonzero((starts > ends) | (ends > self._file.size))
        if len(outside):
            row = int(rows[outside[0]])
            raise IndexFileError(f"the index places record {row} behind the end of the file", self._index.path)
        try:
            return (self._pass if in_order else self._pick)(rows, starts, ends)
        except ValueError:
            self._file.check_unchanged()  # Says more than a sum that does not hold.
            raise

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        record: bytes = self.read(np.array([row], np.int64))[0]
        return record

    def mapped(self) -> NDArray[np.uint8] | None:
        """See `Shelf`."""
        return None

    def prepare(self) -> None:
        """Asks for the first block: a pass comes soon."""
        self._access.blocks.prepare(self._file)

    def is_near_end(self, row: int) -> bool:
        """Whether all that follows a record in the file may be under way while it is read."""
        ahead = self._access.options.ranges_ahead * self._access.blocks.block_bytes
        return int(self._index.offsets[row]) + ahead >= self._file.size

    def _pick(self, rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Bytes:
        options = self._access.options
        groups = coalesce(starts, ends, options.gap_bytes, options.range_bytes)
        ranges = [(int(starts[group].min()), int(ends[group].max())) for group in groups]
        parts = []
        for group, (start, _), found in zip(
            groups, ranges, self._access.requests.fetch(self._file, ranges), strict=True
        ):
            part = self._prove(rows[group], found, start)
            sparse = len(groups) > 1 and _SPARSE * int(part.sizes.sum()) < len(found)
            parts.append(part.compact() if sparse else part)
        return gather(parts, groups)

    def _pass(self, rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Bytes:
        length = self._access.blocks.block_bytes
        first, last = starts // length, (np.maximum(ends, starts + 1) - 1) // length
        parts, places = [], []
        for number in np.unique(first).tolist():
            inside = np.flatnonzero((first == number) & (last == number))
            if len(inside):
                block = self._block(number, int((ends[inside] - starts[inside]).sum()))
                parts.append(self._prove(rows[inside], block, number * length))
                places.append(inside)
            for across in np.flatnonzero((first == number) & (last > number)):
                span = int(starts[across]), int(ends[across])
                parts.append(self._prove(rows[across : across + 1], self._join(*span), span[0]))
                places.append(np.array([across]))
        return gather(parts, places)

    def _block(self, number: int, used: int) -> Content:
        return self._access.blocks.get(self._file, number, used)

    def _join(self, start: int, end: int) -> bytes:
        """The bytes [start, end), out of the blocks that they lie across."""
        length = self._access.blocks.block_bytes
        pieces = []
        for number in range(start // length, (end - 1) // length + 1):
            first, last = max(0, start - number * length), min(length, end - number * length)
            pieces.append(memoryview(self._block(number, last - first))[first:last])
        return b"".join(pieces)

    def _prove(self, rows: NDArray[np.int64], found: Content, base: int) -> Bytes:
        return prove(self._index, rows, np.frombuffer(found, np.uint8), base, check=self._check)


def coalesce(
    starts: NDArray[np.int64], ends: NDArray[np.int64], gap_bytes: int, most_bytes: int
) -> list[NDArray[np.int64]]:
    """Puts ranges into groups, each to be read as one.

    Args:
      starts: First bytes, in any order. [bytes]
      ends: The bytes after the last ones. [bytes]
      gap_bytes: Ranges that stand at most this far apart belong together.
      most_bytes: No group spans more, but for a single range that does by itself.

    Returns:
      The numbers of the ranges of each group, ascending; groups in the order of their starts.
    """
    groups: list[list[int]] = []
    first = reach = 0
    for at in np.argsort(starts, kind="stable").tolist():
        start, end = int(starts[at]), int(ends[at])
        if groups and start - reach <= gap_bytes and max(end, reach) - first <= most_bytes:
            groups[-1].append(at)
            reach = max(reach, end)
        else:
            groups.append([at])
            first, reach = start, end
    return [np.sort(np.array(group, np.int64)) for group in groups]
