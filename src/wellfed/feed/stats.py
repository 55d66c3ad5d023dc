"""What an iteration did, and where its time went.

consumer   waited for elements     the feed is too slow
did not wait            the feed keeps up; whatever takes the elements is the limit
threads    busy in stages          read (and parse), map, batch, ...
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import perf_counter

from wellfed.io import RemoteStats

WAITED_LITTLE = 0.05  # A consumer that waits for a smaller share of its time is kept fed.


@dataclass(frozen=True, slots=True)
class ReplacedRow:
    """A row that could not be made, and in whose place another one came.

    Attributes:
      position: The element's number in its epoch, before batches.
      epoch: The epoch.
      where: The file and record, where they are known.
      reason: What was wrong.
    """

    position: int
    epoch: int
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageStats:
    """One step of a plan.

    Attributes:
      name: The step, such as "map(decode)".
      rows: Rows that it made.
      seconds: Time that threads spent in it, without the steps below; threads add up. [s]
    """

    name: str
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FeedStats:
    """What an iteration did so far.

    Attributes:
      elements: Elements delivered.
      seconds: Time since the first element was asked for. [s]
      waited_seconds: How much of it the consumer waited for elements that were not ready. [s]
      threads: Threads that make elements; 0 before the first was asked for.
      stages: The steps of the plan, in the order in which rows meet them. Empty for plans without rows by number.
      replaced: Rows that were replaced because of `on_error="replace"`.
      remote: Requests, retries and shards kept on disk, by all iterations over the same data set so far.
    """

    elements: int
    seconds: float
    waited_seconds: float
    threads: int = 0
    stages: tuple[StageStats, ...] = ()
    replaced: tuple[ReplacedRow, ...] = ()
    remote: RemoteStats = field(default_factory=RemoteStats)

    def __str__(self) -> str:
        """One sentence: what limits, and what would help."""
        if not self.seconds:
            return "Nothing was asked for yet."
        waited = self.waited_seconds / self.seconds
        rate = f"{self.elements / self.seconds:,.0f} elements/s; the consumer waited {waited:.0%} of the time"
        if waited < WAITED_LITTLE or not self.stages:
            return f"{rate}: the feed keeps up."
        slowest = max(self.stages, key=lambda stage: stage.seconds)
        share = slowest.seconds / (self.seconds * max(self.threads, 1))
        helps = "more cores, less work in it, or cache() after it"
        return f"{rate}; {slowest.name} used {share:.0%} of {self.threads} threads: {helps} would help."


@dataclass
class Meter:
    """Counts rows and time of one step; many threads add to it."""

    name: str
    rows: int = 0
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, rows: int, seconds: float) -> None:
        """Adds what one unit took."""
        with self._lock:
            self.rows += rows
            self.seconds += seconds

    def stats(self) -> StageStats:
        """The counts so far."""
        with self._lock:
            return StageStats(self.name, self.rows, self.seconds)


def since(began: float) -> float:
    """Seconds since a `perf_counter`."""
    return perf_counter() - began
