"""Batchers of TensorFlow 1 in the deferred graph: `tf.train.batch`, `tf.train.shuffle_batch` and their kin.

Each is a stream of the queues room in every session that runs it, whose sources run the session; what is made here are
the graph's ends of it: tensors to take from, and a queue runner in the graph's collection.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wellfed import queues
from wellfed.compat.deferred.eager import leaves, plain
from wellfed.compat.deferred.graph import Operation, Tensor, get_default_graph
from wellfed.compat.deferred.runners import StreamRunner, add_queue_runner
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.compat.state import deferred
from wellfed.queues.batching import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellfed.compat.deferred.session import Run, Session


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors of batches that threads make ahead. See `wellfed.queues.batch`.

    Args:
      tensors: One element: a tensor, a list or a dict of them; many elements where `enqueue_many`.
      batch_size: Elements a batch.
      num_threads: Threads that run `tensors`.
      capacity: The queue's. [elements]
      enqueue_many: Whether each tensor holds many elements, along axis 0.
      shapes: One shape a component of one element; those of `tensors` by default.
      dynamic_pad: Whether elements may differ in shape; batches are padded.
      allow_smaller_final_batch: Whether the last elements come as a smaller batch.
      shared_name: Batchers of one shared name are one, in each session.
      name: The operation's.

    Returns:
      Tensors in the form of `tensors`.

    Raises:
      ValueError: A shape, or with `dynamic_pad` a rank, is not known.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `batch` does, of the elements for which the tensor `keep_input` is true.

    With `enqueue_many` it may be a vector, one truth for each element.
    """
    options = _Options(capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name or "batch")
    return _in_order([tensors], batch_size, keep_input, options, num_threads, padded=dynamic_pad)


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `batch` does, of several lists of tensors, each run by a thread of its own."""
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `batch_join` does, of the elements for which the tensor `keep_input` is true."""
    options = _Options(capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name or "batch_join")
    return _in_order(tensors_list, batch_size, keep_input, options, 1, padded=dynamic_pad)


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors of batches drawn at random from what is in the queue. See `wellfed.queues.shuffle_batch`.

    Args:
      tensors: As for `batch`.
      batch_size: As for `batch`.
      capacity: As for `batch`; more than `min_after_dequeue`.
      min_after_dequeue: So many elements, at least, are mixed until the input ends.
      num_threads: As for `batch`.
      seed: Fixes the draws.
      enqueue_many: As for `batch`.
      shapes: As for `batch`.
      allow_smaller_final_batch: As for `batch`.
      shared_name: As for `batch`.
      name: As for `batch`.

    Returns:
      As for `batch`.

    Raises:
      ValueError: As for `batch`, or `capacity` is not bigger than `min_after_dequeue`.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `shuffle_batch` does, of the elements for which the tensor `keep_input` is true."""
    options = _Options(capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name or "shuffle_batch")
    return _shuffled([tensors], batch_size, keep_input, options, num_threads, min_after_dequeue, seed)


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `shuffle_batch` does, of several lists of tensors, each run by a thread of its own."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Gives tensors as `shuffle_batch_join` does, of the elements for which the tensor `keep_input` is true."""
    name = name or "shuffle_batch_join"
    options = _Options(capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name)
    return _shuffled(tensors_list, batch_size, keep_input, options, 1, min_after_dequeue, seed)


@dataclass(frozen=True, slots=True)
class _Options:
    """What all eight share."""

    capacity: Any
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str


class _Elements:
    """What one or several lists of tensors have in common: form, dtypes and shapes, and sources in a session."""

    def __init__(self, tensors_list: Sequence[Any], keep_input: Any, shapes: Any, *, many: bool, padded: bool) -> None:
        if not tensors_list:
            raise ValueError("Expected at least one set of tensors")
        self._form, self._many = tensors_list[0], many
        rows = [[_dense(leaf) for leaf in leaves(tensors)] for tensors in tensors_list]
        if not rows[0]:
            raise ValueError("Expected at least one tensor in batch().")
        self.dtypes = [tensor.dtype for tensor in rows[0]]
        for row in rows[1:]:
            if [tensor.dtype for tensor in row] != self.dtypes:
                raise TypeError(f"Expected types to be consistent: {self.dtypes} vs. {[t.dtype for t in row]}.")
        self.shapes = _merged(rows, shapes, many=many)
        if not padded and not all(shape.is_fully_defined() for shape in self.shapes):
            raise ValueError(f"All shapes must be fully defined: {self.shapes}: give shapes=, or use Tensor.set_shape")
        if padded and any(shape.rank is None for shape in self.shapes):
            raise ValueError(f"All shapes must have a defined rank: {self.shapes}")
        self._fetches = [(row, _keep(keep_input, many=many)) for row in rows]

    def sources(self, session: Session) -> list[Callable[[], Any]]:
        """Gives one function for each list: the next element, or None where it is not to be kept."""
        return [self._source(session.make_callable(fetch)) for fetch in self._fetches]

    def _source(self, run: Callable[[], Any]) -> Callable[[], Any]:
        def source() -> Any:
            element, keep = run()
            return kept("keep_input", element, keep, many=self._many)

        return source

    def original(self, tensors: Sequence[Tensor]) -> Any:
        """Gives tensors in the form of the elements: bare, a list, or a dict."""
        if isinstance(self._form, dict):
            return dict(zip(self._form, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else list(tensors)


def _dense(value: Any) -> Tensor:
    if isinstance(value, SparseTensor):
        raise NotImplementedError(
            "wellfed.compat batches no sparse tensors: use tf.sparse.to_dense with dynamic_pad=True, or parse batches "
            "with tf.io.parse_example"
        )
    return deferred(value)


def _merged(rows: list[list[Tensor]], shapes: Any, *, many: bool) -> list[TensorShape]:
    if shapes is not None:
        return [TensorShape(shape) for shape in shapes]
    merged = []
    for tensors in zip(*rows, strict=True):
        known = [tensor.shape[1:] if many and tensor.shape.rank is not None else tensor.shape for tensor in tensors]
        merged.append(functools.reduce(TensorShape.merge_with, known))
    return merged


def _keep(keep_input: Any, *, many: bool) -> Any:
    if not isinstance(keep_input, Tensor):
        return plain(keep_input)
    if keep_input.shape.rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if keep_input.shape.rank == 1 and not many:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep_input.shape.rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def _batches(make: Callable[..., queues.Stream], elements: _Elements, batch_size: Any, options: _Options) -> Any:
    """Gives tensors of batches, and adds the runner that fills them to the graph's collection."""
    rows = None if options.allow_smaller_final_batch else int(plain(batch_size))
    outputs = [(d, TensorShape([rows]).concatenate(s)) for d, s in zip(elements.dtypes, elements.shapes, strict=True)]

    def made(session: Session) -> queues.Stream:
        return make(
            elements.sources(session),
            int(plain(batch_size)),
            enqueue_many=options.enqueue_many,
            allow_smaller_final_batch=options.allow_smaller_final_batch,
            dtypes=[dtype.dtype for dtype in elements.dtypes],
            shapes=[shape.sizes for shape in elements.shapes],
            name=op.name,
        )

    def stream(session: Session) -> queues.Stream:
        key = ("shared stream", options.shared_name) if options.shared_name else op
        found: queues.Stream = session.state(key, lambda: made(session))
        return found

    def compute(run: Run) -> Any:
        found = stream(run.session).dequeue(run.timeout())
        return found if len(outputs) > 1 else (found,)

    op = Operation(options.name, [], outputs, compute, options.name)
    add_queue_runner(StreamRunner(op.name, lambda session: stream(session).runners[0]))
    return elements.original(op.outputs)


def _in_order(
    tensors_list: Sequence[Any], batch_size: Any, keep_input: Any, options: _Options, threads: int, *, padded: bool
) -> Any:
    elements = _Elements(tensors_list, keep_input, options.shapes, many=options.enqueue_many, padded=padded)

    def make(sources: Any, size: int, **more: Any) -> queues.Stream:
        return queues.batch_join(sources * threads, size, capacity=int(options.capacity), dynamic_pad=padded, **more)

    return _batches(make, elements, batch_size, options)


def _shuffled(
    tensors_list: Sequence[Any],
    batch_size: Any,
    keep_input: Any,
    options: _Options,
    threads: int,
    minimum: int,
    seed: int | None,
) -> Any:
    capacity = int(options.capacity)
    if capacity <= minimum:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {minimum}.")
    seed = get_default_graph().op_seed(seed)
    elements = _Elements(tensors_list, keep_input, options.shapes, many=options.enqueue_many, padded=False)

    def make(sources: Any, size: int, **more: Any) -> queues.Stream:
        return queues.shuffle_batch_join(sources * threads, size, capacity, minimum, seed, **more)

    return _batches(make, elements, batch_size, options)
