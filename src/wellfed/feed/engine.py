"""The engine: threads that make units ahead of the one who takes them, and give them out in order.

    claim     a thread takes the next range of positions         one at a time, in order
    work      it makes the unit                                  side by side, without the GIL where work is native
    take      the consumer gets the units                        in the order of claims, or as they are made

Only so many units are claimed and not yet taken: a thread needs a token to claim one, and taking one gives a token
back, or two, or none (`wellfed.feed.tuning`). A consumer that waits for long says what all threads do
(`wellfed.feed.watch`).

The engine owns its threads: `close` ends and joins them, and it is called when the iterator that holds the engine dies,
at the latest when the interpreter exits. That can happen inside any allocation of any thread, so nothing here that
`close` needs is guarded by a lock: `queue.SimpleQueue.put` may interrupt itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from wellfed.errors import WellfedError
from wellfed.feed.account import Gauge
from wellfed.feed.calls import Cancelled, attempt
from wellfed.feed.unit import Unit
from wellfed.feed.watch import Activity, warn

if TYPE_CHECKING:
    from wellfed.feed.tuning import Pace

Work = Callable[[int, int], Unit]
Available = Callable[[int, int], int]


@dataclass
class UnitSize:
    """How many elements make a unit: about `target_bytes` of output and at most `target_seconds` of work.

    The first unit is one element, so that something comes soon; a measured unit then leads to the next size. The
    size never changes what comes out.

    Attributes:
      target_bytes: [bytes]
      target_seconds: [s]
      elements: The size now.
    """

    target_bytes: int = 2 << 20
    target_seconds: float = 0.05
    elements: int = 1
    growth: int = field(default=16, repr=False)

    def learn(self, elements: int, nbytes: int, seconds: float) -> None:
        """Takes what a unit of `elements` cost into account."""
        by_bytes = self.target_bytes * elements // max(nbytes, 1)
        by_time = int(self.target_seconds * elements / max(seconds, 1e-9))
        self.elements = max(1, min(by_bytes, by_time, self.elements * self.growth))


@dataclass
class _Result:
    """What came of one claim: units in order, and the error that ends them."""

    number: int
    units: list[Unit] = field(default_factory=list)
    nbytes: int = 0
    error: BaseException | None = None


def _nothing() -> None:
    pass


def _no_work(start: int, stop: int) -> Unit:
    raise Cancelled(f"the engine is closed: [{start}, {stop})")


def _none_available(start: int, stop: int) -> int:
    del start, stop
    return 0


class _FeedThread(threading.Thread):
    """A thread of an engine, so that others are told from it."""


def in_feed_thread() -> bool:
    """Whether a thread of an engine asks."""
    return isinstance(threading.current_thread(), _FeedThread)


class Engine:
    """Makes units of `work` over positions from `start` on.

    Args:
      work: Makes the unit of positions [start, stop). Called from several threads at a time.
      available: Takes where a unit begins and where it should end; gives how many positions below that end exist.
        Called by one thread at a time.
      start: The first position.
      done: Ranges [start, stop) of later positions that are left out: in order, apart from each other.
      in_order: Whether units are taken in the order of their positions; else in the order in which they are made.
      threads: How many threads; at least 1.
      pace: How many units may be claimed and not taken, and when the number of threads changes.
      size: How units are sized.
      stall_seconds: Log who waits for whom once the consumer has waited for so long. [s] None: never.
      at_end: Called once, by the thread that finds nothing left to claim.
      at_close: Called by `close`, before it waits for the threads.
      gauge: Told what the threads and the consumer wait for.

    Attributes:
      threads: Those started so far; the same list always.

    Thread-safety: `take` belongs to one consumer; `close` may be called from anywhere, more than once.
    """

    def __init__(
        self,
        work: Work,
        available: Available,
        start: int,
        *,
        done: Iterable[tuple[int, int]] = (),
        in_order: bool = True,
        threads: int,
        pace: Pace,
        size: UnitSize,
        stall_seconds: float | None = None,
        at_end: Callable[[], None] = _nothing,
        at_close: Callable[[], None] = _nothing,
        gauge: Gauge | None = None,
    ) -> None:
        self._work, self._available, self._size, self._pace = work, available, size, pace
        self._stall_seconds = stall_seconds
        self._patience: float | None = None
        self._was_full = False  # Whether a thread lacked room since the consumer last waited.
        self._doing: dict[threading.Thread, Activity] = {}
        self._at_end, self._at_close = at_end, at_close
        self.stopped = False
        self._waited = 0.0
        self._gauge = Gauge() if gauge is None else gauge
        self._gauge.threads, self._gauge.window = threads, pace.ahead.units
        self._in_order = in_order
        self._claim_lock = threading.Lock()  # Guards the four below.
        self._position, self._claimed, self._ended = start, 0, False
        self._done = deque(done)
        self._room: SimpleQueue[bool] = SimpleQueue()  # False: end.
        self._made: SimpleQueue[_Result | None] = SimpleQueue()  # None: look again whether anything is still due.
        self._ready: dict[int, _Result] = {}
        self._taken = 0
        for _ in range(pace.ahead.units):
            self._room.put(True)
        self.threads: list[threading.Thread] = []
        self._first_threads = threads  # To start with the first `take`: whoever made the engine can close it by then.

    def _add_thread(self) -> None:
        name = f"wellfed-feed-{len(self.threads)}"
        thread = _FeedThread(target=self._run, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()
        if self.stopped:  # Meanwhile, by someone who did not know of it.
            self._room.put(False)

    def take(self) -> list[Unit] | None:
        """The next units; None after the last.

        Raises:
          Exception: Whatever the work raised: in order, once all units before it are taken; else once it is met.
        """
        while self._first_threads and not self.stopped:
            self._first_threads -= 1
            self._add_thread()
        result = self._next_result()
        if result is None:
            return None
        if result.error is None:
            self._advance(result.nbytes)
            return result.units
        if result.units:  # The error stays for the next call.
            units, result.units = result.units, []
            return units
        self.close()
        error, result.error = result.error, None
        try:
            raise error
        finally:
            del error  # See `attempt`.

    def _next_result(self) -> _Result | None:
        self._waited = 0.0
        self._gauge.found(len(self._ready) + self._made.qsize())
        if self._taken not in self._ready:
            began = perf_counter()
            while self._taken not in self._ready:
                if self.stopped or (self._ended and self._taken >= self._claimed):
                    return None
                result = self._next_made(began)
                if result is not None:
                    self._ready[result.number if self._in_order else self._taken] = result
            self._waited = perf_counter() - began
            self._gauge.waited(began)
        return self._ready[self._taken]

    def _next_made(self, began: float) -> _Result | None:
        """What is put into `_made` next; logs after each doubling of a long wait who waits for whom."""
        if self._stall_seconds is None:
            return self._made.get()
        patience = self._stall_seconds
        while True:
            try:
                return self._made.get(timeout=max(patience - (perf_counter() - began), 0.0))
            except Empty:
                doing = dict(self._doing)
                warn(perf_counter() - began, self._due(doing), doing)
                patience *= 2

    def _due(self, doing: dict[threading.Thread, Activity]) -> int:
        """The number of the unit that is waited for: in any order, the oldest one."""
        made = [activity.unit for activity in doing.values() if activity.unit >= 0]
        return self._taken if self._in_order else min(made, default=self._taken)

    def _advance(self, nbytes: int) -> None:
        del self._ready[self._taken]
        self._taken += 1
        tokens, change = self._pace.after_take(nbytes, self._waited, was_full=self._was_full)
        if self._waited:
            self._was_full = False
        for _ in range(tokens):
            self._room.put(True)
        self._gauge.window, self._gauge.threads = self._pace.ahead.units, self._gauge.threads + change
        for _ in range(change):
            self._add_thread()
        for _ in range(-change):
            self._room.put(False)  # One thread ends.

    def collected(self) -> None:
        """Closes, where the iterator that held the engine was collected: in any thread, in the midst of anything.

        A thread of a feed does not wait there: those that it would wait for may need the unit that it is making, as an
        engine over another one does. They end by themselves.
        """
        if in_feed_thread():
            self.stop()
            self._ready.clear()
        else:
            self.close()

    def stop(self) -> None:
        """Tells the threads to end, and whoever waits in `take`."""
        self.stopped = True
        self._at_close()
        for _ in list(self.threads):
            self._room.put(False)
        self._made.put(None)

    def hurry(self, patience: float) -> None:
        """From now on `close` waits for so long at most: a thread in a call of a user's function ends after it. [s]."""
        self._patience = patience

    def close(self) -> None:
        """Ends the threads and waits for them; units not taken are dropped."""
        self.stop()
        if threading.current_thread() in self.threads:  # Collected there: the others end by themselves.
            return
        deadline = None if self._patience is None else monotonic() + self._patience
        for thread in [thread for thread in self.threads if thread.ident]:  # Ctrl-C may come before one is started.
            thread.join(None if deadline is None else max(deadline - monotonic(), 0))
        self._ready.clear()
        self._drop_made()
        # What the work holds ends now, not when the engine is collected: a stream has engines of its own below.
        self._work, self._available, self._at_close = _no_work, _none_available, _nothing

    def _drop_made(self) -> None:
        """Drops what nobody takes any more: an error among it holds the frames of its thread, and they the engine."""
        with suppress(Empty):
            while True:
                self._made.get_nowait()
        self._made.put(None)  # For whoever waits in `take`.

    def _run(self) -> None:
        thread = threading.current_thread()
        self._doing[thread] = Activity(-1, "waits for room", monotonic())
        while self._gauge.wait_for_room(self._enter) and not self.stopped:
            self._doing[thread] = Activity(-1, "looks for the next elements, or waits for one that does", monotonic())
            claim = self._gauge.wait_for_input(self._claim)
            if claim is None:
                break
            result, start, stop = claim
            self._doing[thread] = Activity(result.number, f"makes elements {start} to {stop - 1}", monotonic())
            began = perf_counter()
            self._make(start, stop, result)
            self._gauge.made(began, stop - start)
            self._made.put(result)
            del claim, result  # See `attempt`.
            self._doing[thread] = Activity(-1, "waits for room", monotonic())
        del self._doing[thread]
        if self.stopped:
            self._drop_made()

    def _enter(self) -> bool:
        """Waits for room for a unit; False where the thread has to end."""
        if self._room.empty():
            self._was_full = True
        return self._room.get()

    def _claim(self) -> tuple[_Result, int, int] | None:
        """The next range of positions; None where nothing is left to do."""
        with self._claim_lock:
            if self._ended:
                return None
            if self._done and self._position == self._done[0][0]:
                self._position = self._done.popleft()[1]
            start = self._position
            result, found = _Result(self._claimed), attempt(self._find_stop, start)
            if isinstance(found, Exception):
                result.error = found
                self._claimed += 1
                self._end(result)
                del found, result  # See `attempt`.
                return None
            if found > start:
                self._claimed += 1
                self._position = found
                return result, start, found
            self._end(None)
        self._at_end()
        return None

    def _end(self, last: _Result | None) -> None:
        self._ended = True
        self._made.put(last)
        for _ in list(self.threads):
            self._room.put(False)

    def _find_stop(self, start: int) -> int:
        """Where the next unit ends: before what is done, and before damage that the walk to its end would meet."""
        elements = self._size.elements
        if self._done:
            elements = min(elements, self._done[0][0] - start)
        while True:
            try:
                return self._available(start, start + elements)
            except WellfedError:
                if elements == 1:
                    raise
                elements //= 2

    def _make(self, start: int, stop: int, result: _Result) -> None:
        """Makes [start, stop); where that fails, all elements before the one at fault, then its error."""
        began = perf_counter()
        unit = attempt(self._work, start, stop)
        if isinstance(unit, Unit):
            nbytes, unit.start = unit.nbytes(), start
            self._size.learn(stop - start, nbytes, perf_counter() - began)
            result.nbytes += nbytes
            result.units.append(unit)
        elif isinstance(unit, Cancelled) or stop - start == 1:
            result.error = unit
        else:
            middle = (start + stop) // 2
            self._make(start, middle, result)
            if result.error is None:
                self._make(middle, stop, result)
        del unit, result  # See `attempt`.
