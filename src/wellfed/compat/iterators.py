"""How elements leave a data set: eagerly, one after another, or by a deferred `get_next` that sessions run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes
from wellfed.compat.deferred.eager import eager, leaves, map_tree
from wellfed.compat.deferred.graph import Operation
from wellfed.compat.deferred.session import Run, op_error, op_kind
from wellfed.errors import InvalidArgumentError, OpError, OutOfRangeError, StageError

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
    """Where a session is in a data set."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._lock = threading.Lock()
        self._iterator: Iterator[Any] | None = None

    def next(self) -> Any:
        with self._lock:
            if self._iterator is None:
                self._iterator = self._dataset.as_numpy_iterator()
            return next(self._iterator)

    def begin(self) -> None:
        with self._lock:
            self._close()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._iterator is not None:
            self._iterator.close()  # type: ignore[attr-defined]  # A DatasetIterator.
            self._iterator = None


class OneShotIterator:
    """The deferred iterator of TensorFlow 1; each session has its own place.

    Attributes:
      initializer: An operation that begins anew.
      output_types: The dtypes of an element.
      output_shapes: What is known of the shapes of an element.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.output_types, self.output_shapes = dataset.output_types, dataset.output_shapes
        self.initializer = Operation("MakeIterator", [], [], self._begin, "MakeIterator")

    def get_next(self, name: str | None = None) -> Any:
        """Gives tensors of an element, the next one in each run; the run ends with `OutOfRangeError` after the last."""
        spec = self._dataset.element_spec

        def compute(run: Run) -> tuple[Any, ...]:
            try:
                element = self._place(run).next()
            except StopIteration:
                raise OutOfRangeError(None, op.name, "End of sequence") from None
            return tuple(np.asarray(leaf)[()] if isinstance(leaf, np.ndarray) else leaf for leaf in leaves(element))

        outputs = [(part.dtype, part.shape) for part in leaves(spec)]
        op = Operation("IteratorGetNext", [], outputs, compute, name or "IteratorGetNext")
        tensors = iter(op.outputs)
        return map_tree(lambda _: next(tensors), spec)

    def _place(self, run: Run) -> _Place:
        place: _Place = run.state(self, lambda: _Place(self._dataset))
        return place

    def _begin(self, run: Run) -> tuple[Any, ...]:
        self._place(run).begin()
        return ()


def no_match(pattern: str) -> InvalidArgumentError:
    """Gives the error of a pattern that matches no file."""
    return InvalidArgumentError(None, None, f"No files matched pattern: {pattern}")
