"""What both libraries return, as comparable Python; and specifications in TensorFlow's classes."""

from __future__ import annotations

import numpy as np
import pytest

from wellfed import example as wf

tf = pytest.importorskip("tensorflow")


def to_tensorflow(feature):
    """The same specification in TensorFlow's classes."""
    dtype = tf.string if feature.dtype is bytes else tf.as_dtype(feature.dtype)
    match feature:
        case wf.FixedLenFeature():
            return tf.io.FixedLenFeature(feature.shape, dtype, feature.default_value)
        case wf.VarLenFeature():
            return tf.io.VarLenFeature(dtype)
        case wf.FixedLenSequenceFeature():
            return tf.io.FixedLenSequenceFeature(feature.shape, dtype, feature.allow_missing, feature.default_value)
        case wf.SparseFeature():
            keys, sizes = list(feature.index_key), list(feature.size)
            return tf.io.SparseFeature(keys, feature.value_key, dtype, sizes, feature.already_sorted)
        case wf.RaggedFeature():
            parts = [_partition(part) for part in feature.partitions]
            return tf.io.RaggedFeature(dtype, feature.value_key, parts, tf.int64, validate=True)
    raise TypeError(feature)


def _partition(part):
    given = (getattr(part, name) for name in part.__slots__)
    return getattr(tf.io.RaggedFeature, type(part).__name__)(*given)


def all_to_tensorflow(features):
    """A mapping of specifications."""
    return {name: to_tensorflow(feature) for name, feature in features.items()}


def plain(column):
    """A column of either library as comparable Python: types, shapes and every bit of the values."""
    match column:
        case tf.SparseTensor():
            return "sparse", column.indices.numpy().tolist(), plain(column.values), column.dense_shape.numpy().tolist()
        case tf.RaggedTensor():
            return "ragged", plain(column.values), column.row_splits.numpy().tolist()
        case wf.Ragged():
            return "ragged", plain(column.values), column.row_splits.tolist()
        case wf.Sparse():
            return "sparse", column.indices.tolist(), plain(column.values), list(column.dense_shape)
        case wf.Bytes():
            return "strings", column.shape, column.reshape(-1).to_list()
        case bytes():
            return "strings", (), [column]
    array = column.numpy() if isinstance(column, tf.Tensor) else column
    if isinstance(array, bytes):
        return "strings", (), [array]
    array = np.asarray(array)
    if array.dtype == object:
        return "strings", array.shape, array.reshape(-1).tolist()
    return str(array.dtype), array.shape, array.tobytes()


def all_plain(columns):
    """A mapping of columns."""
    return {name: plain(column) for name, column in columns.items()}
