"""The deferred graph: operations that wait for a run, and the tensors that they will give.

    Graph        operations by name, collections, the defaults of its time (name scope, control dependencies, seed)
    Operation    inputs, and `compute(run, *values)`: what it does once in each run that needs it
    Tensor       one output of an operation: its dtype, what is known of its shape, and Python's operators

A graph holds no values: queues, readers, counters and variables live in the session that runs it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wellfed.compat.deferred.dtypes import DType, as_dtype
from wellfed.compat.deferred.shapes import TensorShape

Compute = Callable[..., tuple[Any, ...]]


class Operation:
    """Something that is done once in each run that needs it.

    Attributes:
      graph: Where it belongs.
      name: Its own in the graph.
      type: What it does, for people.
      inputs: The tensors whose values it takes.
      control_inputs: Operations that are done before it.
      outputs: The tensors it gives.
      compute: Takes the run and the inputs' values, and gives the outputs' values.
      rows: How it works on whole columns, where it can; see `deferred.rows`.
    """

    def __init__(
        self,
        kind: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[Any, Any]],
        compute: Compute,
        name: str | None = None,
    ) -> None:
        self.graph = _graph_of(inputs)
        self.type = kind
        self.name = self.graph.unique_name(name or kind)
        self.inputs = tuple(inputs)
        self.control_inputs = tuple(self.graph.control_inputs())
        self.outputs = tuple(Tensor(self, i, dtype, shape) for i, (dtype, shape) in enumerate(outputs))
        self.compute = compute
        self.rows: Any = None
        self.graph.add(self)

    def run(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> None:
        """Runs it in a session, the default one where none is given."""
        default_session(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class Tensor:
    """One output of an operation: a value that a run will give.

    Attributes:
      op: The operation.
      value_index: Which of its outputs.
      dtype: The kind of its values.
    """

    __array_priority__ = 100  # NumPy's operators leave the work to this class's.

    # Python's operators, set by `deferred.operators`.
    _operators: dict[str, Callable[..., Any]] = {}  # noqa: RUF012 -- filled once, when the room is imported.

    def __init__(self, op: Operation, index: int, dtype: Any, shape: Any) -> None:
        self.op, self.value_index = op, index
        self.dtype: DType = as_dtype(dtype)
        self._shape = TensorShape(shape)

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The operation's name and the output's number."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Gives what is known of the shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape.

        Raises:
          ValueError: It contradicts what is known.
        """
        self._shape = self._shape.merge_with(shape)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: Any = None) -> Any:
        """Gives the value of a run of its own, in the default session where none is given."""
        return default_session(session).run(self, feed_dict)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name!r} has no value before a run, so it cannot be tested: use tf.where, or run it in a session"
        )

    def __iter__(self) -> Iterator[Tensor]:
        length = self._shape.sizes[0] if self._shape.sizes else None
        if length is None:
            raise TypeError(f"{self.name!r} has a first dimension that is not known before a run, or none at all")
        return iter([self[i] for i in range(length)])

    def __len__(self) -> int:
        raise TypeError(f"len({self.name!r}) is not known before a run: use tf.shape({self.name!r})[0]")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.name!r} has no value before a run, so NumPy cannot take it: use tf.py_func")

    def __float__(self) -> float:
        raise TypeError(f"{self.name!r} has no value before a run")

    __int__ = __index__ = __float__

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        # By identity, as in TensorFlow 1; in a function given to map, by values, as in TensorFlow 2.
        if self.graph.tracing and other is not None:
            return self._operators["equal"](self, other)  # type: ignore[no-any-return]  # A tensor.
        return self is other

    def __ne__(self, other: object) -> bool:
        if self.graph.tracing and other is not None:
            return self._operators["not_equal"](self, other)  # type: ignore[no-any-return]  # A tensor.
        return self is not other

    def __getitem__(self, key: Any) -> Any:
        return self._operators["getitem"](self, key)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


class Graph:
    """Operations by name, with the collections that TensorFlow 1 programs keep beside them."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.tracing = False  # Whether a function is being traced: then random numbers wait for the run, too.
        self._operations: dict[str, Operation] = {}
        self._names: dict[str, int] = {}
        self._collections: dict[str, list[Any]] = {}
        self._lock = threading.RLock()
        self._scope: list[str] = []
        self._control: list[list[Operation]] = []
        self.finalized = False

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Makes it the graph that new operations belong to, inside a `with`."""
        return _pushed(_graphs, self)

    def add(self, operation: Operation) -> None:
        """Takes an operation in."""
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        with self._lock:
            self._operations[operation.name] = operation

    def unique_name(self, name: str) -> str:
        """Gives a name that no operation has yet: the name itself, or with a number behind it."""
        with self._lock:
            full = "/".join([*self._scope, name])
            key = full.lower()
            count = self._names.get(key, 0)
            self._names[key] = count + 1
            return full if count == 0 else self.unique_name(f"{name}_{count}")

    def op_seed(self, seed: int | None) -> int | None:
        """Gives the seed of a new operation: its own, one that follows from the graph's, or None."""
        if seed is not None or self.seed is None:
            return seed
        return (self.seed * 1_000_003 + len(self._operations)) % (1 << 63)

    def get_operations(self) -> list[Operation]:
        """Gives all operations, in the order in which they were made."""
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Gives an operation.

        Raises:
          KeyError: There is none of that name.
        """
        if name not in self._operations:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Gives a tensor by its operation's name and its number, such as "x:0".

        Raises:
          KeyError: There is none of that name.
        """
        operation, _, index = name.partition(":")
        outputs = self.get_operation_by_name(operation).outputs
        if not index.isdigit() or int(index) >= len(outputs):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist.")
        return outputs[int(index)]

    def as_graph_element(self, thing: Any) -> Any:
        """Gives an operation or a tensor for itself or for its name.

        Raises:
          TypeError: It is neither.
          ValueError: It belongs to another graph.
        """
        if isinstance(thing, str):
            return self.get_tensor_by_name(thing) if ":" in thing else self.get_operation_by_name(thing)
        if not isinstance(thing, Tensor | Operation):
            raise TypeError(f"{thing!r} is neither a tensor nor an operation")
        if thing.graph is not self:
            raise ValueError(f"{thing!r} is not an element of this graph.")
        return thing

    def add_to_collection(self, name: str, value: Any) -> None:
        """Adds a value to those kept under a name."""
        self._collections.setdefault(name, []).append(value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Gives the values kept under a name; with `scope`, those whose own name begins so."""
        found = self._collections.get(name, [])
        return [v for v in found if scope is None or getattr(v, "name", "").startswith(scope)]

    def get_collection_ref(self, name: str) -> list[Any]:
        """Gives the list itself that is kept under a name."""
        return self._collections.setdefault(name, [])

    def finalize(self) -> None:
        """Refuses operations from now on."""
        self.finalized = True

    @contextlib.contextmanager
    def name_scope(self, name: str | None, *_: Any) -> Iterator[str]:
        """Puts a name in front of those of operations made inside."""
        parts = [name.rstrip("/")] if name else []
        self._scope += parts
        try:
            yield "/".join(self._scope) + "/"
        finally:
            del self._scope[len(self._scope) - len(parts) :]

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> Iterator[None]:
        """Has operations made inside wait for others."""
        ops = [thing.op if hasattr(thing, "op") else thing for thing in control_inputs or ()]
        self._control.append([op for op in ops if isinstance(op, Operation)])
        try:
            yield
        finally:
            self._control.pop()

    def control_inputs(self) -> list[Operation]:
        """Gives what a new operation waits for."""
        return [op for ops in self._control for op in ops]

    @contextlib.contextmanager
    def device(self, _: Any) -> Iterator[None]:
        """Does nothing: there is one device."""
        yield


class _Stack(threading.local):
    """What `with` has made the default, by thread."""

    def __init__(self) -> None:
        self.items: list[Any] = []


_graphs, _sessions = _Stack(), _Stack()
_base = {"graph": Graph()}  # The graph of a program that makes none, for all threads.


@contextlib.contextmanager
def _pushed(stack: _Stack, item: Any) -> Iterator[Any]:
    stack.items.append(item)
    try:
        yield item
    finally:
        _dropped(stack, item)


def _dropped(stack: _Stack, item: Any) -> None:
    """Takes the last of an item out, where it is in: a session that was closed inside its `with` is not."""
    for at in reversed(range(len(stack.items))):
        if stack.items[at] is item:
            del stack.items[at]
            return


def get_default_graph() -> Graph:
    """Gives the graph that new operations belong to."""
    return _graphs.items[-1] if _graphs.items else _base["graph"]


def in_graph() -> bool:
    """Says whether a `with` has made a graph the default: then what is made belongs to it."""
    return bool(_graphs.items)


def reset_default_graph() -> None:
    """Begins a new default graph."""
    _base["graph"] = Graph()


def as_default_session(session: Any) -> contextlib.AbstractContextManager[Any]:
    """Makes a session the one that `eval` and `run` without a session use, inside a `with`."""
    return _pushed(_sessions, session)


def push_session(session: Any) -> None:
    """Makes a session the default until `drop_session`."""
    _sessions.items.append(session)


def drop_session(session: Any) -> None:
    """Ends what `push_session` began."""
    _dropped(_sessions, session)


def get_default_session() -> Any:
    """Gives the default session, or None."""
    return _sessions.items[-1] if _sessions.items else None


def default_session(session: Any = None) -> Any:
    """Gives a session, or the default one.

    Raises:
      ValueError: There is neither.
    """
    found = session if session is not None else get_default_session()
    if found is None:
        raise ValueError("no session is given, and none is the default: use `with sess.as_default()`, or give one")
    return found


def _graph_of(inputs: Sequence[Tensor]) -> Graph:
    """Gives the inputs' graph, or the default one where there are none.

    Raises:
      ValueError: The inputs are of different graphs.
    """
    graphs = {tensor.graph for tensor in inputs}
    if len(graphs) > 1:
        raise ValueError(f"{inputs[1]!r} must be from the same graph as {inputs[0]!r}")
    return graphs.pop() if graphs else get_default_graph()
