"""Runs operations by columns: all rows at once, where each row is what one run would be given.

    Same          one value for all rows
    array         rows of one shape, along axis 0
    Bytes         rows that are strings, or arrays of them
    Ragged        rows of different length
    list          rows that are anything

An operation says how by its `rows`: a `Call` in one of its styles, something with `columns` (parsing), or "rows", where
its `compute` is called for each row. One without cannot be run by columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.compat.deferred.graph import Operation, Tensor
from wellfed.compat.deferred.lift import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

# Rows above this stay a list of arrays: stacking them would cost more than the next operation gains.
_STACK_ROW_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all rows."""

    value: Any


class Batch:
    """The rows of one call, for the operations that are run on them.

    Attributes:
      count: How many rows.
      seeds: One seed a row, from which all its randomness comes.
    """

    def __init__(self, count: int, seeds: Any) -> None:
        self.count, self.seeds = count, seeds

    def generator(self, row: int, salt: int) -> np.random.Generator:
        """Gives the random numbers of a row for one operation."""
        return np.random.Generator(np.random.Philox(key=[int(self.seeds[row]), salt]))


def can_run(op: Operation) -> bool:
    """Says whether an operation can be run by columns."""
    return op.rows is not None or op.type in ("Const", "NoOp")


def run(op: Operation, inputs: Sequence[Any], batch: Batch, number: int) -> Sequence[Any]:
    """Gives the columns of an operation's outputs.

    Args:
      op: The operation; `can_run` holds.
      inputs: The columns of its inputs.
      batch: The rows.
      number: Tells the operation from others that draw random numbers.
    """
    how = op.rows
    if how is None:
        return [Same(value) for value in op.compute(None)]
    if isinstance(how, Call):
        if all(isinstance(column, Same) for column in inputs) and how.style != "random":
            return [Same(value) for value in op.compute(None, *[column.value for column in inputs])]
        return _run_call(op, how, inputs, batch, number)
    if hasattr(how, "columns"):
        found: Sequence[Any] = how.columns(_strings(inputs[0], batch.count))
        return found
    return _each(batch.count, inputs, lambda _, *values: op.compute(None, *values))


def _run_call(op: Operation, call: Call, inputs: Sequence[Any], batch: Batch, number: int) -> Sequence[Any]:
    bound = call.bind(op.inputs, first=call.style == "random")
    if callable(call.style):
        made = call.style(call, op.inputs, inputs, batch.count)
        if made is not None:
            return [made]
    elif call.style == "elementwise" and all(isinstance(column, Same | np.ndarray) for column in inputs):
        return [bound(*_aligned(inputs))]
    elif call.style == "picture" and isinstance(inputs[0], np.ndarray) and all(isinstance(c, Same) for c in inputs[1:]):
        return [bound(inputs[0], *[column.value for column in inputs[1:]])]
    if call.style == "random":
        return _each(batch.count, inputs, lambda row, *values: (bound(batch.generator(row, number), *values),))
    return _each(batch.count, inputs, lambda _, *values: tuple(bound(*values)) if call.many else (bound(*values),))


def _aligned(inputs: Sequence[Any]) -> list[Any]:
    """Gives arrays whose rows broadcast as single rows would: those of lower rank get dimensions after the first."""
    ranks = [np.ndim(c.value) if isinstance(c, Same) else c.ndim - 1 for c in inputs]
    highest = max(ranks)
    found = []
    for column, rank in zip(inputs, ranks, strict=True):
        if isinstance(column, Same):
            found.append(column.value)
        elif rank < highest:
            found.append(column.reshape(len(column), *[1] * (highest - rank), *column.shape[1:]))
        else:
            found.append(column)
    return found


def _each(count: int, inputs: Sequence[Any], compute: Any) -> list[Any]:
    """Runs row by row."""
    rows = zip(*(iterated(column, count) for column in inputs), strict=True) if inputs else iter([()] * count)
    outputs = [compute(number, *values) for number, values in enumerate(rows)]
    return [collected(list(column)) for column in zip(*outputs, strict=True)]


def iterated(column: Any, count: int) -> Any:
    """Gives the rows of a column, one after another."""
    if isinstance(column, Same):
        return [column.value] * count
    if isinstance(column, Bytes) and len(column.shape) > 1:
        return column.to_object_array()
    if isinstance(column, Ragged) and isinstance(column.values, Bytes):
        return (row.to_object_array() if isinstance(row, Bytes) else row for row in column)
    return column


def collected(values: list[Any]) -> Any:
    """Gives the column of rows: an array where they are alike and small, else the list itself."""
    first = values[0]
    if isinstance(first, np.generic):
        return np.array(values, first.dtype) if all(type(v) is type(first) for v in values) else values
    small = isinstance(first, np.ndarray) and not first.dtype.hasobject and first.nbytes <= _STACK_ROW_BYTES
    if small and all(isinstance(v, np.ndarray) and v.shape == first.shape and v.dtype == first.dtype for v in values):
        return np.stack(values)
    return values


def _strings(column: Any, count: int) -> Any:
    if isinstance(column, Bytes):
        return column
    return list(iterated(column, count))


def as_column(column: Any, count: int) -> Any:
    """Gives a column as the feed takes it: an array, `Bytes` or `Ragged`; rows that differ in an array of objects."""
    if isinstance(column, Same):
        value = column.value
        if isinstance(value, bytes):
            return Bytes.from_list([value] * count)
        return np.repeat(np.asarray(value)[None], count, axis=0)
    if not isinstance(column, list):
        return column
    if column and isinstance(column[0], bytes):
        return Bytes.from_list(column)
    if column and all(isinstance(row, np.ndarray | np.generic) for row in column):
        arrays = [np.asarray(row) for row in column]
        if all(row.shape == arrays[0].shape and row.dtype == arrays[0].dtype for row in arrays):
            return np.stack(arrays)
    boxed = np.empty(len(column), object)
    for at, row in enumerate(column):
        boxed[at] = row
    return boxed


__all__ = ["Batch", "Same", "Tensor", "as_column", "can_run", "collected", "iterated", "run"]
