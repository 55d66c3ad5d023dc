"""From a plan to elements: an engine over each addressable part, a stream over whatever is not.

Nothing here refers to the iterator that asked, so that the threads do not keep it alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed.feed import plan
from wellfed.feed.engine import Engine, UnitSize
from wellfed.feed.guard import ErrorReport
from wellfed.feed.pipeline import Pipeline
from wellfed.feed.streams import Streams, StreamWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wellfed.feed.account import Account, Part
    from wellfed.feed.context import RunContext
    from wellfed.feed.options import FeedOptions
    from wellfed.feed.readers import Reader
    from wellfed.feed.tree import Tree

_STREAM_WINDOW = 4  # Units that a stream may be ahead; one thread makes them.


class Runner:
    """Runs plans over the readers of one data set.

    Attributes:
      report: The rows that were replaced.
    """

    def __init__(self, readers: Mapping[plan.Source, Reader], options: FeedOptions, account: Account) -> None:
        self._readers, self._options, self._account = readers, options, account
        self.report = ErrorReport(options.max_errors)

    def start(self, node: plan.Node, context: RunContext, position: int) -> Engine:
        """An engine that makes the elements of `node` from `position` on."""
        if plan.is_addressable(node):
            return self._addressable(node, context, position, self._account.part(0))
        elements = Streams(node, self._elements, self._account).open(node, context)
        work = StreamWork(elements, position)
        size = UnitSize(self._options.unit_bytes(_STREAM_WINDOW))
        gauge = self._account.stream().gauge
        return Engine(work.work, work.available, position, threads=1, window=_STREAM_WINDOW, size=size, gauge=gauge)

    def _addressable(self, node: plan.Node, context: RunContext, position: int, part: Part) -> Engine:
        report = self.report if self._options.on_error == "replace" else None
        pipeline = Pipeline(node, self._readers, context, report, part)
        threads = self._options.thread_count()
        window = 2 * threads
        return Engine(
            pipeline.work,
            pipeline.available,
            position,
            threads=threads,
            window=window,
            size=UnitSize(self._options.unit_bytes(window)),
            at_end=pipeline.settle,
            at_close=pipeline.cancel,
            gauge=part.gauge,
        )

    def _elements(self, node: plan.Node, context: RunContext, part: Part) -> Iterator[Tree]:
        engine = self._addressable(node, context, 0, part)
        try:
            yield from elements_of(engine)
        finally:
            engine.close()


def elements_of(engine: Engine) -> Iterator[Tree]:
    """The elements of an engine's units, in order."""
    while (units := engine.take()) is not None:
        while units:
            yield from units.pop(0)
