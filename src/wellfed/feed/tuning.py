"""AUTOTUNE: how many units may be under way, and how many threads make them, by what was measured.

    read-ahead   one unit more each time the consumer had to wait although threads had lacked room before, as far as the
                 budget of bytes holds them
    threads      a thread for each core; more only while the consumer waits and the cores do not: for slow disks and
                 URLs. Each step up is a trial, and is taken back where it made nothing faster

Nothing here changes what comes out. Plain arithmetic on what was measured; the threads are the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD = 0.5  # How long is measured before the number of threads may change. [s]
_WAITS = 0.3  # A consumer that waits for a larger share of its time is not kept fed.
_IDLE = 0.6  # Cores that are busy for a smaller share of the time have room for more threads.
_FASTER = 1.05  # A step that gains less was none.
_RESTS = 20  # Periods after a step that was taken back before the next trial.


@dataclass
class ReadAhead:
    """How many units may be claimed and not taken.

    Attributes:
      units: The number now.
      most: Never more than this.
      budget: What they may hold together. [bytes]
      unit_bytes: What one holds, on average over the last ones. [bytes]
    """

    units: int
    most: int
    budget: int
    unit_bytes: float = 0.0

    def learn(self, nbytes: int) -> None:
        """Takes the size of a unit into account."""
        self.unit_bytes += (nbytes - self.unit_bytes) / (4 if self.unit_bytes else 1)

    def after_take(self, wanting: bool) -> int:
        """How many units may be claimed because one was taken, and whether more are wanted: 0, 1 or 2."""
        wanted = min(self.units + wanting, self.most)
        if self.unit_bytes:
            wanted = min(wanted, max(int(self.budget / self.unit_bytes), 2))  # One is made while one is taken.
        change = max(wanted - self.units, -1)
        self.units += change
        return 1 + change


@dataclass
class ThreadCount:
    """How many threads make units.

    Attributes:
      threads: The number now.
      most: Never more than this.
    """

    threads: int
    most: int
    _rate: float = 0.0  # Before the step that is on trial. [1/s]
    _step: int = 0  # Threads on trial.
    _rest: int = 0

    def after_period(self, rate: float, waited: float, busy: float) -> int:
        """By how many the number of threads changes.

        Args:
          rate: What was made a second, in any unit.
          waited: Share of the time that the consumer waited.
          busy: Share of the cores' time that this process used.
        """
        if self._step and rate < self._rate * _FASTER:
            change, self._step, self._rest = -self._step, 0, _RESTS
            self.threads += change
            return change
        self._step = 0
        if self._rest:
            self._rest -= 1
            return 0
        if waited < _WAITS or busy > _IDLE or self.threads >= self.most:
            return 0
        self._step, self._rate = min(max(self.threads // 2, 1), self.most - self.threads), rate
        self.threads += self._step
        return self._step


class Pace:
    """What an engine does by default: it measures itself at each unit that is taken.

    Args:
      ahead: How many units may be under way.
      count: How many threads there are; None: as many as it began with.
      cores: How many cores this process may keep busy.
      clock: Seconds that passed, and seconds that this process was busy.
    """

    def __init__(
        self,
        ahead: ReadAhead,
        count: ThreadCount | None = None,
        cores: int = 1,
        clock: Callable[[], tuple[float, float]] = lambda: (perf_counter(), process_time()),
    ) -> None:
        self.ahead, self._count, self._cores, self._clock = ahead, count, cores, clock
        self._began, self._busy = clock()
        self._made, self._waited = 0, 0.0

    def after_take(self, nbytes: int, waited: float, *, was_full: bool) -> tuple[int, int]:
        """(units that may be claimed, change of threads) after a unit was taken.

        Args:
          nbytes: What the unit holds. [bytes]
          waited: How long the consumer waited for it. [s]
          was_full: Whether a thread lacked room since the consumer last waited: only then more room would have helped.
        """
        self.ahead.learn(nbytes)
        self._made += max(nbytes, 1)
        self._waited += waited
        change = self._threads()
        tokens = self.ahead.after_take(waited > 0 and was_full)
        if change > 0:
            self.ahead.units += change
            tokens += change
        return tokens, change

    def _threads(self) -> int:
        if self._count is None:
            return 0
        now, busy = self._clock()
        passed = now - self._began
        if passed < PERIOD:
            return 0
        share = (busy - self._busy) / passed / self._cores
        change = self._count.after_period(self._made / passed, self._waited / passed, share)
        self._began, self._busy, self._made, self._waited = now, busy, 0, 0.0
        return change
