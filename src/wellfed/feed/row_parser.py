"""Rows that lie in memory, read and parsed by one native call a unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes
from wellfed.example import compile_features
from wellfed.feed.memory import pool

if TYPE_CHECKING:
    from wellfed import _native
    from wellfed.feed import plan
    from wellfed.feed.mixing import UInt64s


class RowParser:
    """What becomes of the records of a `plan.Records`. Thread-safe.

    Attributes:
      parser: Parses Examples; None where elements are the records' bytes.
    """

    def __init__(self, node: plan.Records) -> None:
        self.parser = compile_features(node.features) if node.features is not None else None
        self._check = node.check_crc

    def columns(self, shards: _native.ShardSet, rows: UInt64s) -> tuple[Any, Any]:
        """Columns of some rows in memory of their own, and None; or None, and what failed as `ShardSet.parse` says."""
        if self.parser is None:
            found, failure = shards.read(rows, self._check, pool())
            return (Bytes(*found) if failure is None else None), failure
        dense = [_memory(slot, len(rows)) for slot in self.parser.slots]
        memory = [None if array is None else array.reshape(-1).view(np.uint8) for array in dense]
        raw, failure = shards.parse(rows, self.parser.native, self._check, memory)
        return (self.parser.columns(raw, dense, len(rows)) if failure is None else None), failure


def _memory(slot: Any, rows: int) -> np.ndarray[Any, Any] | None:
    if not slot.dense:
        return None
    dtype = np.dtype(slot.dtype)
    nbytes = rows * math.prod(slot.shape) * dtype.itemsize
    array: np.ndarray[Any, Any] = pool().take(nbytes).view(dtype)
    return array.reshape(rows, *slot.shape)
