"""Inflates a GZIP or ZLIB file as it is read, with bounded memory, as far as it is sound.

    file      | header | deflate data | trailer | header | deflate data | trailer | ...      one or more members
    stream    | record | record | record | record | ...                                      as if never compressed

Members may start anywhere in the record stream and may be empty (RFC 1952 section 2.2); TensorFlow's writer makes one,
`cat a.gz b.gz` two. Headers and trailers are read here and the deflate data by isal, so that everything in front of a
fault can be given out before the fault is told.
"""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING, Any

from isal import isal_zlib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.io.files import ByteSource

_ISAL_ERROR: type[Exception] = vars(isal_zlib)["error"]  # isal's types declare an instance.
_CHUNK_BYTES = 256 << 10
_CAREFUL_BYTES = 16 << 10
_MAX_GZIP_HEADER = 1 << 20  # Of the name and comment, which have no length of their own.


class InflateStream:
    """The uncompressed bytes of a GZIP or ZLIB file.

    Not thread-safe; several streams may share one source.

    Args:
      source: The compressed file.
      compression: "GZIP" or "ZLIB".
      start: Where a member begins in the file. [bytes]
      base: Where that member begins in the uncompressed stream. [bytes]

    Attributes:
      position: Where the next byte stands in the uncompressed stream. [bytes]
      members: (start in the file, start in the uncompressed stream) of each member begun so far.
      failure: Why the stream ended before its end; "" while all is well.
    """

    def __init__(self, source: ByteSource, compression: str, start: int = 0, base: int = 0) -> None:
        self._input = _Input(source, start)
        self._kind = compression
        self._inflater: Any = None
        self._ended = False
        self._broke_at = 0
        self._member = _Member(compression)
        self._chunk_bytes = _CHUNK_BYTES
        self.position = base
        self.members: list[tuple[int, int]] = []
        self.failure = ""

    def read_into(self, buffer: memoryview) -> int:
        """Fills `buffer`; returns how many bytes were there, fewer only at the end or at a failure."""
        done = 0
        while done < len(buffer) and not self._ended:
            piece = self._next(len(buffer) - done)
            buffer[done : done + len(piece)] = piece
            done += len(piece)
            self.position += len(piece)
        return done

    def resume(self) -> bool:
        """After a failure, goes on at the next member that begins behind it; False where there is none."""
        at = _find_member(self._input.source, self._kind, self._broke_at)
        if at is None:
            return False
        self._input = _Input(self._input.source, at)
        self._inflater, self._ended, self.failure = None, False, ""
        return True

    def _next(self, limit: int) -> bytes:
        if self._inflater is None and not self._begin_member():
            return b""
        chunk = self._inflater.unconsumed_tail
        if not chunk:
            chunk = self._input.chunk(self._chunk_bytes)
            self._chunk_bytes = min(_CHUNK_BYTES, 2 * self._chunk_bytes)
        try:
            piece: bytes = self._inflater.decompress(chunk, limit)
        except _ISAL_ERROR:
            return self._careful_rest(limit)
        self._member.add(piece)
        if self._inflater.eof:
            self._input.give_back(self._inflater.unused_data)
            self._end_member()
        elif not chunk and not piece:
            self._fail(f"the {self._kind} stream is cut at byte {self._input.source.size} of the file, in its data")
        return piece

    def _begin_member(self) -> bool:
        at = self._input.position
        if at == self._input.source.size:
            self._ended = True
            return False
        try:
            _skip_header(self._input, self._kind)
        except _HeaderError as error:
            left = self._input.source.size - at
            self._fail(f"{left} bytes from byte {at} of the file on are no {self._kind} member: {error}", at + 1)
            return False
        self.members.append((at, self.position))
        self._member = _Member(self._kind)
        self._member.data_at = self._input.position
        self._inflater = isal_zlib.decompressobj(-15)
        return True

    def _end_member(self) -> None:
        self._inflater = None
        start = self.members[-1][0]
        # The next member may be as short: what is read behind its end is copied once more.
        self._chunk_bytes = min(_CHUNK_BYTES, max(4096, 2 * (self._input.position - start)))
        trailer = self._input.take(self._member.trailer_bytes)
        if len(trailer) < self._member.trailer_bytes:
            self._fail(f"the {self._kind} stream is cut at byte {self._input.source.size} of the file, in its trailer")
        elif fault := self._member.fault(trailer):
            self._fail(f"the {self._kind} member at byte {start} of the file: {fault}", self._input.position)

    def _fail(self, reason: str, resume_from: int | None = None) -> None:
        self._ended, self.failure = True, reason
        self._broke_at = self._input.source.size if resume_from is None else resume_from

    def _careful_rest(self, limit: int) -> bytes:
        """Inflates the member again, slowly, for the bytes between the last call that went well and the fault."""
        given = self._member.size
        rest, at = _inflate_to_fault(self._input.source, self._member.data_at, given, limit)
        # A fault may show only some bytes behind the end of its member, so look a little in front of it.
        self._fail(f"the deflate data is damaged near byte {at} of the file", max(self._member.data_at, at - 4096))
        return rest


class _Input:
    """The compressed bytes, one after another."""

    def __init__(self, source: ByteSource, start: int) -> None:
        self.source = source
        self.position = start  # Of the next byte that `take` or `chunk` gives.
        self._held, self._at = b"", 0  # What was read, and where in it `position` is.

    def chunk(self, most: int = _CHUNK_BYTES) -> bytes:
        """The next bytes, 1 to `most`; b"" at the end."""
        if self._at == len(self._held):
            self._held, self._at = self._read(self.position), 0
        return self._move(most)

    def take(self, count: int) -> bytes:
        """The next `count` bytes, few; fewer only at the end."""
        left = len(self._held) - self._at
        if left < count:
            self._held, self._at = self._held[self._at :] + self._read(self.position + left), 0
        return self._move(count)

    def give_back(self, unused: bytes) -> None:
        """Goes back by bytes that `chunk` gave last."""
        self.position -= len(unused)
        if len(unused) <= self._at:
            self._at -= len(unused)
        else:  # isal keeps input of its own, so that they may be from the chunk before.
            self._held, self._at = unused + self._held[self._at :], 0

    def _move(self, most: int) -> bytes:
        found = self._held[self._at : self._at + most]
        self.position += len(found)
        self._at += len(found)
        return found

    def _read(self, at: int) -> bytes:
        buffer = bytearray(_CHUNK_BYTES)
        with memoryview(buffer) as view:
            found = self.source.read_into(at, view)
        return bytes(buffer[:found])


class _Member:
    """What a member's trailer must agree with."""

    def __init__(self, kind: str) -> None:
        self.gzip = kind == "GZIP"
        self.trailer_bytes = 8 if self.gzip else 4
        self.data_at = 0  # Where the deflate data begins in the file.
        self.size = 0
        self._sum = 0 if self.gzip else 1

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._sum = (isal_zlib.crc32 if self.gzip else isal_zlib.adler32)(piece, self._sum)

    def fault(self, trailer: bytes) -> str:
        """How the trailer differs from the content; "" where it agrees."""
        if not self.gzip:
            stored = int.from_bytes(trailer, "big")
            return "" if stored == self._sum else f"Adler-32 is {self._sum:#010x}, stored {stored:#010x}"
        stored, size = int.from_bytes(trailer[:4], "little"), int.from_bytes(trailer[4:], "little")
        if stored != self._sum:
            return f"CRC-32 is {self._sum:#010x}, stored {stored:#010x}"
        return "" if size == self.size & 0xFFFFFFFF else f"{self.size} bytes of content, {size} stored (modulo 2^32)"


class _HeaderError(Exception):
    """A member's header that is none."""


def _skip_header(stream: _Input, kind: str) -> None:
    if kind == "ZLIB":
        head = stream.take(2)
        if len(head) < 2 or head[0] & 0x0F != 8 or head[1] & 0x20 or (head[0] << 8 | head[1]) % 31:
            raise _HeaderError(f"a header is due, found {head.hex(' ')}")
        return
    # RFC 1952 section 2.3: magic, method, flags, time (4), extra flags, system; then what the flags announce.
    head = stream.take(10)
    if len(head) < 10 or head[:3] != b"\x1f\x8b\x08" or head[3] & 0xE0:
        raise _HeaderError(f"a header is due, found {head.hex(' ')}")
    flags = head[3]
    if flags & 4:
        extra = int.from_bytes(stream.take(2), "little")
        stream.take(extra)
    for flag in (8, 16):  # Name, comment: each ends with a NUL.
        if flags & flag:
            _skip_string(stream)
    if flags & 2:
        stream.take(2)


def _skip_string(stream: _Input) -> None:
    start = stream.position
    while stream.position - start < _MAX_GZIP_HEADER:
        chunk = stream.chunk(4096)
        end = chunk.find(0)
        if end >= 0:
            stream.give_back(chunk[end + 1 :])
        if end >= 0 or not chunk:
            return
    raise _HeaderError(f"its name is longer than {_MAX_GZIP_HEADER} bytes")


def _inflate_to_fault(source: ByteSource, at: int, skip: int, limit: int) -> tuple[bytes, int]:
    """Inflates the deflate data at `at` up to its fault.

    Returns:
      What was inflated behind the first `skip` bytes, at most `limit`, and where in the file the fault was met.
    """
    found, passed, position = bytearray(), 0, at
    for piece, position in _careful_pieces(source, at):  # noqa: B007 -- the last position is the fault's.
        found.extend(piece[max(0, skip - passed) :])
        passed += len(piece)
        if len(found) >= limit:
            break
    return bytes(found[:limit]), position


def _careful_pieces(source: ByteSource, at: int) -> Iterator[tuple[bytes, int]]:
    """Pieces up to the very byte that the fault is in, each with the position in the file behind what it took.

    By zlib, whose state can be copied: when a call fails, its input is given to the copy byte by byte.
    """
    stream = _Input(source, at)
    inflater = zlib.decompressobj(-15)
    while True:
        chunk = inflater.unconsumed_tail or stream.chunk(_CAREFUL_BYTES)
        before = inflater.copy()
        try:
            piece = inflater.decompress(chunk, _CAREFUL_BYTES)
        except zlib.error:
            break
        yield piece, stream.position - len(inflater.unconsumed_tail) - len(inflater.unused_data)
        if inflater.eof or not (chunk or piece):
            return
    with contextlib.suppress(zlib.error):
        for i in range(len(chunk)):
            yield before.decompress(chunk[i : i + 1]), stream.position - len(chunk) + i + 1


def _find_member(source: ByteSource, kind: str, at: int) -> int | None:
    """The first place from `at` on where a GZIP member begins that inflates; ZLIB has no mark to look for."""
    if kind != "GZIP":
        return None
    stream = _Input(source, at)
    held = b""
    while True:
        chunk = stream.chunk()
        base = stream.position - len(chunk) - len(held)
        held += chunk
        found = held.find(b"\x1f\x8b\x08")
        while found >= 0:
            if _inflates(source, base + found):
                return base + found
            found = held.find(b"\x1f\x8b\x08", found + 1)
        if not chunk:
            return None
        held = held[-2:]


def _inflates(source: ByteSource, at: int) -> bool:
    """Whether the first 64 KiB of a member at `at` can be inflated."""
    stream = _Input(source, at)
    inflater = zlib.decompressobj(-15)
    size = 0
    try:
        _skip_header(stream, "GZIP")
        while size < 1 << 16 and not inflater.eof:
            chunk = inflater.unconsumed_tail or stream.chunk(_CAREFUL_BYTES)
            piece = inflater.decompress(chunk, 1 << 16)
            if not chunk and not piece:
                break
            size += len(piece)
    except (_HeaderError, zlib.error):
        return False
    return size > 0 or inflater.eof
