"""The session: runs operations of a graph, and owns the state that they have.

One run computes each operation once, whoever asks for it how often. Operations run one after the other, in the thread
that called `run`: there is no pool that a waiting queue could fill. What a run fetches belongs to the caller.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import errors
from wellfed.compat.deferred import graph as graphs
from wellfed.compat.deferred.eager import EagerTensor, map_tree, plain
from wellfed.compat.deferred.graph import Graph, Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What TensorFlow makes of the errors of Python code; the error itself is the cause.
_KINDS: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (errors.RecordError, errors.DataLossError),
    (errors.FileFormatError, errors.DataLossError),
    (StopIteration, errors.OutOfRangeError),
    (FileNotFoundError, errors.NotFoundError),
    (PermissionError, errors.PermissionDeniedError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (TypeError, errors.InvalidArgumentError),
    (ValueError, errors.InvalidArgumentError),
)


class RunOptions:
    """Options of one run.

    Attributes:
      timeout_in_ms: The longest that the run may wait; 0 for no limit. [ms]
    """

    def __init__(self, timeout_in_ms: int = 0, **_: Any) -> None:
        self.timeout_in_ms = timeout_in_ms


class Run:
    """One call of `Session.run`, as its operations see it.

    Attributes:
      session: The session.
    """

    __slots__ = ("_deadline", "_values", "session")

    def __init__(self, session: Session, timeout_in_ms: int = 0) -> None:
        self.session = session
        self._values: dict[Tensor, Any] = {}
        self._deadline = time.monotonic() + timeout_in_ms / 1000 if timeout_in_ms > 0 else None

    def timeout(self) -> float | None:
        """Gives how long an operation may still wait, in seconds; None for ever."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def begin(self, values: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """Keeps the values of this run, fed ones first."""
        self._values = values
        return values

    def more(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        """Computes tensors that only now turn out to be needed; what the run has computed before stays."""
        self.session.compute(self, self.session.plan(tuple(tensors), frozenset(self._values)), self._values)
        return tuple(self._values[tensor] for tensor in tensors)

    def state(self, key: Any, make: Callable[[], Any]) -> Any:
        """Gives what the session keeps under a key; makes it at the first call."""
        return self.session.state(key, make)

    def generator(self, key: Any, seed: int | None) -> np.random.Generator:
        """Gives the random numbers of an operation, which go on from run to run."""
        found: np.random.Generator = self.session.state((key, "random"), lambda: np.random.default_rng(seed))
        return found


class _Made:
    """A piece of state, made once however many threads ask for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.value: Any = None
        self.made = False


class Session:
    """Runs operations, and keeps the state of queues, readers, counters and variables apart from other sessions'.

    Args:
      target: Ignored: there is one machine.
      graph: The graph; the default one where None.
      config: Ignored.

    Differs from TensorFlow: operations of one run come one after the other; variables need no initialiser.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        del target, config
        self.graph = graph if graph is not None else graphs.get_default_graph()
        self._lock = threading.Lock()
        self._state: dict[Any, _Made] = {}
        self._plans: dict[Any, list[Operation]] = {}
        self._closed = False
        self._contexts: list[Any] = []

    # Running.

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: Any = None,
    ) -> Any:
        """Computes what is asked for.

        Args:
          fetches: Tensors, operations, their names, values, or lists, tuples and dicts of them.
          feed_dict: Values to use in place of tensors.
          options: The limit of time.
          run_metadata: Ignored.

        Returns:
          The values, in the form of `fetches`: arrays, NumPy scalars and `bytes`; None for an operation.

        Raises:
          OpError: An operation failed; where Python code did, its error is the `__cause__`.
          RuntimeError: The session is closed.
          ValueError: A value does not fit the tensor it is fed for.
        """
        del run_metadata
        fetches = map_tree(self._element, fetches)
        run = Run(self, options.timeout_in_ms if options is not None else 0)
        values = run.begin({tensor: _fed(tensor, value) for tensor, value in self._fed_tensors(feed_dict or {})})
        wanted = tuple(leaf for leaf in _flat(fetches) if isinstance(leaf, Tensor | Operation))
        self.compute(run, self.plan(wanted, frozenset(values)), values)
        return _fetched(fetches, values)

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None) -> Callable[..., Any]:
        """Makes a function of the values of `feed_list` that gives what a run of `fetches` gives."""
        fetches = map_tree(self._element, fetches)
        fed = [self.graph.as_graph_element(thing) for thing in feed_list or ()]
        wanted = tuple(leaf for leaf in _flat(fetches) if isinstance(leaf, Tensor | Operation))
        plan = self.plan(wanted, frozenset(fed))

        def call(*arguments: Any) -> Any:
            run = Run(self)
            values = run.begin({tensor: _fed(tensor, value) for tensor, value in zip(fed, arguments, strict=True)})
            self.compute(run, plan, values)
            return _fetched(fetches, values)

        return call

    def _element(self, fetch: Any) -> Any:
        if fetch is None or isinstance(fetch, EagerTensor | np.ndarray | np.generic | bytes | int | float):
            return fetch  # A value needs no run.
        if hasattr(fetch, "as_fetch"):
            return map_tree(self._element, fetch.as_fetch())
        if isinstance(fetch, str | Tensor | Operation):
            return self.graph.as_graph_element(fetch)
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}: a tensor, an operation or a name is due"
        )

    def _fed_tensors(self, feed_dict: dict[Any, Any]) -> list[tuple[Tensor, Any]]:
        return [(self.graph.as_graph_element(thing), value) for thing, value in feed_dict.items()]

    def plan(self, wanted: tuple[Any, ...], fed: frozenset[Tensor]) -> list[Operation]:
        """Gives the operations that have to be done, each after those it needs."""
        key = wanted, fed
        plan = self._plans.get(key)
        if plan is None:
            roots = [thing.op if isinstance(thing, Tensor) else thing for thing in wanted if thing not in fed]
            plan = self._plans[key] = in_order(roots, fed)
        return plan

    def compute(self, run: Run, plan: list[Operation], values: dict[Tensor, Any]) -> None:
        """Does the operations of a plan, and adds their values to those of the run."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        run_plan(run, plan, values)

    # State.

    def state(self, key: Any, make: Callable[[], Any]) -> Any:
        """Gives what the session keeps under a key; makes it at the first call, once for all threads."""
        with self._lock:
            made = self._state.setdefault(key, _Made())
        with made.lock:
            if not made.made:
                made.value, made.made = make(), True
            return made.value

    def close(self) -> None:
        """Ends the session: runs that wait are cancelled, later ones refused, and its state is let go."""
        with self._lock:
            self._closed = True
            kept, self._state = list(self._state.values()), {}
        for made in kept:
            release = getattr(made.value, "cancel_pending", None) or getattr(made.value, "close", None)
            if release is not None:
                release()
        graphs.drop_session(self)

    def as_default(self) -> Any:
        """Makes it the default session inside a `with`, without closing it after."""
        return graphs.as_default_session(self)

    def __enter__(self) -> Session:
        self._contexts = [self.graph.as_default(), graphs.as_default_session(self)]
        for context in self._contexts:
            context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        for context in reversed(self._contexts):
            context.__exit__(None, None, None)
        self.close()


class InteractiveSession(Session):
    """A session that is the default one from the start, until it is closed."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        graphs.push_session(self)


def run_plan(run: Run, plan: Sequence[Operation], values: dict[Tensor, Any]) -> None:
    """Does operations in order, and adds their values to those there are.

    Raises:
      OpError: An operation failed.
    """
    for op in plan:
        try:
            outputs = op.compute(run, *[values[tensor] for tensor in op.inputs])
        except errors.OpError:
            raise
        except Exception as error:
            raise op_error(error, op.name) from error
        for tensor, value in zip(op.outputs, outputs, strict=True):
            values.setdefault(tensor, value)  # Fed values stay.


def op_kind(error: BaseException) -> type[errors.OpError]:
    """Gives the kind of `OpError` that TensorFlow would make of an error of Python code."""
    return next((mine for theirs, mine in _KINDS if isinstance(error, theirs)), errors.UnknownError)


def op_error(error: BaseException, name: str) -> errors.OpError:
    """Gives the `OpError` that TensorFlow would make of an error of Python code in an operation."""
    return op_kind(error)(None, name, f"{name}: {type(error).__name__}: {error}")


def in_order(roots: list[Operation], fed: frozenset[Tensor]) -> list[Operation]:
    """Gives operations and all they need, each once, needs first; without recursion, as graphs may be deep."""
    order: dict[Operation, None] = {}
    stack = [(op, False) for op in reversed(roots)]
    while stack:
        op, ready = stack.pop()
        if op in order:
            continue
        if ready:
            order[op] = None
            continue
        needs = [*op.control_inputs, *(tensor.op for tensor in op.inputs if tensor not in fed)]
        stack.append((op, True))
        stack += [(need, False) for need in reversed(needs) if need not in order]
    return list(order)


def _fed(tensor: Tensor, value: Any) -> Any:
    """Gives a fed value in the tensor's dtype.

    Raises:
      TypeError: The value is a tensor itself.
      ValueError: It has another shape, or does not fit the dtype.
    """
    if isinstance(value, Tensor):
        raise TypeError("The value of a feed cannot be a Tensor: run it first, and feed its value.")
    value = plain(value)
    if tensor.dtype.name == "string":
        array = np.array(value, object)
        flat = array.reshape(-1)
        flat[:] = [text.encode() if isinstance(text, str) else text for text in flat.tolist()]
    else:
        array = np.array(value, tensor.dtype.dtype)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has shape {tensor.shape}"
        )
    return array[()]


def _flat(tree: Any) -> list[Any]:
    found: list[Any] = []
    map_tree(found.append, tree)
    return found


def _fetched(fetches: Any, values: dict[Tensor, Any]) -> Any:
    """Gives values in the form of what was asked for."""
    if type(fetches) is list and all(type(leaf) is Tensor for leaf in fetches):  # What most programs ask for.
        return [_owned(values[leaf]) for leaf in fetches]
    return map_tree(lambda leaf: _owned(values[leaf]) if isinstance(leaf, Tensor) else _given(leaf), fetches)


def _owned(value: Any) -> Any:
    """Gives a fetched value that the caller may write to: arrays that others refer to are copied."""
    if isinstance(value, np.ndarray):
        return value if value.flags.owndata and value.flags.writeable else value.copy()
    return value


def _given(leaf: Any) -> Any:
    return None if isinstance(leaf, Operation) else plain(leaf)
