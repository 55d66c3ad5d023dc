"""How a queue serves its callers: two lists of attempts under one lock, strictly first come, first served.

    puts     enqueue, enqueue_many and close, in order of arrival
    takes    dequeue, dequeue_many and dequeue_up_to, in order of arrival

Only the first attempt of each list may act. `_serve` lets the two lists act in turn until neither gets on; each attempt
that is done wakes its own caller, through a lock of its own, so no wake-up is lost and nobody is woken in vain.
A call that finds its list empty and the queue ready skips all this: it takes the lock, moves its rows, and is gone.

An attempt that gives up (timeout, interrupt, close with cancel, `cancel_pending`) leaves its list and returns
what it had taken.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from wellfed.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OpError, OutOfRangeError

if TYPE_CHECKING:
    from wellfed.queues.spec import Columns, Row
    from wellfed.queues.storage import Storage

UNBOUNDED = 1 << 62

DONE, MOVED, STUCK = "done", "moved", "stuck"  # What an attempt says of its turn.

_forks = 0  # How many forks lie between the first process and this one.


def _forked() -> None:
    global _forks  # noqa: PLW0603 -- counts an event of the whole process.
    _forks += 1


if hasattr(os, "register_at_fork"):  # Not on Windows, which has no fork.
    os.register_at_fork(after_in_child=_forked)


class Attempt:
    """A call that may have to wait.

    Attributes:
      finished: Whether it has been served or refused. Guarded by the engine's lock.
      error: Kind and text of its error, or None.
    """

    what = "call"

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()
        self.finished = False
        self.error: tuple[type[OpError], str] | None = None

    def act(self, engine: QueueEngine) -> str:
        """Does what can be done now, under the engine's lock."""
        raise NotImplementedError

    def undo(self, engine: QueueEngine) -> None:
        """Returns what it has taken, under the engine's lock."""

    def finish(self) -> None:
        self.finished = True
        self._gate.release()

    def fail(self, kind: type[OpError], reason: str) -> str:
        self.error = kind, reason
        return DONE

    def wait(self, timeout: float | None) -> bool:
        return self._gate.acquire(timeout=-1 if timeout is None else timeout)


class PutOne(Attempt):
    """One row that waits for room."""

    what = "enqueue"

    def __init__(self, row: Row) -> None:
        super().__init__()
        self._row = row

    def act(self, engine: QueueEngine) -> str:
        if engine.closed:
            return self.fail(CancelledError, f"{engine.name} is closed")
        if engine.storage.size >= engine.capacity:
            return STUCK
        engine.storage.put(self._row)
        return DONE


class PutMany(Attempt):
    """Rows that go in one after the other as room appears; those that are in stay in. Keeps copies of them."""

    what = "enqueue_many"

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self._columns = tuple([column.copy() for column in columns])  # The caller may write to its own afterwards.
        self._at, self._stop = 0, len(columns[0])

    def act(self, engine: QueueEngine) -> str:
        if engine.closed:
            return self.fail(CancelledError, f"{engine.name} is closed")
        count = min(self._stop - self._at, engine.capacity - engine.storage.size)
        if count <= 0:
            return STUCK
        engine.storage.put_many(self._columns, self._at, self._at + count)
        self._at += count
        return DONE if self._at == self._stop else MOVED


class Close(Attempt):
    """Closes the queue once all puts before it are done."""

    what = "close"

    def __init__(self, cause: BaseException | None) -> None:
        super().__init__()
        self._cause = cause

    def act(self, engine: QueueEngine) -> str:
        if engine.closed:
            return self.fail(CancelledError, f"{engine.name} is closed already")
        engine.closed, engine.cause = True, self._cause
        return DONE


class Take(Attempt):
    """Rows that are taken as they come, until there are enough.

    Attributes:
      parts: What has been taken; one batch once it is finished without an error.
    """

    what = "dequeue"

    def __init__(self, count: int, *, up_to: bool = False) -> None:
        super().__init__()
        self._asked, self._due, self._up_to = count, count, up_to
        self.parts: list[Any] = []

    def act(self, engine: QueueEngine) -> str:
        storage = engine.storage
        if engine.closed and storage.size < self._due:
            self.undo(engine)
            if not self._up_to or storage.size == 0:
                reason = f"has insufficient elements (requested {self._asked}, current size {storage.size})"
                return self.fail(OutOfRangeError, f"{engine.name} is closed and {reason}")
            self._due = storage.size
        count = min(self._due, engine.available())
        if count <= 0 or (count < self._due and engine.waits_for_all()):
            return STUCK
        self.parts.append(storage.take_many(count))
        self._due -= count
        return MOVED if self._due else DONE

    def undo(self, engine: QueueEngine) -> None:
        engine.storage.put_back(self.parts)
        self.parts, self._due = [], self._asked


class QueueEngine:
    """Serves puts and takes over a storage. Safe for any number of threads.

    Attributes:
      name: What messages call the queue, such as "FIFOQueue 'pairs'".
      storage: Where the rows are. Guarded by `lock`, as all below.
      capacity: No put acts while this many rows are here. [rows]
      minimum: While the queue is open, a take leaves this many rows. [rows]
      whole: Whether a take of many rows waits until all are here, or the queue is full, before it takes the first one:
        what comes later may have to leave sooner.
      closed: Whether puts are refused, and takes that ask for more than there is.
      cause: The error that closed the queue; the `__cause__` of what callers see.
      lock: Guards everything.
    """

    def __init__(self, name: str, storage: Storage, capacity: int, minimum: int = 0, *, whole: bool = False) -> None:
        self.name, self.storage = name, storage
        self.capacity, self.minimum, self.whole = capacity, minimum, whole
        self.closed = False
        self.cause: BaseException | None = None
        self.lock = threading.Lock()
        self._puts: deque[Attempt] = deque()
        self._takes: deque[Attempt] = deque()
        self._forks = _forks

    # The calls.

    def put(self, row: Row, timeout: float | None) -> None:
        """Puts one row in; waits while the queue is full."""
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            storage = self.storage
            if not self._puts and not self.closed and storage.size < self.capacity:
                storage.put(row)
                if self._takes:
                    self._serve()
                return
            attempt = PutOne(row)
            self._join(self._puts, attempt)
        self.end(attempt, timeout)

    def put_many(self, columns: Columns, timeout: float | None) -> None:
        """Puts rows in one after the other; waits while the queue is full. No rows are no work, even when closed."""
        count = len(columns[0])
        if count == 0:
            return
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            storage = self.storage
            if not self._puts and not self.closed and storage.size + count <= self.capacity:
                storage.put_many(columns, 0, count)
                if self._takes:
                    self._serve()
                return
            attempt = PutMany(columns)
            self._join(self._puts, attempt)
        self.end(attempt, timeout)

    def take(self, timeout: float | None) -> Row:
        """Takes one row out; waits until there is one."""
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            storage = self.storage
            if not self._takes and (storage.size if self.closed else storage.size - self.minimum) > 0:
                row = storage.take()
                if self._puts:
                    self._serve()
                return row
            attempt = Take(1)
            self._join(self._takes, attempt)
        self.end(attempt, timeout)
        # Of `self`, not of the local: the first element may have brought another storage during the wait.
        return tuple(column[0] for column in self.storage.join(attempt.parts))

    def take_many(self, count: int, timeout: float | None, *, up_to: bool = False) -> Columns:
        """Takes rows out as they come until there are `count`, or all there will be where `up_to`."""
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            if not self._takes and self.available() >= count:
                part = self.storage.take_many(count)
                if self._puts:
                    self._serve()
                return self.storage.join([part])
            attempt = Take(count, up_to=up_to)
            self._join(self._takes, attempt)
        self.end(attempt, timeout)
        return self.storage.join(attempt.parts)

    def close(self, timeout: float | None, cause: BaseException | None) -> None:
        """Closes once the puts that wait now are done."""
        self.end(self.begin_put(Close(cause)), timeout)

    def close_now(self, cause: BaseException | None) -> None:
        """Closes at once; puts and closes that wait are cancelled. Never waits, and may be repeated."""
        with self.lock:
            if not self.closed:
                self.closed, self.cause = True, cause
            self._cancel(self._puts, "the queue was closed with cancel_pending_enqueues")
            self._serve()

    def cancel_pending(self, reason: str) -> None:
        """Cancels every call that waits now; the queue stays as it is."""
        with self.lock:
            self._cancel(self._puts, reason)
            self._cancel(self._takes, reason)

    def waiting(self) -> tuple[int, int]:
        """Gives how many puts (closes included) and takes wait now."""
        with self.lock:
            return len(self._puts), len(self._takes)

    def available(self) -> int:
        """Gives how many rows may leave now. REQUIRES: the lock is held."""
        return self.storage.size if self.closed else self.storage.size - self.minimum

    def waits_for_all(self) -> bool:
        """Says whether a take of more rows than there are has to wait for them. REQUIRES: the lock is held."""
        return self.whole and not self.closed and self.storage.size < self.capacity

    # The two halves of a call that may wait.

    def begin_put(self, attempt: Attempt) -> Attempt:
        """Lines a put or a close up, and serves whoever can be served."""
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            self._join(self._puts, attempt)
        return attempt

    def begin_take(self, attempt: Take) -> Take:
        """Lines a take up, and serves whoever can be served."""
        if self._forks != _forks:
            self._refuse_fork()
        with self.lock:
            self._join(self._takes, attempt)
        return attempt

    def end(self, attempt: Attempt, timeout: float | None) -> None:
        """Waits until an attempt is finished, and raises its error."""
        try:
            served = attempt.wait(timeout)
        except BaseException:  # An interrupt: what was taken must not be lost.
            self._withdraw(attempt, even_if_finished=True)
            raise
        if not served and self._withdraw(attempt):
            state = "closed" if self.closed else "open"
            reason = (
                f"{attempt.what} on {self.name} was not served within {timeout} s (size {self.storage.size}, {state})"
            )
            raise DeadlineExceededError(None, self.name, reason)
        if attempt.error is not None:
            kind, reason = attempt.error
            raise kind(None, self.name, reason) from self.cause

    # Under the lock.

    def _join(self, attempts: deque[Attempt], attempt: Attempt) -> None:
        attempts.append(attempt)
        if attempts[0] is attempt:
            self._serve()

    def _serve(self) -> None:
        while self._serve_list(self._puts) | self._serve_list(self._takes):
            pass

    def _serve_list(self, attempts: deque[Attempt]) -> bool:
        """Lets the first attempts act until one has to wait; says whether anything has moved."""
        moved = False
        while attempts:
            state = attempts[0].act(self)
            if state is not DONE:
                return moved or state is MOVED
            attempts.popleft().finish()
            moved = True
        return moved

    def _cancel(self, attempts: deque[Attempt], reason: str) -> None:
        while attempts:
            attempt = attempts.popleft()
            attempt.undo(self)
            attempt.fail(CancelledError, f"{attempt.what} on {self.name} was cancelled: {reason}")
            attempt.finish()

    def _withdraw(self, attempt: Attempt, *, even_if_finished: bool = False) -> bool:
        """Takes an attempt out of its list; False where it was finished before."""
        with self.lock:
            if not attempt.finished:
                (self._takes if attempt in self._takes else self._puts).remove(attempt)
            elif not even_if_finished:
                return False
            attempt.undo(self)
            self._serve()
            return True

    def _refuse_fork(self) -> None:
        raise InvalidArgumentError(
            None,
            self.name,
            f"{self.name} was made before this process was forked, and the threads that serve it did not come along: "
            "make one queue in each process",
        )
