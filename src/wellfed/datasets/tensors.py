"""The feature types of many values: `Tensor` and `Sequence`.

How they stand in an Example, as TensorFlow Datasets lays them out:

    Tensor((2, 3), float32)                      x: 6 floats
    Tensor((None, 3), float32)                   x: 3 n floats
    Tensor((2, 3), float64, encoding="bytes")    x: one byte string of 48 bytes, little-endian, row by row
    Tensor((None, None), ..., encoding="bytes")  x/value: one byte string; x/shape: 2 int64
    Sequence(Scalar(int64))                      x: n int64
    Sequence(Sequence(Scalar(int64)))            x/ragged_flat_values: all values;
                                                 x/ragged_row_lengths_0: the inner lists' lengths
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from wellfed import example
from wellfed.datasets.feature_types import ClassLabel, FeatureType, Scalar, encode_each
from wellfed.datasets.storage import (
    Shape,
    all_arrays,
    check_shape,
    checked_shape,
    from_storage,
    numeric_dtype,
    object_column,
    show_shape,
    stacked,
    storage_dtype,
    to_array,
    to_storage,
)
from wellfed.errors import EncodeError, ExampleError, FeatureLengthError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as SequenceOf

    from wellfed.example import FeatureSpec

Encoding = Literal["none", "bytes", "zlib"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array of numbers.

    Attributes:
      shape: Its sizes; None where rows differ.
      dtype: bool, an integer or a float.
      encoding: "none" stores the numbers as int64 or float32, which TensorFlow's tools show; "bytes" stores the
        array's memory, little-endian, which keeps any dtype whole and reads fastest; "zlib" compresses that.
    """

    shape: Shape
    dtype: Any
    encoding: Encoding = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", checked_shape(self.shape))
        object.__setattr__(self, "dtype", numeric_dtype(self.dtype))
        if self.encoding not in get_args(Encoding):
            raise ValueError(f'encoding must be "none", "bytes" or "zlib", got {self.encoding!r}')
        if self.inline and self.shape.count(None) > 1:
            raise ValueError(
                f'a shape with more than one unknown size needs encoding="bytes", got {show_shape(self.shape)}'
            )

    @property
    def known(self) -> bool:
        """Whether every row has the same shape."""
        return None not in self.shape

    @property
    def inline(self) -> bool:
        """Whether the numbers themselves stand in the Example, not a byte string."""
        return self.encoding == "none"

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns an exact number of values where the shape is known, else one list or byte string a row."""
        if self.inline:
            stored = storage_dtype(self.dtype)
            return {name: example.FixedLenFeature(self.shape, stored) if self.known else example.VarLenFeature(stored)}
        if self.encoding == "bytes" and self.known:
            return {name: example.RawFeature(self.shape, self.dtype.newbyteorder("<"))}
        if not self._has_shape:
            return {name: example.FixedLenFeature((), bytes)}
        return {
            f"{name}/value": example.FixedLenFeature((), bytes),
            f"{name}/shape": example.FixedLenFeature((len(self.shape),), np.int64),
        }

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes an array, or nested lists, that fit shape and dtype."""
        array = to_array(name, value, self.dtype)
        check_shape(name, array.shape, self.shape)
        if self.inline:
            return {name: to_storage(name, array).reshape(-1)}
        memory = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        if self.encoding == "zlib":
            memory = zlib.compress(memory)
        if not self._has_shape:
            return {name: memory}
        return {f"{name}/value": memory, f"{name}/shape": np.array(array.shape, np.int64)}

    def encode_column(self, name: str, values: SequenceOf[Any]) -> dict[str, Any]:
        """Encodes many rows; arrays of one known shape are copied once."""
        if self.encoding == "zlib" or not all_arrays(values, self.dtype, self.shape):
            return encode_each(self, name, values)
        rows = stacked(values)
        if self.inline:
            return {name: to_storage(name, rows)}
        return {name: example.Bytes.from_rows(rows.astype(self.dtype.newbyteorder("<"), copy=False))}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the arrays.

        Returns:
          An array (B, *shape) of `dtype` where the shape is known; `Ragged` of rows (n, *shape[1:]) where only the
          first size is not known and `encoding` is "none"; else an object array (B,) of arrays.
        """
        column = columns[f"{name}/value" if self._has_shape else name]
        if self.inline:
            return self._from_numbers(name, column)
        if self.encoding == "bytes" and self.known:
            return column  # RawFeature has made the array.
        shapes = columns[f"{name}/shape"] if self._has_shape else [self.shape] * len(column)
        rows = [self._from_memory(name, at, memory, shapes[at]) for at, memory in enumerate(column)]
        return self._stacked(rows) if self.known else object_column(rows)

    def entries(self, name: str, values: Any) -> np.ndarray[Any, Any]:
        """Returns the arrays of a `Sequence`'s entries, put end to end: (n, *shape). The shape must be known."""
        if self.inline:
            return from_storage(values, self.dtype).reshape(-1, *self.shape)
        return self._stacked([self._from_memory(name, at, memory, self.shape) for at, memory in enumerate(values)])

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Tensor", "shape": list(self.shape), "dtype": self.dtype.name, "encoding": self.encoding}

    @property
    def _has_shape(self) -> bool:
        """Whether the Example holds each row's shape: one unknown size follows from the length, two do not."""
        return self.shape.count(None) > 1

    def _from_numbers(self, name: str, column: Any) -> Any:
        if self.known:
            return from_storage(column, self.dtype)
        values = from_storage(column.values, self.dtype)
        if self.shape[0] is None:
            inner = self.shape[1:]
            splits = _divided(name, column.row_splits, inner)
            return example.Ragged(values.reshape(-1, *inner), splits)
        splits = column.row_splits
        return object_column(
            [self._shaped(name, at, values[splits[at] : splits[at + 1]], self.shape) for at in range(len(splits) - 1)]
        )

    def _stacked(self, rows: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        return np.stack(rows) if rows else np.empty((0, *self.shape), self.dtype)

    def _from_memory(self, name: str, at: int, memory: bytes, shape: Any) -> np.ndarray[Any, Any]:
        if self.encoding == "zlib":
            try:
                memory = zlib.decompress(memory)
            except zlib.error as error:
                raise ExampleError(f"expected a zlib stream: {error}", name, at) from error
        if len(memory) % self.dtype.itemsize:
            raise ExampleError(f"expected whole {self.dtype} values, got {len(memory)} bytes", name, at)
        flat = np.frombuffer(memory, self.dtype.newbyteorder("<")).astype(self.dtype)  # A copy: writable and owned.
        return self._shaped(name, at, flat, shape)

    def _shaped(self, name: str, at: int, flat: np.ndarray[Any, Any], shape: Any) -> np.ndarray[Any, Any]:
        try:
            return flat.reshape([-1 if size is None else int(size) for size in shape])
        except ValueError as error:
            raise ExampleError(
                f"expected shape {show_shape(tuple(shape))}, got {flat.size} values", name, at
            ) from error


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of one feature type.

    Attributes:
      feature: The type of each entry: any but an encoded `Tensor` whose shape is not known.
      length: How many entries each row has; None where rows differ.
    """

    feature: FeatureType
    length: int | None = None

    def __post_init__(self) -> None:
        inner = self.feature
        if isinstance(inner, Tensor) and not inner.known:
            raise ValueError(f"a Sequence of Tensors needs their shape, got {show_shape(inner.shape)}")
        if self.length is not None and self.length < 0:
            raise ValueError(f"length must be at least 0 or None, got {self.length}")

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one list a row; nested sequences have one list of values and one of lengths per inner level."""
        depth, leaf = self.unnested()
        values = example.VarLenFeature(stored_kind(leaf))
        if depth == 1:
            return {name: values}
        lengths = {f"{name}/ragged_row_lengths_{level}": example.VarLenFeature(np.int64) for level in range(depth - 1)}
        return {f"{name}/ragged_flat_values": values, **lengths}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes a list, or an array, of what `feature` takes."""
        depth, leaf = self.unnested()
        lengths: list[list[int]] = [[] for _ in range(depth)]
        leaves: list[Any] = []
        self._flatten(name, value, lengths, leaves)
        encoded = [leaf.encode(name, one)[name] for one in leaves]
        stored = stored_kind(leaf)
        # An empty list keeps its kind, so that the same rows give the same bytes one by one and together.
        if stored is bytes:
            flat: Any = example.Bytes.from_list(encoded)
        else:
            flat = np.concatenate([np.ravel(one) for one in encoded] or [np.empty(0, stored)])
        if depth == 1:
            return {name: flat}
        inner = {f"{name}/ragged_row_lengths_{at}": np.array(sizes, np.int64) for at, sizes in enumerate(lengths[1:])}
        return {f"{name}/ragged_flat_values": flat, **inner}

    def encode_column(self, name: str, values: SequenceOf[Any]) -> dict[str, Any]:
        """Encodes many rows."""
        return encode_each(self, name, values)

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the lists.

        Returns:
          `Ragged` whose values are what `feature` decodes to, nested as deep as the sequences are. Where the length is
          known and `feature` is no sequence and gives numbers: an array (B, length, ...).
        """
        depth, leaf = self.unnested()
        flat = columns[name if depth == 1 else f"{name}/ragged_flat_values"]
        inner = leaf.shape if isinstance(leaf, Tensor) and leaf.inline else ()
        flat_splits = _divided(name, flat.row_splits, inner)
        entries: Any
        if isinstance(leaf, Tensor):
            entries = leaf.entries(name, flat.values)
        else:
            entries = leaf.decode(name, {name: flat.values})
        if depth == 1:
            return self._dense(name, entries, flat_splits)
        lengths = [columns[f"{name}/ragged_row_lengths_{level}"] for level in range(depth - 1)]
        for level in reversed(lengths):
            entries = example.Ragged(entries, np.concatenate([[0], np.cumsum(level.values, dtype=np.int64)]))
        return example.Ragged(entries, lengths[0].row_splits)

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Sequence", "feature": self.feature.to_json(), "length": self.length}

    def unnested(self) -> tuple[int, FeatureType]:
        """Returns how many sequences stand in each other, and the type inside the last."""
        depth, leaf = 1, self.feature
        while isinstance(leaf, Sequence):
            depth, leaf = depth + 1, leaf.feature
        return depth, leaf

    def _flatten(self, name: str, value: Any, lengths: list[list[int]], leaves: list[Any]) -> None:
        """Appends the length of each list to its level of `lengths`, and what the last lists hold to `leaves`."""
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise EncodeError(f"expected a list, got {value!r:.60}", name)
        if self.length not in (None, len(value)):
            raise EncodeError(f"expected a list of {self.length}, got {len(value)}", name)
        lengths[0].append(len(value))
        if not isinstance(self.feature, Sequence):
            leaves.extend(value)
            return
        for inner in value:
            self.feature._flatten(name, inner, lengths[1:], leaves)

    def _dense(self, name: str, entries: Any, splits: np.ndarray[Any, Any]) -> Any:
        if self.length is None:
            return example.Ragged(entries, splits)
        found = np.diff(splits)
        if (found != self.length).any():
            at = int(np.flatnonzero(found != self.length)[0])
            raise FeatureLengthError(f"expected {self.length} entries, got {found[at]}", name, at)
        if not isinstance(entries, np.ndarray):
            return example.Ragged(entries, splits)
        return entries.reshape(len(found), self.length, *entries.shape[1:])


def stored_kind(leaf: FeatureType) -> Any:
    """Returns which of an Example's kinds holds one entry."""
    if isinstance(leaf, Tensor) and not leaf.inline:
        return bytes
    if isinstance(leaf, ClassLabel):
        return np.int64
    return storage_dtype(leaf.dtype) if isinstance(leaf, (Scalar, Tensor)) else bytes


def _divided(name: str, splits: np.ndarray[Any, Any], inner: Any) -> np.ndarray[Any, Any]:
    """Returns row splits that count entries of shape `inner` where `splits` counts single numbers."""
    size = prod(inner)
    if size == 1:
        return splits
    if size == 0 or (splits % size).any():
        at = 0 if size == 0 else int(np.flatnonzero(np.diff(splits) % size)[0])
        raise FeatureLengthError(f"expected a multiple of {size} values, got {np.diff(splits)[at]}", name, at)
    divided: np.ndarray[Any, Any] = splits // size
    return divided
