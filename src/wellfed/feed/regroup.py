"""Batches cut anew from columns of any number of rows, without a loop over rows.

units of an engine whose failed rows were left out    3 5 1 4 ...  rows
batches that unbatch takes apart                      4 4 4 2 ...  rows     ->   batches of one size
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.feed import plan
from wellfed.feed.padding import finished
from wellfed.feed.ragged import owned
from wellfed.feed.tree import Tree, concat_rows, map_tree, map_trees, nbytes_of, rows_in, rows_of
from wellfed.feed.unit import SMALL_BATCH

if TYPE_CHECKING:
    from wellfed.feed.cursors import Cursor, Stream


class Regrouped(Iterator[Tree]):
    """The batches of a node over chunks of rows: a `Stream`.

    Args:
      node: What the batches are like, and how large, in turn.
      open_chunks: Opens the columns at a cursor of theirs.
      cursor: [the chunks' cursor before the one at hand, rows taken from there on, whose size's turn it is].
    """

    def __init__(
        self, node: plan.Batches | plan.Rebatch, open_chunks: Callable[[Cursor], Stream], cursor: Cursor
    ) -> None:
        self._node = node
        begin, drop, turn = cursor or (None, 0, 0)
        self._sizes = node.batch_sizes if isinstance(node, plan.Rebatch) else (node.batch_size,)
        self._turn: int = turn
        self._begin: Cursor = begin
        self._drop: int = drop  # Rows that were taken before.
        self._chunks = open_chunks(self._begin)
        self._chunk: Tree = None
        self._at = self._length = 0

    def __next__(self) -> Tree:
        parts: list[Tree] = []
        due = self._sizes[self._turn]
        while due and (self._at < self._length or self._find_chunk()):
            stop = min(self._at + due, self._length)
            parts.append(rows_of(self._chunk, self._at, stop))
            due -= stop - self._at
            self._at = stop
        if not parts or (due and self._node.drop_remainder):
            raise StopIteration
        self._turn = (self._turn + 1) % len(self._sizes)
        return finished(self._node, _joined(parts))

    def _find_chunk(self) -> bool:
        """Goes on to the next chunk that has rows left; False where there is none."""
        while True:
            begin = self._chunks.cursor()
            try:
                chunk = next(self._chunks)
            except StopIteration:
                return False
            self._chunk = map_tree(_column, chunk)
            self._begin, self._length = begin, rows_in(self._chunk, plan.name_of(self._node))
            self._at = min(self._drop, self._length)
            self._drop -= self._at
            if self._at < self._length:
                return True

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return [self._begin, self._at + self._drop, self._turn]


def _column(leaf: Any) -> Any:
    return leaf if isinstance(leaf, (Bytes, Ragged, Sparse)) else np.asarray(leaf)


def _joined(parts: list[Tree]) -> Tree:
    if len(parts) > 1:
        return map_trees(concat_rows, parts)
    # A small one is a copy of its own, so that keeping it does not keep its whole unit.
    return map_tree(owned, parts[0]) if nbytes_of(parts[0]) < SMALL_BATCH else parts[0]
