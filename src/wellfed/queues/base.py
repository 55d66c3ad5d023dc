"""The four kinds of queue: who leaves next is all that tells them apart.

FIFOQueue            first in, first out
PaddingFIFOQueue     the same; shapes may vary, and a batch is padded to its largest element
RandomShuffleQueue   any of those that are in, so long as `min_after_dequeue` stay
PriorityQueue        the lowest priority first
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wellfed.errors import InvalidArgumentError
from wellfed.queues.engine import UNBOUNDED, QueueEngine
from wellfed.queues.spec import ElementSpec, as_dtype, as_shape, infer
from wellfed.queues.storage import RowFifo, Storage, stack

if TYPE_CHECKING:
    from collections.abc import Sequence

# Engines by shared_name, for as long as a queue uses them, and what each was made as.
_SHARED: weakref.WeakValueDictionary[str, QueueEngine] = weakref.WeakValueDictionary()
_SHARED_KINDS: weakref.WeakKeyDictionary[QueueEngine, tuple[object, ...]] = weakref.WeakKeyDictionary()
_SHARED_LOCK = threading.Lock()


class QueueBase:
    """What all queues share: bounded, typed, for any number of threads, and served first come, first served.

    A call that cannot be served waits; `timeout` is the longest it may wait, in seconds, None for ever, 0 not at all. A
    call that gives up leaves nothing behind: what it had taken out is back in its place.
    Elements are copied when they go in; what comes out belongs to the caller.

    Attributes:
      name: The queue's name in messages.
      runners: The `QueueRunner`s that fill it, where the functions of this room made it.
    """

    _ragged = False  # Whether dimensions that may vary are padded.
    _whole = False  # Whether a batch is taken all at once.

    def __init__(
        self,
        capacity: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Sequence[str] | str | None = None,
        name: str | None = None,
        shared_name: str | None = None,
        *,
        minimum: int = 0,
    ) -> None:
        if capacity == 0:
            raise ValueError("capacity must be at least 1 element, or negative for a queue without a bound, got 0")
        self.name = name or type(self).__name__
        self._title = (
            type(self).__name__ if self.name == type(self).__name__ else f"{type(self).__name__} '{self.name}'"
        )
        self.runners: list[Any] = []
        self._shapes = shape_list(shapes)
        self._spec: ElementSpec | None = None
        storage: Storage = RowFifo(stack)  # Stands in, empty, until the first element says what is to be kept.
        if dtypes is not None:
            self._spec = _spec(self._title, dtypes, self._shapes, names)
            storage = self._store(self._spec)
        elif names is not None:
            raise ValueError("names need dtypes: without them the first element gives both")
        engine = QueueEngine(self._title, storage, UNBOUNDED if capacity < 0 else capacity, minimum, whole=self._whole)
        self._engine = engine if shared_name is None else _shared(shared_name, engine, self._spec)

    def _store(self, spec: ElementSpec) -> Storage:
        raise NotImplementedError

    @staticmethod
    def from_list(index: int, queues: Sequence[QueueBase]) -> QueueBase:
        """Gives `queues[index]`.

        Args:
          index: 0-based.
          queues: Queues whose elements have the same dtypes and names.

        Raises:
          TypeError: `queues` is empty, holds something else, or they differ in dtypes or names.

        Source: tensorflow/python/ops/data_flow_ops.py, `QueueBase.from_list`.
        """
        if not queues or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("from_list needs a list of at least one queue")
        if len({queue.dtypes for queue in queues}) > 1:
            raise TypeError(f"the queues differ in dtypes: {[queue.dtypes for queue in queues]}")
        if len({queue.names for queue in queues}) > 1:
            raise TypeError(f"the queues differ in names: {[queue.names for queue in queues]}")
        return queues[index]

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...] | None:
        """One dtype a component, `object` for byte strings; None until the first element gives them."""
        return self._spec.dtypes if self._spec else None

    @property
    def shapes(self) -> tuple[tuple[int | None, ...] | None, ...] | None:
        """One shape a component, None for one that may be any; None until the first element gives them."""
        return self._spec.shapes if self._spec else None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The components' names, in order; None where they have none."""
        return self._spec.names if self._spec else None

    def enqueue(self, vals: Any, timeout: float | None = None) -> None:
        """Puts one element in; waits while the queue is full.

        Args:
          vals: A value, a list or tuple with one value a component, or a dict where the components have names.
          timeout: The longest wait. [s]

        Raises:
          CancelledError: The queue is closed, or was closed with `cancel_pending_enqueues` during the wait.
          DeadlineExceededError: There was no room within `timeout`.
          InvalidArgumentError: A component has another shape than the queue's.
          TypeError: A component would lose information in the queue's dtype.
          ValueError: Another number of components, or other names.
        """
        spec = self._spec or self._settle(vals, many=False)
        self._engine.put(spec.row(vals), timeout)

    def enqueue_many(self, vals: Any, timeout: float | None = None) -> None:
        """Puts in the elements along axis 0, one after the other as room appears.

        Args:
          vals: As for `enqueue`, each component with one more axis in front. None at all is no work.
          timeout: The longest wait for all. Elements that are in by then stay in. [s]

        Raises:
          CancelledError: As for `enqueue`; elements that were in before stay in.
          DeadlineExceededError: As for `enqueue`.
          InvalidArgumentError: As for `enqueue`, or the components differ in their number of elements.
          TypeError: As for `enqueue`.
          ValueError: As for `enqueue`.
        """
        spec = self._spec or self._settle(vals, many=True)
        self._engine.put_many(spec.columns(vals), timeout)

    def dequeue(self, timeout: float | None = None) -> Any:
        """Takes one element out; waits until there is one.

        Args:
          timeout: The longest wait. [s]

        Returns:
          A value where there is one component, else a tuple, or a dict where the components have names. Values are
          NumPy scalars, `bytes`, or arrays that belong to the caller.

        Raises:
          OutOfRangeError: The queue is closed and empty. Where a producer failed, its error is the `__cause__`.
          DeadlineExceededError: There was no element within `timeout`.
          CancelledError: The call was given up by `cancel_pending`.

        Differs from TensorFlow: several components come as a tuple, not as a list.
        """
        row = self._engine.take(timeout)
        return self._known().element(row)

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """Takes `n` elements out as they come, and stacks them along a new axis 0.

        Args:
          n: How many; 0 gives arrays without rows.
          timeout: The longest wait for all. [s]

        Returns:
          As for `dequeue`, each value an array of shape `(n, *shape)` that belongs to the caller; byte strings as
          an array of dtype `object`.

        Raises:
          OutOfRangeError: The queue is closed and holds fewer than `n`. They stay in it.
          DeadlineExceededError: As for `dequeue`; the elements that had come are back in the queue.
          CancelledError: As for `dequeue`; likewise.
          InvalidArgumentError: The shapes are not fully known, so elements cannot be stacked; or `n` is negative.

        Differs from TensorFlow: elements taken by a call that is cancelled or times out go back; there they are lost.
        """
        return self._take_many(n, timeout, up_to=False)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """Like `dequeue_many`, but a closed queue gives what is left, at least one element.

        Args:
          n: How many at most.
          timeout: The longest wait for all. [s]

        Returns:
          As for `dequeue_many`, with fewer than `n` rows only from a closed queue.

        Raises:
          OutOfRangeError: The queue is closed and empty.
          DeadlineExceededError: As for `dequeue_many`.
          CancelledError: As for `dequeue_many`.
          InvalidArgumentError: As for `dequeue_many`.
        """
        return self._take_many(n, timeout, up_to=True)

    def size(self) -> int:
        """Gives how many elements are in, without those that a waiting `dequeue_many` has taken."""
        with self._engine.lock:
            return self._engine.storage.size

    def is_closed(self) -> bool:
        """Says whether the queue is closed: no element can be put in any more."""
        return self._engine.closed

    def close(
        self,
        cancel_pending_enqueues: bool = False,
        timeout: float | None = None,
        cause: BaseException | None = None,
    ) -> None:
        """Closes the queue: no more goes in, and what is in can be taken out.

        Args:
          cancel_pending_enqueues: False waits until the enqueues that wait now are done, and refuses later ones.
            True closes at once and cancels them; it never waits and may be repeated.
          timeout: The longest wait; after it the queue stays open. [s]
          cause: The error that ended the input; callers who find the queue closed see it as `__cause__`.

        Raises:
          CancelledError: The queue is closed already, and `cancel_pending_enqueues` is False.
          DeadlineExceededError: Enqueues that came before were not done within `timeout`.

        Differs from TensorFlow: `cause`; there the error behind a closed queue is lost.
        """
        if cancel_pending_enqueues:
            self._engine.close_now(cause)
        else:
            self._engine.close(timeout, cause)

    def cancel_pending(self, reason: str = "cancel_pending was called") -> None:
        """Cancels the calls that wait now, with `CancelledError`; the queue itself stays open, or closed, as it is."""
        self._engine.cancel_pending(reason)

    def waiting(self) -> tuple[int, int]:
        """Gives how many calls wait now: to put something in (or to close), and to take something out."""
        return self._engine.waiting()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed() else "open"
        return f"<{self._title}: size {self.size()}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self._title} lives in the threads of one process and cannot be pickled")

    def _take_many(self, n: int, timeout: float | None, *, up_to: bool) -> Any:
        if n < 0:
            raise InvalidArgumentError(None, self.name, f"{self._title}: cannot take {n} elements, 0 is the least")
        self._refuse_open_shapes()
        if n == 0:
            return self._known().element(self._known().empty())
        columns = self._engine.take_many(n, timeout, up_to=up_to)
        return self._known().element(columns)

    def _refuse_open_shapes(self) -> None:
        if self._spec is not None and not self._spec.fixed and not self._ragged:
            raise InvalidArgumentError(
                None,
                self.name,
                f"{self._title}: dequeue_many and dequeue_up_to need the shapes of all components, got {self.shapes}: "
                "give shapes=, or use a PaddingFIFOQueue",
            )

    def _known(self) -> ElementSpec:
        if self._spec is None:
            raise InvalidArgumentError(
                None, self.name, f"{self._title} has had no element yet, and was given no dtypes"
            )
        return self._spec

    def _settle(self, vals: Any, *, many: bool) -> ElementSpec:
        """Lets the first element decide what the queue keeps."""
        with self._engine.lock:
            if self._spec is None:
                spec = infer(self._title, vals, self._shapes, many=many, ragged=self._ragged)
                self._engine.storage = self._store(spec)
                self._spec = spec
            return self._spec


def _spec(title: str, dtypes: Any, shapes: list[Any] | None, names: Sequence[str] | str | None) -> ElementSpec:
    """Makes a specification of what the user gave, one entry a component."""
    dtype_list = [as_dtype(dtype) for dtype in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
    all_shapes = [None] * len(dtype_list) if shapes is None else shapes
    name_list = [names] if isinstance(names, str) else names
    for what, found in (("shapes", all_shapes), ("names", name_list)):
        if found is not None and len(found) != len(dtype_list):
            raise ValueError(f"{title} has {len(dtype_list)} dtypes and {len(found)} {what}: one each is due")
    return ElementSpec(title, dtype_list, all_shapes, name_list)


def _shared(shared_name: str, engine: QueueEngine, spec: ElementSpec | None) -> QueueEngine:
    """Gives the engine that this process knows by a name, or makes it known."""
    if spec is None:
        raise ValueError("shared_name needs dtypes, so that all who share the queue agree on them")
    kind = type(engine.storage).__name__, spec.dtypes, spec.shapes, spec.names, engine.capacity, engine.minimum
    with _SHARED_LOCK:
        found = _SHARED.setdefault(shared_name, engine)
        if found is engine:
            _SHARED_KINDS[engine] = kind
        elif _SHARED_KINDS[found] != kind:
            raise InvalidArgumentError(
                None,
                shared_name,
                f"the queue shared as {shared_name!r} is {_SHARED_KINDS[found]}, and was asked for as {kind}",
            )
    return found


def shape_list(shapes: Any) -> list[tuple[int | None, ...] | None] | None:
    """Gives one shape a component; a single shape, such as (2, 3), stands for a list of one."""
    if shapes is None:
        return None
    if not isinstance(shapes, list | tuple):
        shapes = [shapes]
    if shapes and all(isinstance(size, int | np.integer) for size in shapes):
        shapes = [shapes]
    return [as_shape(shape) for shape in shapes]
