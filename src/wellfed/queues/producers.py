"""Queues that are filled with the rows of an array, epoch after epoch: file names, numbers, slices.

Each function gives its queue (or stream) at once and starts nothing; `start_queue_runners` does.
Every epoch holds every row once, in an order of its own where `shuffle` is on. Epochs follow each other without a mark:
where one ends and the next begins, a batch may hold rows of both.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wellfed.errors import OutOfRangeError
from wellfed.queues.kinds import FIFOQueue
from wellfed.queues.runner import QueueRunner
from wellfed.queues.spec import BYTES, as_array, as_dtype, as_shape
from wellfed.queues.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def limit_epochs(source: Callable[[], Any], num_epochs: int | None = None) -> Callable[[], Any]:
    """Makes a function that calls another one so many times, and then says that the input is over.

    Args:
      source: The function.
      num_epochs: How many calls; None for ever.

    Returns:
      `source` itself where `num_epochs` is None; else a function that raises `OutOfRangeError` from call
      `num_epochs + 1` on. Safe for several threads.

    Raises:
      ValueError: `num_epochs` is less than 1.

    Source: tensorflow/python/training/input.py.
    """
    if num_epochs is None:
        return source
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0, got {num_epochs}")
    lock = threading.Lock()
    done = 0

    def limited() -> Any:
        nonlocal done
        with lock:
            if done == num_epochs:
                raise OutOfRangeError(None, None, f"reached the limit of {num_epochs} epochs")
            done += 1
        return source()

    return limited


def input_producer(
    input_tensor: Any,
    element_shape: Sequence[int] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Callable[[], object] | None = None,
) -> FIFOQueue:
    """Makes a queue that gets the rows of an array, epoch after epoch.

    Args:
      input_tensor: The rows, along axis 0. Kept by reference.
      element_shape: The shape that a row must have; taken from the array where it is None.
      num_epochs: How often each row comes; None for ever.
      shuffle: Whether each epoch has an order of its own.
      seed: Fixes those orders. None draws a new one.
      capacity: The queue's, which may be smaller than the array. [elements]
      shared_name: The queue's.
      name: The queue's.
      cancel_op: Called instead of `queue.close(cancel_pending_enqueues=True)` when the coordinator stops.

    Returns:
      The queue. Its `runners` fill it, once started, and close it after the last epoch.

    Raises:
      ValueError: No rows, rows of another shape, or `num_epochs` is less than 1.

    Differs from TensorFlow: an array without rows is refused; there its thread runs for ever and gives nothing.
    Source: tensorflow/python/training/input.py.
    """
    rows = _rows(input_tensor)
    if len(rows) == 0:
        raise ValueError("input_producer needs at least one row, got none")
    if element_shape is not None and as_shape(element_shape) != rows.shape[1:]:
        raise ValueError(f"element_shape is {as_shape(element_shape)}, and the rows have shape {rows.shape[1:]}")
    queue = FIFOQueue(capacity, [rows.dtype], [rows.shape[1:]], name=name or "input_producer", shared_name=shared_name)
    rng = np.random.default_rng(seed)
    epoch = limit_epochs(lambda: rows[rng.permutation(len(rows))] if shuffle else rows, num_epochs)
    queue.runners.append(QueueRunner(queue, [lambda: queue.enqueue_many([epoch()])], cancel_op=cancel_op))
    return queue


def string_input_producer(
    string_tensor: Sequence[str | bytes],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Callable[[], object] | None = None,
) -> FIFOQueue:
    """Makes a queue that gets strings, such as file names, epoch after epoch.

    Args:
      string_tensor: The strings.
      num_epochs: As for `input_producer`.
      shuffle: As for `input_producer`.
      seed: As for `input_producer`.
      capacity: As for `input_producer`.
      shared_name: As for `input_producer`.
      name: As for `input_producer`.
      cancel_op: As for `input_producer`.

    Returns:
      A queue of `bytes`, as for `input_producer`.

    Raises:
      ValueError: No strings, or `num_epochs` is less than 1.

    Source: tensorflow/python/training/input.py.
    """
    if len(string_tensor) == 0:
        raise ValueError("string_input_producer requires a non-null input tensor: it got no strings")
    strings = np.array(list(string_tensor), object)
    return input_producer(strings, (), num_epochs, shuffle, seed, capacity, shared_name, name, cancel_op)


def range_input_producer(
    limit: int,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Makes a queue that gets the integers from 0 to `limit - 1`, epoch after epoch.

    Args:
      limit: How many integers.
      num_epochs: As for `input_producer`.
      shuffle: As for `input_producer`.
      seed: As for `input_producer`.
      capacity: As for `input_producer`.
      shared_name: As for `input_producer`.
      name: As for `input_producer`.

    Returns:
      A queue of int64, as for `input_producer`.

    Raises:
      ValueError: `limit` or `num_epochs` is less than 1.

    Differs from TensorFlow: int64, not int32. Source: tensorflow/python/training/input.py.
    """
    return input_producer(np.arange(limit), (), num_epochs, shuffle, seed, capacity, shared_name, name)


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Gives rows of several arrays of one length, the same row of each at a time.

    Args:
      tensor_list: The arrays. Kept by reference.
      num_epochs: As for `input_producer`.
      shuffle: As for `input_producer`.
      seed: As for `input_producer`.
      capacity: Of the queue of row numbers. [elements]
      shared_name: As for `input_producer`.
      name: As for `input_producer`.

    Returns:
      A stream of tuples with one row an array. Rows that are arrays are copies.

    Raises:
      ValueError: No arrays, arrays of different lengths, or as for `input_producer`.

    Differs from TensorFlow: different lengths are refused. Source: tensorflow/python/training/input.py.
    """
    arrays = [_rows(array) for array in tensor_list]
    if not arrays:
        raise ValueError("slice_input_producer needs at least one array, got none")
    if len({len(array) for array in arrays}) > 1:
        raise ValueError(f"slice_input_producer needs arrays of one length, got {[len(array) for array in arrays]}")
    queue = range_input_producer(len(arrays[0]), num_epochs, shuffle, seed, capacity, shared_name, name)

    def take(timeout: float | None) -> tuple[Any, ...]:
        row = queue.dequeue(timeout)
        return tuple(array[row].copy() if array.ndim > 1 else array[row] for array in arrays)

    return Stream(queue, take)


def _rows(values: Any) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if as_dtype(array.dtype) == BYTES:
        array = as_array("a producer's row", values, BYTES, None)  # Not of `array`: NumPy cuts NULs off its strings.
    if array.ndim == 0:
        raise ValueError(f"a producer needs rows along axis 0, got the single value {values!r}")
    return array
