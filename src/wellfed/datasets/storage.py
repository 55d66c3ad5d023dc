"""Between the dtypes and shapes people use and the three kinds of list that an Example has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

Shape = tuple[int | None, ...]


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
        raise EncodeError(f"expected {dtype} values, got {short(value)} ({error})", name) from error
    exact = given.dtype == dtype or given.size == 0 or _same(given, array)
    if not exact:
        raise EncodeError(f"expected {dtype} values, got {short(value)} of dtype {given.dtype}", name)
    return array


def all_arrays(values: Sequence[Any], dtype: np.dtype[Any], shape: Shape) -> bool:
    """Says whether all values are arrays of `dtype` and `shape`, so that they can be stacked unseen."""
    if isinstance(values, np.ndarray):
        return values.dtype == dtype and values.shape[1:] == shape
    return all(isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape for value in values)


def stacked(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Returns rows as one array; no copy where they are one."""
    return values if isinstance(values, np.ndarray) else np.stack(values)


def object_column(rows: list[Any]) -> np.ndarray[Any, Any]:
    """Returns rows of different shapes as an object array of shape (B,)."""
    column = np.empty(len(rows), dtype=object)
    column[:] = rows if all(np.ndim(row) == 0 for row in rows) else None
    for at, row in enumerate(rows):
        column[at] = row
    return column


def check_shape(name: str, found: tuple[int, ...], due: Shape) -> None:
    """Raises `EncodeError` unless `found` equals `due` wherever `due` is known."""
    if not fits(found, due):
        raise EncodeError(f"expected shape {show_shape(due)}, got {show_shape(found)}", name)


def fits(found: tuple[int, ...], due: Shape) -> bool:
    """Says whether `found` equals `due` wherever `due` is known."""
    return len(found) == len(due) and all(d in (None, f) for f, d in zip(found, due, strict=True))


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


def short(value: Any) -> str:
    """Returns a value as it is shown in an error."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
