"""What is known of elements before any is made: a tree of leaves, each with its shape and dtype.

    source      says what its columns are
    verb        passes it on, takes from it, adds a dimension, or (a user's function) knows nothing

`spec_of(node)` is None where a verb knows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.example import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    PresentFeature,
    RaggedFeature,
    RawFeature,
    SequenceFeatures,
    SparseFeature,
    VersionedFeatures,
)
from wellfed.feed import plan
from wellfed.feed.ragged import Steps, ragged_of
from wellfed.feed.tree import Tree, dense, map_tree, stack
from wellfed.image.values import OneColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A leaf of an element.

    Attributes:
      shape: Its shape; None for a dimension that differs or is not known.
      dtype: A NumPy dtype, or `bytes`.

    Differs from tf.TensorSpec:
      NumPy's dtypes; no name.
    """

    shape: tuple[int | None, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class RaggedTensorSpec(TensorSpec):
    """A leaf that is `Ragged`, or a row of one.

    Attributes:
      shape: As in `TensorSpec`.
      dtype: As in `TensorSpec`.
      ragged_rank: How many of its dimensions after the first are ragged; 0 for a row of single values.
    """

    ragged_rank: int = 0


@dataclass(frozen=True, slots=True)
class SparseTensorSpec(TensorSpec):
    """A leaf that is `Sparse`: `shape` is that of the whole."""


@dataclass(frozen=True, slots=True)
class StepsSpec(TensorSpec):
    """A leaf of any number of steps, which a batch pads.

    Attributes:
      shape: As in `TensorSpec`.
      dtype: As in `TensorSpec`.
      padding: What a batch pads with; 0 or b"" where None.
    """

    padding: Any = None


def public_spec(leaf: TensorSpec) -> TensorSpec:
    """The leaf as users see it: steps are a dimension that differs."""
    return TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, StepsSpec) else leaf


def spec_of(node: plan.Node) -> Tree | None:
    """The form of the node's elements as far as it follows from the plan; None where it does not."""
    found = _OF.get(type(node))
    if found is not None:
        return found(node)
    below = [spec_of(source) for source in plan.below(node)]
    if not below or any(spec is None for spec in below):
        return None
    (spec, *others) = below
    if isinstance(node, plan.Zip):
        return tuple(below)
    if isinstance(node, plan.ChooseFromDatasets):
        spec, *others = others
    if isinstance(node, plan.Many):
        return spec if all(other == spec for other in others) else None
    change = _CHANGES.get(type(node))
    return spec if change is None else change(node, spec)


def spec_of_element(element: Tree) -> Tree:
    """The form that one element has."""
    return map_tree(_of_leaf, element)


def with_open_rows(node: plan.Node, shown: Tree) -> Tree:
    """The form that an element of `node` shows, with None for the number of rows where batches may differ in it."""
    if isinstance(node, plan.Zip):
        return tuple(map(with_open_rows, node.sources, shown))
    if isinstance(node, plan.Enumerate):
        return shown[0], with_open_rows(node.source, shown[1])
    if isinstance(node, plan.Map) and isinstance(node.function, StackRows):
        return with_open_rows(node.source, shown)
    if isinstance(node, (*get_args(plan.Batches), plan.Rebatch, plan.Bucket, plan.Window)):
        return shown if _have_one_size(node) else map_tree(_open_rows, shown)
    if isinstance(node, (plan.Map, plan.Scan, plan.Interleave, plan.Unbatch)):
        return shown
    for source in plan.below(node)[isinstance(node, plan.ChooseFromDatasets) :]:
        shown = with_open_rows(source, shown)
    return shown


def _have_one_size(node: Any) -> bool:
    sizes = getattr(node, "batch_sizes", ())
    return bool(node.drop_remainder) and not isinstance(node, plan.Bucket) and len(set(sizes)) <= 1


def _open_rows(leaf: TensorSpec) -> TensorSpec:
    return replace(leaf, shape=(None, *leaf.shape[1:]))


def _of_leaf(leaf: Any) -> TensorSpec:
    if isinstance(leaf, Ragged):
        return _batched_column(leaf, len(leaf))
    if isinstance(leaf, Sparse):
        return SparseTensorSpec(leaf.dense_shape, _of_leaf(leaf.values).dtype)
    if isinstance(leaf, (bytes, str, memoryview)):
        return TensorSpec((), bytes)
    if isinstance(leaf, Bytes):
        return TensorSpec(leaf.shape, bytes)
    array = np.asarray(leaf)
    return TensorSpec(array.shape, array.dtype)


def _batched_column(column: Ragged, rows: int | None) -> RaggedTensorSpec:
    spec = spec_of_rows(column)
    rank = spec.ragged_rank if isinstance(spec, RaggedTensorSpec) else 0
    return RaggedTensorSpec((rows, *spec.shape), spec.dtype, rank + 1)


def spec_of_rows(column: Any) -> TensorSpec:
    """The form of a column's rows."""
    if isinstance(column, Ragged):
        if isinstance(column.values, Ragged):
            return _batched_column(column.values, None)
        inner = _of_leaf(column.values)
        shape = (None, *inner.shape[1:])
        padding = getattr(column, "padding", _NO_STEPS)
        return RaggedTensorSpec(shape, inner.dtype) if padding is _NO_STEPS else StepsSpec(shape, inner.dtype, padding)
    leaf = _of_leaf(column)
    return replace(leaf, shape=leaf.shape[1:])


_NO_STEPS = object()


def _of_arrays(node: plan.Arrays) -> Tree | None:
    known = True

    def leaf(column: Any) -> TensorSpec:
        nonlocal known
        known = known and not (isinstance(column, np.ndarray) and column.dtype.hasobject)
        return spec_of_rows(column)

    spec = map_tree(leaf, node.columns)
    return spec if known else None


def _of_records(node: plan.Records) -> Tree:
    return TensorSpec((), bytes) if node.features is None else spec_of_features(node.features)


def spec_of_features(features: Any) -> Tree:
    """The form of what `features` parse a record into."""
    if isinstance(features, SequenceFeatures):
        context = spec_of_features(features.context_features)
        lists = {name: _of_list(feature) for name, feature in features.sequence_features.items()}
        lengths = {name: _NUMBER for name, spec in lists.items() if isinstance(spec, StepsSpec)}
        return context, lists, lengths
    if isinstance(features, VersionedFeatures):
        features = features.features
    return {name: _of_feature(feature) for name, feature in features.items()}


def _of_feature(feature: Any) -> TensorSpec:
    match feature:
        case FixedLenFeature() | RawFeature():
            return TensorSpec(feature.shape, feature.dtype)
        case PresentFeature():
            return TensorSpec((), np.dtype(np.bool_))
        case SparseFeature():
            return SparseTensorSpec(feature.size, feature.dtype)
        case FixedLenSequenceFeature():
            return StepsSpec((None, *feature.shape), feature.dtype, feature.default_value)
        case RaggedFeature():
            levels = len(feature.partitions)
            return RaggedTensorSpec((None,) * (levels + 1), feature.dtype, levels)
    return RaggedTensorSpec((None,), feature.dtype)


def _of_list(feature: Any) -> TensorSpec:
    if isinstance(feature, (FixedLenSequenceFeature, RawFeature)):
        return StepsSpec((None, *feature.shape), feature.dtype)
    inner = _of_feature(feature)
    rank = inner.ragged_rank if isinstance(inner, RaggedTensorSpec) else 0
    return RaggedTensorSpec((None, *inner.shape), inner.dtype, rank + 1)


def _of_map(node: plan.Map) -> Tree | None:
    if isinstance(node.function, StackRows) and isinstance(node.source, plan.Window):
        rows = spec_of(node.source.source)
        size = node.source.size if node.source.drop_remainder else None
        return None if rows is None else map_tree(lambda leaf: batched(leaf, size), rows)
    below = spec_of(node.source)
    if below is None:
        return None
    if isinstance(node.function, OneColumn):
        return _with_column(node.function, below, plan.makes_batches(node.source))
    known = getattr(node.function, "element_spec", None)
    return None if known is None else known(below)


def _with_column(transform: OneColumn, spec: Tree, of_batches: bool) -> Tree | None:
    """The form after a transform of one column that tells what it makes of a row."""
    leaf = spec.get(transform.column) if isinstance(spec, Mapping) else None
    if not isinstance(leaf, TensorSpec) or isinstance(leaf, SparseTensorSpec):
        return None
    if isinstance(leaf, (RaggedTensorSpec, StepsSpec)):
        if transform.of_values:
            shape, dtype = transform.row_form((leaf.shape, leaf.dtype)) or (None, None)
            return None if shape is None else {**spec, transform.column: replace(leaf, shape=shape, dtype=dtype)}
        leaf = TensorSpec(leaf.shape, leaf.dtype)  # Pictures that differ in their height.
    rows = leaf.shape[:1] if of_batches else ()
    form = transform.row_form((leaf.shape[len(rows) :], leaf.dtype))
    return None if form is None else {**spec, transform.column: TensorSpec((*rows, *form[0]), form[1])}


def batched(leaf: TensorSpec, rows: int | None) -> TensorSpec:
    """The leaf of a batch of such leaves."""
    shape = (rows, *leaf.shape)
    if isinstance(leaf, RaggedTensorSpec):
        return RaggedTensorSpec(shape, leaf.dtype, leaf.ragged_rank + 1)
    return (SparseTensorSpec if isinstance(leaf, SparseTensorSpec) else TensorSpec)(shape, leaf.dtype)


def stack_as(elements: Sequence[Tree], spec: Tree | None) -> Tree:
    """The columns whose rows are `elements`: rows of different length as their form says, where it is known."""
    if spec is None:
        return stack(elements)
    if isinstance(spec, Mapping):
        return {name: stack_as([element[name] for element in elements], branch) for name, branch in spec.items()}
    if isinstance(spec, tuple):
        columns = [stack_as([element[n] for element in elements], branch) for n, branch in enumerate(spec)]
        return type(elements[0])(*columns) if hasattr(elements[0], "_fields") else tuple(columns)
    if isinstance(spec, StepsSpec):
        joined = ragged_of(elements)
        return Steps(joined.values, joined.row_splits, spec.padding)
    return ragged_of(elements) if isinstance(spec, RaggedTensorSpec) else stack(elements)


@dataclass(frozen=True, slots=True)
class StackRows:
    """From a list of elements to the columns whose rows they are.

    Attributes:
      spec: The form of an element, where it is known.
    """

    spec: Tree | None

    def __call__(self, rows: Sequence[Tree]) -> Tree:
        """The columns; steps are padded, as in a batch.

        Raises:
          PlanError: Rows of a column have different shapes or dtypes.
        """
        columns = stack_as(rows, self.spec)
        return dense(map_tree(lambda column: column.to_padded() if isinstance(column, Steps) else column, columns))


def is_dense(leaf: TensorSpec) -> bool:
    """Whether rows of this leaf have one shape."""
    return type(leaf) is TensorSpec and None not in leaf.shape


def _rows_of(node: plan.Batches) -> int | None:
    return node.batch_size if node.drop_remainder else None


def _of_batch(node: plan.Batch, spec: Tree) -> Tree:
    return map_tree(lambda leaf: batched(leaf, _rows_of(node)), spec)


def _of_ragged_batch(node: plan.RaggedBatch, spec: Tree) -> Tree:
    def leaf(row: TensorSpec) -> TensorSpec:
        if isinstance(row, (RaggedTensorSpec, SparseTensorSpec)) or is_dense(row):
            return batched(row, _rows_of(node))
        return RaggedTensorSpec((_rows_of(node), *row.shape), row.dtype, 1)

    return map_tree(leaf, spec)


def _of_padded_batch(node: plan.PaddedBatch | plan.Bucket, spec: Tree) -> Tree | None:
    if node.padded_shapes is not None:
        return None
    rows = _rows_of(node) if isinstance(node, plan.PaddedBatch) else None

    def leaf(row: TensorSpec) -> TensorSpec:
        if isinstance(row, SparseTensorSpec):
            return batched(row, rows)
        return TensorSpec((rows, *row.shape), row.dtype)

    return map_tree(leaf, spec)


def _of_unbatch(node: plan.Unbatch | plan.Rebatch, spec: Tree) -> Tree | None:
    del node

    def leaf(batch: TensorSpec) -> TensorSpec:
        if isinstance(batch, RaggedTensorSpec):
            return replace(batch, shape=batch.shape[1:], ragged_rank=max(batch.ragged_rank - 1, 0))
        return replace(batch, shape=batch.shape[1:])

    return map_tree(leaf, spec)


def _of_rebatch(node: plan.Rebatch, spec: Tree) -> Tree | None:
    size = node.batch_sizes[0] if node.drop_remainder and len(set(node.batch_sizes)) == 1 else None
    return map_tree(lambda leaf: batched(leaf, size), _of_unbatch(node, spec))


def _nothing(node: plan.Node) -> None:
    del node


def _of_range(node: plan.Range) -> Tree:
    del node
    return _NUMBER


def _numbered(node: plan.Enumerate, spec: Tree) -> Tree:
    del node
    return _NUMBER, spec


def _located(node: plan.RowIds, spec: Tree) -> Tree:
    number = TensorSpec((None,), _NUMBER.dtype) if plan.makes_batches(node.source) else _NUMBER
    return {"source": number, "row": number}, spec


_NUMBER = TensorSpec((), np.dtype(np.int64))

_OF: dict[type, Callable[[Any], Tree | None]] = {
    plan.Records: _of_records,
    plan.Arrays: _of_arrays,
    plan.Range: _of_range,
    plan.Map: _of_map,
    plan.Generator: _nothing,
    plan.Scan: _nothing,
    plan.Interleave: _nothing,
    plan.Window: _nothing,
}
_CHANGES: dict[type, Callable[[Any, Any], Tree | None]] = {
    plan.Batch: _of_batch,
    plan.PaddedBatch: _of_padded_batch,
    plan.RaggedBatch: _of_ragged_batch,
    plan.Bucket: _of_padded_batch,
    plan.Unbatch: _of_unbatch,
    plan.Rebatch: _of_rebatch,
    plan.Enumerate: _numbered,
    plan.RowIds: _located,
}
