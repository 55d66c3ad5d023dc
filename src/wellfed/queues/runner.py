"""Threads that fill a queue: one for each enqueue operation, and one that closes the queue when all must stop.

the source ends       OutOfRangeError: the thread ends; the last one closes the queue, and what is in stays
the source fails      the coordinator stops, or the queue is closed: consumers see the error as `__cause__`
the coordinator stops the queue is closed and whoever waits in an enqueue is freed
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from wellfed.errors import OpError, OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wellfed.queues.base import QueueBase
    from wellfed.queues.coordinator import Coordinator

_log = logging.getLogger(__name__)


class QueueRunner:
    """Runs enqueue operations, each in a thread of its own, until their source ends or a coordinator stops them.

    Args:
      queue: The queue that they fill.
      enqueue_ops: Functions without arguments, each of which puts something into the queue. One may be there several
        times. Run again and again.
      close_op: Called by the last thread when the source has ended; `queue.close()` by default.
      cancel_op: Called when the coordinator stops; `queue.close(cancel_pending_enqueues=True)` by default.
      queue_closed_exception_types: Errors that mean "the source has ended"; `(OutOfRangeError,)` by default.

    Raises:
      ValueError: No queue, or no operation.
      TypeError: `queue_closed_exception_types` is not a tuple of at least one kind of `OpError`.

    Example:
      >>> from wellfed.queues import FIFOQueue
      >>> numbers, squares = FIFOQueue(10), FIFOQueue(10)
      >>> numbers.enqueue_many([[1, 2, 3]])
      >>> numbers.close()
      >>> runner = QueueRunner(squares, [lambda: squares.enqueue(numbers.dequeue() ** 2)])
      >>> threads = runner.create_threads(start=True)
      >>> squares.dequeue_up_to(10)
      array([1, 4, 9])

    Differs from TensorFlow: operations are functions, and there is no session. Without a coordinator a thread that
    fails closes the queue when it is the last one, so that consumers do not wait for ever. Threads end after their
    error without a second report. Source: tensorflow/python/training/queue_runner_impl.py.
    """

    def __init__(
        self,
        queue: QueueBase,
        enqueue_ops: Sequence[Callable[[], object]],
        close_op: Callable[[], object] | None = None,
        cancel_op: Callable[[], object] | None = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
    ) -> None:
        if queue is None or not enqueue_ops:
            raise ValueError("a QueueRunner needs a queue and at least one enqueue operation")
        kinds = (OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
        if not isinstance(kinds, tuple) or not kinds or not all(_is_op_error(kind) for kind in kinds):
            raise TypeError(f"queue_closed_exception_types must be a tuple of kinds of OpError, got {kinds!r}")
        self.queue = queue
        self.enqueue_ops = list(enqueue_ops)
        self.close_op, self.cancel_op = close_op, cancel_op
        self.queue_closed_exception_types = kinds
        self._lock = threading.Lock()
        self._running = 0
        self._failure: BaseException | None = None
        self._raised: list[BaseException] = []

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.queue.name

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors of threads that ran without a coordinator; with one, it has them."""
        return self._raised

    def create_threads(
        self, coord: Coordinator | None = None, *, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes a thread for each operation and, with a coordinator, one that closes the queue when it stops.

        Args:
          coord: Stops the threads, and gets their errors; they are registered with it.
          daemon: Whether the program may end without them.
          start: Whether to start them, too.

        Returns:
          The threads; none while those of an earlier call are still running.
        """
        with self._lock:
            if self._running:
                return []
            self._running = len(self.enqueue_ops)
            self._raised, self._failure = [], None
        label = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(target=self._run, args=(op, coord), name=f"{label}-{i}", daemon=daemon)
            for i, op in enumerate(self.enqueue_ops)
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop, args=(coord,), name=f"{label}-close_on_stop", daemon=daemon
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, op: Callable[[], object], coord: Coordinator | None) -> None:
        """Runs one operation until its source ends, it fails, or the coordinator stops."""
        ended = False
        cause: BaseException | None = None
        try:
            while coord is None or not coord.should_stop():
                op()
        except self.queue_closed_exception_types as end:
            ended, cause = True, end.__cause__
        except BaseException as error:  # noqa: BLE001 -- a thread's every error is the coordinator's, or the consumers'.
            if coord is not None:
                coord.request_stop(error)
            else:
                _log.exception("error in the queue runner of %s", self.name)
                self._raised.append(error)
                ended, cause = True, error
        finally:
            self._leave(ended=ended, cause=cause)

    def _leave(self, *, ended: bool, cause: BaseException | None) -> None:
        """Counts a thread out; the last one closes the queue, unless the coordinator does."""
        with self._lock:
            self._running -= 1
            self._failure = self._failure or cause
            last = self._running == 0
        if last and ended:
            self._quietly(self.close_op or (lambda: self.queue.close(cause=self._failure)))

    def _close_on_stop(self, coord: Coordinator) -> None:
        """Closes the queue when the coordinator stops, and frees whoever waits in an enqueue."""
        coord.wait_for_stop()
        cause = coord.requested_exception
        self._quietly(self.cancel_op or (lambda: self.queue.close(cancel_pending_enqueues=True, cause=cause)))

    def _quietly(self, operation: Callable[[], object]) -> None:
        try:
            operation()
        except Exception as error:  # noqa: BLE001 -- TensorFlow's rule: the queue may well be closed already.
            _log.debug("closing the queue of %s: %s", self.name, error)


def start_queue_runners(
    filled: Iterable[object],
    coord: Coordinator | None = None,
    *,
    daemon: bool = True,
    start: bool = True,
) -> list[threading.Thread]:
    """Makes the threads of everything that has `runners`: queues of producers, and streams of batchers.

    Args:
      filled: What the functions of this room gave, or `QueueRunner`s themselves.
      coord: As for `QueueRunner.create_threads`.
      daemon: Whether the program may end without the threads, as in TensorFlow.
      start: Whether to start them, too.

    Returns:
      The threads.

    Raises:
      TypeError: Something has no runners.

    Differs from TensorFlow: there the runners come from the graph; here from the things that are named.
    """
    runners: list[QueueRunner] = []
    for thing in filled:
        found = [thing] if isinstance(thing, QueueRunner) else getattr(thing, "runners", None)
        if found is None:
            raise TypeError(f"{thing!r} has no queue runners")
        runners += found
    return [thread for runner in runners for thread in runner.create_threads(coord, daemon=daemon, start=start)]


def _is_op_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, OpError)
