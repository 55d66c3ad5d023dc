"""Queues of the deferred graph: each session has its own queue of the queues room behind them.

What is deferred here is the calls: `enqueue` and its kin give operations, `dequeue` and its kin tensors. All rules of
who waits for whom are those of `wellfed.queues`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import queues
from wellfed.compat.deferred.dtypes import as_dtype, int64
from wellfed.compat.deferred.eager import plain
from wellfed.compat.deferred.graph import Operation, Tensor, get_default_graph
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.missing import refuse
from wellfed.compat.state import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellfed.compat.deferred.session import Run, Session


class QueueBase:
    """A queue of the graph.

    Attributes:
      name: The name of its operation.
      dtypes: One dtype a component.
      shapes: One static shape a component.
      names: One name a component, or None.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any,
        names: Any,
        make: Callable[[Session], queues.QueueBase],
        name: str,
        shared_name: str | None = None,
    ) -> None:
        self.dtypes = [as_dtype(dtype) for dtype in _list(dtypes)]
        given = [None] * len(self.dtypes) if shapes is None else _shape_list(shapes) or [[]]
        self.shapes = [TensorShape(shape) for shape in given]
        self.names = None if names is None else _list(names)
        for what, found in (("shapes", self.shapes), ("names", self.names)):
            if found is not None and len(found) != len(self.dtypes):
                raise ValueError(
                    f"Queue {what} must have the same length as dtypes: {len(found)} and {len(self.dtypes)}"
                )
        self.queue_ref = Operation(name, [], [], lambda _: (), name)
        self._key = ("shared queue", shared_name) if shared_name else self
        self._make = make

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self.queue_ref.name

    def in_session(self, session: Session) -> queues.QueueBase:
        """Gives the queue that a session has behind this one."""
        found: queues.QueueBase = session.state(self._key, lambda: self._make(session))
        return found

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """Gives the queue of a list that a tensor names in each run.

        Raises:
          TypeError: No queues, or they differ in dtypes or names.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(queue.dtypes == first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(queue.names == first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_common, of_all) for of_all in zip(*(queue.shapes for queue in queues), strict=True)]
        return _Selected(
            first.dtypes,
            shapes,
            first.names,
            deferred(index, "int64" if not isinstance(index, Tensor) else None),
            queues,
        )

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Gives an operation that puts one element in, and waits while the queue is full."""
        return self._put("enqueue", vals, name, self.shapes)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Gives an operation that puts in the elements along axis 0, as room appears."""
        return self._put("EnqueueMany", vals, name, [TensorShape([None]).concatenate(shape) for shape in self.shapes])

    def dequeue(self, name: str | None = None) -> Any:
        """Gives tensors of one element that is taken out in each run."""
        return self._take("Dequeue", self.shapes, None, lambda queue, timeout, _: queue.dequeue(timeout), name)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Gives tensors of `n` elements that are taken out in each run, stacked along axis 0."""
        rows = None if isinstance(n, Tensor) else int(plain(n))
        shapes = [TensorShape([rows]).concatenate(shape) for shape in self.shapes]
        return self._take("DequeueMany", shapes, n, lambda queue, timeout, n: queue.dequeue_many(n, timeout), name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Gives tensors as `dequeue_many` does; a closed queue gives what is left."""
        shapes = [TensorShape([None]).concatenate(shape) for shape in self.shapes]
        return self._take("DequeueUpTo", shapes, n, lambda queue, timeout, n: queue.dequeue_up_to(n, timeout), name)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Gives an operation that closes the queue."""

        def compute(run: Run, *selected: Any) -> Any:
            self._behind(run, *selected).close(cancel_pending_enqueues, run.timeout())
            return ()

        return Operation(name or f"{self.name}_Close", self._selector(), [], compute, name or f"{self.name}_Close")

    def size(self, name: str | None = None) -> Tensor:
        """Gives a tensor of the number of elements that are in, int32."""
        return self._look("Size", "int32", lambda queue: np.int32(queue.size()), name)

    def is_closed(self, name: str | None = None) -> Tensor:
        """Gives a tensor that is true once the queue is closed."""
        return self._look("IsClosed", "bool", lambda queue: np.bool_(queue.is_closed()), name)

    # How the calls are made.

    def _selector(self) -> list[Tensor]:
        return []

    def _behind(self, run: Run, *_: Any) -> queues.QueueBase:
        return self.in_session(run.session)

    def _look(self, what: str, dtype: str, look: Callable[[queues.QueueBase], Any], name: str | None) -> Tensor:
        label = name or f"{self.name}_{what}"
        return Operation(
            label, self._selector(), [(dtype, [])], lambda run, *s: (look(self._behind(run, *s)),), label
        ).outputs[0]

    def _put(self, what: str, vals: Any, name: str | None, shapes: list[TensorShape]) -> Operation:
        tensors = self._tensors(vals)
        for tensor, shape in zip(tensors, shapes, strict=True):
            tensor.shape.assert_is_compatible_with(shape)
        selector = self._selector()

        def compute(run: Run, *values: Any) -> Any:
            queue = self._behind(run, *values[: len(selector)])
            parts = values[len(selector) :]
            element = dict(zip(self.names, parts, strict=True)) if self.names is not None else list(parts)
            (queue.enqueue_many if what == "EnqueueMany" else queue.enqueue)(element, run.timeout())
            return ()

        label = name or f"{self.name}_{what}"
        return Operation(label, [*selector, *tensors], [], compute, label)

    def _take(self, what: str, shapes: list[TensorShape], n: Any, take: Callable[..., Any], name: str | None) -> Any:
        label = name or f"{self.name}_{what}"
        selector = self._selector()
        counts = [] if n is None else [deferred(n)]

        def compute(run: Run, *values: Any) -> Any:
            count = None if n is None else int(values[-1])
            found = take(self._behind(run, *values[: len(selector)]), run.timeout(), count)
            if self.names is not None:
                return tuple(found[name] for name in self.names)
            return found if len(self.dtypes) > 1 else (found,)

        outputs = list(zip(self.dtypes, shapes, strict=True))
        return self._form(Operation(label, [*selector, *counts], outputs, compute, label).outputs)

    def _form(self, tensors: Sequence[Tensor]) -> Any:
        if self.names is not None:
            return dict(zip(self.names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def _tensors(self, vals: Any) -> list[Tensor]:
        """Gives the tensors of an element.

        Raises:
          TypeError: A value does not fit its component's dtype.
          ValueError: Other names, or another number of values.
        """
        if isinstance(vals, dict):
            if self.names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(vals) != sorted(self.names):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue: {sorted(vals)}, {sorted(self.names)}"
                )
            vals = [vals[name] for name in self.names]
        elif self.names is not None:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        vals = vals if isinstance(vals, list | tuple) else [vals]
        if len(vals) != len(self.dtypes):
            raise ValueError(f"Queue takes {len(self.dtypes)} components, got {len(vals)}")
        tensors = [deferred(value, dtype) for value, dtype in zip(vals, self.dtypes, strict=True)]
        for tensor, dtype in zip(tensors, self.dtypes, strict=True):
            if tensor.dtype != dtype:
                raise ValueError(f"Tensor conversion requested dtype {dtype.name} for {tensor!r}")
        return tensors


class _Selected(QueueBase):
    """One of several queues, which a tensor names in each run."""

    def __init__(self, dtypes: Any, shapes: Any, names: Any, index: Tensor, all_queues: Sequence[QueueBase]) -> None:
        super().__init__(dtypes, shapes, names, lambda _: None, "selected_queue")  # type: ignore[arg-type, return-value]  # Has no queue of its own.
        self._index, self._queues = index, list(all_queues)

    def _selector(self) -> list[Tensor]:
        return [self._index]

    def _behind(self, run: Run, *selected: Any) -> queues.QueueBase:
        return self._queues[int(selected[0])].in_session(run.session)


class FIFOQueue(QueueBase):
    """Elements leave in the order in which they came. See `wellfed.queues.FIFOQueue`."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(dtypes, shapes, names, lambda _: self._eager(queues.FIFOQueue, capacity), name, shared_name)

    def _eager(self, kind: Callable[..., queues.QueueBase], *options: Any, **more: Any) -> queues.QueueBase:
        dtypes = [dtype.dtype for dtype in self.dtypes]
        return kind(
            *options, dtypes=dtypes, shapes=[s.sizes for s in self.shapes], names=self.names, name=self.name, **more
        )


class PaddingFIFOQueue(FIFOQueue):
    """Elements may differ in shape; batches are padded. See `wellfed.queues.PaddingFIFOQueue`."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        QueueBase.__init__(
            self, dtypes, shapes, names, lambda _: self._eager(queues.PaddingFIFOQueue, capacity), name, shared_name
        )
        if any(shape.rank is None for shape in self.shapes):
            raise ValueError(f"All shapes must have a defined rank: {self.shapes}")


class RandomShuffleQueue(FIFOQueue):
    """Elements leave in random order. See `wellfed.queues.RandomShuffleQueue`."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        seed = get_default_graph().op_seed(seed)
        kind = queues.RandomShuffleQueue
        QueueBase.__init__(
            self,
            dtypes,
            shapes,
            names,
            lambda _: self._eager(kind, capacity, min_after_dequeue, seed=seed),
            name,
            shared_name,
        )


class PriorityQueue(QueueBase):
    """Elements leave by priority, the lowest first. See `wellfed.queues.PriorityQueue`."""

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        own = _list(types)
        own_shapes = [None] * len(own) if shapes is None else _shape_list(shapes)
        all_names = None if names is None else ["priority", *_list(names)]
        kinds = [as_dtype(dtype).dtype for dtype in own]
        super().__init__(
            [int64, *own],
            [[], *own_shapes],
            all_names,
            lambda _: queues.PriorityQueue(
                capacity, kinds, [TensorShape(s).sizes for s in own_shapes], names, self.name
            ),
            name,
            shared_name,
        )


def _list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _shape_list(shapes: Any) -> list[Any]:
    """Gives one shape a component; a single shape stands for a list of one."""
    if isinstance(shapes, TensorShape) or not isinstance(shapes, list | tuple):
        return [shapes]
    single = bool(shapes) and all(size is None or isinstance(size, int | np.integer) for size in shapes)
    return [shapes] if single else list(shapes)


def _common(first: TensorShape, second: TensorShape) -> TensorShape:
    """Gives what two shapes have in common."""
    if first.sizes is None or second.sizes is None or len(first.sizes) != len(second.sizes):
        return TensorShape(None)
    return TensorShape([a if a == b else None for a, b in zip(first.sizes, second.sizes, strict=True)])


__getattr__ = functools.partial(refuse, "queue")
