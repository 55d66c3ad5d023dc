"""How a function on values becomes one that also takes tensors: the rule of both ages.

    @lifted
    def reduce_sum(input_tensor, axis=None): return np.sum(input_tensor, axis)

    reduce_sum([1, 2])      values only: computed at once
    reduce_sum(tensor)      a tensor among the arguments: an operation of the graph, computed in each run

What is known of the result before a run is found by trying: the function is called on made-up values twice, with every
size that is not known as 2 and then as 3. A size of the result that stays the same is known; one that does not is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import eager, is_deferred, leaves, map_tree, plain
from wellfed.compat.deferred.graph import Operation, Tensor
from wellfed.compat.deferred.shapes import TensorShape

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Call:
    """How a pure operation calls its function; what `deferred.rows` needs to do it by columns.

    Attributes:
      function: On values.
      args: Its arguments; tensors stand where the inputs' values go.
      kwargs: The same, by name.
      style: "rows" calls it for each row, "random" with a generator of the row's own, "elementwise" once for all,
        "picture" once where only the first argument has rows, since it works on the last three dimensions; or a
        function `(call, inputs, columns, count)` that gives the column, or None for row by row.
      many: Whether it gives a list or tuple of values.
    """

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    style: Any
    many: bool

    def bind(self, inputs: tuple[Tensor, ...], *, first: bool = False) -> Function:
        """Gives the function of the inputs' values alone; with `first`, of one more argument in front of them."""
        flat = not self.kwargs and not any(isinstance(arg, list | tuple | dict) for arg in self.args)
        if flat and all(isinstance(arg, Tensor) for arg in self.args) and len(set(self.args)) == len(self.args):
            return self.function

        def call(*values: Any) -> Any:
            front, values = values[:first], values[first:]
            by_tensor = dict(zip(inputs, values, strict=True))
            args = map_tree(lambda leaf: by_tensor[leaf] if isinstance(leaf, Tensor) else leaf, self.args)
            kwargs = map_tree(lambda leaf: by_tensor[leaf] if isinstance(leaf, Tensor) else leaf, self.kwargs)
            return self.function(*front, *args, **kwargs)

        return call


class Lifted(Protocol):
    """A function of values or tensors; `__wrapped__` is the one on values alone."""

    __wrapped__: Function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Gives a value at once, or a tensor where one is among the arguments."""


@overload
def lifted(function: Function, *, style: Any = ..., static: Function | None = ...) -> Lifted: ...
@overload
def lifted(*, style: Any = ..., static: Function | None = ...) -> Callable[[Function], Lifted]: ...
def lifted(function: Function | None = None, *, style: Any = "rows", static: Function | None = None) -> Any:
    """Makes a function on values one that defers itself where an argument is a tensor.

    Args:
      function: Takes and gives NumPy arrays, scalars and `bytes`. Pure: called as often as it is wanted.
      style: See `Call`.
      static: Takes the same arguments and gives dtype and shape of the result, where trying is not enough.
    """
    if function is None:
        return functools.partial(lifted, style=style, static=static)

    @functools.wraps(function)
    def face(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if not is_deferred(args) and not is_deferred(kwargs):
            return eager(function(*map_tree(plain, args), **map_tree(plain, kwargs)))
        return defer(function, args, kwargs, name=name, style=style, static=static)

    return face


def defer(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    name: str | None = None,
    style: Any = "rows",
    static: Function | None = None,
) -> Any:
    """Makes the operation that calls a function in each run, and gives its tensor, or the list of its tensors."""
    args, kwargs = map_tree(plain, tuple(args)), map_tree(plain, kwargs)
    inputs = tuple(dict.fromkeys(leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor)))
    known = static(*args, **kwargs) if static is not None else _tried(function, args, kwargs, inputs, style)
    many = isinstance(known, list)
    call = Call(function, args, kwargs, style, many)
    bound = call.bind(inputs)
    compute = (lambda _, *values: tuple(bound(*values))) if many else (lambda _, *values: (bound(*values),))
    op = Operation(name or function.__name__, inputs, known if many else [known], compute, name)
    op.rows = call
    return list(op.outputs) if many else op.outputs[0]


def _tried(function: Function, args: Any, kwargs: Any, inputs: tuple[Tensor, ...], style: Any) -> Any:
    """Gives dtype and shape of the result of a call, or a list of them where it gives several.

    Raises:
      TypeError: Operands of arithmetic do not fit each other, whatever their values.
    """
    found = []
    for number in (2, 3):
        made_up = {tensor: _made_up(tensor, number) for tensor in inputs}
        try:
            with np.errstate(all="ignore"):
                found.append(function(*_filled(args, made_up), **_filled(kwargs, made_up)))
        except Exception as error:
            if isinstance(error, TypeError) and style == "elementwise":
                raise
            # Made-up values may be refused: then the run alone knows.
            return inputs[0].dtype if inputs else np.float32, None
    ranks_known = all(tensor.shape.rank is not None for tensor in inputs)
    if isinstance(found[0], list | tuple):
        return [_common(*pair, ranks_known=ranks_known) for pair in zip(*found, strict=False)]
    return _common(*found, ranks_known=ranks_known)


def _filled(tree: Any, values: dict[Tensor, Any]) -> Any:
    return map_tree(lambda leaf: values[leaf] if isinstance(leaf, Tensor) else leaf, tree)


def _made_up(tensor: Tensor, number: int) -> Any:
    shape = [number if size is None else size for size in tensor.shape.sizes or ()]
    if tensor.dtype.name == "string":
        value: Any = np.full(shape, None, object)
        value.fill(b"%d" % number)
        return value[()]
    return np.broadcast_to(np.array(number, tensor.dtype.dtype), shape)[()]


def _common(first: Any, second: Any, *, ranks_known: bool) -> tuple[Any, Any]:
    first, second = np.asarray(first), np.asarray(second)
    dtype = as_dtype(first.dtype)
    if not ranks_known or first.ndim != second.ndim:
        return dtype, None
    sizes = [a if a == b else None for a, b in zip(first.shape, second.shape, strict=True)]
    return dtype, TensorShape(sizes)
