"""The schema of Python mappings, from their values.

    True                      Scalar(bool)          np.uint8(3)             Scalar(uint8)
    3                         Scalar(int64)         np.zeros((2, 3))        Tensor((2, 3), float64, "bytes")
    0.5, or 3 and 0.5         Scalar(float32)       arrays of two widths    Tensor((None, 3), ...)
    "a"                       Text()                [1, 2], []              Sequence(Scalar(int64))
    b"...", all pictures      Image()               other bytes             ByteString()

A Python float is what people type for any number, so it becomes float32; NumPy's dtypes are kept whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ByteString, ClassLabel, FeatureType, Image, Schema, Sequence, Text
from wellfed.errors import SourceError
from wellfed.sources.sniff import HEAD_BYTES, image_kind
from wellfed.sources.types import type_of_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES = (bytes, bytearray, memoryview)


class SchemaGuess:
    """Sees items one by one, and then knows the schema that holds them all.

    Raises:
      SourceError: An item is no mapping, has other features than the first, or a value of another kind.
    """

    def __init__(self) -> None:
        self._guesses: dict[str, _Guess] = {}
        self._seen = 0

    def see(self, item: Any) -> None:
        """Takes the next item."""
        path = f"item {self._seen}"
        checked_mapping(item, path)
        if not self._seen:
            self._guesses = {str(name): _Guess() for name in item}
        if other := [str(name) for name in item.keys() ^ self._guesses.keys()]:
            has = "has" if other[0] in item else "has no"
            raise SourceError(f"{has} {min(other)!r}, unlike item 0. All items need the same features", path)
        for name, value in item.items():
            try:
                self._guesses[name].see(value)
            except _Unlike as error:
                raise SourceError(f"feature {name!r} {error}. Mend it, or give types=Schema(...)", path) from error
        self._seen += 1

    def schema(self) -> Schema:
        """The schema of the items seen."""
        types = {}
        for name, guess in self._guesses.items():
            try:
                types[name] = guess.feature_type()
            except (ValueError, _Unlike) as error:
                raise SourceError(f"feature {name!r} {error}. Give types=Schema(...)", "items") from error
        return Schema(types)


def checked_mapping(item: Any, path: str) -> Mapping[str, Any]:
    """The item, which must be a mapping of names to values."""
    if not isinstance(item, Mapping):
        raise SourceError(f'is a {type(item).__name__}; a mapping such as {{"x": 1}} is due', path)
    return item


def size_of(value: Any) -> int:
    """About how many bytes a value takes."""
    if isinstance(value, Mapping):
        return sum(size_of(inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return sum(size_of(inner) for inner in value)
    if isinstance(value, (str, *_BYTES)):
        return len(value)
    return int(getattr(value, "nbytes", 8))


class _Unlike(Exception):  # noqa: N818 -- an answer between two classes of this file.
    """A value that does not go with those before it; says so as the end of a sentence."""


class _Guess:
    """What is known of one feature: a kind, and what that kind needs."""

    def __init__(self) -> None:
        self._kind = ""
        self._dtype: np.dtype[Any] | None = None
        self._shape: tuple[int | None, ...] = ()
        self._pictures = True
        self._inner: _Guess | None = None

    def see(self, value: Any) -> None:
        """Takes the next value."""
        if isinstance(value, str):
            self._become("text")
        elif isinstance(value, _BYTES):
            self._become("bytes")
            self._pictures = self._pictures and image_kind(bytes(value[:HEAD_BYTES])) is not None
        elif isinstance(value, list | tuple):
            self._become("list")
            self._inner = self._inner or _Guess()
            for inner in value:
                self._inner.see(inner)
        else:
            self._see_numbers(value)

    def _see_numbers(self, value: Any) -> None:
        plain = {bool: np.bool_, int: np.int64, float: np.float32}.get(type(value))
        if plain is None and not hasattr(value, "__array__"):
            raise _Unlike(f"is a {type(value).__name__}, which no feature holds")
        array = np.asarray(value) if plain is None else np.empty((), plain)
        if array.dtype.kind not in "biuf":
            raise _Unlike(f"is an array of {array.dtype}, which no feature holds")
        self._become("numbers")
        if self._dtype is None:
            self._dtype, self._shape = array.dtype.newbyteorder("="), array.shape
            return
        self._dtype = _joined(self._dtype, array.dtype.newbyteorder("="))
        if len(array.shape) != len(self._shape):
            raise _Unlike(f"has shape {array.shape}, after {self._shape}")
        self._shape = tuple(mine if mine == its else None for mine, its in zip(self._shape, array.shape, strict=True))

    def _become(self, kind: str) -> None:
        if self._kind and self._kind != kind:
            raise _Unlike(f"is {kind}, after {self._kind}")
        self._kind = kind

    def feature_type(self) -> FeatureType:
        """The type that holds all values seen."""
        if self._kind == "text":
            return Text()
        if self._kind == "bytes":
            return Image() if self._pictures else ByteString()
        if self._inner is not None:
            if not self._inner._kind:
                raise _Unlike("holds empty lists alone")
            return Sequence(self._inner.feature_type())
        assert self._dtype is not None
        return type_of_array(self._shape, self._dtype)


def _joined(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that holds the values of both."""
    if first == second:
        return first
    if {first, second} == {np.dtype(np.int64), np.dtype(np.float32)}:  # Numbers that were typed: 1 and 0.5.
        return np.dtype(np.float32)
    both = np.result_type(first, second)
    if "b" in first.kind + second.kind or (both.kind == "f" and first.kind in "iu" and second.kind in "iu"):
        raise _Unlike(f"is {second}, after {first}")
    return both


class ClassGuess:
    """Sees the class of each item, and then numbers the classes.

    Args:
      label: The feature that is the class; None if there is none, and nothing is done.
    """

    def __init__(self, label: str | None) -> None:
        self._label = label
        self._found: dict[Any, int] = {}  # Names or numbers, in the order they came.
        self._labels = array("q")

    def see(self, item: Mapping[str, Any]) -> None:
        """Takes the next item."""
        if self._label is None:
            return
        value = item.get(self._label)
        if isinstance(value, np.integer | np.bool_):
            value = int(value)
        if not isinstance(value, int | str):
            reason = f"has {value!r} for its class {self._label!r}; a name or a whole number is due"
            raise SourceError(reason, f"item {len(self._labels)}")
        self._labels.append(self._found.setdefault(value, len(self._found)))

    def applied(self, schema: Schema) -> tuple[Schema, NDArray[np.int64] | None]:
        """The schema with the class as `ClassLabel`, and the class of each item: numbers as they are, names sorted."""
        if self._label is None:
            return schema, None
        kind = schema.get(self._label)
        if not isinstance(kind, ClassLabel):
            kind = self._class_label()
        numbers = [kind.names.index(value) if value in kind.names else value for value in self._found]
        if wrong := [value for value in numbers if isinstance(value, str) or not 0 <= value < kind.num_classes]:
            raise SourceError(f"feature {self._label!r} holds {wrong[0]!r}, which is none of its classes", "items")
        return schema.replace({self._label: kind}), np.array(numbers, np.int64)[np.array(self._labels, np.int64)]

    def _class_label(self) -> ClassLabel:
        if all(isinstance(value, str) for value in self._found):
            return ClassLabel(tuple(sorted(self._found)))
        if any(isinstance(value, str) for value in self._found):
            raise SourceError(f"feature {self._label!r} holds names and numbers for classes. Use one of them", "items")
        return ClassLabel(num_classes=max(self._found) + 1)
