"""What tells one content of a file from another: its size and four samples, not its time, which a copy changes.

| 4 KiB |      | 4 KiB |      | 4 KiB |      | 4 KiB |      first, last, and two between
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wellfed.io.files import ByteSource

_SAMPLE_BYTES = 4096
_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class Stamp:
    """A content of a file.

    Attributes:
      size: The file's. [bytes]
      digest: BLAKE2b of its size and samples.
    """

    size: int
    digest: bytes


def stamp(source: ByteSource) -> Stamp:
    """Reads a file's size and samples, one after another."""
    return stamp_of(source.size, [_read(source, start, end) for start, end in sample_ranges(source.size)])


def sample_ranges(size: int) -> list[tuple[int, int]]:
    """Where the samples of a file stand: first bytes, and the bytes after the last ones. [bytes]."""
    spread = max(0, size - _SAMPLE_BYTES)
    starts = sorted({spread * i // (_SAMPLES - 1) for i in range(_SAMPLES)})
    return [(start, min(start + _SAMPLE_BYTES, size)) for start in starts]


def stamp_of(size: int, samples: Iterable[bytes | memoryview]) -> Stamp:
    """The stamp of a file whose samples are at hand, in the order of `sample_ranges`."""
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    for sample in samples:
        digest.update(sample)
    return Stamp(size, digest.digest())


class Samples:
    """The samples of a file, gathered from whatever of it is read. Thread-safe, without a lock: it forks.

    Args:
      size: The file's. [bytes]

    Attributes:
      stamp: The file's, once all samples have passed by; None before.
    """

    def __init__(self, size: int) -> None:
        self._size, self._ranges = size, sample_ranges(size)
        self._found: dict[int, tuple[bytearray, bytearray]] = {}  # Of each range: its bytes, and 1 where one is there.
        self.stamp = None if size else stamp_of(0, [b""])

    def note(self, start: int, content: bytes | memoryview) -> None:
        """Takes what bytes of the file, from `start` on, have of the samples."""
        if self.stamp is not None:
            return
        end = start + len(content)
        here = [(first, last) for first, last in self._ranges if first < end and start < last]
        for first, last in here:
            sample, there = self._found.setdefault(first, (bytearray(last - first), bytearray(last - first)))
            low, high = max(first, start), min(last, end)
            sample[low - first : high - first] = content[low - start : high - start]
            there[low - first : high - first] = bytes([1]) * (high - low)
        if here and len(self._found) == len(self._ranges) and all(0 not in there for _, there in self._found.values()):
            self.stamp = stamp_of(self._size, [bytes(self._found[first][0]) for first, _ in self._ranges])


def _read(source: ByteSource, start: int, end: int) -> bytes:
    buffer = bytearray(end - start)
    with memoryview(buffer) as view:
        return bytes(view[: source.read_into(start, view)])
