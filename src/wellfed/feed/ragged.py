"""Rows of different length in a feed: `Steps`, which a batch pads, and rows put together as `Ragged`.

A column of a unit holds more rows than a batch, so what a batch pads must not be padded before: the shape would depend
on how many rows the unit happens to hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse, concat_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Steps(Ragged):
    """Rows of any number of steps that become one padded array when they are batched.

    Args:
      values: As in `Ragged`.
      row_splits: As in `Ragged`.
      padding: What pads shorter rows; 0 or b"" where None.

    Attributes:
      padding: As given.
    """

    __slots__ = ("padding",)

    def __init__(self, values: Any, row_splits: ArrayLike, padding: Any = None) -> None:
        super().__init__(values, row_splits)
        self.padding = padding

    @classmethod
    def concat(cls, columns: Sequence[Ragged]) -> Steps:
        """Puts the rows of columns one after another; the first says how they are padded."""
        joined = Ragged.concat(columns)
        return cls(joined.values, joined.row_splits, getattr(columns[0], "padding", None))

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        several = isinstance(key, (slice, np.ndarray, list))
        return Steps(found.values, found.row_splits, self.padding) if several else found

    def to_padded(self, value: Any = None, length: int | Sequence[int | None] | None = None) -> Any:
        """As `Ragged.to_padded`; padded with `padding` where no value is given."""
        return super().to_padded(self.padding if value is None else value, length)


def ragged_of(rows: Sequence[Any]) -> Ragged:
    """Rows as one `Ragged`: arrays of one dtype that differ in their first dimension, `Bytes`, or `Ragged`.

    Raises:
      ValueError: Their other dimensions differ.
    """
    columns = [row if isinstance(row, (Bytes, Ragged)) else _array(row) for row in rows]
    return Ragged.from_lengths(concat_columns(columns), [len(column) for column in columns])


def _array(row: Any) -> Any:
    array = np.asarray(row)
    return array if array.ndim else array[None]


def owned(column: Any) -> Any:
    """The column in memory of its own: a slice no longer keeps what it was cut from."""
    if isinstance(column, Ragged):
        values = owned(column.values)
        if isinstance(column, Steps):
            return Steps(values, column.row_splits.copy(), column.padding)
        return Ragged(values, column.row_splits.copy())
    if isinstance(column, Sparse):
        return Sparse(column.indices.copy(), owned(column.values), column.dense_shape)
    if isinstance(column, Bytes):
        return column.compact()
    return column.copy() if isinstance(column, np.ndarray) else column
