"""Where the time goes, while it goes: meters of steps, gauges of queues, and the account that holds them.

    Account                       one iteration
      Part                        one engine: its threads, and the queue behind them
        Gauge                     how long they waited for input and for room, how full the queue was
        Meter, Meter, ...         its steps

A stream that starts a data set again (`repeat`) makes new engines over the same nodes: they go on with the same part.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, TypeVar

from wellfed.feed import plan
from wellfed.feed.advice import helps, name_of
from wellfed.feed.cursors import pass_over
from wellfed.feed.stats import StageStats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellfed.feed.cursors import Stream
    from wellfed.feed.trace import Trace
    from wellfed.feed.unit import Unit

T = TypeVar("T")

# Where a stream takes the units of threads apart.
_ONE_BY_ONE, _FEWER = "one by one", "batch() before the verb that follows, so that fewer elements are handed over,"


@dataclass
class Meter:
    """Counts rows and time of one step; many threads add to it."""

    name: str
    helps: str
    trace: Trace | None = None
    rows: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    nbytes: int = 0
    kept: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def run(self, work: Callable[[], Unit], before: Unit | None = None) -> Unit:
        """Does what a step does to a unit, and counts it; a unit that comes back as it was has no bytes of its own.

        Work that fails took its time too: its rows may be replaced or left out, and the feed goes on.
        """
        unit: Unit | None = None
        cpu, began = thread_time(), perf_counter()
        try:
            unit = work()
        finally:
            ended, cpu = perf_counter(), thread_time() - cpu
            rows = 0 if unit is None else len(unit)
            nbytes = 0 if unit is None or unit is before else unit.nbytes()
            with self._lock:
                self.rows += rows
                self.seconds += ended - began
                self.cpu_seconds += cpu
                self.nbytes += nbytes
            if self.trace is not None:
                self.trace.span(self.name, began, ended, rows=rows, bytes=nbytes)
        return unit

    def reused(self, rows: int) -> None:
        """Counts rows that a cache had kept."""
        with self._lock:
            self.kept += rows

    def took(self, began: float) -> None:
        """Adds the time since `began`, which brought no rows."""
        ended = perf_counter()
        with self._lock:
            self.seconds += ended - began
            self.cpu_seconds += ended - began
        if self.trace is not None:
            self.trace.span(self.name, began, ended)


class Gauge:
    """What one engine waited for. `work_in_claim`: its claims pull elements, so they are work and no waiting.

    Attributes:
      input_seconds: How long its threads waited for their turn to claim, and for the search for the next rows. [s]
      room_seconds: How long its threads waited because enough units were ready. [s]
      waited_seconds: How long whoever takes its units waited for them. [s]
    """

    def __init__(self, trace: Trace | None = None, *, work_in_claim: bool = False) -> None:
        self._trace, self._work_in_claim = trace, work_in_claim
        self._lock = threading.Lock()
        self.threads, self.window = 0, 1
        self.input_seconds = self.room_seconds = self.waited_seconds = 0.0
        self._fills, self._fill = 0, 0.0

    def wait_for_room(self, get: Callable[[], T]) -> T:
        """Times how long a thread waits for leave to claim another unit."""
        began = perf_counter()
        got = get()
        ended = perf_counter()
        with self._lock:
            self.room_seconds += ended - began
        self._note("wait for room", began, ended)
        return got

    def wait_for_input(self, claim: Callable[[], T]) -> T:
        """Times how long a thread takes to find out what to work on."""
        began = perf_counter()
        got = claim()
        ended = perf_counter()
        if not self._work_in_claim:
            with self._lock:
                self.input_seconds += ended - began
        self._note("pull elements" if self._work_in_claim else "find rows", began, ended)
        return got

    def made(self, began: float, rows: int) -> None:
        """Notes that a unit was made since `began`."""
        if self._trace is not None:
            self._trace.span("unit", began, perf_counter(), rows=rows)

    def found(self, ready: int) -> None:
        """Notes how many units were ready when one was asked for."""
        self._fills += 1  # One consumer, so no lock.
        self._fill += min(ready / self.window, 1.0)
        if self._trace is not None and not self._work_in_claim:
            self._trace.ready(ready)

    def waited(self, began: float) -> None:
        """Notes that a unit was not ready, and came now."""
        ended = perf_counter()
        self.waited_seconds += ended - began
        self._note("wait for a unit", began, ended)

    def queue_fill(self) -> float | None:
        """How full the queue was on average, from 0 to 1; None before anything was taken."""
        return self._fill / self._fills if self._fills else None

    def _note(self, name: str, began: float, ended: float) -> None:
        if self._trace is not None:
            self._trace.span(name, began, ended)


class Part:
    """One engine's steps and its gauge."""

    def __init__(self, trace: Trace | None = None, *, work_in_claim: bool = False) -> None:
        self._trace = trace
        self.gauge = Gauge(trace, work_in_claim=work_in_claim)
        self.meters: dict[int, Meter] = {}

    def meter(self, depth: int, node: plan.Node) -> Meter:
        """The meter of the step at `depth`; made on first use."""
        if depth not in self.meters:
            self.meters[depth] = Meter(name_of(node), helps(node), self._trace)
        return self.meters[depth]

    def stages(self) -> list[StageStats]:
        """The steps. What the threads waited for is told of the first one and of the last one."""
        meters, gauge = [self.meters[depth] for depth in sorted(self.meters)], self.gauge
        return [
            StageStats(
                meter.name,
                meter.rows,
                meter.seconds,
                meter.cpu_seconds,
                meter.nbytes,
                gauge.input_seconds if meter is meters[0] else 0.0,
                gauge.room_seconds if meter is meters[-1] else 0.0,
                gauge.queue_fill() if meter is meters[-1] else None,
                gauge.threads,
                meter.helps,
                meter.kept,
            )
            for meter in meters
        ]


class _Flow:
    """The elements that one verb of a stream gives, timed. `seconds` holds the time of all verbs below it too."""

    def __init__(self, node: plan.Node, below: Sequence[int]) -> None:
        self.below = below
        self.name, self.helps = (name_of(node), helps(node)) if not plan.is_addressable(node) else (_ONE_BY_ONE, _FEWER)
        self.rows, self.seconds = 0, 0.0

    def timed(self, elements: Stream) -> _Timed:
        """The same elements; the time that each takes is added up."""
        return _Timed(self, elements)


class _Timed(Iterator[Any]):
    """A stream whose elements are counted and timed."""

    def __init__(self, flow: _Flow, elements: Stream) -> None:
        self._flow, self._elements = flow, elements

    def __iter__(self) -> Iterator[Any]:
        flow, elements = self._flow, iter(self._elements)
        while True:
            began = perf_counter()
            try:
                element = next(elements)
            except StopIteration:
                return
            finally:
                flow.seconds += perf_counter() - began
            flow.rows += 1
            yield element

    def __next__(self) -> Any:
        began = perf_counter()
        try:
            element = next(self._elements)
        finally:
            self._flow.seconds += perf_counter() - began
        self._flow.rows += 1
        return element

    def pass_over(self, count: int) -> int:
        """See `wellfed.feed.cursors.pass_over`: what is passed over is timed and not counted."""
        began = perf_counter()
        try:
            return pass_over(self._elements, count)
        finally:
            self._flow.seconds += perf_counter() - began

    def cursor(self) -> Any:
        """See `Stream`."""
        return self._elements.cursor()


class Account:
    """What one iteration, or several one after another, took.

    Attributes:
      trace: Where spans are kept; None: nowhere.
    """

    def __init__(self, trace: Trace | None = None) -> None:
        self.trace = trace
        self._lock = threading.Lock()
        self._parts: dict[int, Part] = {}
        self._flows: dict[int, _Flow] = {}
        self._stream: Part | None = None

    def part(self, number: int) -> Part:
        """The part whose last node is the plan's node `number`."""
        with self._lock:
            return self._parts.setdefault(number, Part(self.trace))

    def stream(self) -> Part:
        """The part that pulls the elements of a plan that is not addressable."""
        with self._lock:
            if self._stream is None:
                self._stream = Part(self.trace, work_in_claim=True)
            return self._stream

    def flow(self, number: int, node: plan.Node, below: Sequence[int], elements: Stream) -> Stream:
        """The elements of a stream's verb, node `number` of the plan, counted; `below` are the nodes under it."""
        with self._lock:
            flow = self._flows.setdefault(number, _Flow(node, below))
        return flow.timed(elements)

    def waited_seconds(self) -> float:
        """How long the consumer waited for elements that were not ready. [s]."""
        last = self._stream or self._parts.get(0)
        return last.gauge.waited_seconds if last is not None else 0.0

    def stages(self) -> tuple[StageStats, ...]:
        """All steps, in the order in which rows meet them."""
        with self._lock:
            parts, flows = sorted(self._parts.items()), dict(self._flows)
        stages = [(number, stage) for number, part in parts for stage in part.stages()]
        for number, flow in flows.items():
            stages.append((number, self._stage(number, flow)))
        stages.sort(key=lambda pair: pair[0])  # Stable: a part's own steps stay in order, before the stream over it.
        return tuple(stage for _, stage in stages)

    def _stage(self, number: int, flow: _Flow) -> StageStats:
        # A verb that takes columns has no flow between itself and the threads that make them.
        engines = [number, *(each for each in flow.below if each not in self._flows)]
        waited = sum(self._parts[each].gauge.waited_seconds for each in engines if each in self._parts)
        below = sum(self._flows[each].seconds for each in flow.below if each in self._flows)
        own = max(flow.seconds - below - waited, 0.0)
        last = number == max(self._flows)
        gauge = self._stream.gauge if self._stream is not None else Gauge()
        room, fill = (gauge.room_seconds, gauge.queue_fill()) if last else (0.0, None)
        return StageStats(flow.name, flow.rows, own, 0.0, 0, waited, room, fill, 1, flow.helps)
