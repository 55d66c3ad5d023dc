"""Serialized SequenceExamples to columns: a context, as an Example's features, and feature lists.

A feature list is a sequence of steps, each with values of its own:

    FixedLenSequenceFeature(shape, dtype)   each step prod(shape) values  -> array (B, longest, *shape), and lengths
    RawFeature(shape, dtype)                each step one byte string     -> array (B, longest, *shape), and lengths
    VarLenFeature(dtype)                    any number of values a step   -> Ragged of Ragged
    RaggedFeature(dtype, partitions=...)    the same, each step cut into rows of rows
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed import _native
from wellfed.columns import Ragged
from wellfed.errors import ExampleError, FeatureLengthError, FeatureMissingError, MalformedExampleError
from wellfed.example.assemble import FIXED, RAW, VAR, Slot
from wellfed.example.features import (
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    UniformRowLength,
    VarLenFeature,
)
from wellfed.example.parse import Failure, FeatureParser, RecordBatch, compile_features, first_row, native_call
from wellfed.example.partitions import partition_rows, require

if TYPE_CHECKING:
    from collections.abc import Mapping

SequenceSpec: TypeAlias = FixedLenSequenceFeature | RawFeature | VarLenFeature | RaggedFeature
Parsed: TypeAlias = tuple[dict[str, Any], dict[str, Any], dict[str, np.ndarray[Any, Any]]]


def _slots_of(name: str, feature: SequenceSpec) -> list[tuple[Slot, bool]]:
    """The native columns of a feature list, and whether each may be absent; the values' one is the last."""
    match feature:
        case FixedLenSequenceFeature():
            return [(Slot(name, FIXED, feature.shape, feature.dtype), feature.allow_missing)]
        case RawFeature():
            return [(Slot(name, RAW, feature.shape, feature.dtype), False)]
        case VarLenFeature():
            return [(Slot(name, VAR, (), feature.dtype), True)]
        case RaggedFeature():
            keys = [part.key for part in feature.partitions if not isinstance(part, UniformRowLength)]
            parts = [(Slot(key, VAR, (), np.dtype(np.int64)), True) for key in keys]
            return [*parts, (Slot(feature.value_key or name, VAR, (), feature.dtype), True)]
    raise ValueError(
        f'feature list "{name}": FixedLenSequenceFeature, RawFeature, VarLenFeature or RaggedFeature is due, '
        f"got {feature!r}"
    )


def _spec(slot: Slot, optional: bool) -> tuple[Any, ...]:
    """As `Slot.spec`; a list may be absent where the kernel sees a default, whose values it does not use."""
    key, kind, layout, count, _ = slot.spec()
    if not optional:
        return key, kind, layout, count, None
    strings = slot.dtype is bytes
    return key, kind, layout, count, [b""] * count if strings else bytes(count * np.dtype(slot.dtype).itemsize)


@dataclass(frozen=True, slots=True)
class SequenceFeatures:
    """What SequenceExamples are parsed into: one thing where the two mappings go together, as in a feed.

    Attributes:
      context_features: As in `parse_sequence_example`.
      sequence_features: As in `parse_sequence_example`.

    Raises:
      ValueError: As in `parse_sequence_example`.
    """

    context_features: Mapping[str, Any] = field(default_factory=dict)
    sequence_features: Mapping[str, SequenceSpec] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "context_features", dict(self.context_features))
        object.__setattr__(self, "sequence_features", dict(self.sequence_features))
        self.compile()

    def compile(self) -> SequenceFeatureParser:
        """The parser of these features."""
        return compile_sequence_features(self.context_features, self.sequence_features)


class SequenceFeatureParser:
    """Features of SequenceExamples compiled for parsing; made by `compile_sequence_features`. Immutable.

    Attributes:
      context: The context's parser, or None.
      features: The feature lists' specifications, as given.
    """

    def __init__(self, context: Mapping[str, Any], sequences: Mapping[str, SequenceSpec]) -> None:
        if not context and not sequences:
            raise ValueError("context_features or sequence_features must name at least one feature")
        self.context: FeatureParser | None = compile_features(context) if context else None
        self.features = dict(sequences)
        slots: dict[str, tuple[Slot, bool]] = {}
        for name, feature in self.features.items():
            for slot, optional in _slots_of(name, feature):
                if slots.setdefault(slot.key, (slot, optional))[0] != slot:
                    raise ValueError(f'feature list "{name}": key "{slot.key}" is read in two ways')
        self._slots = [slot for slot, _ in slots.values()]
        self._native = _native.SequenceParser([_spec(*entry) for entry in slots.values()])

    def __reduce__(self) -> tuple[Any, ...]:
        return (compile_sequence_features, (self.context.features if self.context else {}, self.features))

    def parse(self, serialized: RecordBatch, *, pad: bool = True) -> Parsed:
        """Parses B SequenceExamples.

        Args:
          serialized: As in `parse_sequence_example`.
          pad: False: what would be padded is `Ragged`, with a row a step.

        Returns, Raises:
          As in `parse_sequence_example`.
        """
        context = self.context.parse(serialized) if self.context else {}
        raw, failure, data = native_call(self._native, serialized)
        if failure is not None:
            raise self._error(*failure)
        steps = {slot.key: _steps(slot, found[0], found[1], data) for slot, found in zip(self._slots, raw, strict=True)}
        columns, lengths = {}, {}
        for name, feature in self.features.items():
            if isinstance(feature, (FixedLenSequenceFeature, RawFeature)):
                columns[name] = steps[name].to_padded() if pad else steps[name]
                lengths[name] = steps[name].lengths
            else:
                columns[name] = _rows(name, feature, steps)
        return context, columns, lengths

    def _error(self, failure: Failure, step: int) -> ExampleError:
        status, number, row, offset, found, length = failure
        if number < 0:
            return MalformedExampleError(f"no SequenceExample: byte {offset} cannot be read", "", row)
        slot = self._slots[number]
        kind, reason = slot.fault(status, found, length)
        if kind is FeatureMissingError:
            return kind("a feature list is due, but the key is absent; allow_missing=True reads none", slot.key, row)
        return kind(f"step {step}: {reason}", slot.key, row)


def _steps(slot: Slot, raw: Any, splits: Any, data: Any) -> Ragged:
    """Steps of each example: rows of fixed shape, or rows of any length."""
    count = int(splits[-1])
    if slot.dense:
        rows: Any = raw[0].view(slot.dtype).reshape(count, *slot.shape)
    else:
        rows = slot.finish(raw, None, data, count)
    return Ragged(rows, splits)


def _rows(name: str, feature: SequenceSpec, steps: Mapping[str, Ragged]) -> Ragged:
    """The rows of a feature of any number of values a step, cut by its partitions."""
    keys = [slot.key for slot, _ in _slots_of(name, feature)]
    values = steps[keys[-1]]
    if not isinstance(feature, RaggedFeature) or not feature.partitions:
        return values
    for key in keys[:-1]:
        due = f'as many steps in "{key}" as in "{keys[-1]}"'
        require(steps[key].lengths == values.lengths, steps[key].lengths, name, due)
    try:
        # Each step is cut as an example is in `parse_example`.
        return Ragged(partition_rows(name, feature, [steps[key].values for key in keys]), values.row_splits)  # type: ignore[misc]  # Steps of any length are Ragged.
    except FeatureLengthError as error:
        step = error.example_index
        row = int(np.searchsorted(values.row_splits, step, side="right")) - 1
        reason = f"step {step - int(values.row_splits[row])}: {error.reason}"
        raise FeatureLengthError(reason, name, row) from None


@functools.lru_cache(maxsize=64)
def _compiled(context: tuple[Any, ...], sequences: tuple[Any, ...]) -> SequenceFeatureParser:
    return SequenceFeatureParser(dict(context), dict(sequences))


def compile_sequence_features(
    context_features: Mapping[str, Any] | None = None, sequence_features: Mapping[str, SequenceSpec] | None = None
) -> SequenceFeatureParser:
    """Compiles the features of SequenceExamples for many calls of `parse`; the last few are kept.

    Raises:
      ValueError: No feature is given, one is none that a feature list can be, or two read a key in different ways.
    """
    return _compiled(tuple((context_features or {}).items()), tuple((sequence_features or {}).items()))


def parse_sequence_example(
    serialized: RecordBatch,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, SequenceSpec] | None = None,
) -> Parsed:
    """Parses B serialized `tf.train.SequenceExample` protos.

    Args:
      serialized: The B protos: `Bytes` or a sequence of bytes.
      context_features: As `parse_example`'s features.
      sequence_features: Feature list name to FixedLenSequenceFeature, RawFeature, VarLenFeature or RaggedFeature.

    Returns:
      Three mappings by name:
        context: as `parse_example` returns it.
        feature lists: FixedLenSequenceFeature, RawFeature: array `(B, longest, *shape)` (or `Bytes`), padded on the
          right with 0 or b"". VarLenFeature: `Ragged` of B rows, whose values are `Ragged`: a row a step.
          RaggedFeature: the same, nested once more for each partition.
        lengths: int64 array (B,) for each padded list: the steps of each example.
      Memory as in `parse_example`.

    Raises:
      FeatureMissingError: A list is absent, and its feature is a RawFeature or has allow_missing=False.
      FeatureTypeError: A step holds another kind of list.
      FeatureLengthError: A step holds another number of values than the shape.
      MalformedExampleError: The bytes are no SequenceExample.
      ValueError: The features cannot be compiled.

    Differs from tf.io.parse_sequence_example:
      VarLenFeature gives `Ragged`, not a 3-D SparseTensor. See docs/examples.md.

    Source: tensorflow/core/example/example.proto.
    """
    return compile_sequence_features(context_features, sequence_features).parse(serialized)


def parse_single_sequence_example(
    serialized: bytes,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, SequenceSpec] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized `tf.train.SequenceExample`.

    Returns:
      The context and the feature lists, as `parse_sequence_example`, without the first dimension: an array
      `(steps, *shape)` or `Bytes`; a `Ragged` with a row a step.

    Raises:
      As `parse_sequence_example`; `example_index` is 0.
    """
    if not isinstance(serialized, (bytes, bytearray, memoryview)):
        raise TypeError(f"serialized must be one record (bytes), got {type(serialized).__name__}")
    parser = compile_sequence_features(context_features, sequence_features)
    context, lists, _ = parser.parse([bytes(serialized)])
    return tuple({name: first_row(column) for name, column in part.items()} for part in (context, lists))  # type: ignore[return-value]  # Two of them.
