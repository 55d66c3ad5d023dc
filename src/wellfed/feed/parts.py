"""A heavy batch in parts: the thread that has it works from the front, threads with nothing else to do take parts too.

    owner    |-- row 0 --|------ rows 1..9 ------|------ rows 19..27 ------|  waits for 28..36  |
    another              asked for help |------ rows 10..18 ------|------ rows 28..36 ------|

The first row tells what a row costs. A part is as many rows as take `PART_SECONDS`, and nobody is asked where the rest
is not worth waking a thread for. How rows are divided never changes what comes out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import perf_counter

PART_SECONDS = 0.008  # About ten photos of 500 x 375; what a thread may wait for another at a batch's end.
RowsWork = Callable[[int, int], None]


class Helpers:
    """Where the threads of an engine get what they do next: a unit of their own, or a part of another's.

    Attributes:
      tokens: True: claim a unit. False: end. A function: call it, then look again.
      threads: How many threads take tokens.

    Thread-safety: all methods may be called from any thread.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.tokens: SimpleQueue[bool | Callable[[], None]] = SimpleQueue()

    def run(self, work: RowsWork, rows: int, stopped: Callable[[], bool] = lambda: False) -> None:
        """Calls `work(start, stop)` for ranges that make up `[0, rows)`, from this thread and from idle ones.

        Args:
          work: Does rows [start, stop). Called from several threads at a time.
          rows: How many there are.
          stopped: Asked before each range; once True, no further one begins.

        Raises:
          BaseException: What `work` raised for the first range in order that failed; none began after it.
        """
        job = _Job(work, rows, stopped)
        job.step()
        for _ in range(min(self.threads, job.parts_left()) - 1):
            self.tokens.put(job.help)
        job.help()
        job.wait()


class _Job:
    """The rows of one batch. Its lock is held for arithmetic only."""

    def __init__(self, work: RowsWork, rows: int, stopped: Callable[[], bool]) -> None:
        self._work, self._rows, self._stopped = work, rows, stopped
        self._lock = threading.Lock()  # Guards the four below.
        self._next = self._running = 0
        self._size = 1
        self._failed: tuple[int, BaseException] | None = None
        self._done: SimpleQueue[None] = SimpleQueue()  # Something each time nothing is running any more.

    def parts_left(self) -> int:
        """How many parts nobody has begun."""
        with self._lock:
            return -(-(self._rows - self._next) // self._size)

    def help(self) -> None:
        """Does parts until none is left."""
        while self.step():
            pass

    def step(self) -> bool:
        """Does one part; False where none is left."""
        with self._lock:
            start, stop = self._next, min(self._next + self._size, self._rows)
            if start == stop or self._failed is not None or self._stopped():
                return False
            self._next = stop
            self._running += 1
        began = perf_counter()
        failure: BaseException | None = None
        try:
            self._work(start, stop)
        except BaseException as error:  # noqa: BLE001 -- raised by `wait`, in the owner's thread.
            failure = error
        self._finish(start, stop, perf_counter() - began, failure)
        return failure is None

    def _finish(self, start: int, stop: int, seconds: float, failure: BaseException | None) -> None:
        with self._lock:
            self._running -= 1
            self._size = max(1, int(PART_SECONDS * (stop - start) / max(seconds, 1e-9)))
            if failure is not None and (self._failed is None or start < self._failed[0]):
                self._failed = start, failure
            if self._running == 0:
                self._done.put(None)

    def wait(self) -> None:
        """Returns once no thread works on a part; raises what a part raised."""
        while True:
            with self._lock:
                if self._running == 0:
                    # Calls for help that nobody took yet find nothing, and keep nothing alive.
                    self._next, self._work = self._rows, _nothing
                    failed, self._failed = self._failed, None
                    break
            self._done.get()
        if failed is not None:
            raise failed[1]


def _nothing(start: int, stop: int) -> None:
    raise AssertionError(f"all rows are done: [{start}, {stop})")
