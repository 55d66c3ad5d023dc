"""Queue runners of the deferred graph: each session has a runner of the queues room that runs its operations."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from wellfed import errors, queues
from wellfed.compat.deferred.graph import Graph, default_session, get_default_graph

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from wellfed.compat.deferred.session import Session

QUEUE_RUNNERS = "queue_runners"


class QueueRunner:
    """Runs enqueue operations of the graph in threads, in whichever session it is started.

    Args:
      queue: The queue of the graph that they fill.
      enqueue_ops: The operations; one thread each.
      close_op: Done by the last thread once the source has ended; closes the queue by default.
      cancel_op: Done when the coordinator stops; closes the queue and cancels enqueues that wait by default.
      queue_closed_exception_types: Errors that mean that the source has ended; `(OutOfRangeError,)` by default.
      queue_runner_def: Not kept here.

    Raises:
      ValueError: No queue, or no operations.
      TypeError: `queue_closed_exception_types` is no tuple of `OpError`s.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: Any = None,
    ) -> None:
        del import_scope
        if queue_runner_def is not None:
            raise ValueError(
                "wellfed.compat reads no QueueRunnerDef: make the QueueRunner from its queue and operations"
            )
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self.queue, self.enqueue_ops = queue, list(enqueue_ops)
        self.close_op, self.cancel_op = close_op, cancel_op
        self.queue_closed_exception_types = queue_closed_exception_types or (errors.OutOfRangeError,)
        self._started: weakref.WeakSet[queues.QueueRunner] = weakref.WeakSet()  # The sessions keep them.

    @property
    def name(self) -> str:
        """The queue's name."""
        return str(self.queue.name)

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors of threads that ran without a coordinator, of all sessions."""
        return [error for runner in self._started for error in runner.exceptions_raised]

    def in_session(self, session: Session) -> queues.QueueRunner:
        """Gives the runner that a session has behind this one."""
        runner: queues.QueueRunner = session.state((self, "runner"), lambda: self._make(session))
        self._started.add(runner)
        return runner

    def _make(self, session: Session) -> queues.QueueRunner:
        def run(op: Any) -> Callable[[], object] | None:
            return None if op is None else session.make_callable(op)

        ops = [session.make_callable(op) for op in self.enqueue_ops]
        behind = self.queue.in_session(session)
        return queues.QueueRunner(
            behind, ops, run(self.close_op), run(self.cancel_op), self.queue_closed_exception_types
        )

    def create_threads(
        self, sess: Session, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads for a session; none while earlier ones are still running."""
        return self.in_session(sess).create_threads(coord, daemon=daemon, start=start)


class StreamRunner(QueueRunner):
    """The runner of a producer or batcher of the queues room, which has its own in each session."""

    def __init__(self, name: str, find: Callable[[Session], queues.QueueRunner]) -> None:
        self._label, self._find = name, find
        self._started = weakref.WeakSet()

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._label

    def _make(self, session: Session) -> queues.QueueRunner:
        return self._find(session)


def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Adds a runner to the default graph's collection, for `start_queue_runners`."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Makes, and starts, the threads of all runners of a session's graph.

    Args:
      sess: The session; the default one where None.
      coord: Stops them, and gets their errors.
      daemon: Whether the program may end without them.
      start: Whether to start them.
      collection: Where the runners are kept in the graph.

    Returns:
      The threads.

    Raises:
      ValueError: There is no session.
    """
    session = default_session(sess)
    graph: Graph = session.graph
    runners = graph.get_collection(collection)
    return [thread for qr in runners for thread in qr.create_threads(session, coord, daemon=daemon, start=start)]
