"""Making, cutting and joining values: the array functions that input pipelines use.

Each takes values and gives a value at once, or takes a tensor and gives one.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype, float32, float64, int32, int64
from wellfed.compat.deferred.dtypes import bool as bool_type
from wellfed.compat.deferred.eager import as_value, eager, is_deferred, plain
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import Call, lifted
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.compat.deferred.sparse import to_dense as sparse_parts_to_dense


def _sizes(shape: Any) -> tuple[int, ...]:
    """Gives a shape's sizes as NumPy takes them."""
    return tuple(int(size) for size in np.atleast_1d(np.asarray(shape, dtype=np.int64)))


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Gives a value in a dtype and, where one number is to fill it, a shape. At once, as it needs no run."""
    del name
    found = as_value(value, dtype)
    if shape is not None:
        found = np.broadcast_to(found, _sizes(shape)) if np.size(found) == 1 else np.reshape(found, _sizes(shape))
    return eager(np.array(found) if not isinstance(found, bytes) else found)


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Gives a tensor as it is, and anything else as `constant` does."""
    return (
        cast(value, dtype)
        if isinstance(value, Tensor) and dtype is not None
        else (value if isinstance(value, Tensor) else constant(value, dtype, name=name))
    )


def _cast_static(x: Any, dtype: Any) -> Any:
    return as_dtype(dtype), x.shape if isinstance(x, Tensor) else np.shape(x)


@lifted(style="elementwise", static=_cast_static)
def cast(x: Any, dtype: Any) -> Any:
    """Gives values in another dtype; fractions are cut off, as in TensorFlow."""
    return np.asarray(as_value(x)).astype(as_dtype(dtype).dtype)[()]


def to_float(x: Any, name: str | None = None) -> Any:
    """Gives values as float32."""
    return cast(x, float32, name=name)


def to_double(x: Any, name: str | None = None) -> Any:
    """Gives values as float64."""
    return cast(x, float64, name=name)


def to_int32(x: Any, name: str | None = None) -> Any:
    """Gives values as int32."""
    return cast(x, int32, name=name)


def to_int64(x: Any, name: str | None = None) -> Any:
    """Gives values as int64."""
    return cast(x, int64, name=name)


@lifted(style="elementwise")
def identity(input: Any) -> Any:
    """Gives a value as it is."""
    return as_value(input)


stop_gradient = identity


def _reshape_static(tensor: Any, shape: Any) -> Any:
    dtype = tensor.dtype if isinstance(tensor, Tensor) else as_dtype(np.asarray(tensor).dtype)
    if isinstance(shape, Tensor):
        return dtype, None
    sizes = [
        None if isinstance(size, Tensor) or int(size) == -1 else int(size) for size in np.atleast_1d(_plain_list(shape))
    ]
    known = tensor.shape.num_elements() if isinstance(tensor, Tensor) else np.size(tensor)
    if (
        sizes.count(None) == 1
        and known is not None
        and not any(isinstance(size, Tensor) for size in _plain_list(shape))
    ):
        rest = int(np.prod([size for size in sizes if size is not None]))
        sizes[sizes.index(None)] = known // rest if rest else None
    return dtype, sizes


def _plain_list(shape: Any) -> list[Any]:
    shape = plain(shape)
    return list(shape) if isinstance(shape, Sequence | np.ndarray) or hasattr(shape, "as_list") else [shape]


def _reshape_rows(call: Call, inputs: tuple[Tensor, ...], columns: Any, count: int) -> Any:
    del inputs
    sizes = call.args[1] if len(call.args) > 1 else call.kwargs.get("shape")
    if len(columns) != 1 or not isinstance(columns[0], np.ndarray) or is_deferred(sizes):
        return None
    return columns[0].reshape(count, *_sizes(sizes))


@lifted(static=_reshape_static, style=_reshape_rows)
def reshape(tensor: Any, shape: Any) -> Any:
    """Gives the same values in another shape; one size may be -1."""
    return np.reshape(as_value(tensor), _sizes(shape))[()]


def _ensured_static(x: Any, shape: Any) -> Any:
    return x.dtype, x.shape.merge_with(shape)


@lifted(static=_ensured_static)
def ensure_shape(x: Any, shape: Any) -> Any:
    """Gives a value as it is, and checks its shape in the run.

    Raises:
      ValueError: It has another.
    """
    TensorShape(np.shape(as_value(x))).assert_is_compatible_with(shape)
    return as_value(x)


@lifted
def expand_dims(input: Any, axis: int = 0) -> Any:
    """Gives the same values with one more dimension, of size 1, at `axis`."""
    return np.expand_dims(np.asarray(as_value(input)), int(axis))


def _squeeze_static(input: Any, axis: Any = None, squeeze_dims: Any = None) -> Any:
    sizes = input.shape.sizes
    axis = axis if axis is not None else squeeze_dims
    if sizes is None or (axis is None and None in sizes):
        return input.dtype, None
    gone = {int(a) % len(sizes) for a in np.atleast_1d(axis)} if axis is not None else set()
    return input.dtype, [s for i, s in enumerate(sizes) if (i not in gone if gone else s != 1)]


@lifted(static=_squeeze_static)
def squeeze(input: Any, axis: Any = None, squeeze_dims: Any = None) -> Any:
    """Gives the same values without dimensions of size 1: all, or those of `axis`."""
    axis = axis if axis is not None else squeeze_dims
    axes = None if axis is None or np.size(axis) == 0 else tuple(np.atleast_1d(axis).tolist())
    return np.squeeze(np.asarray(as_value(input)), axes)[()]


@lifted
def transpose(a: Any, perm: Any = None) -> Any:
    """Gives the same values with the dimensions in another order, the reverse one where `perm` is None."""
    return np.transpose(as_value(a), None if perm is None else _sizes(perm))


@lifted
def stack(values: Any, axis: int = 0) -> Any:
    """Joins values of one shape along a new dimension."""
    return np.stack([np.asarray(as_value(value)) for value in values], int(axis))


@lifted
def unstack(value: Any, num: int | None = None, axis: int = 0) -> Any:
    """Gives the list of parts along a dimension, whose size has to be known before the run."""
    del num
    return [part[()] for part in np.moveaxis(np.asarray(as_value(value)), int(axis), 0)]


@lifted
def concat(values: Any, axis: int) -> Any:
    """Joins values end to end along a dimension that they have."""
    if not isinstance(values, list | tuple):
        values = [values]
    return np.concatenate([np.asarray(as_value(value)) for value in values], int(axis))


@lifted
def split(value: Any, num_or_size_splits: Any, axis: int = 0) -> Any:
    """Gives the list of equal parts, or of parts of the given sizes, along a dimension."""
    sizes = np.asarray(num_or_size_splits)
    cuts = int(sizes) if sizes.ndim == 0 else np.cumsum(sizes)[:-1]
    return list(np.split(np.asarray(as_value(value)), cuts, int(axis)))


@lifted
def slice(input_: Any, begin: Any, size: Any) -> Any:
    """Gives the part that begins at `begin` and has the shape `size`, -1 for all that is left."""
    array = np.asarray(as_value(input_))
    ends = [None if n == -1 else b + n for b, n in zip(_sizes(begin), _sizes(size), strict=True)]
    return array[tuple(builtins.slice(b, end) for b, end in zip(_sizes(begin), ends, strict=True))]


@lifted
def gather(params: Any, indices: Any, axis: int = 0) -> Any:
    """Gives the parts at `indices` along a dimension.

    Raises:
      IndexError: There is no such part.
    """
    return np.take(np.asarray(as_value(params)), np.asarray(indices), axis=int(axis))


@lifted
def boolean_mask(tensor: Any, mask: Any, axis: int | None = None) -> Any:
    """Gives the parts for which `mask` is true."""
    array = np.asarray(as_value(tensor))
    return array[(builtins.slice(None),) * (axis or 0) + (np.asarray(mask, bool),)]


@lifted
def tile(input: Any, multiples: Any) -> Any:
    """Gives a value repeated along each dimension."""
    return np.tile(as_value(input), _sizes(multiples))


@lifted
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    """Gives a value with room around it: constant, or by "REFLECT" or "SYMMETRIC" reflection."""
    array, widths = np.asarray(as_value(tensor)), np.asarray(paddings).tolist()
    if mode.upper() == "CONSTANT":
        return np.pad(array, widths, constant_values=constant_values)
    return np.pad(array, widths, mode=mode.lower())  # type: ignore[call-overload]  # One of NumPy's two names.


@lifted
def reverse(tensor: Any, axis: Any) -> Any:
    """Gives a value turned round along dimensions."""
    return np.flip(np.asarray(as_value(tensor)), tuple(np.atleast_1d(axis).tolist()))


@lifted
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Gives `x` where the condition holds and `y` elsewhere; without them, the indices of where it holds, int64."""
    condition = np.asarray(condition, bool)
    if x is None or y is None:
        return np.argwhere(condition).astype(np.int64)
    x, y = np.asarray(as_value(x)), np.asarray(as_value(y))
    if condition.ndim == 1 and x.ndim > 1 and x.shape == y.shape:  # TensorFlow 1: a truth for each row.
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return np.where(condition, x, y)[()]


@lifted(style="elementwise")
def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1, dtype: Any = None) -> Any:
    """Gives vectors of `depth` values, `on_value` at each index and `off_value` elsewhere; float32 by default."""
    kind = as_dtype(dtype).dtype if dtype is not None else np.dtype(np.float32)
    hot = np.asarray(indices)[..., None] == np.arange(int(depth))
    return np.moveaxis(np.where(hot, on_value, off_value).astype(kind), -1, int(axis))


@lifted
def shape(input: Any, out_type: Any = int32) -> Any:
    """Gives the shape that a value has in the run, int32."""
    return np.array(np.shape(as_value(input)), as_dtype(out_type).dtype)


@lifted
def size(input: Any, out_type: Any = int32) -> Any:
    """Gives the number of values, int32."""
    return as_dtype(out_type).as_numpy_dtype(np.size(as_value(input)))


@lifted
def rank(input: Any) -> Any:
    """Gives the number of dimensions, int32."""
    return np.int32(np.ndim(as_value(input)))


@lifted
def fill(dims: Any, value: Any) -> Any:
    """Gives an array full of one value."""
    value = as_value(value)
    return np.full(_sizes(dims), value, object if isinstance(value, bytes) else np.asarray(value).dtype)


@lifted
def zeros(shape: Any, dtype: Any = float32) -> Any:
    """Gives an array of zeros, or of empty strings."""
    return np.full(_sizes(shape), b"" if as_dtype(dtype).name == "string" else 0, as_dtype(dtype).dtype)


@lifted
def ones(shape: Any, dtype: Any = float32) -> Any:
    """Gives an array of ones."""
    return np.ones(_sizes(shape), as_dtype(dtype).dtype)


@lifted(style="elementwise")
def zeros_like(input: Any, dtype: Any = None) -> Any:
    """Gives zeros in the shape of a value."""
    return np.zeros_like(as_value(input), None if dtype is None else as_dtype(dtype).dtype)


@lifted(style="elementwise")
def ones_like(input: Any, dtype: Any = None) -> Any:
    """Gives ones in the shape of a value."""
    return np.ones_like(as_value(input), None if dtype is None else as_dtype(dtype).dtype)


@lifted
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Any:
    """Gives the numbers from `start` (0 where only one is given) up to `limit`, in steps of `delta`."""
    start, limit = (0, start) if limit is None else (start, limit)
    typed = [np.asarray(n).dtype for n in (start, limit, delta) if isinstance(n, np.generic | np.ndarray)]
    python = [np.asarray(as_value(n)).dtype for n in (start, limit, delta)]
    kind = as_dtype(dtype).dtype if dtype is not None else np.result_type(*(typed or python))
    return np.arange(start, limit, delta).astype(kind)


@lifted
def linspace(start: Any, stop: Any, num: int) -> Any:
    """Gives `num` numbers at equal distances from `start` to `stop`."""
    return np.linspace(start, stop, int(num)).astype(np.asarray(as_value(start)).dtype)


@lifted
def sequence_mask(lengths: Any, maxlen: int | None = None, dtype: Any = bool_type) -> Any:
    """Gives, for each length, a vector that is true that far."""
    lengths = np.asarray(lengths)
    longest = int(lengths.max(initial=0)) if maxlen is None else int(maxlen)
    return (np.arange(longest) < lengths[..., None]).astype(as_dtype(dtype).dtype)


@lifted
def unique(x: Any) -> Any:
    """Gives the different values in order of appearance, and for each value the place of its own among them."""
    values, first, inverse = np.unique(np.asarray(as_value(x)), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [values[order], np.argsort(order)[inverse].astype(np.int32)]


def sparse_tensor_to_dense(sp_input: SparseTensor, default_value: Any = None, name: str | None = None) -> Any:
    """Gives the array of a sparse tensor; places without a value hold `default_value`, 0 or b""."""
    return _to_dense(sp_input.indices, sp_input.values, sp_input.dense_shape, default_value, name=name)


def _to_dense_static(indices: Any, values: Any, dense_shape: Any, default_value: Any = None) -> Any:
    del indices, default_value
    rank = dense_shape.shape.sizes[0] if isinstance(dense_shape, Tensor) and dense_shape.shape.sizes else None
    return values.dtype, None if rank is None else [None] * rank


_to_dense = lifted(sparse_parts_to_dense, static=_to_dense_static)


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0, name: str | None = None
) -> Any:
    """Gives an array with values at the given indices, and `default_value` elsewhere."""
    return _scattered(sparse_indices, output_shape, sparse_values, default_value, name=name)


@lifted
def _scattered(indices: Any, output_shape: Any, values: Any, default_value: Any) -> Any:
    values = np.asarray(as_value(values))
    dense = np.full(_sizes(output_shape), default_value, values.dtype)
    places = np.asarray(indices)
    dense[tuple(places.T) if places.ndim > 1 else places] = values
    return dense
