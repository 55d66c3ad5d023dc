"""Serialized Examples to columns: `parse_example` and what it is compiled to.

    features --compile_features--> FeatureParser --parse(records)--> {name: column}

A parser is compiled once per set of features and kept; each call is one native pass over the records with the GIL off.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes, Column, Sparse
from wellfed.errors import ExampleError, MalformedExampleError
from wellfed.example.assemble import Slot, assemble, slots_of
from wellfed.example.features import FeatureSpec, FixedLenSequenceFeature, PresentFeature

RecordBatch: TypeAlias = Bytes | Sequence[bytes]
Failure: TypeAlias = tuple[int, int, int, int, int, int]

_MALFORMED = 1  # The kernel's ParseStatus.
_NO_DATA = np.empty(0, np.uint8)
_REPEATED = "{} of {} examples hold a feature more than once: the last one counts; scan_features says which"


def native_call(native: Any, serialized: RecordBatch, *memory: Any) -> tuple[Any, Any, np.ndarray[Any, Any]]:
    """Runs a native parser on records.

    Returns:
      Its columns or None, its failure or None, and the buffer that strings lie in where it did not copy them.

    Raises:
      TypeError: `serialized` is a single record.
    """
    if isinstance(serialized, Bytes):
        if len(serialized.shape) != 1:
            raise ValueError(f"serialized must have 1 dimension, got shape {serialized.shape}")
        starts, sizes = np.ascontiguousarray(serialized.starts), np.ascontiguousarray(serialized.sizes)
        return (*native.parse(serialized.data.data, starts, sizes, *memory), serialized.data)
    if isinstance(serialized, (bytes, str)):
        raise TypeError("serialized must be a sequence of records, got one; the function for a single one takes it")
    return (*native.parse_list(list(serialized), *memory), _NO_DATA)


class FeatureParser:
    """Features compiled for parsing; made by `compile_features`. Immutable, so threads may share it.

    Attributes:
      features: As given, in that order.
      slots: The native parser's columns, in its order: what a caller that runs `native` itself must allocate.
      native: The kernel's parser.
    """

    def __init__(self, features: Mapping[str, FeatureSpec]) -> None:
        self.features = features = _checked(features)
        numbers: dict[str, int] = {}
        slots: list[Slot] = []
        self._slots_of: dict[str, list[int]] = {}
        for name, feature in self.features.items():
            if isinstance(feature, PresentFeature):
                continue
            if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
                raise ValueError(f'feature "{name}": a FixedLenSequenceFeature of an Example needs allow_missing=True')
            for slot in slots_of(name, feature):
                number = numbers.setdefault(slot.key, len(slots))
                if number == len(slots):
                    slots.append(slot)
                elif slots[number] != slot:
                    raise ValueError(
                        f'feature "{name}": key "{slot.key}" is read in two ways, as {slots[number]} and as {slot}'
                    )
                self._slots_of.setdefault(name, []).append(number)
        self._masks = {name: feature.key for name, feature in features.items() if isinstance(feature, PresentFeature)}
        for name, key in self._masks.items():
            if len(self._slots_of.get(key, [])) != 1:
                raise ValueError(f'feature "{name}": PresentFeature needs "{key}" in the same mapping, read by itself')
        self.slots: tuple[Slot, ...] = tuple(slots)
        self.native = _native.ExampleParser([slot.spec() for slot in slots])

    def __reduce__(self) -> tuple[Any, ...]:
        return (compile_features, (self.features,))

    def parse(
        self,
        serialized: RecordBatch,
        *,
        out: Mapping[str, np.ndarray[Any, Any]] | None = None,
        present: Mapping[str, np.ndarray[Any, Any]] | None = None,
        warn: bool = True,
    ) -> dict[str, Any]:
        """Parses B Examples into one column per feature.

        Args:
          serialized: As in `parse_example`.
          out: Arrays to write dense columns to, by feature: C-contiguous, `(B, *shape)`, of the feature's dtype.
            They are the columns returned. Others are allocated.
          present: bool arrays (B,) to write, by feature: False where the key was absent or its kind unset.
            For features that read one key alone.
          warn: Warn of examples that hold a feature more than once; `native.repeated` counts them in any case.

        Returns, Raises:
          As in `parse_example`; ValueError also where `out` or `present` do not fit.
        """
        if not hasattr(serialized, "__len__"):
            got = type(serialized).__name__
            raise TypeError(f"serialized must be a sequence of records, such as a list of them, got {got}")
        rows = len(serialized)
        dense = self._memory(rows, out or {})
        memory = [None if array is None else array.reshape(-1).view(np.uint8) for array in dense]
        present = dict(present or {})
        masks = {key: present.setdefault(key, np.empty(rows, np.bool_)) for key in self._masks.values()}
        marks = self._marks(rows, present)
        before = self.native.repeated
        raw, failure, data = native_call(self.native, serialized, memory, marks)
        if failure is not None:
            raise self.error(failure)
        if warn and self.native.repeated != before:
            warnings.warn(_REPEATED.format(self.native.repeated - before, rows), stacklevel=3)
        columns = self.columns(raw, dense, rows, data)
        if not masks:
            return columns
        return {name: masks[self._masks[name]] if name in self._masks else columns[name] for name in self.features}

    def columns(
        self,
        raw: Sequence[Any],
        dense: Sequence[np.ndarray[Any, Any] | None],
        rows: int,
        data: np.ndarray[Any, Any] = _NO_DATA,
    ) -> dict[str, Any]:
        """The features' columns from the native parser's; none for a PresentFeature.

        Args:
          raw: What the native call returned: an entry per slot.
          dense: The arrays that it wrote dense slots to: an entry per slot.
          rows: The number of records.
          data: The buffer that strings lie in where the native call did not copy them.

        Raises:
          FeatureLengthError: Parts of a RaggedFeature or SparseFeature do not fit each other.
        """
        parts = [
            slot.finish(found, memory, data, rows) for slot, found, memory in zip(self.slots, raw, dense, strict=True)
        ]
        return {
            name: assemble(name, feature, [parts[number] for number in self._slots_of[name]])
            for name, feature in self.features.items()
            if name not in self._masks
        }

    def error(self, failure: Failure, path: str = "", record_index: int = -1) -> ExampleError:
        """The exception for a failure that the native parser returned.

        Args:
          failure: (status, slot, row, offset, found kind, length).
          path: The file that the record came from; "" where it is not known.
          record_index: The record's number in that file; -1 where it is not known.
        """
        status, number, row, offset, found, length = failure
        if status == _MALFORMED:
            return MalformedExampleError(f"no Example: byte {offset} cannot be read", "", row, path, record_index)
        slot = self.slots[number]
        kind, reason = slot.fault(status, found, length)
        return kind(reason, slot.key, row, path, record_index)

    def _memory(self, rows: int, out: Mapping[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any] | None]:
        given: dict[int, np.ndarray[Any, Any]] = {}
        for name, array in out.items():
            number = self._only_slot("out", name)
            slot = self.slots[number]
            fits = slot.dense and array.shape == (rows, *slot.shape) and array.dtype == slot.dtype
            if not fits or not array.flags.c_contiguous or not array.flags.writeable:
                raise ValueError(
                    f'out: feature "{name}" needs a writable C-contiguous array of shape {(rows, *slot.shape)} and '
                    f"dtype {slot.dtype}, got shape {array.shape} and dtype {array.dtype}"
                )
            given[number] = array
        return [given[number] if number in given else slot.allocate(rows) for number, slot in enumerate(self.slots)]

    def _marks(self, rows: int, present: Mapping[str, np.ndarray[Any, Any]]) -> list[Any]:
        marks: list[Any] = [None] * len(self.slots) if present else []
        for name, array in present.items():
            if array.shape != (rows,) or array.dtype != np.bool_ or not array.flags.c_contiguous:
                raise ValueError(f'present: feature "{name}" needs a bool array of shape ({rows},), got {array.shape}')
            array[:] = True
            marks[self._only_slot("present", name)] = array.view(np.uint8)
        return marks

    def _only_slot(self, argument: str, name: str) -> int:
        numbers = self._slots_of.get(name, [])
        if len(numbers) != 1:
            raise ValueError(
                f'{argument}: "{name}" is no feature that reads one key alone; there are {[*self.features]}'
            )
        return numbers[0]


def _checked(features: Mapping[str, FeatureSpec]) -> dict[str, FeatureSpec]:
    if not features:
        raise ValueError("features must name at least one feature, got none")
    if odd := [name for name in features if not isinstance(name, str)]:
        raise TypeError(f"a feature's name must be a str, got {odd[0]!r}")
    return dict(features)


@functools.lru_cache(maxsize=256)
def _compiled(features: tuple[tuple[str, FeatureSpec], ...]) -> FeatureParser:
    return FeatureParser(dict(features))


def compile_features(features: Mapping[str, FeatureSpec]) -> FeatureParser:
    """Compiles features for many calls of `parse`; the last few are kept, so that asking again costs little.

    Raises:
      TypeError: `features` is no mapping from names.
      ValueError: No feature is given, one is no feature, or two read the same key in different ways.
    """
    if not isinstance(features, Mapping):
        due = 'features must be a mapping such as {"x": FixedLenFeature([], np.int64)}'
        raise TypeError(f"{due}, got {type(features).__name__}")
    try:
        return _compiled(tuple(features.items()))
    except TypeError:  # Something that cannot be hashed, and so is no feature.
        return FeatureParser(features)


def parse_example(serialized: RecordBatch, features: Mapping[str, FeatureSpec]) -> dict[str, Any]:
    """Parses B serialized `tf.train.Example` protos into one column per feature.

    Args:
      serialized: The B protos: `Bytes`, such as `Records[a:b]` gives, or a sequence of bytes.
      features: Feature name to spec, such as `{"label": FixedLenFeature([], np.int64)}`.

    Returns:
      A column per name, in the order of `features`:
        FixedLenFeature, RawFeature: array of shape `(B, *shape)`; for bytes, `Bytes` of that shape.
        VarLenFeature: `Ragged` of B rows.
        FixedLenSequenceFeature: array of shape `(B, longest, *shape)`, padded on the right.
        RaggedFeature: `Ragged` of B rows, nested once more for each partition.
        SparseFeature: `Sparse` of shape `(B, *size)`.
        PresentFeature: bool array `(B,)`.
      Arrays are writable and nobody else's. `Bytes` lie in the buffer of `serialized` where that is `Bytes`, and keep
      it alive; otherwise they are copies.

    Raises:
      FeatureMissingError: An example lacks a FixedLenFeature or RawFeature that has no default.
      FeatureTypeError: An example holds another list type than the spec's dtype needs.
      FeatureLengthError: An example holds another number of values (or bytes) than the spec's shape.
      MalformedExampleError: The bytes are no Example; `reason` has the offset from the proto's start.
      ValueError: The features cannot be compiled.

    Warns:
      UserWarning: Examples hold a feature of the specification more than once: two entries of one key, or Examples
        put end to end. What stands before the last is lost.

    Differs from tf.io.parse_example:
      VarLenFeature gives `Ragged`, not a SparseTensor. Chunks of a list are joined, as protobuf does. All differences
      stand in docs/examples.md.

    Source: tensorflow/core/example/{example,feature}.proto.

    Example:
      >>> from wellfed.example.encode import encode_example
      >>> from wellfed.example.features import FixedLenFeature, VarLenFeature
      >>> records = [encode_example({"x": 1, "y": [2.5]}), encode_example({"x": 2})]
      >>> columns = parse_example(records, {"x": FixedLenFeature([], np.int64), "y": VarLenFeature(np.float32)})
      >>> columns["x"].tolist(), columns["y"].to_list()
      ([1, 2], [[2.5], []])
    """
    return compile_features(features).parse(serialized)


def parse_single_example(serialized: bytes, features: Mapping[str, FeatureSpec]) -> dict[str, Any]:
    """Parses one serialized `tf.train.Example`.

    Args:
      serialized: The proto.
      features: As in `parse_example`.

    Returns:
      As `parse_example`, without the first dimension: a NumPy scalar or `bytes` for a scalar FixedLenFeature, an
      array or `Bytes` for other shapes, for VarLenFeature and for RaggedFeature without partitions.

    Raises:
      As `parse_example`; `example_index` is 0.

    Differs from tf.io.parse_single_example:
      As `parse_example`.
    """
    if not isinstance(serialized, (bytes, bytearray, memoryview)):
        raise TypeError(f"serialized must be one record (bytes), got {type(serialized).__name__}")
    columns = compile_features(features).parse([bytes(serialized)])
    return {name: first_row(column) for name, column in columns.items()}


def first_row(column: Column | Sparse) -> Any:
    """The first row of a column of any type."""
    if isinstance(column, Sparse):
        return Sparse(column.indices[:, 1:], column.values, column.dense_shape[1:])
    return column[0]
