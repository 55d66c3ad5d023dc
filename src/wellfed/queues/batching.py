"""Batches of what functions give, made ahead in threads: TensorFlow's `tf.train.batch` and its seven kin.

                        in order of arrival     shuffled
    one function        batch                   shuffle_batch             run by `num_threads` threads
    several             batch_join              shuffle_batch_join        each run by a thread of its own
    with a filter       maybe_batch[_join]      maybe_shuffle_batch[_join]

A *source* is a function without arguments that gives one element a call (a value, a tuple or list, or a dict), or, with
`enqueue_many`, many elements along axis 0; or None for nothing this time. It ends the input by raising
`OutOfRangeError` or `StopIteration`.
What the functions give is a `Stream` of batches; nothing runs until `start_queue_runners` has it.

TensorFlow takes tensors where these take functions; everything else has its names and its meaning.
Source: tensorflow/python/training/input.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from wellfed.errors import InvalidArgumentError, OutOfRangeError
from wellfed.queues.kinds import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from wellfed.queues.runner import QueueRunner
from wellfed.queues.stream import Stream

if TYPE_CHECKING:
    from wellfed.queues.base import QueueBase

Source = Callable[[], Any]
Keep = bool | Callable[[Any], Any]


class ShuffleOptions(TypedDict, total=False):
    """What all eight functions share, by name.

    Attributes:
      enqueue_many: Whether each call of a source gives many elements, along axis 0. Not by default.
      dtypes: One dtype a component; by default those of the first element.
      shapes: One shape a component of one element; by default those of the first element.
      allow_smaller_final_batch: Whether the last elements come as a smaller batch. By default they are left out.
      shared_name: The queue's.
      name: The queue's.
    """

    enqueue_many: bool
    dtypes: Any
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str


class BatchOptions(ShuffleOptions, total=False):
    """What the four functions that keep the order take besides.

    Attributes:
      capacity: The queue's, by default 32. [elements]
      dynamic_pad: Whether elements may differ in shape; a batch is padded on the right with 0 or b"". Not by default.
    """

    capacity: int
    dynamic_pad: bool


def batch(source: Source, batch_size: int, num_threads: int = 1, **options: Unpack[BatchOptions]) -> Stream:
    """Gives batches of what a function gives, in order of arrival.

    Args:
      source: Gives one element a call, or many with `enqueue_many`.
      batch_size: Elements a batch.
      num_threads: Threads that call `source`; with more than one, the order is that of their luck.
      **options: See `BatchOptions`.

    Returns:
      A stream of batches: an array, a tuple of arrays or a dict of them, as `source` gives its elements.
      The arrays belong to the caller.

    Raises:
      ValueError: `batch_size` or `num_threads` is less than 1.

    Example:
      >>> from wellfed.queues import Coordinator, start_queue_runners
      >>> numbers = iter(range(10))
      >>> threes = batch(lambda: next(numbers), 3, allow_smaller_final_batch=True)
      >>> threads = start_queue_runners([threes])
      >>> [part.tolist() for part in threes]
      [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    """
    return _batch([source] * _count(num_threads), batch_size, True, **options)


def maybe_batch(
    source: Source,
    keep_input: Keep,
    batch_size: int,
    num_threads: int = 1,
    **options: Unpack[BatchOptions],
) -> Stream:
    """Gives batches as `batch` does, of the elements that are to be kept.

    Args:
      source: As for `batch`.
      keep_input: True or False for all, or a function that says it of what `source` gave: one truth or, with
        `enqueue_many`, one for each of the elements.
      batch_size: As for `batch`.
      num_threads: As for `batch`.
      **options: See `BatchOptions`.

    Returns:
      As for `batch`.

    Raises:
      ValueError: As for `batch`.
    """
    return _batch([source] * _count(num_threads), batch_size, keep_input, **options)


def batch_join(sources: Sequence[Source], batch_size: int, **options: Unpack[BatchOptions]) -> Stream:
    """Gives batches of what several functions give, each in a thread of its own.

    Args:
      sources: As `source` of `batch`; all give elements of the same dtypes and shapes.
      batch_size: As for `batch`.
      **options: See `BatchOptions`.

    Returns:
      As for `batch`. It ends when all sources have ended.

    Raises:
      ValueError: No source, or as for `batch`.
    """
    return _batch(sources, batch_size, True, **options)


def maybe_batch_join(
    sources: Sequence[Source], keep_input: Keep, batch_size: int, **options: Unpack[BatchOptions]
) -> Stream:
    """Gives batches as `batch_join` does, of the elements that are to be kept.

    Args:
      sources: As for `batch_join`.
      keep_input: As for `maybe_batch`.
      batch_size: As for `batch`.
      **options: See `BatchOptions`.

    Returns:
      As for `batch_join`.

    Raises:
      ValueError: As for `batch_join`.
    """
    return _batch(sources, batch_size, keep_input, **options)


def shuffle_batch(
    source: Source,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    **options: Unpack[ShuffleOptions],
) -> Stream:
    """Gives batches of what a function gives, drawn at random from the elements that are in the queue.

    Args:
      source: As for `batch`.
      batch_size: As for `batch`.
      capacity: The queue's; more than `min_after_dequeue`. [elements]
      min_after_dequeue: So many elements, at least, are mixed until the input ends. [elements]
      num_threads: As for `batch`.
      seed: Fixes the draws. None draws a new one.
      **options: See `ShuffleOptions`.

    Returns:
      As for `batch`.

    Raises:
      ValueError: As for `batch`, or `capacity` is not bigger than `min_after_dequeue`.
    """
    sources = [source] * _count(num_threads)
    return _shuffled(sources, batch_size, True, min_after_dequeue, seed, capacity, **options)


def maybe_shuffle_batch(
    source: Source,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Keep,
    num_threads: int = 1,
    seed: int | None = None,
    **options: Unpack[ShuffleOptions],
) -> Stream:
    """Gives batches as `shuffle_batch` does, of the elements that are to be kept.

    Args:
      source: As for `batch`.
      batch_size: As for `batch`.
      capacity: As for `shuffle_batch`.
      min_after_dequeue: As for `shuffle_batch`.
      keep_input: As for `maybe_batch`.
      num_threads: As for `batch`.
      seed: As for `shuffle_batch`.
      **options: See `ShuffleOptions`.

    Returns:
      As for `batch`.

    Raises:
      ValueError: As for `shuffle_batch`.
    """
    return _shuffled(
        [source] * _count(num_threads), batch_size, keep_input, min_after_dequeue, seed, capacity, **options
    )


def shuffle_batch_join(
    sources: Sequence[Source],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    **options: Unpack[ShuffleOptions],
) -> Stream:
    """Gives batches as `shuffle_batch` does, of what several functions give, each in a thread of its own.

    Args:
      sources: As for `batch_join`.
      batch_size: As for `batch`.
      capacity: As for `shuffle_batch`.
      min_after_dequeue: As for `shuffle_batch`.
      seed: As for `shuffle_batch`.
      **options: See `ShuffleOptions`.

    Returns:
      As for `batch_join`.

    Raises:
      ValueError: No source, or as for `shuffle_batch`.
    """
    return _shuffled(sources, batch_size, True, min_after_dequeue, seed, capacity, **options)


def maybe_shuffle_batch_join(
    sources: Sequence[Source],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Keep,
    seed: int | None = None,
    **options: Unpack[ShuffleOptions],
) -> Stream:
    """Gives batches as `shuffle_batch_join` does, of the elements that are to be kept.

    Args:
      sources: As for `batch_join`.
      batch_size: As for `batch`.
      capacity: As for `shuffle_batch`.
      min_after_dequeue: As for `shuffle_batch`.
      keep_input: As for `maybe_batch`.
      seed: As for `shuffle_batch`.
      **options: See `ShuffleOptions`.

    Returns:
      As for `batch_join`.

    Raises:
      ValueError: As for `shuffle_batch_join`.
    """
    return _shuffled(sources, batch_size, keep_input, min_after_dequeue, seed, capacity, **options)


def _count(num_threads: int) -> int:
    if num_threads < 1:
        raise ValueError(f"num_threads must be at least 1, got {num_threads}")
    return num_threads


def _batch(
    sources: Sequence[Source],
    batch_size: int,
    keep: Keep,
    *,
    capacity: int = 32,
    dynamic_pad: bool = False,
    dtypes: Any = None,
    shapes: Any = None,
    name: str = "batch",
    shared_name: str | None = None,
    enqueue_many: bool = False,
    allow_smaller_final_batch: bool = False,
) -> Stream:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(capacity, dtypes, shapes, name=name, shared_name=shared_name)
    _fill(queue, sources, keep, many=enqueue_many)
    return _stream(queue, batch_size, up_to=allow_smaller_final_batch)


def _shuffled(
    sources: Sequence[Source],
    batch_size: int,
    keep: Keep,
    min_after_dequeue: int,
    seed: int | None,
    capacity: int,
    *,
    dtypes: Any = None,
    shapes: Any = None,
    name: str = "shuffle_batch",
    shared_name: str | None = None,
    enqueue_many: bool = False,
    allow_smaller_final_batch: bool = False,
) -> Stream:
    queue = RandomShuffleQueue(
        capacity, min_after_dequeue, dtypes, shapes, seed=seed, name=name, shared_name=shared_name
    )
    _fill(queue, sources, keep, many=enqueue_many)
    return _stream(queue, batch_size, up_to=allow_smaller_final_batch)


def _fill(queue: QueueBase, sources: Sequence[Source], keep: Keep, *, many: bool) -> None:
    """Gives the queue a runner with one thread a source."""
    if not sources:
        raise ValueError("at least one source is due, got none")
    queue.runners.append(QueueRunner(queue, [_enqueue_op(queue, source, keep, many=many) for source in sources]))


def _stream(queue: QueueBase, batch_size: int, *, up_to: bool) -> Stream:
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1 element, got {batch_size}")
    take = queue.dequeue_up_to if up_to else queue.dequeue_many
    return Stream(queue, lambda timeout: take(batch_size, timeout))


def _enqueue_op(queue: QueueBase, source: Source, keep: Keep, *, many: bool) -> Callable[[], None]:
    """Makes the function that a thread runs again and again."""
    put = queue.enqueue_many if many else queue.enqueue

    def enqueue() -> None:
        try:
            element = source()
        except StopIteration as end:
            raise OutOfRangeError(None, queue.name, f"the source of {queue.name!r} has ended") from end.__cause__
        if keep is not True and element is not None:
            element = kept(queue.name, element, keep(element) if callable(keep) else keep, many=many)
        if element is not None:
            put(element)

    return enqueue


def kept(name: str, element: Any, keep: Any, *, many: bool) -> Any:
    """Gives what is to be kept of an element or, with `many`, of many; None for nothing at all."""
    mask = np.asarray(keep, bool)
    if mask.ndim == 0:
        return element if mask else None
    if not many or mask.ndim > 1:
        due = "one truth, or a vector of them" if many else "one truth: a vector needs enqueue_many"
        raise InvalidArgumentError(None, name, f"keep_input must be {due}, got shape {mask.shape}")
    if isinstance(element, Mapping):
        return {key: _masked(column, mask) for key, column in element.items()}
    if isinstance(element, list | tuple):
        return [_masked(column, mask) for column in element]
    return _masked(element, mask)


def _masked(column: Any, mask: Any) -> Any:
    array = np.asarray(column)
    return (np.array(column, object) if array.dtype.kind in "SU" else array)[mask]  # NumPy cuts NULs off its strings.
