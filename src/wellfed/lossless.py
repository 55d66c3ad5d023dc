"""Python values and arrays to what an Example can store, without loss.

An Example knows three kinds of lists: int64, float32, bytes. A value that none of them can hold exactly is refused with
the words to ask for it; what is given a kind here reads back equal.

    bool, int, arrays of them                       -> int64
    float, float16, bfloat16, float32 arrays        -> float32
    float64 arrays                                  -> float32 where every value is one
    str, bytes, bytearray, memoryview, Bytes        -> bytes (str as UTF-8)

A Python float is rounded to the nearest float32: Python has no other float, so there is no way to ask for less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.errors import EncodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNSET, BYTES, FLOAT, INT64 = 0, 1, 2, 3  # The field numbers of Feature's lists.
_NAMES = {BYTES: "byte strings", FLOAT: "floats", INT64: "integers"}
_STRINGS = (bytes, bytearray, memoryview, str)
_ARRAYS = (np.ndarray, np.generic)


class Parts(NamedTuple):
    """A value or column as the kernel's encoder takes it.

    Attributes:
      kind: UNSET, BYTES, FLOAT or INT64.
      values: A flat int64 or float32 array; (data, starts, sizes) for BYTES; None for UNSET.
      row_splits: int64 (rows + 1,), or None where each row has `per_row` values.
      per_row: Values in each row where `row_splits` is None.
    """

    kind: int
    values: Any
    row_splits: NDArray[np.int64] | None
    per_row: int

    @property
    def nbytes(self) -> int:
        """About how many bytes the values take once they are encoded."""
        if self.kind == BYTES:
            return int(self.values[2].sum()) + 4 * len(self.values[2])
        return 0 if self.values is None else int(self.values.nbytes)

    def rows(self, start: int, stop: int) -> Parts:
        """The rows from `start` to `stop` of a column, without a copy of its values."""
        splits = self.row_splits
        if splits is None:
            first, last = start * self.per_row, stop * self.per_row
        else:
            splits = splits[start : stop + 1]
            first, last = int(splits[0]), int(splits[-1])
            splits = splits - splits[0]
        values = self.values
        if self.kind == BYTES:
            data, starts, sizes = values
            values = (data, starts[first:last], sizes[first:last])
        elif values is not None:
            values = values[first:last]
        return Parts(self.kind, values, splits, self.per_row)


def value_parts(key: Any, value: Any) -> Parts:
    """One feature's value: a scalar, an array of any shape (flattened in C order), or a nested list.

    Args:
      key: The feature's name.
      value: As the table above. An empty list has no kind: the feature is written with its kind unset.

    Raises:
      EncodeError: It would lose information, mixes kinds, or is nothing that an Example stores.
    """
    if not isinstance(key, str):
        raise EncodeError(f"a name (str) is due, got {key!r}", str(key))
    kind, values = _flat(key, value)
    return Parts(kind, *_as_buffer(kind, values), None, _count(kind, values))


def column_parts(key: Any, column: Any) -> tuple[Parts, int]:
    """One column of many rows, and how many they are: an array, `Bytes`, `Ragged`, or a sequence of a value a row.

    Raises:
      EncodeError: As `value_parts`; or it is no column.
    """
    if not isinstance(key, str):
        raise EncodeError(f"a name (str) is due, got {key!r}", str(key))
    if isinstance(column, Ragged):
        return _ragged_parts(key, column), len(column)
    _refuse_masked(key, column)
    if isinstance(column, Bytes):
        return Parts(BYTES, *_as_buffer(BYTES, column), None, math.prod(column.shape[1:])), len(column)
    if isinstance(column, np.ndarray) and column.ndim and column.dtype.kind not in "OSU":
        kind, values = _numbers(key, column)
        return Parts(kind, *_as_buffer(kind, values), None, math.prod(column.shape[1:])), len(column)
    if isinstance(column, (*_STRINGS, Mapping)) or not (hasattr(column, "__len__") and hasattr(column, "__iter__")):
        raise EncodeError(f"a column with a value for each row is due, got {type(column).__name__}", key)
    rows = list(column)
    if rows and all(isinstance(row, (bool, int, float, *_STRINGS)) for row in rows):
        return value_parts(key, rows)._replace(per_row=1), len(rows)
    return _rows_parts(key, rows), len(rows)


def all_parts(columns: Mapping[str, Any]) -> tuple[dict[str, Parts], int]:
    """Every column, and how many rows they all have.

    Raises:
      EncodeError: As `column_parts`; or columns differ in their number of rows.
      TypeError: `columns` is no mapping.
    """
    if not isinstance(columns, Mapping):
        got = type(columns).__name__
        raise TypeError(f"columns must be a mapping of names to columns, got {got}; encode_example takes one row")
    found = {key: column_parts(key, column) for key, column in columns.items()}
    rows = {count for _, count in found.values()}
    if len(rows) > 1:
        (first, (_, due)), *_ = found.items()
        odd = next(key for key, (_, count) in found.items() if count != due)
        raise EncodeError(f'as many rows as "{first}" are due ({due}), got {found[odd][1]}', odd)
    return {key: parts for key, (parts, _) in found.items()}, rows.pop() if rows else 0


def _as_buffer(kind: int, values: Any) -> tuple[Any]:
    if kind != BYTES:
        return (values,)
    starts, sizes = (np.ascontiguousarray(part.reshape(-1)) for part in (values.starts, values.sizes))
    return ((values.data, starts, sizes),)


def _count(kind: int, values: Any) -> int:
    if kind == UNSET:
        return 0
    return int(values.starts.size if kind == BYTES else values.size)


def _ragged_parts(key: str, column: Ragged) -> Parts:
    if isinstance(column.values, Ragged):
        raise EncodeError("rows of rows have no form of their own: encode the values and their row lengths", key)
    inner, _ = column_parts(key, column.values)
    return inner._replace(row_splits=np.ascontiguousarray(column.row_splits * inner.per_row), per_row=0)


def _rows_parts(key: str, rows: Sequence[Any]) -> Parts:
    """Rows of any length, each a value by itself; all of one kind."""
    flat = [_flat(key, row) for row in rows]
    kind, values = _join(key, flat)
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([_count(*part) for part in flat], out=splits[1:])
    return Parts(kind, *_as_buffer(kind, values), splits, 0)


def _flat(key: str, value: Any) -> tuple[int, Any]:
    """The kind of a value, and all that is in it: a flat array or `Bytes`."""
    if isinstance(value, _STRINGS):
        return BYTES, _strings(key, [value])
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return _plain_numbers(key, [value])
    if isinstance(value, Bytes):
        return BYTES, value.reshape(-1)
    if isinstance(value, (list, tuple)):
        return _flat_list(key, value)
    if not isinstance(value, _ARRAYS) and hasattr(value, "__array__"):
        value = np.asarray(value)  # torch, JAX and TensorFlow's tensors.
    if isinstance(value, _ARRAYS):
        _refuse_masked(key, value)
        array = np.asarray(value)
        return _flat_list(key, array.reshape(-1).tolist()) if array.dtype.kind in "OSU" else _numbers(key, array)
    hints = {type(None): "leave the key out", dict: 'flatten it into names such as "a/b"', Ragged: "give its rows"}
    kinds = "an Example stores integers, floats and byte strings"
    hint = hints.get(type(value), "make it a list" if hasattr(value, "__iter__") else kinds)
    raise EncodeError(f"{type(value).__name__} has no list in an Example; {hint}", key)


def _refuse_masked(key: str, array: Any) -> None:
    """NumPy's masked arrays: what is masked would be stored as if it were there."""
    if isinstance(array, np.ndarray) and np.any(getattr(array, "mask", False)):
        raise EncodeError(
            "masked values have no place in an Example; .filled(value) or .compressed() gives others", key
        )


def _flat_list(key: str, items: Sequence[Any]) -> tuple[int, Any]:
    if not items:
        return UNSET, None
    types = set(map(type, items))
    if types <= {bool, int, float}:
        return _plain_numbers(key, items)
    if types <= {bytes, str, bytearray, memoryview}:
        return BYTES, _strings(key, items)
    if all(isinstance(item, np.generic) for item in items):
        return _flat(key, np.array(items))
    return _join(key, [_flat(key, item) for item in items])


def _join(key: str, parts: Sequence[tuple[int, Any]]) -> tuple[int, Any]:
    """Parts of one kind put end to end; integers among floats become floats where they are equal."""
    kinds = {kind for kind, _ in parts} - {UNSET}
    if not kinds:
        return UNSET, None
    if BYTES in kinds and len(kinds) > 1:
        raise EncodeError(f"a list holds one kind, got {' and '.join(_NAMES[kind] for kind in sorted(kinds))}", key)
    if kinds == {BYTES}:
        return BYTES, Bytes.concat([values for kind, values in parts if kind])
    if kinds == {INT64}:
        return INT64, np.concatenate([values for kind, values in parts if kind])
    floats = [_as_floats(key, values) if kind == INT64 else values for kind, values in parts if kind]
    return FLOAT, np.concatenate(floats)


def _strings(key: str, items: Sequence[Any]) -> Bytes:
    try:
        return Bytes.from_list(items)
    except UnicodeEncodeError as error:
        raise EncodeError(f"text that UTF-8 can hold is due, got {error.object!r}", key) from None


def _plain_numbers(key: str, items: Sequence[bool | int | float]) -> tuple[int, Any]:
    """Python's own numbers."""
    if not any(type(item) is float for item in items):
        try:
            return INT64, np.array(items, np.int64)
        except OverflowError:
            beyond = next(item for item in items if not -(2**63) <= item < 2**63)
            raise EncodeError(f"{beyond} is beyond int64; store it as text or bytes", key) from None
    whole = [item for item in items if type(item) is not float]
    if whole:
        _as_floats(key, _plain_numbers(key, whole)[1])
    exact = np.array(items, np.float64)
    with np.errstate(over="ignore"):
        floats = exact.astype(np.float32)
    infinite = np.isinf(floats) & np.isfinite(exact)
    if infinite.any():
        raise EncodeError(f"{exact[infinite][0]} is beyond float32; store np.float64(x).tobytes()", key)
    return FLOAT, floats


def _numbers(key: str, array: NDArray[Any]) -> tuple[int, Any]:
    """An array of numbers, flattened in C order."""
    kind = array.dtype.kind
    flat = np.ascontiguousarray(array).reshape(-1)
    if kind in "bi":
        return INT64, flat.astype(np.int64, copy=False)
    if kind == "u":
        if flat.itemsize == 8 and flat.size and flat.max() > np.iinfo(np.int64).max:
            raise EncodeError(
                f"{flat.max()} is beyond int64; store .tobytes(), or .view(np.int64) if the bits matter", key
            )
        return INT64, flat.astype(np.int64)
    if array.dtype.name in ("float16", "bfloat16", "float32"):
        return FLOAT, flat.astype(np.float32, copy=False)
    if kind == "f":
        return FLOAT, _as_floats(key, flat)
    raise EncodeError(f"{array.dtype} has no list in an Example; store .tobytes() and read it with RawFeature", key)


def _as_floats(key: str, exact: NDArray[Any]) -> NDArray[np.float32]:
    """The same numbers as float32, or an error that names the first that is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        floats = exact.astype(np.float32)
        lost = (floats.astype(exact.dtype) != exact) & ~np.isnan(floats)
    if lost.any():
        raise EncodeError(
            f"{exact[lost][0]} is a number that float32 cannot hold; .astype(np.float32) rounds it, "
            f".tobytes() keeps it",
            key,
        )
    return floats
