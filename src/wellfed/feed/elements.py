"""Elements as bytes and back: what a cache keeps in a file, and what tells whether two elements are the same.

length of the form [4 bytes, little-endian] | the form, as JSON | the memory of each leaf, in order

{"m": {name: form}}    mapping             {"a": [dtype, shape]}   array          {"b": size}     bytes
{"t": [form, ...]}     tuple               {"s": dtype}            NumPy scalar   {"u": size}     str
{"R": [form, rows]}    Ragged              {"B": [shape, size]}    Bytes          {"v": value}    number of Python's
{"P": [form, rows, padding]}  Ragged that a batch pads    {"S": [form, form, shape]}  Sparse
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import PlanError
from wellfed.feed.ragged import Steps

if TYPE_CHECKING:
    from wellfed.feed.tree import Tree

_LENGTH = struct.Struct("<I")


def encode_element(element: Tree, verb: str) -> bytes:
    """One element as bytes.

    Args:
      element: The element.
      verb: Who asks, for errors.

    Raises:
      PlanError: A leaf is no array, no string and no number.
    """
    parts: list[bytes] = []
    form = json.dumps(_form(element, parts, verb, ""), separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(form)), form, *parts])


def decode_element(content: bytes) -> Tree:
    """The element that `encode_element` was given, in memory of its own: its tuples plain, its lists arrays."""
    (size,) = _LENGTH.unpack_from(content)
    form = json.loads(content[_LENGTH.size : _LENGTH.size + size])
    return _Reader(content, _LENGTH.size + size).element(form)


def _form(element: Tree, parts: list[bytes], verb: str, path: str) -> dict[str, Any]:
    if isinstance(element, Mapping) and all(isinstance(name, str) for name in element):
        return {"m": {name: _form(branch, parts, verb, f"{path}.{name}") for name, branch in element.items()}}
    if isinstance(element, tuple):
        return {"t": [_form(branch, parts, verb, f"{path}.{n}") for n, branch in enumerate(element)]}
    if isinstance(element, Ragged):
        parts.append(element.row_splits.tobytes())
        rows = len(element)
        if isinstance(element, Steps):
            padding = element.padding if isinstance(element.padding, (int, float)) else None
            return {"P": [_form(element.values, parts, verb, path), rows, padding]}
        return {"R": [_form(element.values, parts, verb, path), rows]}
    if isinstance(element, Sparse):
        return {
            "S": [
                _form(element.indices, parts, verb, path),
                _form(element.values, parts, verb, path),
                element.dense_shape,
            ]
        }
    return _form_of_leaf(element, parts, verb, path)


def _form_of_leaf(leaf: Any, parts: list[bytes], verb: str, path: str) -> dict[str, Any]:
    if isinstance(leaf, (bytes, bytearray, memoryview, str)):
        parts.append(leaf.encode() if isinstance(leaf, str) else bytes(leaf))
        return {"u" if isinstance(leaf, str) else "b": len(parts[-1])}
    if isinstance(leaf, Bytes):
        whole = leaf.compact()
        parts += [whole.sizes.tobytes(), whole.data.tobytes()]
        return {"B": [leaf.shape, len(whole.data)]}
    leaf = np.asarray(leaf) if isinstance(leaf, list) else leaf
    if isinstance(leaf, (np.ndarray, np.generic)) and not leaf.dtype.hasobject and leaf.dtype.names is None:
        parts.append(leaf.tobytes())
        return {"a": [leaf.dtype.str, leaf.shape]} if isinstance(leaf, np.ndarray) else {"s": leaf.dtype.str}
    if leaf is None or isinstance(leaf, (bool, int, float)):
        return {"v": leaf}
    where = path.removeprefix(".") or "the element"
    raise PlanError(verb, f"{where}: arrays, strings and numbers can be kept, got {type(leaf).__name__}")


class _Reader:
    """Takes leaves from memory, one after another."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def _array(self, dtype: Any, shape: Any) -> np.ndarray[Any, Any]:
        dtype = np.dtype(dtype)
        return np.frombuffer(self._take(dtype.itemsize * math.prod(shape)), dtype).reshape(shape).copy()

    def element(self, form: dict[str, Any]) -> Tree:
        ((kind, told),) = form.items()
        match kind:
            case "m":
                return {name: self.element(branch) for name, branch in told.items()}
            case "t":
                return tuple(self.element(branch) for branch in told)
            case "R" | "P":
                splits = self._array(np.int64, (told[1] + 1,))
                values = self.element(told[0])
                return Ragged(values, splits) if kind == "R" else Steps(values, splits, told[2])
            case "S":
                return Sparse(self.element(told[0]), self.element(told[1]), tuple(told[2]))
        return self._leaf(kind, told)

    def _leaf(self, kind: str, told: Any) -> Any:
        match kind:
            case "b":
                return self._take(told)
            case "u":
                return self._take(told).decode()
            case "B":
                sizes = self._array(np.int64, told[0])
                starts = (np.cumsum(sizes) - sizes.reshape(-1)).reshape(sizes.shape)
                return Bytes(self._array(np.uint8, (told[1],)), starts, sizes)
            case "a":
                return self._array(*told)
            case "s":
                return self._array(told, ())[()]
        return told
