"""How elements leave a data set: eagerly, one after another, or by a deferred `get_next` that sessions run."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes
from wellfed.compat.deferred.eager import eager, leaves, map_tree
from wellfed.compat.deferred.graph import Operation
from wellfed.compat.deferred.session import Run, op_error, op_kind
from wellfed.compat.elements import signature
from wellfed.errors import FailedPreconditionError, InvalidArgumentError, OpError, OutOfRangeError, StageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def delivered(leaf: Any) -> Any:
    """Gives a part of an element of the feed as NumPy has it: strings as `bytes`, or as an array of them."""
    return leaf.to_object_array() if isinstance(leaf, Bytes) else leaf


def guarded(step: Callable[[], Any]) -> Any:
    """Gives what a step of the feed gives.

    Raises:
      OpError: The step failed; the error that tells why is the `__cause__`.
    """
    try:
        return step()
    except (OpError, StopIteration):
        raise
    except StageError as error:
        cause = error.__cause__ or error
        if isinstance(cause, OpError):
            raise cause from error
        raise op_kind(cause)(None, None, str(error)) from error
    except Exception as error:
        raise op_error(error, "IteratorGetNext") from error


class DatasetIterator:
    """Goes through a data set once.

    Args:
      behind: The feed's iterator.
      eagerly: Whether elements come as eager tensors, or as plain arrays.
    """

    def __init__(self, behind: Any, *, eagerly: bool) -> None:
        self._behind = behind
        self._give = (lambda leaf: eager(delivered(leaf))) if eagerly else delivered

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: str | None = None) -> OneShotIterator:
        """Gives a deferred iterator of no data set yet: `make_initializer` gives it one."""
        del shared_name
        return OneShotIterator(None, signature(output_types, output_shapes))

    @staticmethod
    def from_string_handle(string_handle: Any, output_types: Any, output_shapes: Any = None) -> HandleIterator:
        """Gives the deferred iterator whose handle a run is fed."""
        return HandleIterator(string_handle, signature(output_types, output_shapes))

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        return map_tree(self._give, guarded(lambda: next(self._behind)))

    next = __next__

    def get_next(self) -> Any:
        """Gives the next element.

        Raises:
          OutOfRangeError: There is none.
        """
        try:
            return next(iter(self))
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence") from None

    def close(self) -> None:
        """Ends the threads that make elements ahead."""
        self._behind.close()

    def state_dict(self) -> dict[str, Any]:
        """Gives where this iteration stands. See `wellfed.feed.DatasetIterator`."""
        state: dict[str, Any] = self._behind.state_dict()
        return state

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Goes on where a saved state stood."""
        self._behind.load_state_dict(saved)


class _Place:
    """Where a session is in a data set; in none before it was begun with one."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._lock = threading.Lock()
        self._iterator: Iterator[Any] | None = None

    def next(self) -> Any:
        with self._lock:
            if self._iterator is None:
                if self._dataset is None:
                    raise FailedPreconditionError(
                        None,
                        None,
                        "GetNext() failed because the iterator has not been initialized: run its initializer",
                    )
                self._iterator = self._dataset.as_numpy_iterator()
            return next(self._iterator)

    def begin(self, dataset: Any) -> None:
        with self._lock:
            self._close()
            self._dataset = dataset

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._iterator is not None:
            self._iterator.close()  # type: ignore[attr-defined]  # A DatasetIterator.
            self._iterator = None


class OneShotIterator:
    """The deferred iterator of TensorFlow 1; each session has its own place.

    Args:
      dataset: Gives the elements. One that waits for tensors' values has no elements before `initializer` was run.
      spec: The form of an element; None where the data set tells it.

    Attributes:
      initializer: An operation that begins anew; None without a data set.
      output_types: The dtypes of an element.
      output_shapes: What is known of the shapes of an element.
    """

    def __init__(self, dataset: Any, spec: Any = None) -> None:
        waits = dataset is None or bool(getattr(dataset, "inputs", ()))
        self._first = None if waits else dataset
        self._spec = dataset.element_spec if spec is None else spec
        self.output_types = map_tree(lambda part: part.dtype, self._spec)
        self.output_shapes = map_tree(lambda part: part.shape, self._spec)
        self._handle = f"iterator {id(self)}".encode()
        _BY_HANDLE[self._handle] = self
        self.initializer = None if dataset is None else self.make_initializer(dataset)

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Gives an operation that begins a data set of elements of the same form."""
        inputs = getattr(dataset, "inputs", ())

        def begin(run: Run, *values: Any) -> tuple[Any, ...]:
            self._place(run).begin(dataset.of(values) if inputs else dataset)
            return ()

        return Operation("MakeIterator", inputs, [], begin, name or "MakeIterator")

    def get_next(self, name: str | None = None) -> Any:
        """Gives tensors of an element, the next one in each run; the run ends with `OutOfRangeError` after the last."""
        return _next_of(self._spec, [], self._place, name)

    def string_handle(self, name: str | None = None) -> Any:
        """Gives the tensor that stands for this iterator in `Iterator.from_string_handle`."""
        return Operation("IteratorToStringHandle", [], [("string", [])], lambda _: (self._handle,), name).outputs[0]

    def _place(self, run: Run) -> _Place:
        place: _Place = run.state(self, lambda: _Place(self._first))
        return place


_BY_HANDLE: weakref.WeakValueDictionary[bytes, OneShotIterator] = weakref.WeakValueDictionary()


class HandleIterator:
    """The iterator whose handle a run is fed.

    Attributes:
      output_types: The dtypes of an element.
      output_shapes: What is known of the shapes of an element.
    """

    def __init__(self, handle: Any, spec: Any) -> None:
        self._handle, self._spec = handle, spec
        self.output_types = map_tree(lambda part: part.dtype, spec)
        self.output_shapes = map_tree(lambda part: part.shape, spec)

    def get_next(self, name: str | None = None) -> Any:
        """Gives tensors of the next element of the iterator that the handle stands for."""

        def place(run: Run, handle: bytes) -> _Place:
            found = _BY_HANDLE.get(handle)
            if found is None:
                raise InvalidArgumentError(None, None, f"{handle!r} is no handle of an iterator")
            return found._place(run)

        return _next_of(self._spec, [self._handle], place, name)


def _next_of(spec: Any, inputs: list[Any], place_of: Callable[..., _Place], name: str | None) -> Any:
    def compute(run: Run, *values: Any) -> tuple[Any, ...]:
        try:
            element = place_of(run, *values).next()
        except StopIteration:
            raise OutOfRangeError(None, op.name, "End of sequence") from None
        return tuple(np.asarray(leaf)[()] if isinstance(leaf, np.ndarray) else leaf for leaf in leaves(element))

    outputs = [(part.dtype, part.shape) for part in leaves(spec)]
    op = Operation("IteratorGetNext", inputs, outputs, compute, name or "IteratorGetNext")
    tensors = iter(op.outputs)
    return map_tree(lambda _: next(tensors), spec)


def no_match(pattern: str) -> InvalidArgumentError:
    """Gives the error of a pattern that matches no file."""
    return InvalidArgumentError(None, None, f"No files matched pattern: {pattern}")
