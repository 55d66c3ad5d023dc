"""From a plan to elements: an engine over each addressable part, a stream over whatever is not.

Nothing here refers to the iterator that asked, so that the threads do not keep it alive.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from functools import partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING

from wellfed.feed import plan
from wellfed.feed.calls import Cancelled
from wellfed.feed.engine import Engine, UnitSize, in_feed_thread
from wellfed.feed.guard import ErrorReport, LeavingOut, skipped_row, stretches, told
from wellfed.feed.parts import Parts, last_batch
from wellfed.feed.pipeline import Pipeline
from wellfed.feed.stream_work import StreamWork
from wellfed.feed.streams import Streams
from wellfed.feed.tree import Tree
from wellfed.feed.tuning import Pace, ReadAhead, ThreadCount
from wellfed.feed.workers import Pools
from wellfed.io.usable import usable_cores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellfed.feed.account import Account, Part
    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Cursor, Stream
    from wellfed.feed.delivered import Delivered
    from wellfed.feed.options import FeedOptions
    from wellfed.feed.readers import Reader
    from wellfed.feed.unit import Unit
    from wellfed.feed.workers import Workers

_STREAM_WINDOW = 4  # Units that a stream may be ahead; one thread makes them.
MOST_THREADS = 16  # As far as AUTOTUNE goes on small machines, for slow disks and URLs.
_CURSOR_EVERY = 16  # Elements between two places that a stream goes on at; batches are all such places.


class Runner:
    """Runs one epoch of a plan over the readers of one data set.

    Attributes:
      report: The rows that were replaced or left out, as far as a stream, or else the consumer, has come.
      pools: Where a stream's processes wait for its next turn.
      replacing: Whether rows that cannot be made are replaced.
      parts: What puts batches together whose parts the engine makes; None where it makes whole ones.
    """

    def __init__(
        self,
        readers: Mapping[plan.Source, Reader],
        options: FeedOptions,
        account: Account,
        pools: Pools | None = None,
    ) -> None:
        self._lent = pools
        self.pools = Pools()  # For streams, whose processes end with the run: `_Runs` stops them.
        self._readers, self._options, self._account = readers, options, account
        self.replacing = options.on_error == "replace"
        self.report = ErrorReport(options.max_errors)
        self.parts: Parts | None = None
        self._runs = _Runs()
        self._stream: StreamWork | None = None

    def start(
        self,
        node: plan.Node,
        context: RunContext,
        position: int,
        cursor: Cursor = None,
        done: Sequence[tuple[int, int]] = (),
    ) -> Engine:
        """An engine that makes the elements of `node` from `position` on, without those that are `done`.

        `cursor` is where its stream stood there.
        """
        if plan.is_addressable(node):
            return self._addressable(node, context, position, self._account.part(0), done=done, on_top=True)
        begin, below = cursor or (0, None)
        elements = Streams(node, weakref.proxy(self), self._account).open(node, context, below)
        every = 1 if plan.makes_batches(node) else _CURSOR_EVERY
        work = self._stream = StreamWork(
            elements,
            position,
            skip=position - begin,
            cursor=below,
            window=_STREAM_WINDOW,
            every=every,
            errors=self.report.count,
        )
        size = UnitSize(self._options.unit_bytes(_STREAM_WINDOW))
        return Engine(
            work.work,
            work.available,
            position,
            threads=1,
            pace=Pace(ReadAhead(_STREAM_WINDOW, _STREAM_WINDOW, self._options.ram_budget)),
            size=size,
            stall_seconds=self._options.stall_seconds or None,
            at_close=partial(_stop, self._runs, work),
            gauge=self._account.stream().gauge,
        )

    def cursor_at(self, position: int) -> Cursor:
        """Where the stream stands at a position that was just delivered; None where there is no stream."""
        return None if self._stream is None else self._stream.cursor_at(position)

    def errors_at(self, position: int) -> int:
        """How many of the report's rows came before a position that was just delivered."""
        return self.report.count() if self._stream is None else self._stream.errors_at(position)

    def _addressable(
        self,
        node: plan.Node,
        context: RunContext,
        position: int,
        part: Part,
        *,
        few: bool = False,
        done: Sequence[tuple[int, int]] = (),
        on_top: bool = False,
    ) -> Engine:
        replacing = self.replacing and not context.ignoring
        pipeline = Pipeline(node, self._readers, context, part, replacing=replacing, pools=self._lent)
        threads = 1 if few else max(self._options.thread_count(), plan.most_processes(node))
        work, available = pipeline.work, pipeline.available
        window = threads if few else 2 * threads
        size = UnitSize(self._options.unit_bytes(window), growth=1 if few else 16)
        batch = last_batch(pipeline) if on_top and not context.ignoring else None
        if context.ignoring:
            work = LeavingOut(pipeline, context.epoch).work
        elif batch is not None:
            parts = self.parts = Parts(pipeline, batch)
            work, available, position = parts.work, parts.available, position * parts.size
            done = [(start * parts.size, stop * parts.size) for start, stop in done]
            size = parts.unit_size(size.target_bytes, threads)
            window *= 2
        return Engine(
            work,
            available,
            position,
            done=done,
            in_order=not on_top or self._options.keeps_order(node),
            threads=threads,
            pace=self._pace(threads, window, few=few),
            size=size,
            stall_seconds=self._options.stall_seconds or None,
            at_end=pipeline.settle,
            at_close=pipeline.cancel,
            gauge=part.gauge,
        )

    def _pace(self, threads: int, window: int, *, few: bool) -> Pace:
        count = None
        if self._options.threads is None and not few:
            count = ThreadCount(threads, max(4 * threads, MOST_THREADS))
        ahead = ReadAhead(window, window if few else 4 * window, self._options.ram_budget)
        return Pace(ahead, count, usable_cores())

    def elements(self, node: plan.Node, context: RunContext, position: int, part: Part, few: bool) -> Stream:
        """See `Below`."""
        engine = self._addressable(node, context, position, part, few=few)
        return self._owned(engine, _Run(engine, position, _each(self._told(engine, position, context), self.report)))

    def columns(self, node: plan.Node, context: RunContext, position: int, part: Part) -> Stream:
        """See `Below`."""
        engine = self._addressable(node, context, position, part)
        return self._owned(engine, _Run(engine, position, _chunks(self._told(engine, position, context))))

    def _owned(self, engine: Engine, run: _Run) -> _Run:
        self._runs.add(run, engine.threads)
        return run

    def own(self, workers: Workers) -> None:
        """See `Below`."""
        self._runs.add(workers)

    def _told(self, engine: Engine, position: int, context: RunContext) -> Iterator[tuple[int, Unit]]:
        return stretches(_units(engine), position, partial(self.report.add, warning=context.warning))

    def lost(self, error: Exception, position: int, context: RunContext) -> None:
        """See `Below`."""
        self.report.add(skipped_row(error, position, context.epoch), error, context.warning)

    def hurry(self, patience: float) -> None:
        """Lets all that waits for threads below a stream wait for so long at most. [s]."""
        self._runs.hurry(patience)

    def release(self) -> None:
        """Drops the stream, and waits for the threads below it. REQUIRES: its engine is closed."""
        if self._stream is not None:
            self._stream.close()
        self._runs.join()

    def files(self, node: plan.Node) -> str:
        """See `Below`."""
        sources = [step for step in plan.walk(node) if isinstance(step, plan.Source)]
        return "+".join(self._readers[source].fingerprint() for source in sources)


def _each(units: Iterator[tuple[int, Unit]], report: ErrorReport) -> Iterator[tuple[int, Tree]]:
    """Elements, each with the position behind it."""
    for position, unit in units:
        yield from enumerate(told(unit, report), position + 1)


def _chunks(units: Iterator[tuple[int, Unit]]) -> Iterator[tuple[int, Tree]]:
    """Columns, each with the position behind it. REQUIRES: no batch was made yet."""
    for position, unit in units:
        if len(unit):
            yield position + len(unit), unit.as_columns()


class _Run(Iterator[Tree]):
    """The elements of an addressable node as a stream; its engine ends with it."""

    def __init__(self, engine: Engine, position: int, pieces: Iterator[tuple[int, Tree]]) -> None:
        self._engine, self._position, self._pieces = engine, position, pieces
        self._ended = False
        weakref.finalize(self, engine.collected)

    def __iter__(self) -> Iterator[Tree]:
        for position, piece in self._pieces:
            self._position = position
            yield piece
        self._end()

    def __next__(self) -> Tree:
        for position, piece in self._pieces:
            self._position = position
            return piece
        self._end()
        raise StopIteration

    def _end(self) -> None:
        if self._engine.stopped and not self._ended:  # Not the end of the elements: nobody wants the rest.
            raise Cancelled
        self._ended = True
        self._engine.close()

    def cursor(self) -> Cursor:
        """See `Stream`: the position of the next element."""
        return self._position

    def stop(self) -> None:
        """Ends a wait for the next element."""
        self._engine.stop()

    def hurry(self, patience: float) -> None:
        """See `Engine.hurry`."""
        self._engine.hurry(patience)


class _Runs:
    """The runs and processes below a stream. Nothing here waits for a lock: whoever stops them may stand anywhere."""

    def __init__(self) -> None:
        self._alive: list[weakref.ref[_Run | Workers]] = []
        self._threads: list[list[threading.Thread]] = []  # Of each run; a thread of a feed that drops one joins none.
        self._stopped = False
        self._patience: float | None = None

    def add(self, run: _Run | Workers, threads: list[threading.Thread] | None = None) -> None:
        self._alive = [other for other in self._alive if other() is not None]
        self._alive.append(weakref.ref(run))
        # Threads start with the first element.
        self._threads = [those for those in self._threads if not those or any(map(threading.Thread.is_alive, those))]
        if threads is not None:
            self._threads.append(threads)
        if self._stopped:
            run.stop()

    def stop(self) -> None:
        """Ends the wait for each run's next element, now and later."""
        self._stopped = True
        for found in list(self._alive):
            if (run := found()) is not None:
                run.stop()

    def hurry(self, patience: float) -> None:
        """See `Engine.hurry`."""
        self._patience = patience
        for found in list(self._alive):
            if isinstance(run := found(), _Run):
                run.hurry(patience)

    def join(self) -> None:
        """Waits for the threads of all runs, which were stopped. A thread of a feed does not wait for others."""
        if in_feed_thread():
            return
        deadline = None if self._patience is None else monotonic() + self._patience
        for thread in [thread for threads in self._threads for thread in threads]:
            thread.join(None if deadline is None else max(deadline - monotonic(), 0))


def _stop(runs: _Runs, work: StreamWork) -> None:
    runs.stop()
    work.forget()


def _units(engine: Engine) -> Iterator[Unit]:
    while (units := engine.take()) is not None:
        while units:
            yield units.pop(0)


def elements_of(
    engine: Engine, parts: Parts | None, delivered: Delivered | None, report: ErrorReport
) -> Iterator[Tree]:
    """The elements of an engine's units; parts of batches put together. `delivered` and `report` are told of each."""
    units = _units(engine) if parts is None else parts.whole(_units(engine))
    each = partial(told, report=report)
    return chain.from_iterable(map(each, units)) if delivered is None else delivered.each(units, each)
