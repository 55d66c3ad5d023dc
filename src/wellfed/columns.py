"""Columns: one feature of many examples.

A column is an array (equal shapes in each row), `Bytes` (a byte string in each place), `Ragged` (rows of different
length) or `Sparse` (`wellfed.sparse`). None of them copies values when it is sliced.

    Bytes     data    [ p i g c o w a n t ]        one buffer, of any owner
              starts  [ 0, 3, 6 ]                  where each string begins in it
              sizes   [ 3, 3, 3 ]

    Ragged    values      [ 5, 6, 7, 8 ]           array, Bytes or Ragged
              row_splits  [ 0, 2, 2, 4 ]           row i is values[row_splits[i] : row_splits[i + 1]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed.sparse import Sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Bytes", "Column", "Ragged", "Sparse", "concat_columns"]


class Bytes:
    """Byte strings of any length in one buffer, as an array of strings that keeps every byte.

    Indexing follows NumPy: `column[3]` is `bytes` (a copy of that string), slices, index arrays and masks give
    `Bytes` over the same `data`. `==` compares as a list does: one bool for the whole.

    Args:
      data: 1-D uint8 array, or any bytes-like object. Kept, not copied; strings may overlap in it.
      starts: int64 array of any shape: first byte of each string. [bytes]
      sizes: int64 array of the same shape. [bytes]

    Attributes:
      data: The buffer; read-only where its owner is.
      starts: As given.
      sizes: As given.

    Raises:
      ValueError: `data` is not 1-D and contiguous, or `starts` and `sizes` differ in shape.

    Example:
      >>> names = Bytes.from_list([b"pig", b"cow", b"ant"])
      >>> names[1], names[::2].to_list()
      (b'cow', [b'pig', b'ant'])
    """

    __slots__ = ("data", "sizes", "starts")

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __init__(self, data: NDArray[np.uint8] | bytes | memoryview, starts: ArrayLike, sizes: ArrayLike) -> None:
        self.data = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        self.starts = np.asarray(starts, np.int64)
        self.sizes = np.asarray(sizes, np.int64)
        if self.data.ndim != 1 or self.data.dtype != np.uint8 or not self.data.flags.c_contiguous:
            raise ValueError(
                f"data must be a contiguous 1-D uint8 array, got {self.data.dtype} of shape {self.data.shape}"
            )
        if self.starts.shape != self.sizes.shape or not self.starts.shape:
            raise ValueError(
                f"starts and sizes must have one shape of at least 1 dimension, "
                f"got {self.starts.shape} and {self.sizes.shape}"
            )

    @classmethod
    def from_list(cls, strings: Iterable[bytes | bytearray | memoryview | str]) -> Bytes:
        """Copies strings into one buffer of its own; `str` is encoded as UTF-8.

        Raises:
          TypeError: An item is neither bytes-like nor `str`.
        """
        parts = [_as_bytes(string, at) for at, string in enumerate(strings)]
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        return cls(b"".join(parts), np.cumsum(sizes) - sizes, sizes)

    @classmethod
    def from_rows(cls, array: NDArray[Any]) -> Bytes:
        """The memory of each row of an array `(B, ...)` as one byte string: what `RawFeature` reads back.

        Copies nothing where the array is C-contiguous; the column then keeps it alive.
        """
        array = np.ascontiguousarray(array)
        sizes = np.full(len(array), array[:1].nbytes, np.int64)
        return cls(array.reshape(-1).view(np.uint8), np.arange(len(array)) * array[:1].nbytes, sizes)

    @classmethod
    def concat(cls, columns: Sequence[Bytes]) -> Bytes:
        """Puts columns end to end along the first dimension.

        Copies no string where all columns share one buffer; otherwise copies the strings (not the whole buffers).

        Raises:
          ValueError: `columns` is empty, or their shapes differ beyond the first dimension.
        """
        if not columns:
            raise ValueError("Bytes.concat needs at least one column, got none")
        if any(column.data is not columns[0].data for column in columns):
            columns = [column.compact() for column in columns]
            ends = np.cumsum([len(column.data) for column in columns])
            starts = [column.starts + (end - len(column.data)) for column, end in zip(columns, ends, strict=True)]
            data = np.concatenate([column.data for column in columns])
        else:
            starts, data = [column.starts for column in columns], columns[0].data
        return cls(data, np.concatenate(starts), np.concatenate([column.sizes for column in columns]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the column; `(n,)`, or `(n, k)` where each row has k strings."""
        return self.starts.shape

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, key: Any) -> Any:
        start = self.starts[key]
        if isinstance(start, np.ndarray):
            return Bytes(self.data, start, self.sizes[key])
        return self.data[start : start + self.sizes[key]].tobytes()

    def __iter__(self) -> Iterator[Any]:
        if self.starts.ndim > 1:
            return (self[row] for row in range(len(self)))
        data = self.data.data
        pairs = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return (data[start : start + size].tobytes() for start, size in pairs)

    def view(self, index: int | tuple[int, ...]) -> memoryview:
        """One string without a copy: a read-only view that keeps the buffer alive."""
        start = int(self.starts[index])
        return self.data.data[start : start + int(self.sizes[index])].toreadonly()

    def reshape(self, *shape: int) -> Bytes:
        """The same strings in another shape, as `numpy.ndarray.reshape`; copies no string."""
        return Bytes(self.data, self.starts.reshape(shape), self.sizes.reshape(shape))

    def compact(self) -> Bytes:
        """The same strings alone in a buffer of their own; gives the old buffer free."""
        strings = b"".join(self.view((*at,)) for at in np.ndindex(self.shape)) if self.sizes.any() else b""
        sizes = self.sizes.reshape(-1)
        return Bytes(strings, (np.cumsum(sizes) - sizes).reshape(self.shape), self.sizes)

    def to_list(self) -> list[Any]:
        """A list of `bytes`; nested as the shape is."""
        if self.starts.ndim == 1:
            return list(self)
        return [row.to_list() for row in self]

    def to_object_array(self) -> NDArray[np.object_]:
        """A NumPy array of `bytes` objects with this column's shape; NumPy's own "S" type would drop trailing NULs."""
        array = np.empty(self.starts.size, np.object_)
        array[:] = self.reshape(-1).to_list()
        return array.reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Bytes cannot become an array without a copy")
        array = self.to_object_array()
        return array if dtype is None else array.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bytes):
            return NotImplemented
        if self.shape != other.shape or not np.array_equal(self.sizes, other.sizes):
            return False
        return self.to_list() == other.to_list()

    __hash__ = None  # type: ignore[assignment]  # Mutable through its arrays, as a list is.

    def __reduce__(self) -> tuple[Any, ...]:
        whole = self.compact()  # A slice of a mapped file must not take the file along.
        return (Bytes, (whole.data, whole.starts, whole.sizes))

    def __repr__(self) -> str:
        shown = self[:3].to_list() if len(self) <= 3 else [*self[:3].to_list(), ...]
        return f"Bytes({str(shown).replace('Ellipsis', '...')}, shape={self.shape})"


class Ragged:
    """Rows of different length: the values of all rows end to end, and where each row begins and ends.

    `ragged[3]` is the row (a view: nothing is copied); slices give `Ragged` over views, index arrays and masks
    copy the rows they pick. `==` compares as a list does: one bool for the whole.

    Args:
      values: All rows' values end to end: an array (n, ...), `Bytes`, or `Ragged` for rows of rows. Kept, not copied.
      row_splits: int64 array (B + 1,) that begins with 0, never falls, and ends with `len(values)`.

    Attributes:
      values: As given.
      row_splits: As given.

    Raises:
      ValueError: `row_splits` is not as above.

    Differs from tf.RaggedTensor:
      `row_splits` is int64 always.

    Example:
      >>> ragged = Ragged(np.array([5, 6, 7]), [0, 2, 2, 3])
      >>> ragged.to_list(), ragged.to_padded(-1).tolist()
      ([[5, 6], [], [7]], [[5, 6], [-1, -1], [7, -1]])
    """

    __slots__ = ("row_splits", "values")

    values: Column
    row_splits: NDArray[np.int64]

    def __init__(self, values: Column, row_splits: ArrayLike) -> None:
        self.values = values
        self.row_splits = np.asarray(row_splits, np.int64)
        splits = self.row_splits
        if splits.ndim != 1 or not len(splits) or splits[0] != 0 or splits[-1] != len(values):
            raise ValueError(
                f"row_splits must be 1-D, begin with 0 and end with the number of values ({len(values)}), got {splits}"
            )
        if (splits[1:] < splits[:-1]).any():
            raise ValueError(f"row_splits must not fall, got {splits}")

    @classmethod
    def from_lengths(cls, values: Column, lengths: ArrayLike) -> Ragged:
        """Rows of `lengths` values each, cut from `values` one after another. Keeps `values`."""
        return cls(values, _splits(np.asarray(lengths, np.int64)))

    @classmethod
    def from_list(cls, rows: Iterable[Any], dtype: Any) -> Ragged:
        """Copies rows (sequences or arrays of values; of byte strings where `dtype` is `bytes`) into one column."""
        rows = list(rows)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        if dtype in (bytes, str):
            return cls.from_lengths(Bytes.from_list(string for row in rows for string in row), lengths)
        arrays = [np.asarray(row, dtype) for row in rows if len(row)] or [np.empty(0, dtype)]
        return cls.from_lengths(np.concatenate(arrays), lengths)

    @classmethod
    def concat(cls, columns: Sequence[Ragged]) -> Ragged:
        """Puts the rows of columns one after another; copies their values."""
        if not columns:
            raise ValueError("Ragged.concat needs at least one column, got none")
        values = concat_columns([column.values for column in columns])
        return cls.from_lengths(values, np.concatenate([column.lengths for column in columns]))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values in each row: int64 (B,), computed anew."""
        return np.diff(self.row_splits)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                splits = self.row_splits[start : max(start, stop) + 1]
                return Ragged(self.values[splits[0] : splits[-1]], splits - splits[0])
        rows = np.arange(len(self))[key]
        if not isinstance(rows, np.ndarray):
            return self.values[self.row_splits[rows] : self.row_splits[rows + 1]]
        lengths = self.lengths[rows]
        splits = _splits(lengths)
        shift = self.row_splits[rows] - splits[:-1]
        return Ragged(self.values[np.arange(splits[-1]) + np.repeat(shift, lengths)], splits)

    def __iter__(self) -> Iterator[Column]:
        splits = self.row_splits.tolist()
        return (self.values[start:stop] for start, stop in pairwise(splits))

    def to_list(self) -> list[Any]:
        """A list of a list per row."""
        return [row.tolist() if isinstance(row, np.ndarray) else row.to_list() for row in self]

    def to_object_array(self) -> NDArray[np.object_]:
        """A 1-D NumPy array of B objects, each one row (a view of the values)."""
        array = np.empty(len(self), np.object_)
        for at, row in enumerate(self):
            array[at] = row
        return array

    def to_padded(self, value: Any = None, length: int | Sequence[int | None] | None = None) -> Any:
        """Rows made equally long: padded on the right with `value`, cut where they are longer than `length`.

        Args:
          value: What fills the places left over; 0, or b"" for byte strings, where None.
          length: The length of each row, [values]; the longest row's where None. For rows of rows, a sequence gives
            one length a level, outermost first.

        Returns:
          An array (B, length, ...) of its own, or `Bytes` of that shape.
        """
        here, *inner = length if isinstance(length, Sequence) else (length,)
        flat = self.values.to_padded(value, inner or None) if isinstance(self.values, Ragged) else self.values
        lengths = self.lengths
        here = int(lengths.max(initial=0)) if here is None else int(here)
        within = np.arange(here) < lengths[:, None]
        if (lengths > here).any():
            places = np.arange(len(flat)) - np.repeat(self.row_splits[:-1], lengths)
            flat = flat[places < here]
        return _fill(flat, within, value)

    def to_sparse(self) -> Sparse:
        """The same values with their indices: (row, place), and one more for each level of rows in rows."""
        places = np.arange(self.row_splits[-1]) - np.repeat(self.row_splits[:-1], self.lengths)
        outer = np.stack([np.repeat(np.arange(len(self)), self.lengths), places], axis=1)
        shape = (len(self), int(self.lengths.max(initial=0)))
        if not isinstance(self.values, Ragged):
            return Sparse(outer, self.values, shape)
        inner = self.values.to_sparse()
        indices = np.concatenate([outer[inner.indices[:, 0]], inner.indices[:, 1:]], axis=1)
        return Sparse(indices, inner.values, shape + inner.dense_shape[1:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged) or type(self.values) is not type(other.values):
            return NotImplemented
        if not np.array_equal(self.row_splits, other.row_splits):
            return False
        if isinstance(self.values, np.ndarray) and isinstance(other.values, np.ndarray):
            return bool(np.array_equal(self.values, other.values))
        return bool(self.values == other.values)

    __hash__ = None  # type: ignore[assignment]  # Mutable through its arrays, as a list is.

    def __repr__(self) -> str:
        shown = self[:3].to_list() if len(self) <= 3 else [*self[:3].to_list(), ...]
        return f"Ragged({str(shown).replace('Ellipsis', '...')}, rows={len(self)})"


Column: TypeAlias = "NDArray[Any] | Bytes | Ragged"


def concat_columns(columns: Sequence[Any]) -> Any:
    """Puts columns of one type (arrays, `Bytes`, `Ragged` or `Sparse`) end to end along the first dimension.

    Returns:
      A column of that type; arrays own their memory.

    Raises:
      ValueError: `columns` is empty, or mixes types.
    """
    kinds = {type(column) for column in columns}
    if len(kinds) != 1:
        raise ValueError(f"columns of one type are due, got {sorted(kind.__name__ for kind in kinds)}")
    kind = kinds.pop()
    if not issubclass(kind, np.ndarray):
        return kind.concat(columns)
    # By itself NumPy turns the bytes of big-endian arrays, but not where there is one array alone.
    dtypes = {column.dtype for column in columns}
    return np.concatenate(columns, dtype=dtypes.pop() if len(dtypes) == 1 else None)


def _splits(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _fill(flat: Any, within: NDArray[np.bool_], value: Any) -> Any:
    """Puts the values of `flat` where `within` holds, and `value` elsewhere."""
    if not isinstance(flat, Bytes):
        out = np.full(within.shape + flat.shape[1:], 0 if value is None else value, flat.dtype)
        out[within] = flat
        return out
    pad = b"" if value is None else _as_bytes(value, 0)
    shape = within.shape + flat.shape[1:]
    starts, sizes = np.full(shape, len(flat.data), np.int64), np.full(shape, len(pad), np.int64)
    starts[within], sizes[within] = flat.starts, flat.sizes
    data = np.concatenate([flat.data, np.frombuffer(pad, np.uint8)]) if pad else flat.data
    return Bytes(data, starts, sizes)


def _as_bytes(string: Any, at: int) -> bytes | bytearray | memoryview:
    if isinstance(string, str):
        return string.encode()
    if isinstance(string, memoryview):
        return string.cast("B") if string.nbytes else b""  # A view of wider items counts items, not bytes.
    if isinstance(string, (bytes, bytearray)):
        return string
    raise TypeError(f"item {at}: bytes or str are due, got {type(string).__name__}")
