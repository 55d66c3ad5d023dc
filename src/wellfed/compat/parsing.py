"""Examples to tensors: `tf.io.parse_single_example` and its kin, and what features are parsed into.

FixedLenFeature, FixedLenSequenceFeature   an array
VarLenFeature, SparseFeature               a SparseTensor
RaggedFeature                              a Ragged; without partitions in one Example, an array
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import example
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.compat.deferred.dtypes import as_dtype, int64
from wellfed.compat.deferred.eager import as_value, eager, is_deferred, plain
from wellfed.compat.deferred.graph import Operation, Tensor
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.example.parse import first_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# --- Features ------------------------------------------------------------------------------------


def _kind(dtype: Any) -> Any:
    """Gives a dtype as the example room has it."""
    found = as_dtype(dtype)
    return bytes if found.name == "string" else found.dtype


def _sizes(shape: Any) -> Any:
    return TensorShape(shape).as_list()


def FixedLenFeature(shape: Any, dtype: Any, default_value: Any = None) -> example.FixedLenFeature:
    """Gives the feature of exactly as many values as `shape` holds. See `wellfed.FixedLenFeature`."""
    return example.FixedLenFeature(_sizes(shape), _kind(dtype), plain(default_value))


def FixedLenSequenceFeature(
    shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None
) -> example.FixedLenSequenceFeature:
    """Gives the feature of any number of items of one shape. See `wellfed.example.FixedLenSequenceFeature`."""
    return example.FixedLenSequenceFeature(_sizes(shape), _kind(dtype), allow_missing, plain(default_value))


def VarLenFeature(dtype: Any) -> example.VarLenFeature:
    """Gives the feature of any number of values. See `wellfed.VarLenFeature`."""
    return example.VarLenFeature(_kind(dtype))


def SparseFeature(
    index_key: Any, value_key: str, dtype: Any, size: Any, already_sorted: bool = False
) -> example.SparseFeature:
    """Gives the feature of values with their indices. See `wellfed.example.SparseFeature`."""
    return example.SparseFeature(index_key, value_key, _kind(dtype), size, already_sorted)


class _RaggedFeatureMaker:
    """Makes RaggedFeatures, and holds the kinds of partitions as TensorFlow's class does."""

    RowSplits = example.RaggedFeature.RowSplits
    RowLengths = example.RaggedFeature.RowLengths
    RowStarts = example.RaggedFeature.RowStarts
    RowLimits = example.RaggedFeature.RowLimits
    ValueRowIds = example.RaggedFeature.ValueRowIds
    UniformRowLength = example.RaggedFeature.UniformRowLength

    def __call__(
        self, dtype: Any, value_key: str | None = None, partitions: Sequence[Any] = (), **_: Any
    ) -> example.RaggedFeature:
        return example.RaggedFeature(_kind(dtype), value_key, partitions)


RaggedFeature = _RaggedFeatureMaker()

# --- Examples ------------------------------------------------------------------------------------


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Gives the features of one serialized Example. See `wellfed.parse_single_example`.

    Args:
      serialized: The Example.
      features: Feature name to specification.
      example_names: Ignored.
      name: The operation's.

    Returns:
      By feature: an array or a number; a `SparseTensor` for VarLenFeature and SparseFeature; a `Ragged` for a
      RaggedFeature with partitions. Deferred where `serialized` is.

    Raises:
      ExampleError: The Example does not fit the features; inside a run an `InvalidArgumentError`, with it as cause.
    """
    del example_names
    parts = _Parts(features, single=True)
    if not is_deferred(serialized):
        return parts.made(parts.values(example.parse_single_example(as_value(serialized), features)))
    parser = example.compile_features(features)

    def parse(text: bytes) -> dict[str, Any]:
        return {name: first_row(column) for name, column in parser.parse([text]).items()}

    return parts.deferred(serialized, parse, name)


def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Gives the features of a vector of serialized Examples, by columns. See `wellfed.parse_example`.

    Args:
      serialized: The Examples.
      features: Feature name to specification.
      example_names: Ignored.
      name: The operation's.

    Returns:
      As for `parse_single_example`, with one more dimension in front.

    Raises:
      ExampleError: As for `parse_single_example`.
    """
    del example_names
    parts = _Parts(features, single=False)
    if not is_deferred(serialized):
        return parts.made(parts.values(example.parse_example(as_value(serialized).tolist(), features)))
    return parts.deferred(serialized, lambda texts: example.parse_example(texts.tolist(), features), name)


class _Parts:
    """The tensors that features come in: one, or three for a sparse one."""

    def __init__(self, features: Mapping[str, Any], *, single: bool) -> None:
        self.features, self.single = dict(features), single

    def values(self, columns: Mapping[str, Any]) -> list[Any]:
        """Gives the parts' values, in order, of what the example room gives."""
        return [part for name, feature in self.features.items() for part in self._split(feature, columns[name])]

    def made(self, parts: Sequence[Any]) -> dict[str, Any]:
        """Gives the features of their parts."""
        left = iter(parts)
        found = {}
        for name, feature in self.features.items():
            if isinstance(feature, example.VarLenFeature | example.SparseFeature):
                found[name] = SparseTensor(next(left), next(left), next(left))
            else:
                found[name] = eager(next(left))
        return found

    def deferred(self, serialized: Tensor, parse: Any, name: str | None) -> dict[str, Any]:
        """Gives the features of a tensor."""
        kind = "ParseSingleExample" if self.single else "ParseExample"
        outputs = [static for feature in self.features.values() for static in self.static(feature)]
        op = Operation(kind, [serialized], outputs, lambda _, text: tuple(self.values(parse(text))), name)
        if self.single:
            op.rows = self
        return self.made(op.outputs)

    def columns(self, serialized: Any) -> list[Any]:
        """Gives the parts of many Examples at once, one row an Example: how a traced function parses."""
        example.compile_features(self.features)  # Refuses what does not fit an Example.
        parsed = example.parse_example(serialized, {name: _one_row(f) for name, f in self.features.items()})
        found: list[Any] = []
        for name, feature in self.features.items():
            column = parsed[name]
            if isinstance(feature, example.VarLenFeature):
                lengths = column.lengths
                places = np.arange(len(column.values)) - np.repeat(column.row_splits[:-1], lengths)
                found += [Ragged(places[:, None], column.row_splits), column, lengths[:, None]]
            elif isinstance(feature, example.SparseFeature):
                raise NotImplementedError("a SparseFeature is parsed element by element")
            elif isinstance(feature, example.FixedLenSequenceFeature):
                found.append(_items(name, feature, column))
            else:
                found.append(column)
        return found

    def _split(self, feature: Any, column: Any) -> list[Any]:
        if isinstance(column, Sparse):
            return [column.indices, _flat(column.values), np.asarray(column.dense_shape, np.int64)]
        if isinstance(feature, example.VarLenFeature):
            if isinstance(column, Ragged):
                return self._split(feature, column.to_sparse())
            values = _flat(column)
            return [np.arange(len(values))[:, None], values, np.array([len(values)], np.int64)]
        return [column if isinstance(column, Ragged) else _flat(column)]

    def static(self, feature: Any) -> list[tuple[Any, Any]]:
        """Gives dtype and what is known of the shape of each part of a feature."""
        dtype = "string" if feature.dtype is bytes else feature.dtype
        rows = [] if self.single else [None]
        if isinstance(feature, example.VarLenFeature | example.SparseFeature):
            rank = len(rows) + (len(feature.size) if isinstance(feature, example.SparseFeature) else 1)
            return [(int64, [None, rank]), (dtype, [None]), (int64, [rank])]
        if isinstance(feature, example.FixedLenSequenceFeature):
            return [(dtype, [*rows, None, *feature.shape])]
        if isinstance(feature, example.RaggedFeature):
            return [(dtype, [None] if self.single and not feature.partitions else None)]
        return [(dtype, [*rows, *feature.shape])]


def _one_row(feature: Any) -> Any:
    """Gives the feature that parses the rows of many Examples as it would each by itself: nothing is padded."""
    if isinstance(feature, example.FixedLenSequenceFeature):
        return example.VarLenFeature(feature.dtype)
    return feature


def _items(name: str, feature: example.FixedLenSequenceFeature, column: Ragged) -> Ragged:
    """Gives rows of items of one shape of rows of values."""
    stride = int(np.prod(feature.shape))
    if np.any(column.lengths % stride):
        raise ValueError(f"Key: {name}. Number of values is not a multiple of stride length {stride}")
    if not feature.shape:
        return column
    values: Any = column.values
    return Ragged(values.reshape(-1, *feature.shape), column.row_splits // stride)


def _flat(column: Any) -> Any:
    return column.to_object_array() if isinstance(column, Bytes) else column


# --- SequenceExamples ----------------------------------------------------------------------------


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gives context and feature lists of one serialized SequenceExample.

    Args:
      serialized: The SequenceExample.
      context_features: Feature name to specification.
      sequence_features: Feature list name to specification.
      example_name: Ignored.
      name: The operation's.

    Returns:
      The context, as for `parse_single_example`, and by feature list an array with one row a step, or a `Ragged`.

    Raises:
      ExampleError: As for `parse_single_example`.
    """
    del example_name
    context, lists = dict(context_features or {}), dict(sequence_features or {})

    def parse(text: bytes) -> list[Any]:
        parsed = example.parse_single_sequence_example(text, context, lists)
        parts = _Parts(context, single=True).values(parsed[0])
        return [*parts, *(_flat(column) for column in parsed[1].values())]

    first = _Parts(context, single=True)
    if not is_deferred(serialized):
        return _both(first, lists, parse(as_value(serialized)))
    static = [part for feature in context.values() for part in first.static(feature)]
    for feature in lists.values():
        dense = isinstance(feature, example.FixedLenSequenceFeature)
        static.append(
            ("string" if feature.dtype is bytes else feature.dtype, [None, *feature.shape] if dense else None)
        )
    op = Operation("ParseSingleSequenceExample", [serialized], static, lambda _, text: tuple(parse(text)), name)
    return _both(first, lists, op.outputs)


def _both(first: _Parts, lists: Mapping[str, Any], parts: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    count = len(parts) - len(lists)
    return first.made(parts[:count]), {key: eager(part) for key, part in zip(lists, parts[count:], strict=True)}


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Gives context, feature lists and their lengths of a vector of serialized SequenceExamples, at once.

    Args:
      serialized: The SequenceExamples; values, no tensor.
      context_features: Feature name to specification.
      sequence_features: Feature list name to specification.
      example_names: Ignored.
      name: Ignored.

    Returns:
      As for `parse_single_sequence_example` with one more dimension in front, and the lists' lengths.

    Raises:
      ExampleError: As for `parse_single_example`.
      NotImplementedError: `serialized` is a tensor.
    """
    del example_names, name
    if is_deferred(serialized):
        raise NotImplementedError(
            "tf.io.parse_sequence_example takes no tensor here: parse_single_sequence_example does"
        )
    context, lists = dict(context_features or {}), dict(sequence_features or {})
    texts = as_value(serialized).tolist()
    parsed_context, parsed_lists, lengths = example.parse_sequence_example(texts, context, lists)
    first = _Parts(context, single=False)
    made = first.made(first.values(parsed_context))
    return made, {key: eager(_flat(column)) for key, column in parsed_lists.items()}, eager(dict(lengths))
