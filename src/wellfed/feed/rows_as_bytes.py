"""Units as one byte string an element, and back: what an addressable cache keeps in a file.

    how many rows the element has, -1 for one that is a row itself | their numbers | their sources    int64 each
    the element as `wellfed.feed.elements` has it

Rows that are plain arrays of one form are done side by side, without a loop over them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed.columns import Bytes
from wellfed.feed.dense_rows import dense_columns
from wellfed.feed.elements import decode_element, encode_element
from wellfed.feed.specs import TensorSpec, stack_as
from wellfed.feed.tree import Tree, leaves
from wellfed.feed.unit import Unit, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

Content: TypeAlias = "bytes | memoryview"

_ROW_IDS = 24  # The numbers before an element that is a row. [bytes]
_LENGTH = struct.Struct("<I")


def encode_unit(unit: Unit) -> Bytes:
    """Each element of a unit as bytes.

    Raises:
      PlanError: A leaf is no array, no string and no number.
    """
    columns = dense_columns(unit)
    if columns is not None and _is_told(columns):
        return _encode_dense(unit, columns)
    source = sources_of([unit])
    contents = []
    for number, element in enumerate(unit):
        span = slice(number, number + 1)
        if unit.splits is not None:
            span = slice(int(unit.splits[number]), int(unit.splits[number + 1]))
        count = -1 if unit.splits is None else span.stop - span.start
        ids = np.concatenate([[count], unit.rows[span].astype(np.int64), source[span]])
        contents.append(ids.tobytes() + encode_element(element, "cache"))
    return Bytes.from_list(contents)


def decode_unit(contents: Sequence[Content], spec: Tree | None) -> Unit:
    """The unit of elements in memory of their own.

    Args:
      contents: What `encode_unit` gave for each; at least one.
      spec: The form of an element where it is known; rows of different length become columns of that form.
    """
    # Rows of any length are no array either where those at hand happen to be of one length.
    fixed = spec is None or all(type(leaf) is TensorSpec for _, leaf in leaves(spec))
    dense = _decode_dense(contents) if fixed else None
    if dense is not None:
        return dense
    ids, elements = [], []
    for content in contents:
        (count,) = np.frombuffer(content, np.int64, 1)
        ids.append(np.frombuffer(content, np.int64, 2 * abs(int(count)), 8).reshape(2, -1))
        elements.append(decode_element(bytes(content[8 + ids[-1].nbytes :])))
    rows, source = np.concatenate(ids, axis=1)
    if int(np.frombuffer(contents[0], np.int64, 1)[0]) >= 0:
        splits = np.cumsum([0, *(each.shape[1] for each in ids)])
        return Unit(None, elements, rows.astype(np.uint64), source, splits)
    if spec is not None:
        return Unit(stack_as(elements, spec), None, rows.astype(np.uint64), source)
    return Unit(None, elements, rows.astype(np.uint64), source)


# --- Rows of one form -----------------------------------------------------------------------------


def _encode_dense(unit: Unit, columns: Tree) -> Bytes:
    form = json.dumps(_form(columns), separators=(",", ":")).encode()
    count = len(unit.rows)
    ids = np.stack([np.full(count, -1), unit.rows.astype(np.int64), sources_of([unit])], axis=1)
    head = np.frombuffer(_LENGTH.pack(len(form)) + form, np.uint8)
    parts = [_memory(ids), np.broadcast_to(head, (count, len(head)))]
    return Bytes.from_rows(np.concatenate(parts + [_memory(column) for _, column in leaves(columns)], axis=1))


def _is_told(columns: Tree) -> bool:
    """Whether `wellfed.feed.elements` has a form for the rows of these columns."""
    if isinstance(columns, Mapping):
        return all(isinstance(name, str) and _is_told(branch) for name, branch in columns.items())
    if isinstance(columns, tuple):
        return all(map(_is_told, columns))
    return columns.dtype.kind in "biufcmM"


def _form(columns: Tree) -> dict[str, Any]:
    """As `wellfed.feed.elements` writes the form of a row."""
    if isinstance(columns, Mapping):
        return {"m": {name: _form(branch) for name, branch in columns.items()}}
    if isinstance(columns, tuple):
        return {"t": [_form(branch) for branch in columns]}
    return {"a": [columns.dtype.str, columns.shape[1:]]} if columns.ndim > 1 else {"s": columns.dtype.str}


def _memory(column: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of each row: uint8, shape (rows, bytes of one)."""
    nbytes = column.dtype.itemsize * math.prod(column.shape[1:])
    return np.ascontiguousarray(column).reshape(-1).view(np.uint8).reshape(len(column), nbytes)


def _decode_dense(contents: Sequence[Content]) -> Unit | None:
    """The unit, where all elements are rows of one form that is arrays and NumPy's numbers alone."""
    first = contents[0]
    if any(len(content) != len(first) for content in contents) or first[:8] != b"\xff" * 8:
        return None
    (size,) = _LENGTH.unpack_from(first, _ROW_IDS)
    start = _ROW_IDS + _LENGTH.size + size
    form = json.loads(bytes(first[_ROW_IDS + _LENGTH.size : start]))
    if not all(_is_dense(leaf) for leaf in _leaves(form)):
        return None
    rows = np.frombuffer(b"".join(contents), np.uint8).reshape(len(contents), len(first))
    if (rows[:, _ROW_IDS:start] != rows[0, _ROW_IDS:start]).any():
        return None
    ids = np.ascontiguousarray(rows[:, 8:_ROW_IDS]).view(np.int64)
    return Unit(_Cutter(rows, start).columns(form), None, ids[:, 0].astype(np.uint64), ids[:, 1].copy())


def _leaves(form: dict[str, Any]) -> Iterator[dict[str, Any]]:
    ((kind, told),) = form.items()
    if kind in "mt":
        for branch in told.values() if kind == "m" else told:
            yield from _leaves(branch)
    else:
        yield form


def _is_dense(leaf: dict[str, Any]) -> bool:
    ((kind, told),) = leaf.items()
    return kind == "s" or (kind == "a" and bool(told[1]))


class _Cutter:
    """Cuts rows of memory into columns, one after another."""

    def __init__(self, rows: NDArray[np.uint8], at: int) -> None:
        self._rows, self._at = rows, at

    def columns(self, form: dict[str, Any]) -> Tree:
        ((kind, told),) = form.items()
        if kind == "m":
            return {name: self.columns(branch) for name, branch in told.items()}
        if kind == "t":
            return tuple(self.columns(branch) for branch in told)
        dtype, shape = (np.dtype(told), ()) if kind == "s" else (np.dtype(told[0]), told[1])
        column = np.empty((len(self._rows), *shape), dtype)
        nbytes = dtype.itemsize * math.prod(shape)
        _memory(column)[:] = self._rows[:, self._at : self._at + nbytes]
        self._at += nbytes
        return column
