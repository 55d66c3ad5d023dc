"""Reads the records of one file by number: a shelf for each way in which the bytes are kept.

MappedShelf      plain, this machine    views of the mapped file
RemoteShelf      plain, behind a URL    one range a record
InflatedShelf    GZIP, ZLIB             the members that hold them, inflated; the last ones are kept
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import CompressionError, FileChangedError, IndexFileError
from wellfed.io.files import MappedFile, is_url, open_source
from wellfed.io.framing import FRAME_BYTES, HEADER_BYTES, explain, record_error
from wellfed.io.inflate import InflateStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.index import RecordIndex

MEMBER_LIMIT_BYTES = 256 << 20  # What is inflated for one record at most.
_KEPT_BYTES = 64 << 20  # Inflated members that are kept for the next record.


class Shelf(Protocol):
    """The records of one file, by number. Thread-safe."""

    def read(self, rows: NDArray[np.int64]) -> Bytes:
        """Records by number, none of them negative or too large.

        Raises:
          RecordError: A record is damaged.
          IndexFileError: The index does not fit the file.
          FileChangedError: The file was cut or replaced.
        """

    def read_one(self, row: int) -> bytes:
        """One record by number; see `read`."""


def open_shelf(index: RecordIndex, *, check: bool = True) -> Shelf:
    """The shelf for a file; `check` has each payload's sum proved when it is read."""
    if index.compression:
        return InflatedShelf(index, check=check)
    return RemoteShelf(index, check=check) if is_url(index.path) else MappedShelf(index, check=check)


class MappedShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, *, check: bool) -> None:
        self._index, self._check = index, check
        self._mapped = MappedFile(index.path)
        if self._mapped.size != index.stream_bytes:
            raise FileChangedError(
                f"the file has {self._mapped.size} bytes, {index.stream_bytes} when it was indexed", index.path
            )

    def read(self, rows: NDArray[np.int64]) -> Bytes:
        """See `Shelf`."""
        try:
            return prove(self._index, rows, self._mapped.data, 0, check=self._check)
        except ValueError:
            self._mapped.check_unchanged()  # Says more than the sum of a page that is gone.
            raise

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        offsets, block = self._index.offsets[row : row + 2], self._mapped.data
        sizes, _, status = _native.read_frames(block, offsets[:1], self._check)
        if status == _native.FRAME_OK:
            start, end = offsets.tolist()
            size = int(sizes[0])
            if start + size + FRAME_BYTES == end:
                return block[start + HEADER_BYTES : start + HEADER_BYTES + size].tobytes()
        return _read_one(self, row)  # A gap follows, or something is wrong: `read` says what.


class RemoteShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, *, check: bool) -> None:
        self._index, self._check = index, check
        self._source = open_source(index.path)

    def read(self, rows: NDArray[np.int64]) -> Bytes:
        """See `Shelf`."""
        starts, ends = self._index.offsets[rows].tolist(), self._index.ends_of(rows).tolist()
        parts = [self._read_range(row, *span) for row, *span in zip(rows.tolist(), starts, ends, strict=True)]
        return gather(parts, list(np.arange(len(rows)).reshape(-1, 1)))

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        return _read_one(self, row)

    def _read_range(self, row: int, start: int, end: int) -> Bytes:
        if not start <= end <= self._source.size:
            raise IndexFileError(f"the index places record {row} behind the end of the file", self._index.path)
        block = np.empty(end - start, np.uint8)
        count = self._source.read_into(start, block.data)
        return prove(self._index, np.array([row], np.int64), block[:count], start, check=self._check)


class InflatedShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, *, check: bool) -> None:
        self._index, self._check = index, check
        self._source = open_source(index.path)
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, NDArray[np.uint8]] = OrderedDict()  # By number of the first member.

    def read(self, rows: NDArray[np.int64]) -> Bytes:
        """See `Shelf`."""
        index = self._index
        member_starts = index.members[:, 1]
        # The last of the members that start where the record does: those in front of it are empty.
        members = np.searchsorted(member_starts, index.offsets[rows], side="right") - 1
        parts, places = [], []
        for member in np.unique(members).tolist():
            here = np.flatnonzero(members == member)
            block = self._inflate(member, rows[here])
            parts.append(prove(index, rows[here], block, int(member_starts[member]), check=self._check))
            places.append(here)
        return gather(parts, places)

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        return _read_one(self, row)

    def _inflate(self, member: int, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The stream from the start of a member to the end of the last of some records that start in it."""
        start = int(self._index.members[member, 1])
        end = int(self._index.ends_of(rows).max())
        row = int(rows.max())
        if not start <= end <= self._index.stream_bytes:
            raise IndexFileError(f"the index places record {row} outside its member", self._index.path)
        with self._lock:
            block = self._kept.get(member)
            if block is not None and len(block) >= end - start:
                self._kept.move_to_end(member)
                return block
        if end - start > MEMBER_LIMIT_BYTES:
            raise CompressionError(
                f"record {row} ends {end - start} bytes into a {self._index.compression} member, too far to read it at "
                "random. Write the file again, plain or with seekable=True, or read it as a stream",
                self._index.path,
            )
        block = self._read_member(member, start, end)
        with self._lock:
            self._kept[member] = block
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return block

    def _read_member(self, member: int, start: int, end: int) -> NDArray[np.uint8]:
        following = self._index.members[member + 1 :, 1]
        whole = int(following[0]) if len(following) else self._index.stream_bytes
        if whole - start <= MEMBER_LIMIT_BYTES:
            end = max(end, whole)  # The rest of it is likely to be asked for next.
        stream = InflateStream(self._source, self._index.compression, int(self._index.members[member, 0]), start)
        block = np.empty(end - start, np.uint8)
        return block[: stream.read_into(block.data)]


def gather(parts: list[Bytes], places: list[NDArray[np.int64]]) -> Bytes:
    """Puts records that were read in groups into their order: record i of group g goes to places[g][i].

    Returns:
      The only group as it is where there is one; else `Bytes` that own their memory.
    """
    if len(parts) == 1:
        return parts[0]
    sizes = np.zeros(sum(map(len, parts)), np.int64)
    for part, place in zip(parts, places, strict=True):
        sizes[place] = part.sizes
    ends = np.cumsum(sizes)
    data = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for part, place in zip(parts, places, strict=True):
        _native.copy_spans(part.data, part.starts, part.sizes, data, (ends - sizes)[place])
    return Bytes(data, ends - sizes, sizes)


def prove(index: RecordIndex, rows: NDArray[np.int64], block: NDArray[np.uint8], base: int, *, check: bool) -> Bytes:
    """Records whose bytes are at hand, after proving that they stand where the index says.

    Args:
      index: Says where they stand.
      rows: Their numbers.
      block: A part of the uncompressed stream that holds them.
      base: Where it starts in the stream.
      check: Prove the payloads' sums too.

    Returns:
      `Bytes` over `block`.

    Raises:
      RecordError: A record is damaged.
      IndexFileError: The index was changed, or does not fit the file.
    """
    offsets = index.offsets[rows] - np.uint64(base)
    sizes, count, status = _native.read_frames(block, offsets, check)
    if status != _native.FRAME_OK:
        index.check_tables()
        row, at = int(rows[count]), int(offsets[count])
        if at >= len(block):
            raise IndexFileError(f"the index places record {row} behind the end of the file", index.path)
        reason = explain(block, at, status)
        raise record_error(status, reason, index.path, row, base + at)
    starts = offsets.astype(np.int64) + HEADER_BYTES
    # Where one record ends, the next must start: an index that points into payloads is found out.
    if not np.array_equal(starts + (sizes + (FRAME_BYTES - HEADER_BYTES + base)), index.ends_of(rows).astype(np.int64)):
        raise IndexFileError("the index does not fit the file: a record ends elsewhere than it says", index.path)
    return Bytes(block, starts, sizes)


def _read_one(shelf: Shelf, row: int) -> bytes:
    record: bytes = shelf.read(np.array([row], np.int64))[0]
    return record
