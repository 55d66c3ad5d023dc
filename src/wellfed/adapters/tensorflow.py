"""A feed as a `tf.data.Dataset`. The one file of this room for TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.adapters.loader import check_dataset
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import MissingExtraError, PlanError
from wellfed.feed.specs import RaggedTensorSpec, SparseTensorSpec
from wellfed.feed.tree import leaves, map_tree, native

try:
    import tensorflow as tf
except ImportError as error:
    raise MissingExtraError("wellfed.adapters.tensorflow", "TensorFlow", "tensorflow") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed import Dataset
    from wellfed.feed.specs import TensorSpec
    from wellfed.feed.tree import Tree

__all__ = ["to_tf_dataset"]


def to_tf_dataset(dataset: Dataset, output_signature: Any = None) -> tf.data.Dataset:
    """A `tf.data.Dataset` of the data set's elements: for `model.fit`, or to go on with tf.data's verbs.

    Args:
      dataset: What to deliver; best batched, since each element passes through Python once.
      output_signature: A tree of `tf.TypeSpec` like an element, as in `tf.data.Dataset.from_generator`. None: that of
        the data set's `element_spec`, with the first dimension of every array left open (the last batch may be
        smaller).

    Returns:
      A `tf.data.Dataset`; each iteration of it is the next epoch of `dataset`. Arrays are copied into tensors once,
      `Bytes` become `tf.string`, `Ragged` become `tf.RaggedTensor`, `Sparse` become `tf.SparseTensor`.

    Raises:
      PlanError: `dataset` is none, a function hides the form of an element and there is none to look at, or TensorFlow
        has no dtype for a column of it.
    """
    check_dataset("to_tf_dataset", dataset)
    if output_signature is None:
        output_signature = _signature(dataset)

    def elements() -> Iterator[Tree]:
        with iter(dataset) as feed:
            for element in feed:
                yield map_tree(_value, element)

    return tf.data.Dataset.from_generator(elements, output_signature=output_signature)


def _signature(dataset: Dataset) -> Any:
    try:
        told = dataset.element_spec
    except PlanError as error:
        error.add_note("output_signature= tells the form of elements that cannot be made.")
        raise
    for path, leaf in leaves(told):
        try:
            _spec(leaf)
        except TypeError:
            what = f"TensorFlow has no tensor for {path or 'the element'} ({leaf.dtype})"
            to_do = "leave it out with select_columns(), or make numbers of it with map()"
            raise PlanError("to_tf_dataset", f"{what}: {to_do}") from None
    return map_tree(_spec, told)


def _value(column: Any) -> Any:
    if isinstance(column, Bytes):
        return column.to_object_array()
    if isinstance(column, Ragged):
        return tf.RaggedTensor.from_row_splits(_value(column.values), column.row_splits, validate=False)
    if isinstance(column, Sparse):
        return tf.SparseTensor(column.indices, _value(column.values), column.dense_shape)
    return native(column) if isinstance(column, np.ndarray) else column


def _spec(leaf: TensorSpec) -> Any:
    """The first dimension is left open, and those that may differ."""
    dtype = tf.string if leaf.dtype is bytes else tf.as_dtype(leaf.dtype)
    shape = [None, *leaf.shape[1:]] if leaf.shape else []
    if isinstance(leaf, SparseTensorSpec):
        return tf.SparseTensorSpec(shape, dtype)
    if isinstance(leaf, RaggedTensorSpec) and leaf.ragged_rank:
        shape[: leaf.ragged_rank + 1] = [None] * (leaf.ragged_rank + 1)
        return tf.RaggedTensorSpec(shape, dtype, ragged_rank=leaf.ragged_rank)
    return tf.TensorSpec(shape, dtype)
