"""One record's frame, and what can be wrong with it.

uint64 length | uint32 masked CRC-32C of the length | payload | uint32 masked CRC-32C of the payload      (all LE)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed import _native
from wellfed.errors import CorruptRecordError, RecordError, TruncatedRecordError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER_BYTES = 12
FRAME_BYTES = 16  # What framing adds to a payload.
_LOOK_BYTES = 1 << 16  # Of a payload are looked at to say whether all are 0.


def header_length(block: NDArray[np.uint8], at: int) -> int | None:
    """The length that the header at `at` gives; None where its sum does not hold or 12 bytes are not there."""
    header = block[at : at + HEADER_BYTES].tobytes()
    if len(header) < HEADER_BYTES or _native.masked_crc32c(header[:8]) != int.from_bytes(header[8:], "little"):
        return None
    return int.from_bytes(header[:8], "little")


def explain(block: NDArray[np.uint8], at: int, status: int, search: _native.FrameSearch | None = None) -> str:
    """What is wrong with the record at `at` of a block, with the numbers found and due.

    Args:
      block: Holds the record.
      at: Where its header starts. [bytes]
      status: What the kernel says of it.
      search: Over the same block: its sums are used again.
    """
    left = len(block) - at
    header = block[at : at + HEADER_BYTES].tobytes()
    length = int.from_bytes(header[:8], "little")
    if status == _native.FRAME_TRUNCATED:
        if left < HEADER_BYTES:
            return f"a header of {HEADER_BYTES} bytes is due, only {left} left"
        return f"a record of {length + FRAME_BYTES} bytes is due, only {left} left"
    if status == _native.FRAME_BAD_LENGTH_CRC:
        return _sums("length", _native.masked_crc32c(header[:8]), header[8:], header[:8])
    start, end = at + HEADER_BYTES, at + HEADER_BYTES + length
    payload = block[start:end]
    due = _native.masked_crc32c(payload) if search is None else search.masked_crc32c(start, length)
    return _sums("payload", due, block[end : end + 4].tobytes(), payload[:_LOOK_BYTES].tobytes())


def _sums(what: str, due: int, stored: bytes, content: bytes) -> str:
    found = int.from_bytes(stored, "little")
    hint = ""
    if _masked(found) == due:
        hint = " (its writer left out the mask)"
    elif found == 0:
        hint = " (its writer left out the sums)" if content.strip(b"\0") else " (all bytes are 0)"
    return f"{what} CRC32C is {due:#010x}, stored {found:#010x}{hint}"


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record_error(status: int, reason: str, path: str, record_index: int, offset: int) -> RecordError:
    """The error that a status of the kernel stands for."""
    kind = TruncatedRecordError if status == _native.FRAME_TRUNCATED else CorruptRecordError
    return kind(reason, path, record_index, offset)
