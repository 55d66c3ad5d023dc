"""Arithmetic, comparison and sums: `tf.math`, and the same names at the top.

Each takes values and gives a value at once, or takes a tensor and gives one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype, int64
from wellfed.compat.deferred.eager import as_value
from wellfed.compat.deferred.lift import lifted
from wellfed.compat.deferred.operators import abs_ as abs
from wellfed.compat.deferred.operators import (
    add,
    ceil,
    div,
    equal,
    exp,
    floor,
    floordiv,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    not_equal,
    operands,
    sign,
    sqrt,
    square,
    squared_difference,
    subtract,
    truediv,
)
from wellfed.compat.deferred.operators import pow_ as pow
from wellfed.compat.deferred.operators import round_ as round
from wellfed.compat.missing import refuse

divide, floormod = truediv, mod


def _axes(axis: Any) -> Any:
    return None if axis is None else tuple(np.atleast_1d(axis).tolist())


def _reduction(ufunc: Any, name: str) -> Any:
    def compute(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool = False,
        reduction_indices: Any = None,
        keep_dims: bool = False,
    ) -> Any:
        array = np.asarray(as_value(input_tensor))
        axes = _axes(axis if axis is not None else reduction_indices)
        return ufunc(array, axis=axes, keepdims=keepdims or keep_dims)

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"Gives the {name.removeprefix('reduce_')} over the dimensions of `axis`, or over all."
    return lifted(compute)


def _same_kind(ufunc: Any) -> Any:
    return lambda array, **options: ufunc(array, dtype=array.dtype, **options)


def _mean(array: Any, **options: Any) -> Any:
    """TensorFlow's mean of integers is one, too."""
    return np.mean(array, **options).astype(array.dtype)


reduce_sum, reduce_prod = _reduction(_same_kind(np.sum), "reduce_sum"), _reduction(_same_kind(np.prod), "reduce_prod")
reduce_mean = _reduction(_mean, "reduce_mean")
reduce_max, reduce_min = _reduction(np.max, "reduce_max"), _reduction(np.min, "reduce_min")
reduce_any, reduce_all = _reduction(np.any, "reduce_any"), _reduction(np.all, "reduce_all")
reduce_std = _reduction(np.std, "reduce_std")


@lifted
def argmax(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = int64) -> Any:
    """Gives the index of the largest value along a dimension, the first one by default."""
    chosen = axis if axis is not None else dimension if dimension is not None else 0
    return np.argmax(np.asarray(input), int(chosen)).astype(as_dtype(output_type).dtype)


@lifted
def argmin(input: Any, axis: Any = None, dimension: Any = None, output_type: Any = int64) -> Any:
    """Gives the index of the smallest value along a dimension, the first one by default."""
    chosen = axis if axis is not None else dimension if dimension is not None else 0
    return np.argmin(np.asarray(input), int(chosen)).astype(as_dtype(output_type).dtype)


@lifted
def cumsum(x: Any, axis: int = 0) -> Any:
    """Gives the running sums along a dimension."""
    array = np.asarray(as_value(x))
    return np.cumsum(array, int(axis), dtype=array.dtype)


@lifted(style="elementwise")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """Gives values no lower and no higher than given."""
    value = np.asarray(as_value(t))
    return np.clip(value, as_value(clip_value_min, value.dtype), as_value(clip_value_max, value.dtype))[()]


@lifted
def matmul(a: Any, b: Any) -> Any:
    """Gives the product of matrices, those of the last two dimensions."""
    first, second = operands(a, b)
    return np.matmul(first, second)


@lifted
def add_n(inputs: Any) -> Any:
    """Gives the sum of several values of one shape."""
    return np.sum([as_value(value) for value in inputs], axis=0)


__all__ = [
    "abs",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "ceil",
    "clip_by_value",
    "cumsum",
    "div",
    "divide",
    "equal",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "round",
    "sign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "truediv",
]

__getattr__ = functools.partial(refuse, "math")
