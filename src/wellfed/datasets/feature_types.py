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
from wellfed.datasets.storage import (
    Shape,
    all_arrays,
    check_shape,
    checked_shape,
    fits,
    from_storage,
    numeric_dtype,
    object_column,
    short,
    show_shape,
    stacked,
    storage_dtype,
    to_array,
    to_storage,
)
from wellfed.errors import EncodeError, ExampleError, ImageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellfed.example import FeatureSpec

_INT64 = np.iinfo(np.int64)


class FeatureType(Protocol):
    """What every feature type can do. `name` is always the feature's name in the Example."""

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns what `parse_example` needs to read the feature, one entry per name in the Example."""
        ...

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Returns what `encode_example` takes for one row's `value`; raises `EncodeError` where it does not fit."""
        ...

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Returns what `encode_examples` takes for many rows' `values`; equal to `encode` of each."""
        ...

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the column people want, made from the parsed columns that `features` names."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values, the key "type" first."""
        ...


def encode_each(kind: FeatureType, name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Returns columns of what `kind.encode` gives for each of `values`."""
    rows = [kind.encode(name, value) for value in values]
    return {stored: [row[stored] for row in rows] for stored in kind.features(name)}


def encode_strings(kind: FeatureType, name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Returns the column of a type that is one byte string a row."""
    if isinstance(values, example.Bytes):
        return {name: values}
    return {name: example.Bytes.from_list([kind.encode(name, value)[name] for value in values])}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: one byte string in the Example, in the format it came in.

    Attributes:
      shape: Height, width, channels; None where pictures differ or it is not known. [pixels]
      dtype: uint8, or uint16 for 16-bit PNG.
      encoding_format: "png" or "jpeg" where all pictures are in that format; "raw" where pixels are stored as they are,
        which needs a known shape; None where formats are mixed.
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
        if self.encoding_format not in (None, "png", "jpeg", "raw"):
            raise ValueError(f'encoding_format must be "png", "jpeg", "raw" or None, got {self.encoding_format!r}')
        if self.encoding_format == "raw" and None in self.shape:
            raise ValueError(f"pixels stored raw need a known shape, got {show_shape(self.shape)}")

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one byte string a row; an array's memory where pixels are stored raw."""
        if self.encoding_format == "raw":
            return {name: example.RawFeature(self.shape, self.dtype.newbyteorder("<"))}
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Keeps encoded bytes; turns an array (height, width, channels) into the declared format, PNG by default."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {name: bytes(value)}
        array = to_array(name, value, self.dtype)
        if array.ndim == 2:
            array = array[:, :, np.newaxis]
        check_shape(name, array.shape, self.shape)
        if self.encoding_format == "raw":
            return {name: array.astype(self.dtype.newbyteorder("<"), copy=False).tobytes()}
        return {name: image.encode_image(array, "jpeg" if self.encoding_format == "jpeg" else "png")}

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Encodes many rows; pixels that are stored raw are copied once."""
        if self.encoding_format != "raw" or not all_arrays(values, self.dtype, self.shape):
            return encode_strings(self, name, values)
        return {name: example.Bytes.from_rows(stacked(values).astype(self.dtype.newbyteorder("<"), copy=False))}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Decodes each picture.

        Returns:
          An array (B, height, width, channels) where the whole shape is known; else an object array (B,) of arrays,
          whatever sizes this batch happens to hold.
        """
        if self.encoding_format == "raw":
            return columns[name]  # RawFeature has made the array.
        rows = [self._decode_one(name, at, encoded) for at, encoded in enumerate(columns[name])]
        if None in self.shape:
            return object_column(rows)
        return np.stack(rows) if rows else np.empty((0, *self.shape), self.dtype)

    def _decode_one(self, name: str, at: int, encoded: bytes) -> np.ndarray[Any, Any]:
        channels: Any = self.shape[2] if self.shape[2] in (1, 3, 4) else 0
        try:
            pixels = image.decode_image(encoded, channels=channels, dtype=self.dtype.name)
        except ImageError as error:
            raise ImageError(error.reason, error.source or f'feature "{name}" of example {at} of the batch') from error
        if not fits(pixels.shape, self.shape):
            found, due = show_shape(pixels.shape), show_shape(self.shape)
            raise ExampleError(f"expected a picture of shape {due}, got {found}", name, at)
        return pixels

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

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one int64 a row."""
        return {name: example.FixedLenFeature((), np.int64)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes a class's number or its name."""
        if isinstance(value, str):
            if value not in self.names:
                raise EncodeError(f"{value!r} is none of the {len(self.names)} classes {short(self.names)}", name)
            return {name: np.int64(self.names.index(value))}
        number = int(to_array(name, value, np.dtype(np.int64)))
        if not 0 <= number < (self.num_classes or _INT64.max):
            raise EncodeError(f"expected a class from 0 to {self.num_classes - 1}, got {number}", name)
        return {name: np.int64(number)}

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Encodes many rows; numbers are checked together."""
        if not isinstance(values, np.ndarray) and any(isinstance(value, str) for value in values):
            return encode_each(self, name, values)
        numbers = to_array(name, values, np.dtype(np.int64))
        if (
            numbers.ndim != 1
            or numbers.min(initial=0) < 0
            or numbers.max(initial=0) >= (self.num_classes or _INT64.max)
        ):
            return encode_each(self, name, values)  # Which names the one at fault.
        return {name: numbers}

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

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one int64 or float32 a row."""
        return {name: example.FixedLenFeature((), storage_dtype(self.dtype))}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes one number that `dtype` can hold."""
        array = to_array(name, value, self.dtype)
        check_shape(name, array.shape, ())
        return {name: to_storage(name, array)[()]}

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Encodes many rows, checked together."""
        array = to_array(name, values, self.dtype)
        check_shape(name, array.shape[1:], ())
        return {name: to_storage(name, array)}

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the numbers: an array (B,) of `dtype`."""
        return from_storage(columns[name], self.dtype)

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Scalar", "dtype": self.dtype.name}


@dataclass(frozen=True, slots=True)
class Text:
    """A string, stored as UTF-8."""

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one byte string a row."""
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes `str`, or bytes that are UTF-8 already."""
        if isinstance(value, str):
            # File names that are no UTF-8 keep their bytes.
            return {name: value.encode("utf-8", "surrogateescape")}
        if isinstance(value, bytes):
            try:
                value.decode()
            except UnicodeDecodeError as error:
                raise EncodeError(
                    f"expected text, got bytes that are no UTF-8 ({error}); use ByteString", name
                ) from error
            return {name: value}
        raise EncodeError(f"expected str, got {short(value)}", name)

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Encodes many rows."""
        return encode_strings(self, name, values)

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the UTF-8 bytes: a `Bytes` of length B."""
        return columns[name]

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "Text"}


@dataclass(frozen=True, slots=True)
class ByteString:
    """Bytes without further meaning."""

    def features(self, name: str) -> dict[str, FeatureSpec]:
        """Returns one byte string a row."""
        return {name: example.FixedLenFeature((), bytes)}

    def encode(self, name: str, value: Any) -> dict[str, Any]:
        """Takes bytes."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise EncodeError(f"expected bytes, got {short(value)}", name)
        return {name: bytes(value)}

    def encode_column(self, name: str, values: Sequence[Any]) -> dict[str, Any]:
        """Encodes many rows."""
        return encode_strings(self, name, values)

    def decode(self, name: str, columns: Mapping[str, Any]) -> Any:
        """Returns the bytes: a `Bytes` of length B."""
        return columns[name]

    def to_json(self) -> dict[str, Any]:
        """Returns the type as plain JSON values."""
        return {"type": "ByteString"}
