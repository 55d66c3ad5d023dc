"""The order of `shuffle(block=)`: for data larger than memory on disks that are slow to jump.

    rows            | block 0 | block 1 | block 2 | ... | rest |       neighbours in a file
    blocks          | block 7 | rest | block 2 | block 9 | ...         permuted, the shorter rest among them
    windows         |        window 0        |      window 1 ...       each permuted by itself

Position p lies in window p div size, goes to its permuted place there, and that place lies in one of the blocks. So
each row comes exactly once, any position is found by itself, and a window reads few blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.feed.mixing import UInt64s, mix

if TYPE_CHECKING:
    from collections.abc import Iterator


class BlockOrder:
    """A bijection on [0, length).

    Args:
      length: How many rows there are; at least 1.
      block: Rows in a block. At least 1.
      window: Positions in a window. At least 1.
    """

    def __init__(self, length: int, block: int, window: int) -> None:
        self._length, self._block, self._window = length, block, window
        self._full, self._rest = divmod(length, block)

    def rows(self, key: int, positions: range | UInt64s) -> UInt64s:
        """The row at each position, under a key: uint64, shape (len(positions),)."""
        return self._in_blocks(mix(key, 0), self._in_windows(mix(key, 1), positions))

    def _in_windows(self, key: int, positions: range | UInt64s) -> UInt64s:
        """Each position's place after its window was permuted."""
        if isinstance(positions, range) and positions.step == 1:
            parts = [self._of_window(key, *part) for part in self._parts(positions)]
            return np.concatenate([np.empty(0, np.uint64), *parts])
        if isinstance(positions, range):
            positions = np.arange(positions.start, positions.stop, positions.step, dtype=np.uint64)
        windows = positions // np.uint64(self._window)
        order = np.argsort(windows, kind="stable")
        _, starts = np.unique(windows[order], return_index=True)
        places = np.empty_like(positions)
        for of_window in np.split(order, starts[1:]):
            base = int(windows[of_window[0]]) * self._window if len(of_window) else 0
            size = min(self._window, self._length - base)
            within = positions[of_window] - np.uint64(base)
            places[of_window] = _native.permute_apply(size, mix(key, base), within) + np.uint64(base)
        return places

    def _parts(self, positions: range) -> Iterator[tuple[int, int, int]]:
        """(base of the window, first, last + 1) of each window that a run of positions meets."""
        start = positions.start
        while start < positions.stop:
            base = start // self._window * self._window
            stop = min(base + self._window, positions.stop)
            yield base, start, stop
            start = stop

    def _of_window(self, key: int, base: int, start: int, stop: int) -> UInt64s:
        size = min(self._window, self._length - base)
        return _native.permute_range(size, mix(key, base), start - base, stop - base) + np.uint64(base)

    def _in_blocks(self, key: int, places: UInt64s) -> UInt64s:
        """The row that lies at each place once the blocks were permuted.

        The shorter block at the end of the rows gets a turn of its own; the others are permuted around it.
        """
        block, rest = np.uint64(self._block), np.uint64(self._rest)
        turn = mix(key, 1) % (self._full + 1) * self._block if self._rest else self._full * self._block
        before = places < np.uint64(turn)
        of_rest = ~before & (places < np.uint64(turn + self._rest))
        turns, within = np.divmod(places - np.where(before, np.uint64(0), rest), block)
        turns[of_rest] = 0
        rows = _native.permute_apply(self._full, key, turns) * block + within if self._full else places.copy()
        rows[of_rest] = places[of_rest] - np.uint64(turn) + np.uint64(self._full * self._block)
        return rows
