"""What an element of a queue is made of: one or more components, each with a dtype and, where known, a shape.

element    what users give and get: a value, a tuple or list of values, or a dict where components have names
row        the same element inside a queue: a tuple with one array, NumPy scalar or `bytes` a component
columns    many elements inside a queue: a tuple with one array a component, rows along axis 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wellfed.errors import InvalidArgumentError

Shape = tuple[int | None, ...]
Row = tuple[Any, ...]
Columns = tuple[npt.NDArray[Any], ...]

BYTES = np.dtype(object)  # Byte strings are kept as Python's own; nothing else is kept as an object.


class ElementSpec:
    """The components of a queue's elements, and how users' values become rows and columns.

    Attributes:
      queue: What messages call the queue, such as "FIFOQueue 'pairs'".
      dtypes: One NumPy dtype a component; `BYTES` for byte strings.
      shapes: One shape a component; None where any shape may come, None for a dimension that may vary.
      names: The components' names, or None.
      fixed: Whether every shape is known in full, so that elements can be stacked.
    """

    def __init__(
        self,
        queue: str,
        dtypes: Sequence[np.dtype[Any]],
        shapes: Sequence[Shape | None],
        names: Sequence[str] | None,
    ) -> None:
        self.queue = queue
        self.dtypes, self.shapes = tuple(dtypes), tuple(shapes)
        self.names = tuple(names) if names is not None else None
        self.fixed = all(shape is not None and None not in shape for shape in self.shapes)
        self._size = len(self.dtypes)
        self._convert = tuple(
            _converter(f"component {i} of {queue}", dtype, shape)
            for i, (dtype, shape) in enumerate(zip(self.dtypes, self.shapes, strict=True))
        )
        self._columns = tuple(
            (f"component {i} of {queue}", dtype, None if shape is None else (None, *shape))
            for i, (dtype, shape) in enumerate(zip(self.dtypes, self.shapes, strict=True))
        )
        self._only = self._convert[0] if self._size == 1 and self.names is None else None

    def row(self, element: Any) -> Row:
        """Gives an element as a row that shares no memory with it."""
        if self._only is not None and type(element) not in (list, tuple):
            return (self._only(element),)
        values = self.values(element)
        return tuple([convert(value) for convert, value in zip(self._convert, values, strict=True)])

    def columns(self, elements: Any) -> Columns:
        """Gives many elements as columns, which may be the caller's own arrays: what keeps them has to copy them.

        Raises:
          InvalidArgumentError: The components differ in their number of rows.
        """
        columns = tuple(
            [
                as_array(where, value, dtype, shape, copy=False)
                for value, (where, dtype, shape) in zip(self.values(elements), self._columns, strict=True)
            ]
        )
        rows = columns[0].shape[:1]
        if not rows or any(column.shape[:1] != rows for column in columns):
            reason = f"enqueue_many needs components of one number of rows, got shapes {[c.shape for c in columns]}"
            raise InvalidArgumentError(None, self.queue, f"{self.queue}: {reason}")
        return columns

    def values(self, element: Any) -> Sequence[Any]:
        """Gives an element's values in the order of the components.

        Raises:
          ValueError: A dict where the components have no names, no dict where they have, or another number of values.
        """
        if isinstance(element, Mapping):
            if self.names is None:
                raise ValueError(f"{self.queue} has no names, so it takes no dict")
            if set(element) != set(self.names):
                raise ValueError(f"{self.queue} takes the names {sorted(self.names)}, got {sorted(element)}")
            return [element[name] for name in self.names]
        if self.names is not None:
            raise ValueError(f"{self.queue} has names, so it takes a dict with {sorted(self.names)}")
        values = element if isinstance(element, list | tuple) else [element]
        if len(values) != self._size:
            raise ValueError(f"{self.queue} takes {self._size} components, got {len(values)}")
        return values

    def element(self, row: Row) -> Any:
        """Gives a row or columns as users get them: a value, a tuple of values, or a dict."""
        if self.names is not None:
            return dict(zip(self.names, row, strict=True))
        return row[0] if self._size == 1 else row

    def empty(self) -> Columns:
        """Gives columns of no rows; a dimension that may vary is 0."""
        return tuple(
            np.empty((0, *(size or 0 for size in shape or ())), dtype)
            for dtype, shape in zip(self.dtypes, self.shapes, strict=True)
        )


def infer(queue: str, element: Any, shapes: Sequence[Shape | None] | None, *, many: bool, ragged: bool) -> ElementSpec:
    """Takes dtypes, names and, where none are given, shapes from a queue's first element.

    Args:
      queue: What messages call the queue.
      element: The element; columns of elements where `many`.
      shapes: The shapes, where the user gave them.
      many: Whether axis 0 counts elements.
      ragged: Whether every dimension may vary from one element to the next.
    """
    names = list(element) if isinstance(element, Mapping) else None
    values = list(element.values()) if isinstance(element, Mapping) else element
    if not isinstance(values, list | tuple):
        values = [values]
    arrays = [np.asarray(value) for value in values]
    dtypes = [BYTES if array.dtype.kind in "SUO" else array.dtype for array in arrays]
    if shapes is None:
        known = [array.shape[1:] if many else array.shape for array in arrays]
        shapes = [(None,) * len(shape) if ragged else shape for shape in known]
    if len(shapes) != len(dtypes):
        raise ValueError(f"{queue} has {len(shapes)} shapes, and its first element {len(dtypes)} components")
    return ElementSpec(queue, dtypes, shapes, names)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Gives a NumPy dtype; `BYTES` for `bytes`, `str` and NumPy's kinds of strings."""
    found = np.dtype(dtype)
    return BYTES if found.kind in "SUO" else found


def as_shape(shape: Any) -> Shape | None:
    """Gives a shape as a tuple; None stays None, and a bare number is a vector's length."""
    if shape is None:
        return None
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    return tuple(None if size is None else int(size) for size in shape)


def _converter(where: str, dtype: np.dtype[Any], shape: Shape | None) -> Callable[[Any], Any]:
    """Gives the function that turns a user's value into what a row holds."""
    if dtype == BYTES and shape == ():
        return lambda value: value if type(value) is bytes else as_array(where, value, dtype, shape)[()]
    if dtype == BYTES or shape != ():
        return lambda value: _value(as_array(where, value, dtype, shape))
    kind = dtype.type
    # What converts without loss and without a look at its shape; the rest takes the long way.
    plain = (kind, int) if dtype.kind in "iu" else (kind, int, float) if dtype.kind == "f" else (kind,)

    def convert(value: Any) -> Any:
        if type(value) in plain:
            return kind(value)
        return as_array(where, value, dtype, shape)[()]

    return convert


def _value(array: npt.NDArray[Any]) -> Any:
    return array if array.ndim else array[()]


def as_array(
    where: str, value: Any, dtype: np.dtype[Any], shape: Shape | None, *, copy: bool = True
) -> npt.NDArray[Any]:
    """Gives an array of the dtype, a fresh one with `copy`; checks that nothing is lost and that the shape fits."""
    if type(value) is np.ndarray and value.dtype == dtype and dtype != BYTES:
        array = np.array(value, order="C") if copy else value
    else:
        array = _strings(where, value) if dtype == BYTES else _numbers(where, value, dtype)
    if shape is not None and array.shape != shape and not _fits(array.shape, shape):
        raise InvalidArgumentError(
            None, where, f"Shape mismatch in {where}: expected {_show(shape)}, got {_show(array.shape)}"
        )
    return array


def _fits(found: tuple[int, ...], due: Shape) -> bool:
    return len(found) == len(due) and all(want is None or want == have for have, want in zip(found, due, strict=True))


def _show(shape: Shape) -> str:
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


def _numbers(where: str, value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.dtype == dtype or array.size == 0:
        return np.array(array, dtype, order="C")
    integers = dtype.kind in "iu" and array.dtype.kind in "iu"
    if not integers and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{where} is {dtype}, got {array.dtype}: convert it before it is enqueued")
    if integers and not np.can_cast(array.dtype, dtype, "safe"):
        limits = np.iinfo(dtype)
        low, high = array.min(), array.max()
        if low < limits.min or high > limits.max:
            raise OverflowError(f"{where} is {dtype}, got values from {low} to {high}")
    return array.astype(dtype, order="C")


def _strings(where: str, value: Any) -> npt.NDArray[Any]:
    if isinstance(value, bytes | str):
        array = np.empty((), BYTES)
        array[()] = value
    else:
        array = np.array(value, BYTES)
    flat = array.reshape(-1)
    for i, text in enumerate(_plain(flat)):
        if type(text) is bytes:
            flat[i] = text
        elif isinstance(text, str):
            flat[i] = text.encode()
        elif isinstance(text, bytes | bytearray | memoryview):
            flat[i] = bytes(text)
        else:
            raise TypeError(f"{where} holds byte strings, got {type(text).__name__}")
    return array


def _plain(flat: npt.NDArray[Any]) -> Iterable[Any]:
    items: list[Any] = flat.tolist()
    return items
