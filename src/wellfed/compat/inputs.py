"""Producers of TensorFlow 1 in the deferred graph: `tf.train.string_input_producer` and its kin.

Each is one of the queues room in every session that runs it; what is made here are the graph's ends of it: a queue to
take from, and a queue runner in the graph's collection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import queues
from wellfed.compat.arrays import gather, identity, shape
from wellfed.compat.deferred.dtypes import as_dtype, int32, string
from wellfed.compat.deferred.eager import as_value, plain
from wellfed.compat.deferred.graph import Operation, Tensor, get_default_graph
from wellfed.compat.deferred.runners import StreamRunner, add_queue_runner
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.io import matching_files
from wellfed.compat.queue import QueueBase
from wellfed.compat.state import LOCAL_VARIABLES, Variable, control_dependencies, deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellfed.compat.deferred.session import Run, Session


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Gives a tensor that has its value in `num_epochs` runs, and ends later ones with `OutOfRangeError`.

    Raises:
      ValueError: `num_epochs` is less than 1.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    epochs = Variable(np.int64(0), name="epochs", collections=[LOCAL_VARIABLES])
    with control_dependencies([epochs.count_up_to(num_epochs)]):
        return identity(deferred(tensor), name=name)


def match_filenames_once(pattern: Any, name: str | None = None) -> Tensor:
    """Gives a tensor of the sorted names of the files that match patterns; looked up once in a session."""

    def once(run: Run) -> Any:
        return (run.state(op, lambda: matching_files.__wrapped__(plain(pattern))),)

    op = Operation(name or "matching_filenames", [], [(string, [None])], once)
    return op.outputs[0]


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Gives a queue that gets the rows of an array, epoch after epoch. See `wellfed.queues.input_producer`.

    Raises:
      ValueError: The shape of a row is not known, or `num_epochs` is less than 1.
    """
    del summary_name
    rows = input_tensor if isinstance(input_tensor, Tensor) else as_value(input_tensor)
    whole = rows.shape if isinstance(rows, Tensor) else TensorShape(np.shape(rows))
    if whole.rank == 0:
        raise ValueError("input_producer needs rows along axis 0, got a single value")
    row_shape = (whole[1:] if whole.rank is not None else TensorShape(None)).merge_with(element_shape)
    if not row_shape.is_fully_defined():
        raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
    if num_epochs is not None and num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    dtype = rows.dtype if isinstance(rows, Tensor) else as_dtype(np.asarray(rows).dtype)
    seed = get_default_graph().op_seed(seed)

    def make(session: Session) -> queues.QueueBase:
        return queues.input_producer(
            session.run(rows),
            [size or 0 for size in row_shape.as_list()],
            num_epochs,
            shuffle,
            seed,
            capacity,
            name=queue.name,
            cancel_op=None if cancel_op is None else session.make_callable(cancel_op),
        )

    queue = QueueBase([dtype], [row_shape], None, make, name or "input_producer", shared_name)
    add_queue_runner(StreamRunner(queue.name, lambda session: queue.in_session(session).runners[0]))
    return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Gives a queue that gets strings, such as file names, epoch after epoch.

    Raises:
      ValueError: No strings, or `num_epochs` is less than 1.
    """
    if not isinstance(string_tensor, Tensor) and np.size(plain(string_tensor)) == 0:
        raise ValueError("string_input_producer requires a non-null input tensor")
    strings = string_tensor if isinstance(string_tensor, Tensor) else as_value(string_tensor, string)
    return input_producer(
        strings, [], num_epochs, shuffle, seed, capacity, shared_name, None, name or "input_producer", cancel_op
    )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Gives a queue that gets the integers from 0 to `limit - 1`, int32, epoch after epoch.

    Raises:
      ValueError: `num_epochs` is less than 1.
    """
    numbers = _counted(limit) if isinstance(limit, Tensor) else np.arange(int(plain(limit)), dtype=np.int32)
    return input_producer(numbers, [], num_epochs, shuffle, seed, capacity, shared_name, None, name)


def _counted(limit: Tensor) -> Tensor:
    op = Operation("range", [limit], [(int32, [None])], lambda _, n: (np.arange(int(n), dtype=np.int32),))
    return op.outputs[0]


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Gives tensors of one row of each array, the same row of all, epoch after epoch.

    Raises:
      ValueError: No arrays, or `num_epochs` is less than 1.
    """
    tensors = [deferred(value) for value in tensor_list]
    if not tensors:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    known = tensors[0].shape.sizes[0] if tensors[0].shape.sizes else None
    limit = known if known is not None else shape(tensors[0])[0]
    index = range_input_producer(limit, num_epochs, shuffle, seed, capacity, shared_name, name).dequeue()
    return [gather(tensor, index) for tensor in tensors]
