"""What one named feature of a data set means, and how it is stored in an Example.

    type                          in Python                        in the Example
    Image(shape)                  encoded bytes or uint8 array     one byte string, the encoded picture
    ClassLabel(names)             int, or the class's name         one int64
    Scalar(dtype)                 number                           one int64 or float
    Text()                        str                              one byte string, UTF-8
    ByteString()                  bytes                            one byte string
    Tensor(shape, dtype)          array                            prod(shape) numbers; one byte string if encoded
    Sequence(feature, length)     list of what `feature` is        the same lists, longer

Each type is a frozen dataclass with the same methods, so a schema never asks which one it holds: `features` (what
`parse_example` needs), `encode` (one value to what `encode_example` takes), `decode` (parsed columns to the column
people want) and `to_json`. The layout is TensorFlow Datasets', so both read each other's shards. `Tensor` and
`Sequence` live in `tensors.py`.

Source: tensorflow_datasets/core/features and core/example_serializer.py (version 4.9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wellfed import example, image
from wellfed.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike

    from wellfed.example import Feature

Shape = tuple[int | None, ...]

_INT64 = np.iinfo(np.int64)


class FeatureType(Protocol):
    """What every feature type can do. `name` is always the feature's name in the Example."""

    def features(self, name: str) -> dict[str, Feature]:
        """Returns what `parse_example` needs to read the feature, one entry per name in the Example."""
        ...

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Returns what `encode_example` takes for one row's `value`; raises `EncodeError` where it does not fit."""
        ...

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the column people want, made from the parsed columns that `features` names."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values, the key "type" first."""
        ...


def storage_dtype(dtype: np.dtype[Any]) -> Any:
    """Returns which of an Example's kinds holds `dtype`: `np.int64`, `np.float32` or `bytes`.

    Raises:
      ValueError: No kind holds it, such as complex numbers.
    """
    if dtype.kind in "biu":
        return np.int64
    if dtype.kind == "f":
        return np.float32
    if dtype.kind in "OSU":
        return bytes
    raise ValueError(f"dtype {dtype} has no place in an Example: use bool, an integer, a float or bytes")


def to_storage(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns numbers as int64 or float32, refusing what would lose information.

    uint64 keeps its bits, as TensorFlow Datasets stores it: values from 2^63 on are negative in the Example.

    Raises:
      EncodeError: A float64 value that float32 cannot hold.
    """
    kind = storage_dtype(values.dtype)
    if values.dtype == np.uint64:
        return values.view(np.int64)
    with np.errstate(over="ignore"):  # An overflow shows as a difference below.
        stored: np.ndarray[Any, Any] = values.astype(kind)
    if values.dtype.itemsize > 4 and values.dtype.kind == "f" and not np.array_equal(stored, values, equal_nan=True):
        raise EncodeError(
            f"{values.dtype} values that float32 cannot hold. Use dtype float32 and round them yourself, "
            'or keep them whole with Tensor(shape, dtype, encoding="bytes")',
            name,
        )
    return stored


def from_storage(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns parsed int64 or float32 values as `dtype`; no copy where it is the same."""
    return values.view(np.uint64) if dtype == np.uint64 else values.astype(dtype, copy=False)


def to_array(name: str, value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns `value` as a C-contiguous array of `dtype`.

    Raises:
      EncodeError: `value` is not made of numbers, or does not survive the way to `dtype` and back.
    """
    try:
        given = np.asarray(value)
        with np.errstate(over="ignore", invalid="ignore"):  # What is lost shows as a difference below.
            array = np.ascontiguousarray(given, dtype=dtype).reshape(given.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncodeError(f"expected {dtype} values, got {_short(value)} ({error})", name) from error
    exact = given.dtype == dtype or given.size == 0 or _same(given, array)
    if not exact:
        raise EncodeError(f"expected {dtype} values, got {_short(value)} of dtype {given.dtype}", name)
    return array


def object_column(rows: list[Any]) -> np.ndarray[Any, Any]:
    """Returns rows of different shapes as an object array of shape (B,)."""
    column = np.empty(len(rows), dtype=object)
    column[:] = rows if all(np.ndim(row) == 0 for row in rows) else None
    for at, row in enumerate(rows):
        column[at] = row
    return column


def check_shape(name: str, found: tuple[int, ...], due: Shape) -> None:
    """Raises `EncodeError` unless `found` equals `due` wherever `due` is known."""
    if len(found) != len(due) or any(d not in (None, f) for f, d in zip(found, due, strict=True)):
        raise EncodeError(f"expected shape {show_shape(due)}, got {show_shape(found)}", name)


def show_shape(shape: Shape) -> str:
    """Returns a shape as people write it: `(28, 28, 1)`, with `?` for a dimension that is not known."""
    inside = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def checked_shape(shape: Any) -> Shape:
    """Returns `shape` as a tuple of sizes and None; raises `ValueError` for anything else."""
    sizes = tuple(None if size is None else int(size) for size in shape)
    if any(size is not None and size < 0 for size in sizes):
        raise ValueError(f"a shape holds sizes of at least 0, or None where not known, got {tuple(shape)}")
    return sizes


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: one byte string in the Example, in the format it came in.

    Attributes:
      shape: Height, width, channels; None where pictures differ or it is not known. [pixels]
      dtype: uint8, or uint16 for 16-bit PNG.
      encoding_format: "png" or "jpeg" where all pictures are in that format; None where formats are mixed.
    """

    shape: Shape = (None, None, None)
    dtype: Any = np.uint8
    encoding_format: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", checked_shape(self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if len(self.shape) != 3:
            raise ValueError(f"an Image's shape is (height, width, channels), got {self.shape}")
        if self.dtype not in (np.uint8, np.uint16):
            raise ValueError(f"an Image's dtype is uint8 or uint16, got {self.dtype}")

    def features(self, name: str) -> dict[str, Feature]:
        """Returns one byte string a row."""
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Keeps encoded bytes; turns an array (height, width, channels) into PNG, or JPEG where so declared."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {name: bytes(value)}
        array = to_array(name, value, self.dtype)
        if array.ndim == 2:
            array = array[:, :, np.newaxis]
        check_shape(name, array.shape, self.shape)
        return {name: image.encode_image(array, self.encoding_format or "png")}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Decodes each picture.

        Returns:
          An array (B, height, width, channels) where the whole shape is known; else an object array (B,) of arrays,
          whatever sizes this batch happens to hold.
        """
        channels = self.shape[2] or 0
        rows = [image.decode_image(encoded, channels=channels, dtype=self.dtype.name) for encoded in columns[name]]
        if None in self.shape:
            return object_column(rows)
        return np.stack(rows) if rows else np.empty((0, *self.shape), self.dtype)

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {
            "type": "Image",
            "shape": list(self.shape),
            "dtype": self.dtype.name,
            "encoding_format": self.encoding_format,
        }


@dataclass(frozen=True, slots=True)
class ClassLabel:
    """One of a fixed number of classes, stored as its number.

    Attributes:
      names: The classes' names in order of their numbers; empty where only their number is known.
      num_classes: How many there are; counted from `names` where those are given.
    """

    names: tuple[str, ...] = ()
    num_classes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if len(set(self.names)) != len(self.names):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise ValueError(f"class names must differ, got {twice[0]!r} more than once")
        if self.names and self.num_classes not in (0, len(self.names)):
            raise ValueError(f"num_classes is {self.num_classes}, but there are {len(self.names)} names")
        object.__setattr__(self, "num_classes", len(self.names) or int(self.num_classes))

    def features(self, name: str) -> dict[str, Feature]:
        """Returns one int64 a row."""
        return {name: example.FixedLenFeature((), np.int64)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes a class's number or its name."""
        if isinstance(value, str):
            if value not in self.names:
                raise EncodeError(f"{value!r} is none of the {len(self.names)} classes {_short(self.names)}", name)
            return {name: np.int64(self.names.index(value))}
        number = int(to_array(name, value, np.dtype(np.int64)))
        if not 0 <= number < (self.num_classes or _INT64.max):
            raise EncodeError(f"expected a class from 0 to {self.num_classes - 1}, got {number}", name)
        return {name: np.int64(number)}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the classes' numbers: int64 (B,)."""
        return columns[name]

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "ClassLabel", "names": list(self.names), "num_classes": self.num_classes}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number of any integer or float dtype, or bool. Floats are stored as float32.

    Attributes:
      dtype: What `decode` gives, such as `np.int32`.
    """

    dtype: Any = np.int64

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", numeric_dtype(self.dtype))

    def features(self, name: str) -> dict[str, Feature]:
        """Returns one int64 or float32 a row."""
        return {name: example.FixedLenFeature((), storage_dtype(self.dtype))}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes one number that `dtype` can hold."""
        array = to_array(name, value, self.dtype)
        check_shape(name, array.shape, ())
        return {name: to_storage(name, array)[()]}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the numbers: an array (B,) of `dtype`."""
        return from_storage(columns[name], self.dtype)

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Scalar", "dtype": self.dtype.name}


@dataclass(frozen=True, slots=True)
class Text:
    """A string, stored as UTF-8."""

    def features(self, name: str) -> dict[str, Feature]:
        """Returns one byte string a row."""
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes `str`, or bytes that are UTF-8 already."""
        if isinstance(value, str):
            return {name: value.encode()}
        if isinstance(value, bytes):
            try:
                value.decode()
            except UnicodeDecodeError as error:
                raise EncodeError(
                    f"expected text, got bytes that are no UTF-8 ({error}); use ByteString", name
                ) from error
            return {name: value}
        raise EncodeError(f"expected str, got {_short(value)}", name)

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the UTF-8 bytes: a `Bytes` of length B."""
        return columns[name]

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Text"}


@dataclass(frozen=True, slots=True)
class ByteString:
    """Bytes without further meaning."""

    def features(self, name: str) -> dict[str, Feature]:
        """Returns one byte string a row."""
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes bytes."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise EncodeError(f"expected bytes, got {_short(value)}", name)
        return {name: bytes(value)}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the bytes: a `Bytes` of length B."""
        return columns[name]

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "ByteString"}


def numeric_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Returns `dtype` as NumPy's; raises `ValueError` unless it is bool, an integer or a float."""
    found = np.dtype(dtype)
    if found.kind not in "biuf":
        raise ValueError(f"expected bool, an integer or a float dtype, got {found}; use Text or ByteString for strings")
    return found


def _same(given: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> bool:
    """Says whether `array` holds the numbers of `given`: integers exactly, floats as near as their dtype allows."""
    if given.dtype.kind not in "biuf":
        return False
    if array.dtype.kind != "f":
        return bool(np.array_equal(given, array))
    # Python's floats are float64; rounding them to the dtype that was asked for is what people mean.
    return bool(np.array_equal(np.isfinite(given), np.isfinite(array)))


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
