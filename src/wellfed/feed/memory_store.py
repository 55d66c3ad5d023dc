"""What a cache keeps in memory, by row.

    table      rows that are plain arrays of one form, each in the place of its number
    elements   what functions gave and no array can hold, and batches: one Python object each
    columns    strings and rows of different length: the columns that came together

What is kept is a copy, and what is given is one too, so that writing to an element changes neither. Two exceptions:
strings are read-only, and what is given shares their memory; objects of a user's own classes are given as they are.
"""

from __future__ import annotations

import copy
import os
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed.dense_rows import dense_columns, form_of_rows
from wellfed.feed.many import join
from wellfed.feed.memory import pool
from wellfed.feed.numbered import Numbered, each_once
from wellfed.feed.order import Positions
from wellfed.feed.ragged import owned
from wellfed.feed.tree import Tree, leaves, map_tree, nbytes_of, nbytes_of_element
from wellfed.feed.unit import Failure, Unit, sources_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = Any  # NDArray[np.int64], shape (n,).

Replaced: TypeAlias = "dict[int, tuple[Failure, ...]]"

_TABLE, _ELEMENTS = 0, 1  # The first two pieces; each further one is columns.
_PLACE_BITS = 40  # A number is (piece, place in it).


class Store(Protocol):
    """What a cache kept. Any number of threads may ask and add.

    Attributes:
      replaced: What was replaced in each element of which a part could not be made, by the element's number.
    """

    replaced: Replaced

    def missing(self, rows: Rows) -> Rows:
        """Those of `rows` that are not kept, each once, rising."""

    def put(self, rows: Rows, unit: Unit) -> None:
        """Keeps the elements of `rows`; those that are kept already stay as they are.

        Raises:
          PlanError: They are more than the limit, or cannot be kept.
        """

    def take(self, rows: Rows) -> Unit:
        """The elements of `rows`, which are all kept, in memory of their own."""

    def lose(self, row: int) -> None:
        """Notes that a row cannot be made, and that the run goes on without it."""

    def end(self, length: int) -> None:
        """Notes how many rows there are."""

    def here(self) -> Store | None:
        """What this process goes on with, also after a fork; None: with a new store."""


def replaced_in(unit: Unit, rows: Rows, new: Rows) -> Replaced:
    """What was replaced in those elements of a unit that `new` says, by their numbers in `rows`."""
    found: Replaced = {}
    for failure in unit.replaced:
        if failure.at in new:
            row = int(rows[failure.at])
            found[row] = (*found.get(row, ()), failure)
    return found


def check_limit(held: int, limit_bytes: int) -> None:
    """Proves that what is kept may be so much. [bytes].

    Raises:
      PlanError: It may not.
    """
    if held > limit_bytes:
        raise PlanError("cache", f"the elements take more than {limit_bytes} bytes; give limit_bytes")


class MemoryStore:
    """A `Store` in memory.

    Args:
      limit_bytes: The elements may take so much. [bytes] Up to 28 bytes a row, to find it and to tell where it came
        from, come on top.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._held = limit_bytes, 0
        self._lock, self._process = threading.Lock(), os.getpid()
        self._places = Numbered()
        self._pieces: list[Any] = [None, _Elements()]
        self._length: int | None = None
        self.replaced: Replaced = {}

    def missing(self, rows: Rows) -> Rows:
        """See `Store`."""
        return each_once(rows[self._places.get(rows) < 0])

    def put(self, rows: Rows, unit: Unit) -> None:
        """See `Store`."""
        columns = dense_columns(unit)
        with self._lock:
            new = np.flatnonzero(self._places.get(rows) < 0)
            if not len(new):
                return
            self.replaced |= replaced_in(unit, rows, new)  # Before anyone finds the elements.
            if columns is not None and self._fits(columns, rows):
                self._put_into_table(rows, unit, columns, new)
            elif unit.splits is not None or unit.columns is None:
                self._put_elements(rows, unit, new)
            else:
                self._put_columns(rows, unit, new)

    def take(self, rows: Rows) -> Unit:
        """See `Store`."""
        places = self._places.get(rows)
        which, at = places >> _PLACE_BITS, places & ((1 << _PLACE_BITS) - 1)
        if not which.any() and self._pieces[_TABLE] is not None:
            return self._pieces[_TABLE].at(at)  # type: ignore[no-any-return]
        if self._pieces[_ELEMENTS].elements and (which == _ELEMENTS).any():
            return self._one_by_one(which, at)
        return join(self._pieces, which, at.astype(np.uint64), np.zeros(len(at), np.int64))

    def _one_by_one(self, which: Rows, at: Rows) -> Unit:
        """Elements of several pieces, in which columns would make them alike."""
        places = [np.flatnonzero(which == number) for number in np.unique(which)]
        numbers = [at[place].astype(np.uint64) for place in places]
        units = [
            self._pieces[which[place[0]]].make(Positions(number, 0))
            for place, number in zip(places, numbers, strict=True)
        ]
        if len(units) == 1:
            return units[0]  # type: ignore[no-any-return]
        order = np.argsort(np.concatenate(places))
        elements = [element for unit in units for element in unit]
        rows = np.concatenate([unit.rows for unit in units])
        return Unit(None, [elements[i] for i in order], rows[order], sources_of(units)[order])

    def lose(self, row: int) -> None:
        """See `Store`."""

    def end(self, length: int) -> None:
        """See `Store`."""
        self._length = length

    def here(self) -> MemoryStore:
        """See `Store`: what was kept before a fork is kept in both processes. No other thread came along."""
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self

    def _fits(self, columns: Tree, rows: Rows) -> bool:
        """Whether the table can hold these rows; the first ones make it."""
        if self._pieces[_TABLE] is None:
            nbytes = max(nbytes_of(columns) // len(rows), 1)
            most = self._limit // nbytes + 1  # Memory that is not written to is not there yet.
            capacity = most if self._length is None else min(most, self._length)
            self._pieces[_TABLE] = _Table(columns, capacity)
        table = self._pieces[_TABLE]
        return bool(int(rows.max()) < len(table.rows)) and form_of_rows(columns) == table.form

    def _hold(self, nbytes: int) -> None:
        check_limit(self._held + nbytes, self._limit)
        self._held += nbytes

    def _put_into_table(self, rows: Rows, unit: Unit, columns: Tree, new: Rows) -> None:
        self._hold(nbytes_of(columns) // len(rows) * len(new))
        table = self._pieces[_TABLE]
        for (_, kept), (_, column) in zip(leaves(table.columns), leaves(columns), strict=True):
            kept[rows[new]] = column if len(new) == len(rows) else column[new]
        table.rows[rows[new]] = unit.rows[new]
        table.source[rows[new]] = sources_of([unit])[new]
        self._places.set(rows[new], rows[new])

    def _put_elements(self, rows: Rows, unit: Unit, new: Rows) -> None:
        elements = list(unit)
        kept = [map_tree(own_leaf, elements[i]) for i in new]
        self._hold(sum(map(nbytes_of_element, kept)))
        piece = self._pieces[_ELEMENTS]
        first = len(piece.elements)
        piece.add(kept, unit, new)
        self._places.set(rows[new], np.arange(first, first + len(new)) + (_ELEMENTS << _PLACE_BITS))

    def _put_columns(self, rows: Rows, unit: Unit, new: Rows) -> None:
        columns = map_tree(lambda column: own_leaf(column[new]), unit.columns)
        self._hold(nbytes_of(columns))
        self._pieces.append(_Columns(columns, unit.rows[new], sources_of([unit])[new]))
        self._places.set(rows[new], np.arange(len(new)) + ((len(self._pieces) - 1) << _PLACE_BITS))


class _Table:
    """Rows side by side, each in the place of its number."""

    def __init__(self, columns: Tree, capacity: int) -> None:
        self.form = form_of_rows(columns)
        while True:
            try:
                self._allocate(columns, capacity)
            except MemoryError:  # A limit beyond all memory. What finds no place here is kept as it comes.
                capacity //= 2
            else:
                return

    def _allocate(self, columns: Tree, capacity: int) -> None:
        self.columns = map_tree(lambda column: np.empty((capacity, *column.shape[1:]), column.dtype), columns)
        self.rows, self.source = np.empty(capacity, np.uint64), np.empty(capacity, np.int32)

    def at(self, at: Rows) -> Unit:
        columns = map_tree(lambda column: _gathered(column, at), self.columns)
        return Unit(columns, None, self.rows[at], self.source[at].astype(np.int64))

    def make(self, positions: Positions) -> Unit:
        return self.at(positions.numbers().astype(np.int64))


def _gathered(column: NDArray[Any], at: Rows) -> NDArray[Any]:
    """Rows of a column, in memory that is used again."""
    shape = (len(at), *column.shape[1:])
    nbytes = len(at) * column[:1].nbytes
    if not nbytes:
        return np.empty(shape, column.dtype)
    out: NDArray[Any] = pool().take(nbytes).view(column.dtype).reshape(shape)
    return np.take(column, at, axis=0, out=out, mode="clip")  # They are all in it; "raise" would copy twice.


class _Elements:
    """Elements one by one: rows, or batches of rows."""

    def __init__(self) -> None:
        # Each with its row and its source: numbers, or arrays for batches. One list, as a fork may come in between.
        self.elements: list[tuple[Tree, Any, Any]] = []
        self._batched = False

    def add(self, elements: list[Tree], unit: Unit, which: Rows) -> None:
        """Adds elements, copies of those of a unit that `which` says."""
        rows, source = unit.rows, sources_of([unit])
        self._batched = unit.splits is not None
        if unit.splits is None:
            self.elements += list(zip(elements, rows[which].tolist(), source[which].tolist(), strict=True))
            return
        spans = [slice(int(unit.splits[i]), int(unit.splits[i + 1])) for i in which]
        self.elements += [
            (element, rows[span].copy(), source[span].copy()) for element, span in zip(elements, spans, strict=True)
        ]

    def make(self, positions: Positions) -> Unit:
        at = positions.numbers().tolist()
        elements = [map_tree(own_leaf, self.elements[i][0]) for i in at]
        ids = [self.elements[i][1:] for i in at]
        if not self._batched:
            rows, source = np.array(ids, np.int64).reshape(-1, 2).T
            return Unit(None, elements, rows.astype(np.uint64), source)
        splits = np.cumsum([0, *(len(rows) for rows, _ in ids)])
        return Unit(None, elements, np.concatenate([i[0] for i in ids]), np.concatenate([i[1] for i in ids]), splits)

    def available(self, stop: int) -> int:
        return min(stop, len(self.elements))


class _Columns:
    """Columns that came together."""

    def __init__(self, columns: Tree, rows: NDArray[np.uint64], source: NDArray[np.int64]) -> None:
        self._columns, self._rows, self._source = columns, rows, source

    def make(self, positions: Positions) -> Unit:
        at = positions.numbers().astype(np.int64)
        return Unit(
            map_tree(lambda column: _own_objects(column[at]), self._columns), None, self._rows[at], self._source[at]
        )


def own_leaf(column: Any) -> Any:
    """The leaf in memory of its own, with each of its rows where they are objects; a user's own object as it is."""
    if isinstance(column, (list, set, bytearray)):
        return copy.deepcopy(column)
    return _own_objects(owned(column))


def _own_objects(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == np.object_:
        for at in np.ndindex(column.shape):
            column[at] = owned(column[at])
    return column
