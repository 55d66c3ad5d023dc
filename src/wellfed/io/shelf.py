"""Reads the records of one file by number: a shelf for each way in which the bytes are kept.

MappedShelf      plain, this machine    views of the mapped file
RemoteShelf      plain, behind a URL    ranges, or blocks of a pass in file order
InflatedShelf    GZIP, ZLIB             the members that hold them, inflated; the last ones are kept
CopyShelf        behind a URL           one of the others, over the shard's copy on disk, as long as that is sound
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed import _native
from wellfed.errors import CompressionError, FileChangedError, IndexFileError
from wellfed.io.access import Access
from wellfed.io.disk import Disk
from wellfed.io.files import LocalFile, MappedFile, is_url
from wellfed.io.framing import FRAME_BYTES, HEADER_BYTES
from wellfed.io.inflate import InflateStream
from wellfed.io.members import LocalMembers, RemoteMembers
from wellfed.io.proof import gather, prove
from wellfed.io.remote_shelf import RemoteShelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wellfed.columns import Bytes
    from wellfed.io.files import ByteSource
    from wellfed.io.index import RecordIndex
    from wellfed.io.members import Members

MEMBER_LIMIT_BYTES = 256 << 20  # What is inflated for one record at most.
_KEPT_BYTES = 64 << 20  # Inflated members that are kept for the next record.


class Shelf(Protocol):
    """The records of one file, by number. Thread-safe."""

    def read(self, rows: NDArray[np.int64], *, in_order: bool = False) -> Bytes:
        """Records by number, none of them negative or too large; `in_order` says that the next ones come next.

        Raises:
          RecordError: A record is damaged.
          IndexFileError: The index does not fit the file.
          FileChangedError: The file was cut or replaced.
        """

    def read_one(self, row: int) -> bytes:
        """One record by number; see `read`."""

    def mapped(self) -> NDArray[np.uint8] | None:
        """All of the file: uint8 (size,), where it lies in memory with no gap between its records; else None."""


def open_shelf(
    index: RecordIndex, *, check: bool = True, access: Access | None = None, disk: Disk | None = None
) -> Shelf:
    """The shelf for a file.

    Args:
      index: Where its records stand.
      check: Prove each payload's sum when it is read.
      access: How a remote file is reached; None for the usual way.
      disk: Told of the rows of a plain file on this machine; None where it is the only one.

    Raises:
      OSError: The file cannot be opened.
    """
    if not is_url(index.path):
        return _open_local(index, index.path, check, disk)
    access = access or Access()
    copied = access.through_copy(index.path, lambda place: _open_local(index, place, check, disk))
    if copied is not None:
        return CopyShelf(index, access, copied, check=check)
    return _open_remote(index, access, check=check)


def _open_local(index: RecordIndex, place: str, check: bool, disk: Disk | None) -> Shelf:
    if index.compression:
        return InflatedShelf(index, LocalMembers(LocalFile(place)), check=check)
    return MappedShelf(index, place, disk or Disk(index.stream_bytes), check=check)


def _open_remote(index: RecordIndex, access: Access, *, check: bool) -> Shelf:
    if index.compression:
        return InflatedShelf(index, RemoteMembers(access, index), check=check)
    return RemoteShelf(index, access, check=check)


class MappedShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, place: str, disk: Disk, *, check: bool) -> None:
        self._index, self._check, self._disk = index, check, disk
        self._mapped = MappedFile(place)
        if self._mapped.size != index.stream_bytes:
            raise FileChangedError(
                f"the file has {self._mapped.size} bytes, {index.stream_bytes} when it was indexed", index.path
            )
        self._shards = _native.ShardSet([(self._mapped.data, index.offsets[:-1])])
        if disk.is_read_at_random:
            self._mapped.read_at_random()

    def read(self, rows: NDArray[np.int64], *, in_order: bool = False) -> Bytes:  # noqa: ARG002 -- the same for both.
        """See `Shelf`."""
        self._disk.ask(lambda: self._shards.ask_for(rows.astype(np.uint64)))
        try:
            return prove(self._index, rows, self._mapped.data, 0, check=self._check)
        except ValueError:
            self._mapped.check_unchanged()  # Says more than the sum of a page that is gone.
            raise

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        if self._disk.is_read_at_random:
            self._disk.ask(lambda: self._shards.ask_for(np.array([row], np.uint64)))
        offsets, block = self._index.offsets[row : row + 2], self._mapped.data
        sizes, _, status = _native.read_frames(block, offsets[:1], self._check)
        if status == _native.FRAME_OK:
            start, end = offsets.tolist()
            size = int(sizes[0])
            if start + size + FRAME_BYTES == end:
                return block[start + HEADER_BYTES : start + HEADER_BYTES + size].tobytes()
        return _read_one(self, row)  # A gap follows, or something is wrong: `read` says what.

    def mapped(self) -> NDArray[np.uint8] | None:
        """See `Shelf`."""
        return None if len(self._index.gaps) else self._mapped.data


class CopyShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, access: Access, copied: Shelf, *, check: bool) -> None:
        self._index, self._access, self._check = index, access, check
        self._shelf = copied

    def read(self, rows: NDArray[np.int64], *, in_order: bool = False) -> Bytes:
        """See `Shelf`."""
        try:
            return self._shelf.read(rows, in_order=in_order)
        except (ValueError, FileChangedError):
            if not self._access.give_up_copy(self._index.path):
                raise  # The file behind the URL is no better.
        self._shelf = _open_remote(self._index, self._access, check=self._check)
        return self._shelf.read(rows, in_order=in_order)

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        return _read_one(self, row)

    def mapped(self) -> NDArray[np.uint8] | None:
        """See `Shelf`."""
        return self._shelf.mapped()


class InflatedShelf:
    """See the module."""

    def __init__(self, index: RecordIndex, members: Members, *, check: bool) -> None:
        self._index, self._check, self._members = index, check, members
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, NDArray[np.uint8]] = OrderedDict()  # By number of the first member.

    def read(self, rows: NDArray[np.int64], *, in_order: bool = False) -> Bytes:
        """See `Shelf`."""
        index = self._index
        member_starts = index.members[:, 1]
        # The last of the members that start where the record does: those in front of it are empty.
        members = np.searchsorted(member_starts, index.offsets[rows], side="right") - 1
        places = [np.flatnonzero(members == member) for member in np.unique(members)]
        due = [self._due(int(members[here[0]]), rows[here]) for here in places]
        parts = []
        for here, (member, _), block in zip(places, due, self._blocks(due, in_order=in_order), strict=True):
            parts.append(prove(index, rows[here], block, int(member_starts[member]), check=self._check))
        return gather(parts, places)

    def read_one(self, row: int) -> bytes:
        """See `Shelf`."""
        return _read_one(self, row)

    def mapped(self) -> NDArray[np.uint8] | None:
        """See `Shelf`."""
        return None

    def _due(self, member: int, rows: NDArray[np.int64]) -> tuple[int, int]:
        """A member, and where the last of some records ends that start in it, in the stream. [bytes]."""
        start = int(self._index.members[member, 1])
        end = int(self._index.ends_of(rows).max())
        row = int(rows.max())
        if not start <= end <= self._index.stream_bytes:
            raise IndexFileError(f"the index places record {row} outside its member", self._index.path)
        if end - start > MEMBER_LIMIT_BYTES:
            raise CompressionError(
                f"record {row} ends {end - start} bytes into a {self._index.compression} member, too far to read it at "
                "random. Write the file again, plain or with seekable=True, or read it as a stream",
                self._index.path,
            )
        following = self._index.members[member + 1 :, 1]
        whole = int(following[0]) if len(following) else self._index.stream_bytes
        # The rest of the member is likely to be asked for next.
        return member, max(end, whole) if whole - start <= MEMBER_LIMIT_BYTES else end

    def _blocks(self, due: list[tuple[int, int]], *, in_order: bool) -> Iterator[NDArray[np.uint8]]:
        """The stream from the start of each member to where it is due, inflated or kept from before."""
        with self._lock:
            kept = {member: self._kept[member] for member, _ in due if member in self._kept}
            for member in kept:
                self._kept.move_to_end(member)
        starts = self._index.members[:, 1]
        missing = [one for one in due if one[0] not in kept or len(kept[one[0]]) < one[1] - int(starts[one[0]])]
        sources = self._members.sources(missing, in_order=in_order)
        for one in due:
            yield self._inflate(*one, next(sources)) if one in missing else kept[one[0]]

    def _inflate(self, member: int, end: int, source: ByteSource) -> NDArray[np.uint8]:
        start = int(self._index.members[member, 1])
        stream = InflateStream(source, self._index.compression, int(self._index.members[member, 0]), start)
        block = np.empty(end - start, np.uint8)
        block = block[: stream.read_into(block.data)]
        with self._lock:
            self._kept[member] = block
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return block


def _read_one(shelf: Shelf, row: int) -> bytes:
    record: bytes = shelf.read(np.array([row], np.int64))[0]
    return record
