"""Batchers of TensorFlow 1 in the deferred graph: `tf.train.batch`, `tf.train.shuffle_batch` and their kin.

Each is a stream of the queues room in every session that runs it, whose sources run the session; what is made here are
the graph's ends of it: tensors to take from, and a queue runner in the graph's collection.
"""

from __future__ import annotations

import functools
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature
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


@dataclass(frozen=True, slots=True)
class _Options:
    """What the eight take, by TensorFlow's names.

    Attributes:
      batch_size: Elements a batch.
      tensors: One element: a tensor, a list or a dict of them; many elements where `enqueue_many`.
      tensors_list: Several such, each run by a thread of its own.
      keep_input: A truth that says whether an element is kept; with `enqueue_many` also a vector, one for each.
      num_threads: Threads that run `tensors`.
      capacity: The queue's; where it shuffles, more than `min_after_dequeue`. [elements]
      min_after_dequeue: So many elements, at least, are mixed until the input ends.
      seed: Fixes the draws.
      enqueue_many: Whether each tensor holds many elements, along axis 0.
      shapes: One shape a component of one element; those of the tensors by default.
      dynamic_pad: Whether elements may differ in shape; batches are padded.
      allow_smaller_final_batch: Whether the last elements come as a smaller batch.
      shared_name: Batchers of one shared name are one, in each session.
      name: The operation's.
    """

    batch_size: Any
    tensors: Any = None
    tensors_list: Any = None
    keep_input: Any = True
    num_threads: int = 1
    capacity: Any = 32
    min_after_dequeue: Any = None
    seed: int | None = None
    enqueue_many: bool = False
    shapes: Any = None
    dynamic_pad: bool = False
    allow_smaller_final_batch: bool = False
    shared_name: str | None = None
    name: Any = None


# The orders of arguments are TensorFlow's. What has no default here has none there.
_DEFAULTS = {field.name: field.default for field in fields(_Options) if field.default is not MISSING}
_MIXED = "batch_size capacity min_after_dequeue"
_END = "enqueue_many shapes allow_smaller_final_batch shared_name name"
_PADDED_END = "enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name"


def _batcher(name: str, order: str, what: str) -> Callable[..., Any]:
    """Makes one of the eight.

    Args:
      name: Its name.
      order: Its arguments.
      what: What it gives.
    """
    shuffles = "min_after_dequeue" in order
    due = {"tensors", "tensors_list", "keep_input", *(_MIXED.split() if shuffles else ["batch_size"])}
    parameters = [
        Parameter(word, Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty if word in due else _DEFAULTS[word])
        for word in order.split()
    ]
    signature = Signature(parameters)

    def made(*args: Any, **kwargs: Any) -> Any:
        options = _Options(**signature.bind(*args, **kwargs).arguments)
        return (_shuffled if shuffles else _in_order)(options, options.name or name.removeprefix("maybe_"))

    made.__name__ = made.__qualname__ = name
    made.__signature__ = signature  # type: ignore[attr-defined]  # inspect and help() read it.
    made.__doc__ = f"""Gives tensors of batches that threads make ahead{what}. See `wellfed.queues.{name}`.

    Args: TensorFlow's, in its order: {", ".join(order.split())}.

    Returns:
      Tensors in the form of an element.

    Raises:
      ValueError: A shape, or with `dynamic_pad` a rank, is not known; or `capacity` is not bigger than
        `min_after_dequeue`.
    """
    return made


_JOIN, _KEPT, _DRAWN = (
    ", of several lists, each run by a thread of its own",
    ", of the elements that are kept",
    (", drawn at random from what is in the queue"),
)
batch = _batcher("batch", f"tensors batch_size num_threads capacity {_PADDED_END}", "")
maybe_batch = _batcher("maybe_batch", f"tensors keep_input batch_size num_threads capacity {_PADDED_END}", _KEPT)
batch_join = _batcher("batch_join", f"tensors_list batch_size capacity {_PADDED_END}", _JOIN)
maybe_batch_join = _batcher(
    "maybe_batch_join", f"tensors_list keep_input batch_size capacity {_PADDED_END}", _JOIN + _KEPT
)
shuffle_batch = _batcher("shuffle_batch", f"tensors {_MIXED} num_threads seed {_END}", _DRAWN)
maybe_shuffle_batch = _batcher(
    "maybe_shuffle_batch", f"tensors {_MIXED} keep_input num_threads seed {_END}", _DRAWN + _KEPT
)
shuffle_batch_join = _batcher("shuffle_batch_join", f"tensors_list {_MIXED} seed {_END}", _DRAWN + _JOIN)
maybe_shuffle_batch_join = _batcher(
    "maybe_shuffle_batch_join", f"tensors_list {_MIXED} keep_input seed {_END}", _DRAWN + _JOIN + _KEPT
)


class _Elements:
    """What one or several lists of tensors have in common: form, dtypes and shapes, and sources in a session."""

    def __init__(self, options: _Options) -> None:
        tensors_list = [options.tensors] if options.tensors_list is None else options.tensors_list
        many, padded = options.enqueue_many, options.dynamic_pad
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
        self.shapes = _merged(rows, options.shapes, many=many)
        if not padded and not all(shape.is_fully_defined() for shape in self.shapes):
            raise ValueError(f"All shapes must be fully defined: {self.shapes}: give shapes=, or use Tensor.set_shape")
        if padded and any(shape.rank is None for shape in self.shapes):
            raise ValueError(f"All shapes must have a defined rank: {self.shapes}")
        self._fetches = [(row, _keep(options.keep_input, many=many)) for row in rows]

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


def _batches(make: Callable[..., queues.Stream], options: _Options, name: str) -> Any:
    """Gives tensors of batches, and adds the runner that fills them to the graph's collection."""
    elements, batch_size = _Elements(options), int(plain(options.batch_size))
    rows = None if options.allow_smaller_final_batch else batch_size
    outputs = [(d, TensorShape([rows]).concatenate(s)) for d, s in zip(elements.dtypes, elements.shapes, strict=True)]

    def made(session: Session) -> queues.Stream:
        return make(
            elements.sources(session) * options.num_threads,
            batch_size,
            capacity=int(options.capacity),
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

    op = Operation(name, [], outputs, compute, name)
    add_queue_runner(StreamRunner(op.name, lambda session: stream(session).runners[0]))
    return elements.original(op.outputs)


def _in_order(options: _Options, name: str) -> Any:
    return _batches(functools.partial(queues.batch_join, dynamic_pad=options.dynamic_pad), options, name)


def _shuffled(options: _Options, name: str) -> Any:
    capacity, minimum = int(options.capacity), options.min_after_dequeue
    if capacity <= minimum:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {minimum}.")
    seed = get_default_graph().op_seed(options.seed)
    make = functools.partial(queues.shuffle_batch_join, min_after_dequeue=minimum, seed=seed)
    return _batches(make, options, name)
