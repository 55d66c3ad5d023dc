"""What type a column of texts has, decided over all of its cells.

empty < true, false        bool
empty < 1, -2, +3          int64       an empty cell makes it float32, as NaN
empty < 1, 0.5, 1e3, nan   float32
anything else              text: also 007, which is no number but a name, and integers beyond 64 bits
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ByteString, ClassLabel, FeatureType, Scalar, Tensor, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?((\d+\.\d*|\.\d+)([eE][+-]?\d+)?|\d+[eE][+-]?\d+|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
# In cells that Python takes for floats: what CSV has not, such as 1_000, and what is a name, such as 007.
_ODD = re.compile(r"[^0-9.eE+,-]|(?:^|,)[+-]?0\d")
BOOLS = {"true": True, "false": False}
_MIN, _MAX = -(2**63), 2**63 - 1
# float32 holds every integer up to here.
_EXACT = 2**24


class TextColumn:
    """Sees all cells of a column, some at a time, and then knows its type."""

    def __init__(self) -> None:
        self._kind = ""
        self._has_empty = False
        self._largest = 0

    def see(self, cells: Sequence[str]) -> None:
        """Takes the next cells."""
        if self._kind == "text":
            return
        filled = [cell for cell in cells if cell]
        self._has_empty |= len(filled) < len(cells)
        if filled and not self._see_numbers(filled):
            for cell in filled:
                self._see(cell.strip())

    def _see_numbers(self, cells: list[str]) -> bool:
        """Takes cells that are all plain numbers, at the speed of `map`; most columns of numbers end here."""
        try:
            if self._kind == "float":
                return bool(list(map(float, cells))) and not _ODD.search(",".join(cells))
            numbers = list(map(int, cells))
        except ValueError:
            return False
        low, high = min(numbers), max(numbers)
        if self._kind not in ("", "int") or list(map(str, numbers)) != cells or low < _MIN or high > _MAX:
            return False
        self._kind, self._largest = "int", max(self._largest, high, -low)
        return True

    def _see(self, cell: str) -> None:
        if not cell:
            self._has_empty = True
        elif len(cell) <= 20 and _INTEGER.fullmatch(cell) and _MIN <= int(cell) <= _MAX:
            self._largest = max(self._largest, abs(int(cell)))
            self._join("int")
        elif _FLOAT.fullmatch(cell):
            self._join("float")
        else:
            self._join("bool" if cell.lower() in BOOLS else "text")

    def _join(self, kind: str) -> None:
        if not self._kind:
            self._kind = kind
        elif kind != self._kind:
            self._kind = "float" if {kind, self._kind} == {"int", "float"} else "text"

    def feature_type(self) -> FeatureType:
        """The column's type.

        Raises:
          ValueError: It has empty cells among integers that float32 cannot hold, or among true and false.
        """
        if self._has_empty and self._kind == "bool":
            raise ValueError("has empty cells among true and false")
        if self._has_empty and self._kind == "int" and self._largest > _EXACT:
            raise ValueError(f"has empty cells, and integers up to {self._largest} that float32 cannot hold")
        if self._kind == "float" or (self._kind == "int" and self._has_empty):
            return Scalar(np.float32)
        if self._kind == "int":
            return Scalar(np.int64)
        return Scalar(np.bool_) if self._kind == "bool" else Text()


def cell_reader(kind: FeatureType) -> Callable[[str], Any]:
    """The function that makes a value of a cell.

    Raises:
      ValueError: Values of this type do not come from a cell.
    """
    if isinstance(kind, Text):
        return str
    if isinstance(kind, ByteString):
        return str.encode
    if isinstance(kind, ClassLabel):
        return lambda cell: cell if cell in kind.names else int(cell)
    if isinstance(kind, Scalar) or (isinstance(kind, Tensor) and kind.shape == ()):
        if kind.dtype.kind == "f":
            return partial(_read_float, kind.dtype, float(np.finfo(kind.dtype).max))
        return _NUMBERS[kind.dtype.kind]
    raise ValueError(f"a cell gives Text, ByteString, ClassLabel, Scalar or Tensor of shape (), not {kind}")


def _read_bool(cell: str) -> bool:
    text = cell.strip().lower()
    return BOOLS[text] if text in BOOLS else bool(int(text))


def _read_float(dtype: np.dtype[Any], most: float, cell: str) -> float:
    value = float(cell) if cell.strip() else float("nan")
    if -most <= value <= most or math.isnan(value) or "n" in cell.lower():  # A cell may say inf; digits have no n.
        return value
    with np.errstate(over="ignore"):
        if np.isinf(dtype.type(value)):  # Else it is rounded down to the largest.
            raise OverflowError(f"is beyond {dtype}")
    return value


_NUMBERS: dict[str, Callable[[str], Any]] = {"b": _read_bool, "i": int, "u": int}
