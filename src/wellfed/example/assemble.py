"""From the native parser's columns to what a feature asked for.

The native parser knows three layouts: dense rows, one raw string a row, and any number of values a row. A feature is
read from one or more such columns ("slots"):

    FixedLenFeature, RawFeature       one dense slot, or fixed strings
    VarLenFeature                     one slot of any number of values -> Ragged
    FixedLenSequenceFeature           the same, padded
    RaggedFeature                     the same, cut by the slots of its partitions
    SparseFeature                     one slot per index key, one for the values
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wellfed.columns import Bytes, Column, Ragged
from wellfed.errors import ExampleError, FeatureLengthError, FeatureMissingError, FeatureTypeError
from wellfed.example.features import (
    DType,
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    UniformRowLength,
    VarLenFeature,
)
from wellfed.example.partitions import merge_sparse, partition_rows, require

FIXED, VAR, RAW = 0, 1, 2  # The kernel's layouts.
_MISSING, _WRONG_KIND, _WRONG_SIZE = 2, 3, 5  # The kernel's ParseStatus.
_KIND_NAMES = ("no list", "bytes_list", "float_list", "int64_list")


@dataclass(frozen=True, slots=True)
class Slot:
    """One column of the native parser.

    Attributes:
      key: The feature's name in the examples.
      layout: FIXED, VAR or RAW.
      shape: Of one row, for FIXED and RAW.
      dtype: Of the column.
      default: As the kernel takes it: None, the bytes of a row, or a list of strings.
    """

    key: str
    layout: int
    shape: tuple[int, ...]
    dtype: DType
    default: bytes | tuple[bytes, ...] | None = None

    @property
    def kind(self) -> int:
        """The field number of the list in tf.train.Feature."""
        if self.layout == RAW or self.dtype is bytes:
            return 1
        return 2 if self.dtype == np.float32 else 3

    @property
    def dense(self) -> bool:
        """Whether the rows are written into memory of the caller's."""
        return self.layout == RAW or (self.layout == FIXED and self.dtype is not bytes)

    def spec(self) -> tuple[bytes, int, int, int, Any]:
        """What `_native.ExampleParser` is made from."""
        count = math.prod(self.shape) * (np.dtype(self.dtype).itemsize if self.layout == RAW else 1)
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        return self.key.encode(), self.kind, self.layout, count, default

    def allocate(self, rows: int) -> np.ndarray[Any, Any] | None:
        """Memory for `rows` rows of a dense slot."""
        return np.empty((rows, *self.shape), self.dtype) if self.dense else None

    def finish(self, raw: Any, dense: np.ndarray[Any, Any] | None, data: np.ndarray[Any, Any], rows: int) -> Column:
        """The column of `rows` rows that the native parser's result stands for.

        Args:
          raw: The native result; not used for a dense slot.
          dense: The memory that a dense slot's rows were written to.
          data: The input, where strings may lie.
          rows: How many there are; a slot without values cannot tell.
        """
        if dense is not None:
            return dense
        if self.dtype is not bytes:
            return Ragged(raw[0].view(self.dtype), raw[1])
        strings = Bytes(data if raw[0] is None else raw[0], raw[1], raw[2])
        return Ragged(strings, raw[3]) if self.layout == VAR else strings.reshape(rows, *self.shape)

    def fault(self, status: int, found: int, length: int) -> tuple[type[ExampleError], str]:
        """The exception for a status of the native parser's, and its reason.

        Args:
          status: The kernel's ParseStatus, from kMissing on.
          found: The kind of list that was found.
          length: The number of values that was found; of bytes, for kWrongSize.
        """
        values = f"{math.prod(self.shape)} values (shape {self.shape})"
        if status == _MISSING:
            due = f"{_KIND_NAMES[self.kind]} of {'1 string' if self.layout == RAW else values}"
            return (
                FeatureMissingError,
                f"{due} is due, but the key is absent or its kind unset; default_value= fills it",
            )
        if status == _WRONG_KIND:
            return FeatureTypeError, f"expected {_KIND_NAMES[self.kind]}, got {_KIND_NAMES[found]}"
        if status == _WRONG_SIZE:
            return (
                FeatureLengthError,
                f"expected {self.spec()[3]} bytes (shape {self.shape} of {self.dtype}), got {length}",
            )
        return FeatureLengthError, f"expected {'1 string' if self.layout == RAW else values}, got {length}"


def slots_of(name: str, feature: FeatureSpec) -> list[Slot]:
    """The native columns that a feature is read from; the values' one is the last.

    Raises:
      ValueError: It is no feature.
    """
    match feature:
        case FixedLenFeature() | RawFeature():
            layout = FIXED if isinstance(feature, FixedLenFeature) else RAW
            return [Slot(name, layout, feature.shape, feature.dtype, _default(feature))]
        case VarLenFeature() | FixedLenSequenceFeature():
            return [_var(name, feature.dtype)]
        case RaggedFeature():
            keys = [part.key for part in feature.partitions if not isinstance(part, UniformRowLength)]
            return [*(_var(key, np.dtype(np.int64)) for key in keys), _var(feature.value_key or name, feature.dtype)]
        case SparseFeature():
            indices = [_var(key, np.dtype(np.int64)) for key in feature.index_key]
            return [*indices, _var(feature.value_key, feature.dtype)]
    raise ValueError(f'feature "{name}": a feature such as FixedLenFeature([], np.int64) is due, got {feature!r}')


def _var(key: str, dtype: DType) -> Slot:
    return Slot(key, VAR, (), dtype)


def _default(feature: FixedLenFeature | RawFeature) -> bytes | tuple[bytes, ...] | None:
    if feature.default_value is None:
        return None
    if feature.dtype is bytes:
        return tuple(np.array(feature.default_value, np.object_).reshape(-1).tolist())
    return np.asarray(feature.default_value, feature.dtype).tobytes()


def assemble(name: str, feature: FeatureSpec, columns: list[Any]) -> Any:
    """The feature's column from those of its slots (in the order of `slots_of`).

    Raises:
      FeatureLengthError: The counts of its parts do not fit each other, or an index lies outside its size.
    """
    match feature:
        case FixedLenSequenceFeature():
            return _pad(name, feature, columns[-1])
        case RaggedFeature():
            return partition_rows(name, feature, columns)
        case SparseFeature():
            return merge_sparse(name, feature, columns)
        case _:
            return columns[-1]


def _pad(name: str, feature: FixedLenSequenceFeature, column: Ragged) -> Any:
    stride = math.prod(feature.shape)
    require(column.lengths % stride == 0, column.lengths, name, f"a multiple of {stride} values")
    values: Any = column.values
    rows = Ragged(values.reshape(-1, *feature.shape), column.row_splits // stride)
    return rows.to_padded(feature.default_value)
