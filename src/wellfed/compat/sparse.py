"""Sparse tensors: `tf.sparse`."""

from __future__ import annotations

import functools

from wellfed.compat.arrays import sparse_tensor_to_dense as to_dense
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.compat.missing import refuse

__all__ = ["SparseTensor", "to_dense"]

__getattr__ = functools.partial(refuse, "sparse")
