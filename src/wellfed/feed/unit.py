"""A unit: the piece of work that one thread does at a time. Columns of many rows, and where the rows came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.feed.tree import Tree, concat_rows, dense, map_trees, nbytes_of, row_of, rows_of, stack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.feed.mixing import UInt64s
    from wellfed.feed.stats import ReplacedRow, SkippedRow

# A batch smaller than this is a copy of its own, so that keeping it does not keep its whole unit; larger ones cost too
# much to copy (ADR 0006). [bytes]
SMALL_BATCH = 16 << 10


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that could not be made.

    Attributes:
      at: How many elements of the unit come before it, or before the one that it was replaced in.
      row: What is known of it.
      error: Why it could not be made.
    """

    at: int
    row: SkippedRow | ReplacedRow
    error: Exception


@dataclass(slots=True)
class Unit:
    """Rows in the order in which they are delivered.

    Attributes:
      columns: The rows as a tree of columns; None while `elements` holds them.
      elements: The rows, or batches, one by one; None while `columns` holds them.
      rows: The number of each row in its source: uint64 (rows,).
      source: Which of the plan's sources they come from, or each row: int64 (rows,).
      splits: Where each batch begins and ends among the rows, int64 (batches + 1,); None while elements are rows.
      failures: What was left out.
      replaced: Rows in whose place others came.
      start: The position of its first element among those that are delivered.
      is_part: Whether it is a part of a batch; `start` is that of a row then. See `wellfed.feed.parts`.
    """

    columns: Tree | None
    elements: Sequence[Tree] | None
    rows: UInt64s
    source: int | NDArray[np.int64] = 0
    splits: NDArray[np.int64] | None = None
    failures: tuple[Failure, ...] = ()
    replaced: tuple[Failure, ...] = ()
    start: int = 0
    is_part: bool = False

    def __len__(self) -> int:
        if self.splits is not None:
            return len(self.splits) - 1
        return len(self.rows)

    def nbytes(self) -> int:
        """Bytes of the rows; an estimate from the first element where they are not columns."""
        if self.columns is not None:
            return nbytes_of(self.columns)
        return nbytes_of(stack([self.elements[0]])) * len(self.elements) if self.elements else 0

    def as_columns(self) -> Tree:
        """The rows as columns. REQUIRES: no batch was made yet."""
        if self.columns is None:
            self.columns = stack(self.elements or [])
            self.elements = None
        return self.columns

    def part(self, start: int, stop: int) -> Unit:
        """Its elements [start, stop), without copying and without what was left out."""
        if self.splits is not None:
            of_rows = self.splits[start : stop + 1]
            rows = slice(int(of_rows[0]), int(of_rows[-1]))
            return Unit(None, list(self)[start:stop], self.rows[rows], self._source(rows), of_rows - of_rows[0])
        rows = slice(start, stop)
        if self.elements is not None:
            return Unit(None, self.elements[start:stop], self.rows[rows], self._source(rows))
        return Unit(rows_of(self.columns, start, stop), None, self.rows[rows], self._source(rows))

    def _source(self, rows: slice) -> int | NDArray[np.int64]:
        return self.source if isinstance(self.source, int) else self.source[rows]

    def __iter__(self) -> Iterator[Tree]:
        """The elements: rows, or batches."""
        if self.elements is not None:
            return iter(self.elements)
        if self.splits is None:
            return (row_of(self.columns, i) for i in range(len(self)))
        return self._batches(self.splits)

    def _batches(self, splits: NDArray[np.int64]) -> Iterator[Tree]:
        columns, bounds = self.columns, splits.tolist()
        if isinstance(columns, Mapping) and all(map(_is_dense, columns.values())):
            copy = len(bounds) > 2 and nbytes_of(columns) // (len(bounds) - 1) < SMALL_BATCH
            return _mapping_batches(columns, bounds, copy=copy)
        return (dense(rows_of(columns, start, stop)) for start, stop in pairwise(bounds))


def moved(failures: Iterable[Failure], to: NDArray[np.int64]) -> tuple[Failure, ...]:
    """Failures at element i as failures at element `to[i]`."""
    return tuple(replace(failure, at=int(to[failure.at])) for failure in failures)


def concat_units(units: Sequence[Unit]) -> Unit:
    """The rows, or batches, of units one after another; what was left out of each is not told."""
    if not units:
        return Unit(None, [], np.empty(0, np.uint64))
    if len(units) == 1:
        return units[0]
    rows = np.concatenate([unit.rows for unit in units])
    source = np.concatenate([np.broadcast_to(np.asarray(unit.source, np.int64), len(unit.rows)) for unit in units])
    if any(unit.splits is not None for unit in units):
        splits = np.concatenate([[0], np.cumsum(sizes_of(units))])
        return Unit(None, [element for unit in units for element in unit], rows, source, splits)
    return Unit(map_trees(concat_rows, [unit.as_columns() for unit in units]), None, rows, source)


def _is_dense(column: Any) -> bool:
    return type(column) is np.ndarray and not column.dtype.hasobject


def _mapping_batches(columns: Mapping[str, Any], bounds: list[int], *, copy: bool) -> Iterator[dict[str, Any]]:
    """The common case by itself: it runs once for each batch that a training step takes."""
    items = list(columns.items())
    start = bounds[0]
    for stop in bounds[1:]:
        if copy:
            yield {name: column[start:stop].copy() for name, column in items}
        else:
            yield {name: column[start:stop] for name, column in items}
        start = stop


def sizes_of(units: Sequence[Unit]) -> NDArray[np.int64]:
    """How many rows each element of the units has, one after another: int64. An element that is a row has one."""
    return np.concatenate([np.ones(len(u.rows), np.int64) if u.splits is None else np.diff(u.splits) for u in units])


def sources_of(units: Sequence[Unit]) -> NDArray[np.int64]:
    """The source of each row of the units, one after another: int64."""
    return np.concatenate([np.broadcast_to(np.asarray(unit.source, np.int64), len(unit.rows)) for unit in units])
