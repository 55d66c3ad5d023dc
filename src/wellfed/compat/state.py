"""What differs from run to run: placeholders, variables and Python functions, and what holds them together.

All of it is deferred, whatever it is given; its state lives in the session.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import errors
from wellfed.compat.arrays import constant, identity, stack
from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import as_array, as_value, eager, is_deferred, leaves, map_tree, plain
from wellfed.compat.deferred.graph import Graph, Operation, Tensor, get_default_graph, in_graph
from wellfed.compat.deferred.session import Run, op_error
from wellfed.compat.deferred.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GLOBAL_VARIABLES, LOCAL_VARIABLES = "variables", "local_variables"


def deferred(value: Any, dtype: Any = None) -> Tensor:
    """Gives a tensor as it is, and a tensor of any other value."""
    if isinstance(value, Tensor):
        return value
    if is_deferred(value):  # A list that holds tensors.
        joined: Tensor = stack(value)
        return joined
    fixed = plain(constant(value, dtype))
    if isinstance(fixed, np.ndarray):
        fixed.flags.writeable = False  # Many runs will give it away.
    kind = "string" if isinstance(fixed, bytes) else np.asarray(fixed).dtype
    return Operation("Const", [], [(kind, np.shape(fixed))], lambda _: (fixed,)).outputs[0]


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Gives a tensor whose value each run has to be fed."""

    def refuse(_: Run) -> Any:
        raise errors.InvalidArgumentError(
            None,
            op.name,
            f"You must feed a value for placeholder tensor {op.name!r} with dtype {as_dtype(dtype).name} "
            f"and shape {TensorShape(shape)}",
        )

    op = Operation("Placeholder", [], [(dtype, shape)], refuse, name)
    return op.outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Gives a tensor with a value of its own where a run feeds none."""
    default = deferred(input)
    return Operation("PlaceholderWithDefault", [default], [(default.dtype, shape)], lambda _, v: (v,), name).outputs[0]


# --- Variables -----------------------------------------------------------------------------------


class _Cell:
    """A variable's value in one session."""

    def __init__(self, value: Any) -> None:
        self.lock = threading.Lock()
        self.value = _frozen(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value


class Variable(Tensor):
    """A value that a session keeps from run to run. It has its initial value from the start: no initialiser is due.

    Args:
      initial_value: A value, a tensor, or a function that gives one.
      trainable: Ignored: nothing is trained here.
      collections: The graph's collections it is put into; the global variables' by default.
      validate_shape: False lets later values have any shape.
      name: Its name.
      dtype: Its dtype; that of the initial value by default.
    """

    def __init__(
        self,
        initial_value: Any,
        trainable: bool = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **_: Any,
    ) -> None:
        del trainable, caching_device
        first = deferred(initial_value() if callable(initial_value) else initial_value, dtype)
        shape = first.shape if validate_shape else None
        op = Operation("Variable", [], [(first.dtype, shape)], lambda run: (self._cell(run).value,), name or "Variable")
        super().__init__(op, 0, first.dtype, shape)
        op.outputs = (self,)
        self.initial_value = first
        self.initializer = no_op(f"{op.name}/init")
        for collection in collections if collections is not None else (GLOBAL_VARIABLES,):
            op.graph.add_to_collection(collection, self)

    def _cell(self, run: Run) -> _Cell:
        first = self.initial_value
        cell: _Cell = run.state(self.op, lambda: _Cell(run.session.run(first)))
        return cell

    def _changed(self, name: str, change: Callable[[Any, Any], Any], value: Any) -> Tensor:
        given = deferred(value, self.dtype)

        def compute(run: Run, number: Any) -> Any:
            cell = self._cell(run)
            with cell.lock:
                cell.value = _frozen(np.asarray(change(cell.value, number), self.dtype.dtype)[()])
                return (cell.value,)

        return Operation(name, [given], [(self.dtype, self.shape)], compute).outputs[0]

    def assign(self, value: Any, **_: Any) -> Tensor:
        """Gives a tensor that sets the variable and has its new value."""
        return self._changed("Assign", lambda _, new: new, value)

    def assign_add(self, delta: Any, **_: Any) -> Tensor:
        """Gives a tensor that adds to the variable and has its new value."""
        return self._changed("AssignAdd", np.add, delta)

    def assign_sub(self, delta: Any, **_: Any) -> Tensor:
        """Gives a tensor that subtracts from the variable and has its new value."""
        return self._changed("AssignSub", np.subtract, delta)

    def count_up_to(self, limit: int) -> Tensor:
        """Gives a tensor that has the variable's value and raises it by one.

        Its run ends with `OutOfRangeError` once the variable has reached `limit`.
        """

        def compute(run: Run) -> Any:
            cell = self._cell(run)
            with cell.lock:
                if cell.value >= limit:
                    raise errors.OutOfRangeError(None, self.op.name, f"Reached limit of {limit}")
                before, cell.value = cell.value, cell.value + self.dtype.as_numpy_dtype(1)
                return (before,)

        return Operation("CountUpTo", [], [(self.dtype, [])], compute).outputs[0]

    def value(self) -> Tensor:
        """Gives a tensor with the variable's value."""
        return identity(self)  # type: ignore[no-any-return]  # Of a tensor comes a tensor.

    read_value = initialized_value = value


def assign(ref: Variable, value: Any, **_: Any) -> Tensor:
    """Gives a tensor that sets a variable and has its new value."""
    return ref.assign(value)


def assign_add(ref: Variable, value: Any, **_: Any) -> Tensor:
    """Gives a tensor that adds to a variable and has its new value."""
    return ref.assign_add(value)


def global_variables() -> list[Variable]:
    """Gives the default graph's variables."""
    return get_default_graph().get_collection(GLOBAL_VARIABLES)


def local_variables() -> list[Variable]:
    """Gives the default graph's local variables, such as counters of epochs."""
    return get_default_graph().get_collection(LOCAL_VARIABLES)


def global_variables_initializer() -> Operation:
    """Gives an operation that does nothing: variables have their initial values from the start."""
    return no_op("init")


local_variables_initializer = initialize_all_variables = initialize_local_variables = global_variables_initializer
tables_initializer = global_variables_initializer


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Gives an operation that does nothing: variables have their initial values from the start."""
    del var_list
    return no_op(name)


# --- Python functions ----------------------------------------------------------------------------


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Gives tensors whose values a Python function gives in each run.

    Args:
      func: Takes the inputs' values, and gives one value for each of `Tout`.
      inp: The inputs.
      Tout: A dtype, or a list of them.
      stateful: Ignored: the function is called once in each run that needs it.
      name: The operation's name.

    Returns:
      A tensor, or a list of them where `Tout` is one. Their shapes are not known: see `Tensor.set_shape`.

    An error of the function ends the run with the `OpError` that TensorFlow would make of it: `StopIteration` with
    `OutOfRangeError`, `ValueError` and `TypeError` with `InvalidArgumentError`. The error itself is the `__cause__`.
    """
    del stateful
    return _function(func, inp, Tout, name or "PyFunc", func)


def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Gives what `py_func` gives; at once, where all inputs are there and no graph is being made."""
    del stateful
    return _at_once_or_deferred(func, inp, Tout, name or "PyFunc", func)


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Gives what `numpy_function` gives; the function gets eager tensors."""
    return _at_once_or_deferred(lambda *values: func(*map(eager, values)), inp, Tout, name or "EagerPyFunc", func)


def _at_once_or_deferred(call: Callable[..., Any], inp: Sequence[Any], kinds: Any, name: str, func: Any) -> Any:
    if not inp or in_graph() or is_deferred(inp):
        return _function(call, inp, kinds, name, func)
    values = [as_value(value) for value in inp]
    with Graph().as_default():
        given = [eager(value) for value in _operation(call, values, kinds, name, func).compute(None, *values)]
    return given if isinstance(kinds, list | tuple) else given[0]


def _function(call: Callable[..., Any], inp: Sequence[Any], kinds: Any, name: str, func: Any) -> Any:
    op = _operation(call, inp, kinds, name, func)
    return list(op.outputs) if isinstance(kinds, list | tuple) else op.outputs[0]


def _operation(call: Callable[..., Any], inp: Sequence[Any], kinds: Any, name: str, func: Any) -> Operation:
    several = isinstance(kinds, list | tuple)
    dtypes = [as_dtype(kind) for kind in (kinds if several else [kinds])]
    where = getattr(func, "__qualname__", type(func).__name__)

    def compute(_: Run, *values: Any) -> Any:
        try:
            given = call(*values)
        except errors.OpError:
            raise
        except Exception as error:
            raise op_error(error, f"{op.name} ({where})") from error
        results = list(given) if several and isinstance(given, list | tuple) else [given]
        if len(results) != len(dtypes) and not (not dtypes and given is None):
            raise errors.InvalidArgumentError(
                None, op.name, f"{op.name} ({where}) gave {len(results)} values, {len(dtypes)} are due"
            )
        return tuple(_result(op, where, *pair) for pair in zip(results, dtypes, strict=False))

    op = Operation(name, [deferred(value) for value in inp], [(dtype, None) for dtype in dtypes], compute)
    op.rows = "rows"
    return op


def _result(op: Operation, where: str, value: Any, dtype: Any) -> Any:
    """Gives a function's value in the dtype that was promised; another one is an error, as in TensorFlow."""
    value = plain(value)
    found = as_value(value) if isinstance(value, str | bytes) else as_array(value)
    if isinstance(found, np.ndarray) and found.dtype.kind in "SUO":
        found = as_value(found)
    kind = as_dtype("string" if isinstance(found, bytes) else found.dtype)
    if kind != dtype:
        python_number = isinstance(value, bool | int | float | list) and np.can_cast(
            kind.dtype, dtype.dtype, "same_kind"
        )
        if not python_number:
            raise errors.InvalidArgumentError(
                None, op.name, f"{op.name} ({where}) gave {kind.name}, {dtype.name} is due"
            )
        found = found.astype(dtype.dtype)
    return found[()] if isinstance(found, np.ndarray) else found


# --- Order and choice ----------------------------------------------------------------------------


def no_op(name: str | None = None) -> Operation:
    """Gives an operation that does nothing."""
    return Operation("NoOp", [], [], lambda _: (), name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Gives an operation that has others done."""
    ops = [thing.op if isinstance(thing, Tensor) else thing for thing in leaves(list(inputs))]
    with get_default_graph().control_dependencies(ops):
        return no_op(name or "group_deps")


def tuple_(tensors: Sequence[Tensor], control_inputs: Any = None, name: str | None = None) -> list[Tensor]:
    """Gives tensors that have their values once all of them have."""
    with get_default_graph().control_dependencies([*tensors, *(control_inputs or ())]):
        return [identity(tensor, name=name) for tensor in tensors]


def control_dependencies(control_inputs: Any) -> Any:
    """Has operations made inside a `with` wait for others."""
    return get_default_graph().control_dependencies(control_inputs)


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None, **_: Any) -> Any:
    """Gives the values of one of two functions; only the chosen one's operations are done.

    Args:
      pred: A truth. One that is known chooses at once.
      true_fn: Makes the tensors for true.
      false_fn: Makes those for false, of the same dtypes.
      name: The operation's name.

    Returns:
      What the functions give, in their form.
    """
    if not isinstance(pred, Tensor):
        return (true_fn if plain(pred) else false_fn)()
    form, other = true_fn(), false_fn()
    yes, no = [deferred(leaf) for leaf in leaves(form)], [deferred(leaf) for leaf in leaves(other)]
    outputs = [(a.dtype, a.shape if a.shape == b.shape else None) for a, b in zip(yes, no, strict=True)]
    op = Operation(name or "cond", [pred], outputs, lambda run, chosen: run.more(yes if chosen else no))
    made = iter(op.outputs)
    return map_tree(lambda _: next(made), form)


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """Gives an operation that ends the run with `InvalidArgumentError`, naming `data`, where the condition is false."""
    del summarize

    def compute(_: Run, holds: Any, *values: Any) -> Any:
        if not np.all(holds):
            raise errors.InvalidArgumentError(None, op.name, f"assertion failed: {list(values)}")
        return ()

    op = Operation("Assert", [deferred(condition), *map(deferred, data)], [], compute, name)
    return op
