"""TFRecord framing by the book, in plain Python, to hold wellfed against."""

from __future__ import annotations

import itertools
import struct

import numpy as np

from wellfed.io.remote_window import RemoteWindow


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def masked_crc(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + struct.pack("<I", masked_crc(length)) + payload + struct.pack("<I", masked_crc(payload))


def frames(payloads) -> bytes:
    return b"".join(map(frame, payloads))


def starts(payloads) -> list[int]:
    """Where each record's header starts, then where the last one ends."""
    return np.cumsum([0, *(16 + len(payload) for payload in payloads)]).tolist()


class FakeSource:
    """A source over bytes that counts the reads."""

    def __init__(self, content: bytes, path: str = "fake") -> None:
        self.content, self.path, self.size = content, path, len(content)
        self.reads = 0

    def read_into(self, offset: int, buffer: memoryview) -> int:
        self.reads += 1
        found = self.content[offset : offset + len(buffer)]
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        pass


class PlainStream:
    """A stream over a source that is not compressed."""

    def __init__(self, source: FakeSource) -> None:
        self._source, self._position = source, 0
        self.failure = ""
        self.members: list[tuple[int, int]] = []

    def read_into(self, buffer: memoryview) -> int:
        count = self._source.read_into(self._position, buffer)
        self._position += count
        return count

    def resume(self) -> bool:
        return False


class FakeBlocks:
    """What a window over a remote file needs of its access: blocks of any length, out of bytes."""

    def __init__(self, content: bytes, block_bytes: int) -> None:
        self.content, self.block_bytes, self.blocks = content, block_bytes, self
        self.path, self.size = "fake", len(content)

    def get(self, file, number: int, used: int) -> bytes:
        assert file is self
        assert number * self.block_bytes < self.size
        return self.content[number * self.block_bytes : (number + 1) * self.block_bytes]

    def at_hand(self) -> bool:
        return False

    def check_unchanged(self) -> None:
        pass

    def window(self, join_bytes: int):
        return RemoteWindow(self, self, join_bytes)


def run_payloads(run) -> list[bytes]:
    """The payloads of a run of records."""
    return [run.block[start + 12 : end - 4].tobytes() for start, end in itertools.pairwise(run.offsets.tolist())]
