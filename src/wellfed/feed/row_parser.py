"""Rows that lie in memory, read and parsed by one native call a unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes
from wellfed.feed.memory import pool
from wellfed.feed.repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed import _native
    from wellfed.example import FeatureParser
    from wellfed.feed import plan
    from wellfed.feed.mixing import UInt64s


class RowParser:
    """What becomes of the records of a `plan.Records`. Thread-safe.

    Attributes:
      repeats: Parses Examples, and looks for features that one holds twice; None where elements are the records' bytes.
    """

    def __init__(self, node: plan.Records) -> None:
        self.repeats = None if node.features is None else Repeats(node.features)
        self._check = node.check_crc

    def columns(
        self, shards: _native.ShardSet, rows: UInt64s, failed: Callable[[Any], Exception], locate: Callable[[int], str]
    ) -> Any:
        """Columns of some rows, in memory of their own.

        Args:
          shards: Memory that holds them.
          rows: Their numbers in it.
          failed: Makes the error to raise out of what `ShardSet.parse` says that failed.
          locate: Says where the row at a place in `rows` came from.
        """
        if self.repeats is None:
            found, failure = shards.read(rows, self._check, pool())
            if failure is not None:
                raise failed(failure)
            return Bytes(*found)

        def parse(parser: FeatureParser, start: int, stop: int) -> dict[str, Any]:
            some = rows[start:stop]
            dense = [_memory(slot, len(some)) for slot in parser.slots]
            memory = [None if array is None else array.reshape(-1).view(np.uint8) for array in dense]
            raw, failure = shards.parse(some, parser.native, self._check, memory)
            if failure is not None:
                raise failed(failure)
            return parser.columns(raw, dense, len(some))

        columns = parse(self.repeats.parser, 0, len(rows))
        self.repeats.look(len(rows), parse, locate)
        return columns


def _memory(slot: Any, rows: int) -> np.ndarray[Any, Any] | None:
    if not slot.dense:
        return None
    dtype = np.dtype(slot.dtype)
    nbytes = rows * math.prod(slot.shape) * dtype.itemsize
    array: np.ndarray[Any, Any] = pool().take(nbytes).view(dtype)
    return array.reshape(rows, *slot.shape)
