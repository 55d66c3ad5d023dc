"""Values with their indices: `Sparse`, a column most of whose places hold nothing.

indices      [[0, 2], [0, 5], [2, 1]]      (row, place) of each value
values       [  20,     50,     10  ]      array or Bytes
dense_shape  (3, 10)                       row 1 holds no value
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Sparse"]


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Values with their indices, as tf.SparseTensor; where it has rows, a column of them.

    `sparse[3]` is the row, without the first dimension; slices, index arrays and masks give the rows they pick. Slices
    copy indices and no values.

    Attributes:
      indices: int64 array (n, ndim), in row-major order unless the spec said that its input is sorted.
      values: The n values: an array or `Bytes`.
      dense_shape: The shape of the whole.

    Example:
      >>> sparse = Sparse(np.array([[0, 2], [0, 5], [2, 1]]), np.array([20, 50, 10]), (3, 10))
      >>> sparse[0].indices.tolist(), sparse[0].values.tolist(), sparse[0].dense_shape
      ([[2], [5]], [20, 50], (10,))
      >>> len(sparse), sparse[1:].indices.tolist()
      (3, [[1, 1]])
    """

    indices: NDArray[np.int64]
    values: Any
    dense_shape: tuple[int, ...]
    _rows: Any = field(default=None, init=False, repr=False)  # The first index of each value, once it is known to rise.

    @classmethod
    def concat(cls, columns: Sequence[Sparse]) -> Sparse:
        """Puts the rows of columns one after another; copies them.

        Raises:
          ValueError: `columns` is empty, or their rows differ in shape.
        """
        shape = _one_shape([column.dense_shape[1:] for column in columns])
        starts = np.cumsum([0, *(len(column) for column in columns)])
        indices = np.concatenate([column.indices for column in columns])
        indices[:, 0] += np.repeat(starts[:-1], [len(column.indices) for column in columns])
        return cls(indices, _joined([column.values for column in columns]), (int(starts[-1]), *shape))

    @classmethod
    def stack(cls, rows: Sequence[Sparse]) -> Sparse:
        """The column whose rows are `rows`; copies them.

        Raises:
          ValueError: `rows` is empty, or they differ in shape.
        """
        shape = _one_shape([row.dense_shape for row in rows])
        first = np.repeat(np.arange(len(rows)), [len(row.indices) for row in rows])
        indices = np.concatenate([first[:, None], np.concatenate([row.indices for row in rows])], axis=1)
        return cls(indices, _joined([row.values for row in rows]), (len(rows), *shape))

    def reordered(self) -> Sparse:
        """The same with its values in row-major order of their indices, as `tf.sparse.reorder`; copies them."""
        order = np.lexsort(self.indices.T[::-1])
        return Sparse(self.indices[order], self.values[order], self.dense_shape)

    def to_dense(self, default_value: Any = None) -> NDArray[Any]:
        """An array of `dense_shape`, of `bytes` objects where values are `Bytes`.

        Args:
          default_value: Stands where no value is; 0 or b"" where None.
        """
        values = self.values if isinstance(self.values, np.ndarray) else self.values.to_object_array()
        nothing: Any = b"" if values.dtype.hasobject else 0
        out = np.full(self.dense_shape, nothing if default_value is None else default_value, values.dtype)
        out[tuple(self.indices.T)] = values
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("a Sparse becomes no array by itself, which could be large: to_dense() makes one")

    def __len__(self) -> int:
        return self.dense_shape[0]

    def __iter__(self) -> Iterator[Sparse]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key: Any) -> Sparse:
        if self._rows is None:
            first = np.ascontiguousarray(self.indices[:, 0])
            if (first[1:] < first[:-1]).any():
                return self.reordered()[key]
            object.__setattr__(self, "_rows", first)
        shape = self.dense_shape[1:]
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(len(self))
            first, last = np.searchsorted(self._rows, [start, max(start, stop)]).tolist()
            indices = self.indices[first:last].copy()
            indices[:, 0] -= start
            return Sparse(indices, self.values[first:last], (max(stop - start, 0), *shape))
        rows = np.arange(len(self))[key]
        if not isinstance(rows, np.ndarray):
            first, last = np.searchsorted(self._rows, [rows, rows + 1]).tolist()
            return Sparse(self.indices[first:last, 1:].copy(), self.values[first:last], shape)
        return self._picked(rows, shape)

    def _picked(self, rows: NDArray[np.int64], shape: tuple[int, ...]) -> Sparse:
        starts = np.searchsorted(self._rows, rows)
        lengths = np.searchsorted(self._rows, rows, side="right") - starts
        places = np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        indices = self.indices[places]
        indices[:, 0] = np.repeat(np.arange(len(rows)), lengths)
        return Sparse(indices, self.values[places], (len(rows), *shape))


def _one_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    found = sorted(set(shapes))
    if len(found) != 1:
        raise ValueError(f"rows of one shape are due, got {found or 'none'}")
    return found[0]


def _joined(values: Sequence[Any]) -> Any:
    return np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0].concat(values)
