"""Functions that draw random numbers: other ones in each run, and fixed by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.compat.deferred.eager import eager, is_deferred, leaves, map_tree, plain
from wellfed.compat.deferred.graph import Operation, Tensor, get_default_graph
from wellfed.compat.deferred.lift import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.compat.deferred.session import Run

_at_once = {"rng": np.random.default_rng()}  # What draws where nothing is deferred.


def seed_eager(seed: int | None) -> None:
    """Fixes the numbers of calls that draw at once."""
    _at_once["rng"] = np.random.default_rng(seed)


def randomly(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    seed: int | None,
    name: str,
    static: tuple[Any, Any],
    *,
    wait: bool = False,
) -> Any:
    """Calls a function of a generator and values: at once, or in each run where an argument is a tensor.

    Args:
      function: Takes a `numpy.random.Generator` and the arguments' values.
      args: Values and tensors.
      seed: Fixes the numbers.
      name: The operation's.
      static: Dtype of the result and what is known of its shape.
      wait: Whether to defer it whatever the arguments are, as a name of TensorFlow 1 does.
    """
    graph = get_default_graph()
    args = map_tree(plain, args)
    if not (wait or graph.tracing or is_deferred(args)):
        rng = _at_once["rng"] if seed is None else np.random.default_rng(seed)
        return eager(function(rng, *args))
    inputs = tuple(dict.fromkeys(leaf for leaf in leaves(args) if isinstance(leaf, Tensor)))
    call = Call(function, args, {}, "random", many=False)
    bound = call.bind(inputs, first=True)
    seed = graph.op_seed(seed)

    def compute(run: Run, *values: Any) -> tuple[Any]:
        return (bound(run.generator(op, seed), *values),)

    op = Operation(name, inputs, [static], compute, name)
    op.rows = call
    return op.outputs[0]
