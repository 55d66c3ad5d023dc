"""Where a queue keeps its elements, and which of them leaves next.

    ColumnFifo   rings of rows, one array a component      first in, first out; shapes known, rows small
    ColumnPool   arrays of rows                            any of them, drawn at random; the same
    RowFifo      a deque of rows                           first in, first out; any shape
    RowPool      a list of rows                            any of them, drawn at random
    RowHeap      a heap of rows                            lowest first component first, ties in order of arrival

Columns make whole batches cheap: they come and go as slices. Rows hand over what was enqueued without a second copy.
A storage knows nothing of capacity, threads or closing: the engine asks it for no more than `size` rows at a time.
What `take_many` gives is a *part*: `join` makes one batch of several, and `put_back` returns them unharmed.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from wellfed.queues.spec import BYTES, Columns, ElementSpec, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Rows of more bytes than this are kept as they came: a copy into a ring would cost more than stacking them later.
COLUMN_ROW_BYTES = 4096


class Storage(Protocol):
    """What the engine needs of a place for elements."""

    @property
    def size(self) -> int:
        """The number of elements that are here."""

    def put(self, row: Row) -> None:
        """Takes in one row, which belongs to the storage from now on."""

    def put_many(self, columns: Columns, start: int, stop: int) -> None:
        """Takes in rows `start` to `stop` of columns, which stay as they are."""

    def take(self) -> Row:
        """Gives the row that is next. REQUIRES: size >= 1."""

    def take_many(self, count: int) -> Any:
        """Gives the next rows as a part. REQUIRES: size >= count >= 1."""

    def put_back(self, parts: Sequence[Any]) -> None:
        """Returns parts, in the order in which they were taken, as if they had not been."""

    def join(self, parts: Sequence[Any]) -> Columns:
        """Makes one batch of one or more parts."""


def make_fifo(spec: ElementSpec) -> Storage:
    """Gives the storage of a first-in-first-out queue."""
    return ColumnFifo(spec) if _small(spec) else RowFifo(stack)


def make_pool(spec: ElementSpec, draw: Iterator[float]) -> Storage:
    """Gives the storage of a shuffling queue; `draw` yields numbers uniform in [0, 1)."""
    return ColumnPool(spec, draw) if _small(spec) else RowPool(draw)


def _small(spec: ElementSpec) -> bool:
    if not spec.fixed:
        return False
    return all(
        dtype.itemsize * int(np.prod([size or 0 for size in shape or ()])) <= COLUMN_ROW_BYTES
        for dtype, shape in zip(spec.dtypes, spec.shapes, strict=True)
    )


# --- Columns -------------------------------------------------------------------------------------


class ColumnFifo:
    """A ring a component; `head` is the row that leaves next. Grows by doubling."""

    def __init__(self, spec: ElementSpec) -> None:
        self._columns = [_column(16, spec, i) for i in range(len(spec.dtypes))]
        self._room, self._head = 16, 0
        self._owned = [bool(shape) for shape in spec.shapes]  # Views that must be copied out.
        self._objects = [i for i, dtype in enumerate(spec.dtypes) if dtype == BYTES]
        self.size = 0

    def put(self, row: Row) -> None:
        if self.size == self._room:
            self._grow(1)
        at = self._head + self.size
        if at >= self._room:
            at -= self._room
        for column, value in zip(self._columns, row, strict=True):
            column[at] = value
        self.size += 1

    def put_many(self, columns: Columns, start: int, stop: int) -> None:
        count = stop - start
        if self.size + count > self._room:
            self._grow(count)
        at = (self._head + self.size) % self._room
        first = min(count, self._room - at)
        for column, new in zip(self._columns, columns, strict=True):
            column[at : at + first] = new[start : start + first]
            if first < count:
                column[: count - first] = new[start + first : stop]
        self.size += count

    def take(self) -> Row:
        head = self._head
        row = tuple([c[head].copy() if owned else c[head] for c, owned in zip(self._columns, self._owned, strict=True)])
        self._drop(head, 1)
        return row

    def take_many(self, count: int) -> Columns:
        head, end = self._head, self._head + count
        if end <= self._room:
            part = tuple([column[head:end].copy() for column in self._columns])
        else:
            part = tuple([np.concatenate((column[head:], column[: end - self._room])) for column in self._columns])
        self._drop(head, count)
        return part

    def put_back(self, parts: Sequence[Columns]) -> None:
        for part in reversed(parts):
            count = len(part[0])
            if self.size + count > self._room:
                self._grow(count)
            at = (self._head - count) % self._room
            places = np.arange(at, at + count) % self._room
            for column, old in zip(self._columns, part, strict=True):
                column[places] = old
            self._head = at
            self.size += count

    def join(self, parts: Sequence[Columns]) -> Columns:
        return join_columns(parts)

    def _drop(self, head: int, count: int) -> None:
        """Forgets `count` rows from `head` on."""
        for i in self._objects:  # Strings must not live on in places that are free.
            for at in range(head, head + count):
                self._columns[i][at % self._room] = None
        self._head = (head + count) % self._room
        self.size -= count

    def _grow(self, count: int) -> None:
        room = max(2 * self._room, self.size + count)
        places = np.arange(self._head, self._head + self.size) % self._room
        self._columns = [_larger(column, places, room) for column in self._columns]
        self._room, self._head = room, 0


class ColumnPool:
    """An array a component, filled from the front; a row that leaves is replaced by the last. Grows by doubling."""

    def __init__(self, spec: ElementSpec, draw: Iterator[float]) -> None:
        self._columns = [_column(16, spec, i) for i in range(len(spec.dtypes))]
        self._room, self._draw = 16, draw
        self._owned = [bool(shape) for shape in spec.shapes]
        self._objects = [i for i, dtype in enumerate(spec.dtypes) if dtype == BYTES]
        self.size = 0

    def put(self, row: Row) -> None:
        if self.size == self._room:
            self._grow(1)
        for column, value in zip(self._columns, row, strict=True):
            column[self.size] = value
        self.size += 1

    def put_many(self, columns: Columns, start: int, stop: int) -> None:
        end = self.size + stop - start
        if end > self._room:
            self._grow(stop - start)
        for column, new in zip(self._columns, columns, strict=True):
            column[self.size : end] = new[start:stop]
        self.size = end

    def take(self) -> Row:
        at = int(next(self._draw) * self.size)
        row = tuple([c[at].copy() if owned else c[at] for c, owned in zip(self._columns, self._owned, strict=True)])
        last = self.size - 1
        for column in self._columns:
            column[at] = column[last]
        self._drop(last)
        return row

    def take_many(self, count: int) -> Columns:
        """Draws as `count` calls of `take` would, and moves whole columns once."""
        moved: dict[int, int] = {}  # Place -> the row that stands there now, where it is not its own.
        chosen = []
        last = self.size
        for _ in range(count):
            at = int(next(self._draw) * last)
            last -= 1
            chosen.append(moved.get(at, at))
            moved[at] = moved.get(last, last)
        holes = [(at, row) for at, row in moved.items() if at < last]
        part = tuple([column[chosen] for column in self._columns])
        if holes:
            to, source = [at for at, _ in holes], [row for _, row in holes]
            for column in self._columns:
                column[to] = column[source]
        self._drop(last)
        return part

    def put_back(self, parts: Sequence[Columns]) -> None:
        for part in parts:
            self.put_many(part, 0, len(part[0]))

    def join(self, parts: Sequence[Columns]) -> Columns:
        return join_columns(parts)

    def _drop(self, size: int) -> None:
        for i in self._objects:
            self._columns[i][size : self.size] = None
        self.size = size

    def _grow(self, count: int) -> None:
        room = max(2 * self._room, self.size + count)
        places = np.arange(self.size)
        self._columns = [_larger(column, places, room) for column in self._columns]
        self._room = room


def _column(room: int, spec: ElementSpec, component: int) -> npt.NDArray[Any]:
    shape = spec.shapes[component]
    return np.empty((room, *(size or 0 for size in shape or ())), spec.dtypes[component])


def _larger(column: npt.NDArray[Any], places: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    larger = np.empty((room, *column.shape[1:]), column.dtype)
    larger[: len(places)] = column[places]
    return larger


def join_columns(parts: Sequence[Columns]) -> Columns:
    """Makes one batch of parts that are columns."""
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(pieces) for pieces in zip(*parts, strict=True))


# --- Rows ----------------------------------------------------------------------------------------


def stack(rows: Sequence[Row]) -> Columns:
    """Stacks rows of one shape into columns."""
    return tuple(_stacked(values) for values in zip(*rows, strict=True))


def pad(rows: Sequence[Row]) -> Columns:
    """Stacks rows into columns, each padded on the right with 0 or b"" to the largest shape among them."""
    return tuple(_padded(values) for values in zip(*rows, strict=True))


def _stacked(values: Sequence[Any]) -> npt.NDArray[Any]:
    first = values[0]
    if isinstance(first, bytes):
        column = np.empty(len(values), BYTES)
        column[:] = values
        return column
    if np.ndim(first) == 0:
        return np.array(values, first.dtype)
    column = np.empty((len(values), *first.shape), first.dtype)
    for place, value in zip(column, values, strict=True):
        place[...] = value
    return column


def _padded(values: Sequence[Any]) -> npt.NDArray[Any]:
    first = values[0]
    if np.ndim(first) == 0 or len({value.shape for value in values}) == 1:
        return _stacked(values)
    shape = tuple(max(sizes) for sizes in zip(*(value.shape for value in values), strict=True))
    fill = b"" if first.dtype == BYTES else 0
    column = np.full((len(values), *shape), fill, first.dtype)
    for place, value in zip(column, values, strict=True):
        place[tuple(slice(size) for size in value.shape)] = value
    return column


class RowStorage:
    """What the storages of rows share; a part is a list of rows."""

    def __init__(self, join: Callable[[Sequence[Row]], Columns]) -> None:
        self._stack = join

    def put(self, row: Row) -> None:
        raise NotImplementedError

    def take(self) -> Row:
        raise NotImplementedError

    def put_many(self, columns: Columns, start: int, stop: int) -> None:
        for row in zip(*(column[start:stop] for column in columns), strict=True):
            # A row that is a view would keep the whole batch alive, and share its memory.
            self.put(tuple([value.copy() if isinstance(value, np.ndarray) else value for value in row]))

    def take_many(self, count: int) -> list[Row]:
        return [self.take() for _ in range(count)]

    def join(self, parts: Sequence[list[Row]]) -> Columns:
        return self._stack([row for part in parts for row in part])


class RowFifo(RowStorage):
    """A deque of rows."""

    def __init__(self, join: Callable[[Sequence[Row]], Columns]) -> None:
        super().__init__(join)
        self._rows: deque[Row] = deque()

    @property
    def size(self) -> int:
        return len(self._rows)

    def put(self, row: Row) -> None:
        self._rows.append(row)

    def take(self) -> Row:
        return self._rows.popleft()

    def put_back(self, parts: Sequence[list[Row]]) -> None:
        for part in reversed(parts):
            self._rows.extendleft(reversed(part))


class RowPool(RowStorage):
    """A list of rows; the one that leaves is replaced by the last."""

    def __init__(self, draw: Iterator[float]) -> None:
        super().__init__(stack)
        self._rows: list[Row] = []
        self._draw = draw

    @property
    def size(self) -> int:
        return len(self._rows)

    def put(self, row: Row) -> None:
        self._rows.append(row)

    def take(self) -> Row:
        rows = self._rows
        at = int(next(self._draw) * len(rows))
        row, rows[at] = rows[at], rows[-1]
        rows.pop()
        return row

    def put_back(self, parts: Sequence[list[Row]]) -> None:
        for part in parts:
            self._rows += part


class RowHeap(RowStorage):
    """A heap of rows by their first component, lowest first; ties leave in order of arrival."""

    def __init__(self) -> None:
        super().__init__(stack)
        self._heap: list[tuple[int, int, Row]] = []
        self._next, self._before = 0, 0  # Numbers of arrival: upwards for new rows, downwards for returned ones.

    @property
    def size(self) -> int:
        return len(self._heap)

    def put(self, row: Row) -> None:
        heapq.heappush(self._heap, (int(row[0]), self._next, row))
        self._next += 1

    def take(self) -> Row:
        return heapq.heappop(self._heap)[2]

    def put_back(self, parts: Sequence[list[Row]]) -> None:
        for part in reversed(parts):
            for row in reversed(part):
                self._before -= 1
                heapq.heappush(self._heap, (int(row[0]), self._before, row))
