"""Sparse tensors: `tf.sparse`."""

from __future__ import annotations

from wellfed.compat.arrays import sparse_tensor_to_dense as to_dense
from wellfed.compat.deferred.sparse import SparseTensor

__all__ = ["SparseTensor", "to_dense"]
