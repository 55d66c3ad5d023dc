"""What a feature of an Example is parsed into: TensorFlow's `tf.io` specifications, and `RawFeature`.

    FixedLenFeature(shape, dtype)          exactly prod(shape) values a row       -> array (B, *shape), or Bytes
    RawFeature(shape, dtype)               one byte string of exactly those items -> array (B, *shape)
    VarLenFeature(dtype)                   any number of values a row             -> Ragged
    FixedLenSequenceFeature(shape, dtype)  any number of items of one shape a row -> array (B, longest, *shape)
    RaggedFeature(dtype, partitions=...)   rows of rows                           -> Ragged, nested
    SparseFeature(index_key, value_key)    values with their indices              -> Sparse
    PresentFeature(key)                    whether the example has another one    -> bool (B,)

A dtype is `np.int64`, `np.float32`, or `bytes` (TensorFlow's `tf.string`; `str` and "string" mean the same).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

DType: TypeAlias = "np.dtype[Any] | type[bytes]"


@dataclass(frozen=True, slots=True)
class FixedLenFeature:
    """Exactly `prod(shape)` values in each example.

    Parsed into an array `(B, *shape)`; for `bytes` into `Bytes` of that shape.

    Attributes:
      shape: Shape of one example's values; `()` or `[]` is a scalar, an int a vector.
      dtype: np.int64, np.float32 or bytes.
      default_value: Used where the key is absent or its kind unset (not for an empty list); as many values as
        `shape` holds. None, or a shape of 0 elements: the feature must be there.

    Raises:
      ValueError: The dtype is another, the shape is not fully known, or the default does not fit it.

    Differs from tf.io.FixedLenFeature:
      A default that does not fit is refused here, not when parsing.
    """

    shape: Any
    dtype: Any
    default_value: Any = field(default=None, compare=False)
    _default_bits: Any = field(default=None, init=False, repr=False)  # Tells -0.0 from 0.0, and takes NaN for NaN.

    def __post_init__(self) -> None:
        _set(self, shape=_as_shape(self.shape), dtype=_as_dtype(self.dtype))
        _set_default(self, self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class RawFeature:
    """One byte string in each example that holds the memory of an array: `prod(shape)` items, C order.

    Parsed into an array `(B, *shape)` of that dtype, without a step in between. wellfed's own: in TensorFlow, a
    FixedLenFeature([], tf.string) and `tf.io.decode_raw` after it.

    Attributes:
      shape: Shape of one example's array.
      dtype: Any NumPy type of fixed size, in the byte order that the bytes have.
      default_value: As in FixedLenFeature.

    Raises:
      ValueError: The dtype has no fixed size, the shape is not fully known, or the default does not fit it.
    """

    shape: Any
    dtype: Any
    default_value: Any = field(default=None, compare=False)
    _default_bits: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        dtype = np.dtype(self.dtype)
        if dtype.hasobject or dtype.kind in "SU" or not dtype.itemsize:
            raise ValueError(f"RawFeature: dtype must be a NumPy type of fixed size, got {self.dtype!r}")
        _set(self, shape=_as_shape(self.shape), dtype=dtype)
        _set_default(self, self.shape, dtype)


@dataclass(frozen=True, slots=True)
class VarLenFeature:
    """Any number of values in each example; none where the key is absent. Parsed into `Ragged`.

    Attributes:
      dtype: np.int64, np.float32 or bytes.

    Differs from tf.io.VarLenFeature:
      Gives `Ragged`, not a SparseTensor; `Ragged.to_sparse()` is that.
    """

    dtype: Any

    def __post_init__(self) -> None:
        _set(self, dtype=_as_dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class FixedLenSequenceFeature:
    """Any number of items of one shape in each example.

    In an Example: an array `(B, longest, *shape)`, padded on the right with `default_value`. In a SequenceExample:
    the same with 0 or b"" as padding, and each row of the list must hold exactly one item.

    Attributes:
      shape: Shape of one item.
      dtype: np.int64, np.float32 or bytes.
      allow_missing: True: an absent key is a sequence of length 0. An Example's must be True.
      default_value: A scalar; what pads shorter rows. 0 or b"" where None.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = field(default=None, compare=False)
    _default_bits: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        _set(self, shape=_as_shape(self.shape), dtype=_as_dtype(self.dtype))
        if 0 in self.shape:
            raise ValueError(f"FixedLenSequenceFeature: an item must hold at least 1 value, got shape {self.shape}")
        _set_default(self, (), self.dtype)


@dataclass(frozen=True, slots=True)
class RowSplits:
    """Row i holds the values from `splits[i]` to `splits[i + 1]`; `splits` is the feature `key`."""

    key: str


@dataclass(frozen=True, slots=True)
class RowLengths:
    """Row i holds `lengths[i]` values; `lengths` is the feature `key`."""

    key: str


@dataclass(frozen=True, slots=True)
class RowStarts:
    """Row i begins at value `starts[i]`; `starts` is the feature `key`."""

    key: str


@dataclass(frozen=True, slots=True)
class RowLimits:
    """Row i ends before value `limits[i]`; `limits` is the feature `key`."""

    key: str


@dataclass(frozen=True, slots=True)
class ValueRowIds:
    """Value j belongs to row `ids[j]`; `ids` is the feature `key`, never falling."""

    key: str


@dataclass(frozen=True, slots=True)
class UniformRowLength:
    """Every row holds `length` values, at least 1."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"UniformRowLength: length must be at least 1 value, got {self.length}")


Partition: TypeAlias = RowSplits | RowLengths | RowStarts | RowLimits | ValueRowIds | UniformRowLength


@dataclass(frozen=True, slots=True)
class RaggedFeature:
    """Values of any number, cut into rows of rows by other features of the same example. Parsed into `Ragged`.

    Without partitions each example is one row, as in VarLenFeature. Each partition adds a level; they are given from
    the outermost to the innermost.

    Attributes:
      dtype: np.int64, np.float32 or bytes.
      value_key: The feature that holds the values; the key in the features mapping where None.
      partitions: RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds (each names an int64 feature) or
        UniformRowLength.

    Raises:
      ValueError: A partition is none of these.

    Differs from tf.io.RaggedFeature:
      Row splits are int64 always. Partitions are always checked against the number of values (`validate=True`).
    """

    RowSplits: ClassVar = RowSplits
    RowLengths: ClassVar = RowLengths
    RowStarts: ClassVar = RowStarts
    RowLimits: ClassVar = RowLimits
    ValueRowIds: ClassVar = ValueRowIds
    UniformRowLength: ClassVar = UniformRowLength

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Partition] = ()

    def __post_init__(self) -> None:
        _set(self, dtype=_as_dtype(self.dtype), partitions=tuple(self.partitions))
        for partition in self.partitions:
            if not isinstance(partition, Partition):
                raise ValueError(  # noqa: TRY004 -- a spec's faults are all of one type.
                    f"RaggedFeature: a partition such as RowSplits(key) is due, got {partition!r}"
                )


@dataclass(frozen=True, slots=True)
class SparseFeature:
    """Values and their indices, in two (or more) features of the same example. Parsed into `Sparse`.

    Attributes:
      index_key: The int64 feature that holds the indices; a sequence of names for more dimensions.
      value_key: The feature that holds the values.
      dtype: np.int64, np.float32 or bytes.
      size: The dense size; a sequence, one for each index key.
      already_sorted: True: indices are taken in the order given.

    Differs from tf.io.SparseFeature:
      An index outside [0, size) is an error, not accepted.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def __post_init__(self) -> None:
        keys = (self.index_key,) if isinstance(self.index_key, str) else tuple(self.index_key)
        sizes = _as_shape(self.size)
        if not keys or len(keys) != len(sizes):
            raise ValueError(f"SparseFeature: each index key needs a size, got {len(keys)} keys and {len(sizes)} sizes")
        _set(self, dtype=_as_dtype(self.dtype), index_key=keys, size=sizes)


@dataclass(frozen=True, slots=True)
class PresentFeature:
    """Whether each example has the feature `key`: the mask of an optional feature. Parsed into a bool array `(B,)`.

    wellfed's own. An empty list is there; an absent key, or one whose kind is unset, is not.

    Attributes:
      key: A feature that the same mapping reads by itself alone, such as a FixedLenFeature with a default or a
        VarLenFeature.

    Example:
      >>> import numpy as np
      >>> from wellfed.example import encode_example, parse_example
      >>> features = {"x": FixedLenFeature([], np.float32, default_value=0), "has_x": PresentFeature("x")}
      >>> parse_example([encode_example({"x": 1.5}), encode_example({"y": 2})], features)["has_x"].tolist()
      [True, False]
    """

    key: str


FeatureSpec: TypeAlias = (
    FixedLenFeature
    | RawFeature
    | VarLenFeature
    | FixedLenSequenceFeature
    | RaggedFeature
    | SparseFeature
    | PresentFeature
)


def _set(feature: Any, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(feature, name, value)


def _set_default(feature: Any, shape: tuple[int, ...], dtype: DType) -> None:
    if feature.default_value is not None:
        value = _as_default(feature.default_value, shape, dtype)
        bits = value if dtype is bytes or value is None else np.asarray(value, dtype).tobytes()
        _set(feature, default_value=value, _default_bits=bits)


def _as_dtype(dtype: Any) -> DType:
    if dtype is bytes or dtype is str or (isinstance(dtype, str) and dtype in ("string", "bytes")):
        return bytes
    try:
        found: np.dtype[Any] | None = np.dtype(dtype)
    except TypeError:
        found = None
    if dtype is None or found is None or found.str[1:] not in ("i8", "f4", "O"):
        raise ValueError(
            f"dtype must be np.int64, np.float32 or bytes, got {dtype!r}; an Example stores nothing else "
            f"(RawFeature reads other types from a byte string)"
        )
    return bytes if found.hasobject else found.newbyteorder("=")  # An object array is tf.string in NumPy.


def _as_shape(shape: Any) -> tuple[int, ...]:
    if shape is None:
        raise ValueError("shape must be known: use [] for a scalar, or VarLenFeature for any number of values")
    dims = list(shape) if isinstance(shape, Sequence) or hasattr(shape, "__iter__") else [shape]
    if any(dim is None or operator.index(dim) < 0 for dim in dims):
        raise ValueError(
            f"every dimension of shape must be known, got {shape}; where the first is not, use FixedLenSequenceFeature"
        )
    return tuple(operator.index(dim) for dim in dims)


def _as_default(value: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """The default as nested tuples of `shape` (hashable), or as a scalar."""
    array = np.empty((), np.object_) if isinstance(value, (bytes, str)) else np.asarray(value)
    if isinstance(value, (bytes, str)):
        array[()] = value
    if array.size != math.prod(shape):
        raise ValueError(f"default_value must hold {math.prod(shape)} values for shape {shape}, got {array.size}")
    if array.size == 0:
        return None
    if dtype is bytes:
        strings = np.empty(array.size, np.object_)
        strings[:] = [_as_string(item) for item in (np.asarray(value, np.object_) if array.ndim else array).reshape(-1)]
        return _nested(strings.reshape(shape).tolist())
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            cast = array.astype(dtype)
            same = bool((array == cast).all())
        except (TypeError, ValueError, OverflowError):
            same = False
    # A float may be rounded, as tf.io does; what is beyond its range would become infinite.
    if not same and array.dtype.kind in "iuf" and np.dtype(dtype).kind not in "biu":
        same = bool((np.isfinite(cast) | ~np.isfinite(array)).all())
    if not same:
        raise ValueError(f"default_value must be {dtype}, got {value!r}")
    return _nested(cast.reshape(shape).tolist())


def _as_string(item: Any) -> bytes:
    if not isinstance(item, (bytes, str)):
        raise ValueError(f"default_value must be bytes, got {item!r}")  # noqa: TRY004 -- as above.
    return item.encode() if isinstance(item, str) else item


def _nested(value: Any) -> Any:
    return tuple(_nested(item) for item in value) if isinstance(value, list) else value
