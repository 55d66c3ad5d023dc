"""Python's operators on tensors, and the arithmetic behind them: the left operand's dtype decides, as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import as_value, is_deferred
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import lifted

Ufunc = Callable[..., Any]


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Gives both values; Python's numbers and lists in the dtype of the other side.

    Raises:
      TypeError: One does not fit the other's dtype.
    """
    if isinstance(x, np.ndarray | np.generic | bytes):
        return as_value(x), _like(y, x)
    if isinstance(y, np.ndarray | np.generic | bytes):
        return _like(x, y), as_value(y)
    x = as_value(x)
    return x, _like(y, x)


def _like(value: Any, other: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic | bytes) and np.asarray(value).dtype == np.asarray(other).dtype:
        return as_value(value)
    return as_value(value, _dtype_of(other))


def _dtype_of(value: Any) -> Any:
    return "string" if isinstance(value, bytes) else as_dtype(np.asarray(value).dtype)


def binary(ufunc: Ufunc, name: str) -> Any:
    """Makes a lifted operation of two operands of one dtype."""

    def compute(x: Any, y: Any) -> Any:
        return ufunc(*operands(x, y))

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"Gives `{name}` of two values, element by element; shapes broadcast."
    return lifted(compute, style="elementwise")


def unary(ufunc: Ufunc, name: str) -> Any:
    """Makes a lifted operation of one operand."""

    def compute(x: Any) -> Any:
        return ufunc(as_value(x))

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"Gives `{name}` of a value, element by element."
    return lifted(compute, style="elementwise")


def _true_divide(x: Any, y: Any) -> Any:
    kind = np.asarray(x).dtype
    if kind.kind in "iub":  # TensorFlow: up to 16 bits in float32, wider integers in float64.
        wide = np.float32 if kind.itemsize <= 2 else np.float64
        return np.true_divide(np.asarray(x).astype(wide), np.asarray(y).astype(wide))[()]
    return np.true_divide(x, y)


def _divide(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y) if np.asarray(x).dtype.kind in "iu" else np.true_divide(x, y)


def _add(x: Any, y: Any) -> Any:
    if isinstance(x, bytes) or isinstance(y, bytes):
        x, y = (np.array([value], object) if isinstance(value, bytes) else value for value in (x, y))
        joined = np.add(x, y)
        return joined[0] if joined.shape == (1,) else joined
    return np.add(x, y)


add, subtract, multiply = binary(_add, "add"), binary(np.subtract, "subtract"), binary(np.multiply, "multiply")
truediv, floordiv, div = binary(_true_divide, "truediv"), binary(np.floor_divide, "floordiv"), binary(_divide, "div")
mod, pow_ = binary(np.mod, "mod"), binary(np.power, "pow")
maximum, minimum = binary(np.maximum, "maximum"), binary(np.minimum, "minimum")
squared_difference = binary(lambda x, y: np.square(x - y), "squared_difference")
equal, not_equal = binary(np.equal, "equal"), binary(np.not_equal, "not_equal")
less, less_equal = binary(np.less, "less"), binary(np.less_equal, "less_equal")
greater, greater_equal = binary(np.greater, "greater"), binary(np.greater_equal, "greater_equal")
logical_and, logical_or = binary(np.logical_and, "logical_and"), binary(np.logical_or, "logical_or")
logical_xor, logical_not = binary(np.logical_xor, "logical_xor"), unary(np.logical_not, "logical_not")
negative, abs_, sign = unary(np.negative, "negative"), unary(np.abs, "abs"), unary(np.sign, "sign")
sqrt, square, exp, log = unary(np.sqrt, "sqrt"), unary(np.square, "square"), unary(np.exp, "exp"), unary(np.log, "log")
floor, ceil, round_ = unary(np.floor, "floor"), unary(np.ceil, "ceil"), unary(np.rint, "round")


def getitem(x: Any, key: Any) -> Any:
    """Gives a part of a tensor, as NumPy's indexing does; the ends of slices may be tensors."""
    keys = key if isinstance(key, tuple) else (key,)
    # Slices would hide their ends from the search for tensors, so they travel as tuples.
    parts = [("slice", part.start, part.stop, part.step) if isinstance(part, slice) else ("at", part) for part in keys]
    simple = all(end is None or end is Ellipsis or isinstance(end, int) for part in parts for end in part[1:])
    return (_sliced if simple else _picked)(x, parts, name="strided_slice")


def _picked_parts(x: Any, parts: Any) -> Any:
    return np.asarray(x)[tuple(_index(*part) for part in parts)]


_picked = lifted(_picked_parts)
_sliced = lifted(_picked_parts, static=lambda x, parts: _part_of(x, [_index(*part) for part in parts]))


def _part_of(x: Tensor, keys: list[Any]) -> tuple[Any, Any]:
    """Gives dtype and shape of a part of a tensor; a slice of a size that is not known has none that is."""
    sizes = x.shape.sizes
    if sizes is None:
        return x.dtype, None
    at = keys.index(Ellipsis) if Ellipsis in keys else len(keys)
    rest = len(sizes) - sum(key is not None and key is not Ellipsis for key in keys)
    kept = iter(sizes)
    found: list[int | None] = []
    for key in [*keys[:at], *[slice(None)] * rest, *keys[at + 1 :]]:
        if key is None:
            found.append(1)
            continue
        size = next(kept)
        if isinstance(key, slice):
            found.append(None if size is None else len(range(*key.indices(size))))
    return x.dtype, found


def _index(kind: str, *part: Any) -> Any:
    if kind == "slice":
        return slice(*(None if end is None else int(end) for end in part))
    (at,) = part
    if at is None or at is Ellipsis:
        return at
    at = np.asarray(at)
    return int(at) if at.ndim == 0 and at.dtype != bool else at


def _strided_static(input_: Any, begin: Any, end: Any, *more: Any, **options: Any) -> Any:
    if not isinstance(input_, Tensor) or is_deferred((begin, end, more, options)):
        return (input_ if isinstance(input_, Tensor) else np.asarray(as_value(input_))).dtype, None
    return _part_of(input_, _keys(begin, end, *more, **options))


@lifted(static=_strided_static)
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Any:
    """Gives the part of a value from `begin` to `end`, one number of each a dimension.

    Bit i of a mask is for dimension i: no begin, no end, an ellipsis, a new dimension, or one number in place of a
    part.
    """
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return np.asarray(as_value(input_))[tuple(_keys(begin, end, strides, *masks))]


def _keys(
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> list[Any]:
    """Gives the keys of NumPy's indexing that mean the same."""
    starts, stops = _numbers(begin), _numbers(end)
    steps = [1] * len(starts) if strides is None else _numbers(strides)
    keys: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        if ellipsis_mask >> i & 1:
            keys.append(Ellipsis)
        elif new_axis_mask >> i & 1:
            keys.append(None)
        elif shrink_axis_mask >> i & 1:
            keys.append(start)
        else:
            keys.append(slice(None if begin_mask >> i & 1 else start, None if end_mask >> i & 1 else stop, step))
    return keys


def _numbers(values: Any) -> list[int]:
    return [int(value) for value in np.atleast_1d(np.asarray(values))]


def _reflected(operation: Any) -> Any:
    return lambda x, y: operation(y, x)


def install() -> None:
    """Gives the class of tensors its operators."""
    both = {
        "add": add,
        "sub": subtract,
        "mul": multiply,
        "truediv": truediv,
        "floordiv": floordiv,
        "mod": mod,
        "pow": pow_,
        "and": logical_and,
        "or": logical_or,
        "xor": logical_xor,
    }
    for name, operation in both.items():
        setattr(Tensor, f"__{name}__", lambda x, y, operation=operation: operation(x, y))
        setattr(Tensor, f"__r{name}__", _reflected(operation))
    compared = {"lt": less, "le": less_equal, "gt": greater, "ge": greater_equal}
    for name, operation in compared.items():
        setattr(Tensor, f"__{name}__", lambda x, y, operation=operation: operation(x, y))
    for name, operation in {"neg": negative, "abs": abs_, "invert": logical_not}.items():
        setattr(Tensor, f"__{name}__", lambda x, operation=operation: operation(x))
    Tensor._operators.update(getitem=getitem, equal=equal, not_equal=not_equal)


install()
