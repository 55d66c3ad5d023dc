"""Reads pickles of dicts, lists, tuples, bytes, str, int and NumPy arrays, and runs nothing that they name.

A pickle is a program: it may name any function and have it called. Here the few names that NumPy's arrays need stand
for classes of this file, which only keep what they are given; any other name ends the reading. No code of NumPy's
runs on a state that has not been checked. Made by Python 2 or 3, by NumPy before 2 (`numpy.core`) or after
(`numpy._core`), in any protocol.

Source: Python's `pickletools` (the opcodes); numpy/_core/src/multiarray/methods.c, `array_reduce` and
`array_setstate`.
"""

from __future__ import annotations

import io
import pickle
import re
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

_DTYPE = re.compile(r"[biuf][1248]")


def unpickle(content: bytes, path: str) -> Any:
    """What a pickle holds; strings of Python 2 as bytes, arrays as new arrays.

    Raises:
      SourceError: It names something else than a plain array, or is damaged.
    """
    try:
        return _Plain(2 * len(content)).value(_Reader(io.BytesIO(content), encoding="bytes").load())
    except _Refused as error:
        raise SourceError(f"is a pickle that {error}. Nothing was run", path) from error
    except Exception as error:
        reason = f"is a damaged pickle ({type(error).__name__}: {error}). Fetch it again"
        raise SourceError(reason, path) from error


class _Refused(Exception):  # noqa: N818 -- an answer between two functions of this file.
    """The pickle asks for something that is not read."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """What a name in the pickle stands for."""
        old = module.replace("numpy._core", "numpy.core").replace("__builtin__", "builtins")
        made = _NAMES.get((old, name))
        if made is None:
            raise _Refused(f"names {module}.{name}; only dict, list, tuple, bytes, str, int and arrays are read")
        return _Name(made)


class _Name:
    """A name in a pickle: may be called, and nothing else."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *given: Any) -> Any:
        return self._make(*given)

    def __setstate__(self, state: object) -> None:
        raise _Refused("changes a function")


class _Dtype:
    """A dtype: its name, then its byte order."""

    __slots__ = ("name", "order")

    def __init__(self, name: Any, *_: Any) -> None:
        self.name, self.order = _text(name), "="

    def __setstate__(self, state: Any) -> None:
        self.order = _text(state[1])

    def numpy(self) -> np.dtype[Any]:
        """The dtype as NumPy's."""
        if not _DTYPE.fullmatch(self.name):
            raise _Refused(f"holds an array of dtype {self.name!r}; numbers of 1 to 8 bytes are due")
        return np.dtype(self.name).newbyteorder(">" if self.order == ">" else "<")


class _Array:
    """An array: shape, dtype, order and memory, as `ndarray.__reduce__` gives them."""

    __slots__ = ("state",)

    def __init__(self, *_: Any) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: Any) -> None:
        *_, shape, dtype, fortran, memory = state
        self.state = shape, dtype, "F" if fortran else "C", memory

    @classmethod
    def from_buffer(cls, memory: Any, dtype: Any, shape: Any, order: Any) -> _Array:
        """An array as protocol 5 has it."""
        array = cls()
        array.state = shape, dtype, _text(order), memory
        return array

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return len(self.state[3])

    def numpy(self) -> np.ndarray[Any, Any]:
        """The array as NumPy's, in memory of its own."""
        shape, dtype, order, memory = self.state
        stored = dtype.numpy()
        if not isinstance(memory, bytes | bytearray):
            raise _Refused("holds an array that is not made of plain memory")
        if prod(shape) * stored.itemsize != len(memory):
            raise _Refused(f"holds an array of shape {shape} and dtype {dtype.name} in {len(memory)} bytes")
        flat = np.frombuffer(memory, stored).astype(stored.newbyteorder("="))
        return flat.reshape(shape, order="F" if order == "F" else "C")


def _scalar(dtype: Any, memory: Any) -> _Array:
    return _Array.from_buffer(memory, dtype, (), "C")


def _encode(text: Any, encoding: Any) -> bytes:
    """`codecs.encode` as Python 3 uses it to put bytes into protocols before 3."""
    if not isinstance(text, str) or _text(encoding) != "latin1":
        raise _Refused("calls codecs.encode for something else than bytes")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """`bytes()`: how Python 3 puts empty bytes into protocols before 3."""
    return b""


_NAMES: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Array.from_buffer,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("builtins", "bytes"): _no_bytes,
}


def _text(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


class _Plain:
    """Puts NumPy's arrays in the place of what was read of them.

    A pickle can hold one value in many places, so that a few bytes unfold to terabytes. An honest one needs at least a
    byte for each value and each byte of an array: `budget` is for both together.
    """

    def __init__(self, budget: int) -> None:
        self._left = budget

    def value(self, value: Any) -> Any:
        """The value, with new arrays, dicts and lists."""
        self._spend(1)
        if isinstance(value, _Array):
            self._spend(value.nbytes)
            array = value.numpy()
            return array if array.ndim else array.item()
        if isinstance(value, dict):
            return {key: self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def _spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise _Refused("unfolds to far more than its own size")
