"""Heavy batches in parts: several threads fill one batch, each its own rows of one allocation.

    rows      0 1 2 3 4 5 6 7 | 8 9 ...          the engine counts rows, not batches
    units     [0 1 2][3 4 5][6 7] [8 ...          parts never reach over the end of a batch
              [0 ... 7][8 ... 23]                 where rows are light: whole batches, many at a time

A transform that can tell how large its result is writes its rows straight into the batch; whatever else a part holds is
copied when the batch is put together. What comes out does not depend on how batches were cut.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import concat_columns
from wellfed.feed import plan
from wellfed.feed.engine import UnitSize
from wellfed.feed.order import Positions
from wellfed.feed.pipeline import Through
from wellfed.feed.stages import STAGES
from wellfed.feed.tree import map_trees, stack
from wellfed.feed.unit import Unit, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed.many import Operator
    from wellfed.feed.pipeline import Pipeline

_HEAVY_SECONDS = 0.1  # A batch that takes longer is cut into parts; smaller ones gain only in the first. [s]
_PART_SECONDS = 0.02  # Some dozen pictures: long enough to hide what handing a part over costs. [s]


@dataclass
class PartSize(UnitSize):
    """As `UnitSize`, in rows: whole batches, but for batches that take long, whose parts are sized by time alone.

    Attributes:
      batch: Rows in a batch.
      least: Rows in a part.
      row_seconds: What a row took, on average over the last units. [s]
    """

    batch: int = 1
    least: int = 1
    row_seconds: float = 0.0

    def learn(self, elements: int, nbytes: int, seconds: float) -> None:
        """Takes what a unit of `elements` rows cost into account."""
        super().learn(elements, nbytes, seconds)
        row = seconds / elements
        self.row_seconds += (row - self.row_seconds) / (4 if self.row_seconds else 1)  # One thread may be held up.
        if self.row_seconds * self.batch <= _HEAVY_SECONDS:
            self.elements = max(self.elements, self.batch)
        else:
            self.elements = max(int(_PART_SECONDS / self.row_seconds), self.least)


class _Memory:
    """The allocation of one column of one batch, made by whichever part comes first."""

    def __init__(self, pool: Any, rows: int) -> None:
        self._pool, self._rows = pool, rows
        self._lock = threading.Lock()
        self.array: np.ndarray[Any, Any] | None = None

    def part(self, first: int, rows: int) -> _Slice:
        """What stands for a pool to the stage that makes these rows."""
        return _Slice(self, first, rows)

    def take(self, nbytes: int, first: int, rows: int) -> np.ndarray[Any, Any]:
        row = nbytes // max(rows, 1)
        with self._lock:
            if self.array is None:
                self.array = self._pool.take(row * self._rows)
        if len(self.array) != row * self._rows:  # Rows of another size: not one column.
            return self._pool.take(nbytes)  # type: ignore[no-any-return]
        return self.array[first * row : first * row + nbytes]


@dataclass(frozen=True, slots=True)
class _Slice:
    memory: _Memory
    first: int
    rows: int

    def take(self, nbytes: int) -> np.ndarray[Any, Any]:
        return self.memory.take(nbytes, self.first, self.rows)


class Parts:
    """The work of an engine that counts the rows of a plan's last `batch`.

    Args:
      pipeline: The plan at work.
      batch: Its last batch.
    """

    def __init__(self, pipeline: Pipeline, batch: Through) -> None:
        self._pipeline, self._batch, self._rows = pipeline, batch, batch.source
        node = batch.node
        assert isinstance(node, plan.Batches)
        self.size, self._drop = node.batch_size, node.drop_remainder
        self._end = -1
        self._lock = threading.Lock()
        self._memories: dict[int, _Memory] = {}

    def unit_size(self, target_bytes: int, threads: int) -> PartSize:
        """How units are sized: the first batch is cut, so that it comes soon."""
        least = max(self.size // (2 * threads), 1)  # Enough parts for no thread to wait long for the others.
        return PartSize(target_bytes, elements=least, batch=self.size, least=least)

    def available(self, start: int, stop: int) -> int:
        """How many rows below `stop` exist, to the end of a part or of whole batches from `start` on."""
        size = self.size
        if stop - start >= size and not start % size:
            stop = start + (stop - start) // size * size
        else:
            parts = -(-size // max(stop - start, 1))  # Of like size, so that no thread gets a rest of one row.
            stop = min(start + -(-size // parts), (start // size + 1) * size)
        found = self._rows.available(stop)
        if self._drop:
            found = min(found, self._batch.available(-(-stop // size)) * size)
        if found < stop:
            self._end = found
        return max(found, start)

    def work(self, start: int, stop: int) -> Unit:
        """Makes rows [start, stop): batches, where they are whole, else a part of one."""
        size = self.size
        if not start % size and (not stop % size or (stop == self._end and stop - start > size)):
            return self._pipeline.work(start // size, -(-stop // size))
        positions = Positions(range(start, stop), self._pipeline.epoch)
        unit = _with_memory(self._rows, positions, self._memory(start // size), start % size)
        unit.as_columns()
        return replace(unit, is_part=True)

    def _memory(self, batch: int) -> _Memory:
        with self._lock:
            if batch not in self._memories:
                self._memories[batch] = _Memory(self._batch.context.pool, self.size)
            return self._memories[batch]

    def whole(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """The units with parts put together to batches, whose positions they have from there on."""
        held: dict[int, list[Unit]] = {}
        for unit in units:
            batch = unit.start // self.size
            if not unit.is_part:
                unit.start = batch
                yield unit
                continue
            parts = held.setdefault(batch, [])
            parts.append(unit)
            if sum(map(len, parts)) == self.size:
                yield self._join(batch, held.pop(batch))
        for batch, parts in held.items():  # The last one of all, where it is smaller.
            yield self._join(batch, parts)

    def _join(self, batch: int, parts: list[Unit]) -> Unit:
        parts.sort(key=lambda part: part.start)
        return self._batch.meter.run(lambda: self._joined(batch, parts))

    def _joined(self, batch: int, parts: list[Unit]) -> Unit:
        with self._lock:
            memory = self._memories.pop(batch, None)
        array = None if memory is None else memory.array
        columns = map_trees(lambda pieces: _joined(pieces, array), [part.as_columns() for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        unit = Unit(columns, None, rows, sources_of(parts))
        positions = Positions(range(batch, batch + 1), self._pipeline.epoch)
        made = STAGES[type(self._batch.node)](self._batch.node, unit, positions, self._batch.context)
        made.start, made.replaced = batch, tuple(replace(row, at=0) for part in parts for row in part.replaced)
        return made


def _with_memory(rows: Operator, positions: Positions, memory: _Memory, first: int) -> Unit:
    """The unit of these rows, with what the last map makes in the batch's memory."""
    if not isinstance(rows, Through) or not isinstance(rows.node, plan.Map):
        return rows.make(positions)
    return replace(rows, context=replace(rows.context, pool=memory.part(first, len(positions)))).make(positions)


def _joined(pieces: list[Any], memory: np.ndarray[Any, Any] | None) -> Any:
    """The pieces as one column: where they lie in `memory` one behind the other, without copying."""
    if len(pieces) == 1:
        return pieces[0]
    if memory is not None and all(type(piece) is np.ndarray and piece.flags.c_contiguous for piece in pieces):
        starts = [piece.__array_interface__["data"][0] for piece in pieces]
        ends = np.cumsum([piece.nbytes for piece in pieces]) + memory.__array_interface__["data"][0]
        if starts == [memory.__array_interface__["data"][0], *ends[:-1].tolist()]:
            rows = sum(map(len, pieces))
            nbytes = int(ends[-1] - memory.__array_interface__["data"][0])
            return memory[:nbytes].view(pieces[0].dtype).reshape(rows, *pieces[0].shape[1:])
    if len({(type(piece), getattr(piece, "shape", (0,))[1:], getattr(piece, "dtype", None)) for piece in pieces}) > 1:
        return stack([row for piece in pieces for row in piece])  # Rows that differ; whoever needs an array says so.
    return concat_columns(pieces)


def last_batch(pipeline: Pipeline) -> Through | None:
    """The batch that a plan ends with, where its rows may be heavy: a map makes them."""
    top = pipeline.top
    while isinstance(top, Through) and isinstance(top.node, plan.Prefetch):
        top = top.source
    if not isinstance(top, Through) or not isinstance(top.node, plan.Batches):
        return None
    maps = any(isinstance(step, plan.Map) for step in plan.walk(top.node.source))
    return top if maps and not plan.has_batches(top.node.source) else None
