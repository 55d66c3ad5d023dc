"""The four kinds of queue: who leaves next is all that tells them apart.

FIFOQueue            first in, first out
PaddingFIFOQueue     the same; shapes may vary, and a batch is padded to its largest element
RandomShuffleQueue   any of those that are in, so long as `min_after_dequeue` stay
PriorityQueue        the lowest priority first
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.queues.base import QueueBase, shape_list
from wellfed.queues.storage import RowFifo, RowHeap, Storage, make_fifo, make_pool, pad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellfed.queues.spec import ElementSpec


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they came.

    Args:
      capacity: No element goes in while this many are in; negative for no bound. [elements]
      dtypes: One dtype a component, or a single one; `bytes` for byte strings. None takes dtypes, shapes and names
        from the first element.
      shapes: One shape a component, or None where any may come; then there are no batches.
      names: One name a component; elements are dicts then.
      name: The queue's name in messages.
      shared_name: Queues of one shared name are one queue, for as long as any of them lives.

    Raises:
      InvalidArgumentError: The queue of that shared name is of another make.
      ValueError: `capacity` is 0, or the numbers of dtypes, shapes and names differ.

    Example:
      >>> queue = FIFOQueue(10, [np.int64, bytes], shapes=[[], []])
      >>> queue.enqueue([7, "a"])
      >>> queue.enqueue_many([[8, 9], ["b", "c"]])
      >>> queue.dequeue()
      (np.int64(7), b'a')
      >>> queue.dequeue_many(2)
      (array([8, 9]), array([b'b', b'c'], dtype=object))

    Differs from TensorFlow: `dtypes` may be left out, and a capacity of 0 (there a queue that can never be used) is
    refused. Source: tensorflow/core/kernels/fifo_queue.cc.
    """

    def _store(self, spec: ElementSpec) -> Storage:
        return make_fifo(spec)


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` whose elements may vary in shape: a batch is padded on the right with 0 or b"".

    Args:
      capacity: As for `FIFOQueue`.
      dtypes: As for `FIFOQueue`.
      shapes: One shape a component, of known rank; None for a dimension that may vary. Without `dtypes` it may be left
        out: every dimension may vary then.
      names: As for `FIFOQueue`.
      name: As for `FIFOQueue`.
      shared_name: As for `FIFOQueue`.

    Raises:
      InvalidArgumentError: As for `FIFOQueue`.
      ValueError: As for `FIFOQueue`, or a rank is not known.

    Example:
      >>> queue = PaddingFIFOQueue(10, np.int64, shapes=[[None]])
      >>> queue.enqueue([[1, 2, 3]])
      >>> queue.enqueue([[4]])
      >>> queue.dequeue_many(2)
      array([[1, 2, 3],
             [4, 0, 0]])

    Source: tensorflow/core/kernels/padding_fifo_queue.cc.
    """

    _ragged = True

    def _store(self, spec: ElementSpec) -> Storage:
        if None in spec.shapes:
            raise ValueError(f"{spec.queue} needs the rank of every component, got shapes {spec.shapes}")
        return make_fifo(spec) if spec.fixed else RowFifo(pad)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order.

    Each element that leaves is drawn uniformly from those that are in. While the queue is open, `min_after_dequeue`
    elements stay in: so many, at least, mix.

    Args:
      capacity: As for `FIFOQueue`.
      min_after_dequeue: A dequeue waits while no more than this many are in. A closed queue gives all. [elements]
      dtypes: As for `FIFOQueue`.
      shapes: As for `FIFOQueue`.
      names: As for `FIFOQueue`.
      seed: Fixes the draws, so that one order of calls gives one order of elements. None draws a new one.
      name: As for `FIFOQueue`.
      shared_name: As for `FIFOQueue`.

    Raises:
      InvalidArgumentError: As for `FIFOQueue`.
      ValueError: As for `FIFOQueue`, or `min_after_dequeue` is negative or not below `capacity`.

    Example:
      >>> queue = RandomShuffleQueue(100, 0, np.int64, shapes=[[]], seed=1)
      >>> queue.enqueue_many([range(5)])
      >>> sorted(int(n) for n in queue.dequeue_many(5))
      [0, 1, 2, 3, 4]

    Differs from TensorFlow: the same seed draws another order.
    Source: tensorflow/core/kernels/random_shuffle_queue_op.cc.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Sequence[str] | str | None = None,
        seed: int | None = None,
        name: str | None = None,
        shared_name: str | None = None,
    ) -> None:
        if min_after_dequeue < 0:
            raise ValueError(f"min_after_dequeue must be at least 0 elements, got {min_after_dequeue}")
        if 0 <= capacity <= min_after_dequeue:
            raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}")
        self._draw = _uniform(seed)
        super().__init__(capacity, dtypes, shapes, names, name, shared_name, minimum=min_after_dequeue)

    def _store(self, spec: ElementSpec) -> Storage:
        return make_pool(spec, self._draw)


class PriorityQueue(QueueBase):
    """A queue whose elements leave by priority, the lowest first; equal ones in order of arrival.

    The priority is one int64 in front of each element's components, going in and coming out. A batch holds the lowest
    of what is there once there is enough for it; one that is larger than the capacity is filled a queueful at a time.

    Args:
      capacity: As for `FIFOQueue`.
      types: One dtype a component, without the priority's.
      shapes: One shape a component, without the priority's.
      names: One name a component, without the priority's, which is "priority".
      name: As for `FIFOQueue`.
      shared_name: As for `FIFOQueue`.

    Raises:
      InvalidArgumentError: As for `FIFOQueue`.
      ValueError: As for `FIFOQueue`.

    Example:
      >>> queue = PriorityQueue(10, bytes, shapes=[[]])
      >>> queue.enqueue_many([[3, 1, 2], ["c", "a", "b"]])
      >>> queue.dequeue()
      (np.int64(1), b'a')

    Differs from TensorFlow: there the order of equal priorities is not defined, `names` cannot be used, a batch larger
    than the capacity waits for ever, and a `dequeue_up_to` that waits when the queue is closed loses the elements.
    Source: tensorflow/core/kernels/priority_queue.cc.
    """

    _whole = True

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Sequence[str] | str | None = None,
        name: str | None = None,
        shared_name: str | None = None,
    ) -> None:
        dtypes = types if isinstance(types, list | tuple) else [types]
        own_shapes = shape_list(shapes)
        if isinstance(names, str):
            names = [names]
        super().__init__(
            capacity,
            [np.int64, *dtypes],
            [(), *(own_shapes if own_shapes is not None else [None] * len(dtypes))],
            None if names is None else ["priority", *names],
            name,
            shared_name,
        )

    def _store(self, spec: ElementSpec) -> Storage:  # noqa: ARG002 -- every row has its priority, whatever else.
        return RowHeap()


def _uniform(seed: int | None) -> Iterator[float]:
    """Yields numbers uniform in [0, 1), for ever; many are drawn at a time."""
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.random(256).tolist()
