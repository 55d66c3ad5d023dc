"""Features made of several: values cut into rows of rows, and values with their indices.

    values    [ 3, 1, 4, 1, 5 ]      RowSplits [ 0, 2, 2, 5 ]  }
                                     RowLengths [ 2, 0, 3 ]    }  all say [[3, 1], [], [4, 1, 5]]
                                     RowStarts [ 0, 2, 2 ]     }
                                     RowLimits [ 2, 2, 5 ]     }
                                     ValueRowIds [ 0, 0, 2, 2, 2 ]

Each example brings its own numbers; a batch is cut in one go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Ragged, Sparse
from wellfed.errors import FeatureLengthError
from wellfed.example.features import (
    Partition,
    RaggedFeature,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    SparseFeature,
    UniformRowLength,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# ValueRowIds may name rows that hold nothing, so a single id decides how many there are.
_MAX_ROWS = 1 << 24


def require(holds: NDArray[np.bool_], counts: NDArray[np.int64], name: str, due: str) -> None:
    """Raises FeatureLengthError for the first example where `holds` is not.

    Args:
      holds: bool (B,).
      counts: int64 (B,); what was found.
      name: The feature's.
      due: What was due.
    """
    if not holds.all():
        at = int(np.argmin(holds))
        raise FeatureLengthError(f"expected {due}, got {counts[at]}", name, at)


def partition_rows(name: str, feature: RaggedFeature, columns: list[Ragged]) -> Ragged:
    """Cuts the values, from the innermost partition outwards.

    Args:
      name: The feature's.
      feature: Its partitions are used.
      columns: One per partition that names a feature, then the values: a row per example each.
    """
    *parts, column = columns
    values: Any = column.values
    counts = column.lengths  # How many items of this level each example has.
    for partition in reversed(feature.partitions):
        if isinstance(partition, UniformRowLength):
            length = partition.length
            require(counts % length == 0, counts, name, f"a multiple of {length} values (UniformRowLength)")
            counts = counts // length
            if isinstance(values, Ragged):
                values = Ragged(values, np.arange(counts.sum() + 1) * length)
            else:
                values = values.reshape(-1, length, *values.shape[1:])
        else:
            values, counts = _cut(name, values, counts, partition, parts.pop())
    return Ragged.from_lengths(values, counts)


def _cut(name: str, values: Any, counts: NDArray[np.int64], partition: Any, part: Ragged) -> tuple[Ragged, Any]:
    """Rows of `values` by one partition, and how many rows each example has."""
    what = f"{type(partition).__name__}({partition.key!r})"
    lengths, rows = _row_lengths(name, what, partition, part, counts)
    ends = np.cumsum(rows)
    sums, falls = (np.concatenate([[0], np.cumsum(items)]) for items in (lengths, lengths < 0))
    require(falls[ends] == falls[ends - rows], counts, name, f"{what} that never falls over the values")
    require(sums[ends] - sums[ends - rows] == counts, counts, name, f"as many values as {what} cuts")
    return Ragged.from_lengths(values, lengths), rows


def _row_lengths(
    name: str, what: str, partition: Partition, part: Ragged, counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lengths of all rows of all examples, and how many rows each example has."""
    numbers: Any = part.values
    rows = part.lengths
    some = rows > 0
    first, last = part.row_splits[:-1][some], part.row_splits[1:][some] - 1
    match partition:
        case RowLengths():
            return numbers, rows
        case RowSplits() | RowLimits():
            before = np.append(0, numbers[:-1])
            before[first] = 0
            lengths = numbers - before
            if isinstance(partition, RowLimits):
                return lengths, rows
            begins = np.zeros(len(rows), np.int64)
            begins[some] = numbers[first]
            require(begins == 0, begins, name, f"{what} that begins with 0")
            return np.delete(lengths, first), rows - some
        case RowStarts():
            after = np.append(numbers[1:], 0)
            after[last] = counts[some]
            return after - numbers, rows
        case _:
            return _lengths_of_ids(name, what, part, counts)


def _lengths_of_ids(name: str, what: str, part: Ragged, counts: NDArray[np.int64]) -> tuple[Any, Any]:
    ids: Any = part.values
    some = part.lengths > 0
    first, last = part.row_splits[:-1][some], part.row_splits[1:][some] - 1
    require(part.lengths == counts, part.lengths, name, f"an id in {what} for each value")
    falls = np.diff(ids, prepend=0) < 0
    falls[first] = ids[first] < 0
    rows = np.zeros(len(part), np.int64)
    np.maximum.at(rows, np.flatnonzero(some).repeat(part.lengths[some])[falls], _MAX_ROWS + 1)
    require(rows <= _MAX_ROWS, part.lengths, name, f"ids in {what} that never fall, from 0 on")
    rows[some] = np.minimum(ids[last], _MAX_ROWS) + 1
    require(rows <= _MAX_ROWS, rows, name, f"at most {_MAX_ROWS} rows by {what}")
    starts = np.cumsum(rows) - rows
    return np.bincount(ids + starts.repeat(part.lengths), minlength=int(rows.sum())), rows


def merge_sparse(name: str, feature: SparseFeature, columns: list[Ragged]) -> Sparse:
    """Joins indices and values to one sparse column of shape (B, *size)."""
    *parts, column = columns
    counts = column.lengths
    row_of = np.arange(len(column)).repeat(counts)
    for key, size, part in zip(feature.index_key, feature.size, parts, strict=True):
        require(part.lengths == counts, part.lengths, name, f'as many indices in "{key}" as values')
        found: Any = part.values
        outside = (found < 0) | (found >= size)
        if outside.any():
            at = int(np.argmax(outside))
            raise FeatureLengthError(
                f'expected indices in "{key}" from 0 to {size - 1}, got {found[at]}', name, int(row_of[at])
            )
    indices = np.stack([row_of, *(np.asarray(part.values) for part in parts)], axis=1)
    values: Any = column.values
    if not feature.already_sorted:
        order = np.lexsort(indices.T[::-1])
        indices, values = indices[order], values[order]
    return Sparse(indices, values, (len(column), *feature.size))
