"""Records whose bytes are at hand: proved to stand where the index says, and put into the order asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import IndexFileError
from wellfed.io.framing import FRAME_BYTES, HEADER_BYTES, explain, record_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.index import RecordIndex


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
