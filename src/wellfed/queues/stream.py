"""What comes out of a queue that runners fill: called for the next value, or iterated to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.errors import OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.queues.base import QueueBase
    from wellfed.queues.runner import QueueRunner


class Stream:
    """Values that are made from what a queue gives. Safe for any number of threads.

    Iterating ends where the input ends; where it ended because a producer failed, the `OutOfRangeError` is raised, with
    the producer's error as its `__cause__`.

    Attributes:
      queue: The queue behind it.
      runners: What fills that queue, for `start_queue_runners`.
    """

    def __init__(self, queue: QueueBase, take: Callable[[float | None], Any]) -> None:
        self.queue = queue
        self._take = take

    @property
    def runners(self) -> list[QueueRunner]:
        """The queue's runners."""
        return self.queue.runners

    def dequeue(self, timeout: float | None = None) -> Any:
        """Gives the next value, as the queue's own `dequeue` and `dequeue_many` would; raises what they raise."""
        return self._take(timeout)

    def cancel_pending(self, reason: str = "cancel_pending was called") -> None:
        """Cancels the calls that wait now for the queue, with `CancelledError`."""
        self.queue.cancel_pending(reason)

    def __call__(self) -> Any:
        """Gives the next value; waits for it as long as it takes."""
        return self._take(None)

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                value = self._take(None)
            except OutOfRangeError as end:
                if end.__cause__ is not None:
                    raise
                return
            yield value

    def __repr__(self) -> str:
        return f"<Stream of {self.queue!r}>"
