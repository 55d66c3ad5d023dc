"""
wellfed's kernel: checksums, framing, parsing, encoding, permutation and pixels.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray
from typing_extensions import Buffer

def crc32c(data: Buffer, crc: int = 0) -> int:
    """CRC-32C of the bytes; `crc` is the sum of the bytes before them."""

def masked_crc32c(data: Buffer) -> int:
    """CRC-32C of the bytes in the masked form that TFRecord stores."""

def crc32c_implementations() -> list[str]:
    """
    Names of the implementations that this CPU can run, slowest first; the last one is used.
    """

def crc32c_with(name: str, data: Buffer, crc: int = 0) -> int:
    """
    As crc32c, by the implementation of that name. Raises ValueError where this CPU has none of that name.
    """

FRAME_OK: int = 0

FRAME_END: int = 1

FRAME_TRUNCATED: int = 2

FRAME_BAD_LENGTH_CRC: int = 3

FRAME_BAD_PAYLOAD_CRC: int = 4

def scan_frames(
    block: Buffer, start: int = 0, max_records: int = 18446744073709551615, check: bool = True
) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,))], int, int]:
    """
    Walks records from byte `start` on. Returns (offset of each header, header of the first record that was not
    scanned, a FRAME_* status that says why the walk ended there).
    """

def find_frame(block: Buffer, start: int = 0) -> int:
    """
    The first position from `start` on where a whole record stands whose two sums hold, or len(block).
    """

def find_frame_in_stream(block: Buffer, start: int = 0, max_length: int = 18446744073709551615) -> tuple[int, int]:
    """
    As find_frame, for a block after which more bytes may come. Returns (position, status): FRAME_OK, a whole
    record; FRAME_TRUNCATED, a true header of at most `max_length` bytes of payload that the block ends inside;
    FRAME_END, none starts in front of `position`.
    """

def frame_records(
    data: Buffer,
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bytes:
    """
    Frames record i, the `sizes[i]` bytes of `data` at `starts[i]`, for each i. Returns the framed bytes.
    """

def permute_range(n: int, key: int, start: int, stop: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Where the permutation of [0, n) that `key` picks takes the positions start to stop. n is at most 2**48.
    """

def permute_apply(
    n: int,
    key: int,
    values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Where the permutation of [0, n) that `key` picks takes each of `values`.
    """

def guard_mapping(buffer: Buffer) -> None:
    """
    Keeps the process alive when the file behind `buffer`, a read-only mapping, is cut: its missing pages become
    zeros. Keeps no reference; call unguard_mapping before the mapping is closed. Does nothing on Windows.
    """

def unguard_mapping(buffer: Buffer) -> None:
    """Ends the guard of `buffer`; does nothing where there is none."""

def mapping_was_cut(buffer: Buffer) -> bool:
    """
    True where a page of the guarded `buffer` could not be read; it and all that follow are zeros since.
    """
