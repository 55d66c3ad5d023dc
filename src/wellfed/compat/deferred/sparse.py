"""Sparse tensors: where values stand, and the values, of which most are none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wellfed.columns import Bytes, Sparse
from wellfed.compat.deferred.eager import eager, is_deferred, plain
from wellfed.compat.deferred.graph import default_session
from wellfed.compat.deferred.shapes import TensorShape


class SparseTensorValue(NamedTuple):
    """What a session gives for a sparse tensor: `tf.compat.v1.SparseTensorValue`.

    Attributes:
      indices: int64 array `(N, rank)`.
      values: Array `(N,)`.
      dense_shape: int64 array `(rank,)`.
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """Values with their indices; deferred where any part is.

    Attributes:
      indices: int64, shape (n, rank), in row-major order.
      values: The n values.
      dense_shape: int64, shape (rank,): the shape of the whole.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        if not is_deferred((indices, values, dense_shape)):
            indices = eager(np.asarray(plain(indices), np.int64))
            dense_shape = eager(np.asarray(plain(dense_shape), np.int64))
            values = eager(np.asarray(plain(values)))
        self.indices, self.values, self.dense_shape = indices, values, dense_shape

    @classmethod
    def from_column(cls, column: Sparse) -> SparseTensor:
        """Makes one of what the example room gives."""
        values = column.values.to_object_array() if isinstance(column.values, Bytes) else column.values
        return cls(column.indices, values, column.dense_shape)

    @property
    def dtype(self) -> Any:
        """The kind of the values."""
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole."""
        return TensorShape(None if is_deferred(self.dense_shape) else plain(self.dense_shape))

    def get_shape(self) -> TensorShape:
        """Gives what is known of the shape of the whole."""
        return self.shape

    def as_fetch(self) -> SparseTensorValue:
        """Gives the parts that a session has to run."""
        return SparseTensorValue(self.indices, self.values, self.dense_shape)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> Any:
        """Gives the parts' values, in the default session where none is given."""
        return default_session(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape!r})"


def to_dense(indices: Any, values: Any, dense_shape: Any, default_value: Any = None) -> Any:
    """Gives the array of a sparse tensor's parts; places without a value hold `default_value`, 0 or b""."""
    values = np.asarray(values)
    fill = (b"" if values.dtype == object else 0) if default_value is None else default_value
    dense = np.full([int(size) for size in np.asarray(dense_shape)], fill, values.dtype)
    dense[tuple(np.asarray(indices).T)] = values
    return dense
