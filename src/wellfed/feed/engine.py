"""The engine: threads that make units ahead of the one who takes them, and give them out in order.

    claim     a thread takes the next range of positions         one at a time, in order
    work      it makes the unit                                  side by side, without the GIL where work is native
    take      the consumer gets the units                        in the order of claims

At most `window` units are claimed and not yet taken: a thread needs a token to claim one, and taking one gives a token
back. The engine owns its threads: `close` ends and joins them, and it is called when the iterator that holds the engine
dies, at the latest when the interpreter exits. That can happen inside any allocation of any thread, so nothing here
that `close` needs is guarded by a lock: `queue.SimpleQueue.put` may interrupt itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import perf_counter

from wellfed.errors import WellfedError
from wellfed.feed.stages import Cancelled
from wellfed.feed.unit import Unit

Work = Callable[[int, int], Unit]
Available = Callable[[int], int]


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
    error: BaseException | None = None


def _nothing() -> None:
    pass


def _no_work(start: int, stop: int) -> Unit:
    raise Cancelled(f"the engine is closed: [{start}, {stop})")


def _none_available(stop: int) -> int:
    del stop
    return 0


class Engine:
    """Makes units of `work` over positions from `start` on.

    Args:
      work: Makes the unit of positions [start, stop). Called from several threads at a time.
      available: How many positions below a stop exist. Called by one thread at a time.
      start: The first position.
      threads: How many threads; at least 1.
      window: How many units may be claimed and not taken; at least `threads`.
      size: How units are sized.
      at_end: Called once, by the thread that finds nothing left to claim.
      at_close: Called by `close`, before it waits for the threads.

    Attributes:
      waited_seconds: How long `take` waited for units. [s]

    Thread-safety: `take` belongs to one consumer; `close` may be called from anywhere, more than once.
    """

    def __init__(
        self,
        work: Work,
        available: Available,
        start: int,
        *,
        threads: int,
        window: int,
        size: UnitSize,
        at_end: Callable[[], None] = _nothing,
        at_close: Callable[[], None] = _nothing,
    ) -> None:
        self._work, self._available, self._size = work, available, size
        self._at_end, self._at_close = at_end, at_close
        self.stopped = False
        self.waited_seconds = 0.0
        self._claim_lock = threading.Lock()  # Guards the three below.
        self._position, self._claimed, self._ended = start, 0, False
        self._room: SimpleQueue[bool] = SimpleQueue()  # False: end.
        self._made: SimpleQueue[_Result | None] = SimpleQueue()  # None: look again whether anything is still due.
        self._ready: dict[int, _Result] = {}
        self._taken = 0
        for _ in range(window):
            self._room.put(True)
        self._threads = [
            threading.Thread(target=self._run, name=f"wellfed-feed-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def take(self) -> list[Unit] | None:
        """The next units in order; None after the last.

        Raises:
          Exception: Whatever the work raised, once all units before it are taken.
        """
        result = self._next_result()
        if result is None:
            return None
        if result.error is None:
            self._advance()
            return result.units
        if result.units:  # The error stays for the next call.
            units, result.units = result.units, []
            return units
        self.close()
        raise result.error

    def _next_result(self) -> _Result | None:
        if self._taken not in self._ready:
            began = perf_counter()
            while self._taken not in self._ready:
                if self.stopped or (self._ended and self._taken >= self._claimed):
                    return None
                result = self._made.get()
                if result is not None:
                    self._ready[result.number] = result
            self.waited_seconds += perf_counter() - began
        return self._ready[self._taken]

    def _advance(self) -> None:
        del self._ready[self._taken]
        self._taken += 1
        self._room.put(True)

    def close(self) -> None:
        """Ends the threads and waits for them; units not taken are dropped."""
        self.stopped = True
        self._at_close()
        for _ in self._threads:
            self._room.put(False)
        self._made.put(None)
        if threading.current_thread() in self._threads:  # Collected there: the others end by themselves.
            return
        for thread in self._threads:
            thread.join()
        self._ready.clear()
        # What the work holds ends now, not when the engine is collected: a stream has engines of its own below.
        self._work, self._available, self._at_close = _no_work, _none_available, _nothing

    def _run(self) -> None:
        while self._room.get() and not self.stopped:
            claim = self._claim()
            if claim is None:
                return
            result, start, stop = claim
            self._make(start, stop, result)
            self._made.put(result)

    def _claim(self) -> tuple[_Result, int, int] | None:
        """The next range of positions; None where nothing is left to do."""
        with self._claim_lock:
            if self._ended:
                return None
            start = stop = self._position
            result = _Result(self._claimed)
            try:
                stop = self._find_stop(start)
            except Exception as error:  # noqa: BLE001 -- delivered to the consumer in its turn.
                result.error = error
            if result.error is not None:
                self._claimed += 1
                self._end(result)
                return None
            if stop > start:
                self._claimed += 1
                self._position = stop
                return result, start, stop
            self._end(None)
        self._at_end()
        return None

    def _end(self, last: _Result | None) -> None:
        self._ended = True
        self._made.put(last)
        for _ in self._threads:
            self._room.put(False)

    def _find_stop(self, start: int) -> int:
        """Where the next unit ends: before damage that the walk to its end would meet."""
        elements = self._size.elements
        while True:
            try:
                return self._available(start + elements)
            except WellfedError:
                if elements == 1:
                    raise
                elements //= 2

    def _make(self, start: int, stop: int, result: _Result) -> None:
        """Makes [start, stop); where that fails, all elements before the one at fault, then its error."""
        began = perf_counter()
        try:
            unit = self._work(start, stop)
        except Cancelled as cancelled:
            result.error = cancelled
        except Exception as error:  # noqa: BLE001 -- delivered to the consumer in its turn.
            if stop - start == 1:
                result.error = error
                return
            middle = (start + stop) // 2
            self._make(start, middle, result)
            if result.error is None:
                self._make(middle, stop, result)
        else:
            self._size.learn(stop - start, unit.nbytes(), perf_counter() - began)
            result.units.append(unit)
