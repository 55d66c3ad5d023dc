"""A feed as a `tf.data.Dataset`. The one file of this room for TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.adapters.loader import check_dataset
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import MissingExtraError, PlanError
from wellfed.feed.tree import leaves, map_tree, native

try:
    import tensorflow as tf
except ImportError as error:
    raise MissingExtraError("wellfed.adapters.tensorflow", "TensorFlow", "tensorflow") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed import Dataset
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
      PlanError: `dataset` is none, there is no first element to take the signature from, or TensorFlow has no dtype for
        a column of it.
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
    with dataset.epoch(0) as feed:
        first = next(feed, None)
    if first is None:
        raise PlanError("to_tf_dataset", "the data set is empty, so its output_signature must be given")
    for path, column in leaves(first):
        _check(path, column)
    told = (spec for _, spec in leaves(dataset.element_spec))
    return map_tree(lambda column: _spec(column, next(told).shape), first)


def _value(column: Any) -> Any:
    if isinstance(column, Bytes):
        return column.to_object_array()
    if isinstance(column, Ragged):
        return tf.RaggedTensor.from_row_splits(_value(column.values), column.row_splits, validate=False)
    if isinstance(column, Sparse):
        return tf.SparseTensor(column.indices, _value(column.values), column.dense_shape)
    return native(column) if isinstance(column, np.ndarray) else column


def _check(path: str, column: Any) -> None:
    try:
        _spec(column, ())
    except TypeError:
        kind = getattr(column, "dtype", type(column).__name__)
        what = f"TensorFlow has no tensor for {path or 'the element'} ({kind}): leave it out with select_columns(), or "
        raise PlanError("to_tf_dataset", f"{what}make numbers of it with map()") from None


def _spec(column: Any, shape: tuple[int | None, ...]) -> Any:
    """The signature of a column whose sides of length None may differ between elements."""
    value = _value(column)
    if isinstance(value, tf.RaggedTensor):
        inner = value.flat_values.shape[1:].as_list()
        return tf.RaggedTensorSpec([None] * (value.ragged_rank + 1) + inner, value.dtype, ragged_rank=value.ragged_rank)
    if isinstance(value, tf.SparseTensor):
        return tf.SparseTensorSpec([None, *column.dense_shape[1:]], value.dtype)
    if isinstance(column, (bytes, Bytes)):
        return tf.TensorSpec([None, *column.shape[1:]] if isinstance(column, Bytes) else [], tf.string)
    return tf.TensorSpec([None, *shape[1:]] if shape else [], np.asarray(value).dtype)
