"""Values that are there at once: NumPy arrays that also answer to what TensorFlow's eager tensors are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Ragged
from wellfed.compat.deferred.dtypes import DType, as_dtype
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable


class EagerTensor(np.ndarray[Any, Any]):
    """An array with the few names that programs ask of an eager tensor; everything else is NumPy's.

    What NumPy makes of it is one again, also where it has no dimensions.
    """

    def numpy(self) -> Any:
        """Gives the plain array; without dimensions, the NumPy scalar or the `bytes`."""
        return plain(self)

    def get_shape(self) -> TensorShape:
        """Gives the shape, as TensorFlow 1 has it."""
        return TensorShape(self.shape)

    def set_shape(self, shape: Any) -> None:
        """Checks the shape.

        Raises:
          ValueError: It is another.
        """
        TensorShape(self.shape).merge_with(shape)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> Any:
        """Gives the plain array: it needs no run."""
        del feed_dict, session
        return plain(self)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Keeps results without dimensions, which NumPy would turn into scalars."""
        del context, return_scalar
        return np.asarray(array).view(EagerTensor)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            key = tuple(plain(part) for part in key)
        return eager(np.asarray(self)[plain(key)])

    def __hash__(self) -> int:  # type: ignore[override]  # Arrays have none; tensors are keys of a feed_dict.
        return id(self)


def plain(value: Any) -> Any:
    """Gives a value without its eager coat; without dimensions, a NumPy scalar or `bytes`."""
    if not isinstance(value, EagerTensor):
        return value
    array = value.view(np.ndarray)
    return array if array.ndim else array[()]


def eager(value: Any) -> Any:
    """Puts the coat on arrays, scalars and `bytes`, also inside lists, tuples and dicts; leaves the rest."""
    if isinstance(value, list | tuple | dict):
        return map_tree(eager, value)
    if isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array.view(EagerTensor)
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value).view(EagerTensor)
    if isinstance(value, Ragged):
        made = Ragged(eager(value.values), value.row_splits)
        made.row_splits = made.row_splits.view(EagerTensor)
        return made
    return value


def as_value(value: Any, dtype: Any = None) -> Any:
    """Gives NumPy's form of any value: an array, a scalar, or `bytes`; Python's numbers as TensorFlow takes them.

    Args:
      value: Arrays, numbers, strings, and lists of them.
      dtype: The dtype that is due; None takes int32 for Python's integers and float32 for its fractions.

    Raises:
      TypeError: The value is of another kind than `dtype`.
    """
    value = plain(value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        if dtype is not None and as_dtype(dtype).name != "string":
            raise TypeError(f"Expected {as_dtype(dtype).name}, but got {value!r} of type 'bytes'.")
        return value
    array = as_array(value)
    if array.dtype.kind in "SUO":
        return _strings(array)
    if dtype is None:
        if isinstance(value, np.ndarray | np.generic):
            return value
        return array.astype(_python_default(array))[()]
    return as_numbers(array, as_dtype(dtype))


def as_array(value: Any) -> Any:
    """Gives an array of any value. NumPy would cut NULs off the ends of strings in lists; here they stay."""
    if isinstance(value, list | tuple):
        first = next(iter(leaves(value)), None)
        if isinstance(first, bytes | str) or (isinstance(first, np.ndarray) and first.dtype.hasobject):
            return np.array(value, object)
    return np.asarray(value)


def as_numbers(array: Any, dtype: DType) -> Any:
    """Gives an array in a dtype of the same or a wider kind; scalars where it has no dimensions."""
    array = np.asarray(array)
    wanted = dtype.dtype
    both_integers = array.dtype.kind in "iu" and wanted.kind in "iu"
    if array.size and not both_integers and not np.can_cast(array.dtype, wanted, "same_kind"):
        raise TypeError(f"Expected {dtype.name}, but got {array.dtype} values such as {array.reshape(-1)[0].item()!r}.")
    return array.astype(wanted, copy=False)[()]


def _python_default(array: Any) -> Any:
    if array.dtype == np.int64:
        fits = not array.size or (array.min() >= -(1 << 31) and array.max() < 1 << 31)
        return np.int32 if fits else np.int64
    return np.float32 if array.dtype == np.float64 else array.dtype


def _strings(array: Any) -> Any:
    flat = np.empty(array.size, object)
    flat[:] = [s.encode() if isinstance(s, str) else bytes(s) for s in array.reshape(-1).tolist()]
    return flat.reshape(array.shape)[()]


def map_tree(function: Callable[[Any], Any], tree: Any) -> Any:
    """Applies a function to the leaves of lists, tuples, named tuples and dicts."""
    if isinstance(tree, dict):
        return type(tree)((key, map_tree(function, value)) for key, value in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tree(function, value) for value in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map_tree(function, value) for value in tree)
    return function(tree)


def leaves(tree: Any) -> list[Any]:
    """Gives the leaves of lists, tuples and dicts, in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


def is_deferred(tree: Any) -> bool:
    """Says whether any leaf waits for a run."""
    return any(isinstance(leaf, Tensor) for leaf in leaves(tree))
