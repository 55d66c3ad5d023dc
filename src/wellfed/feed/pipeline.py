"""A pipeline: a plan joined with its run context and its readers. It makes the unit of any range of positions."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from wellfed.feed import plan
from wellfed.feed.guard import ErrorReport, Guarded
from wellfed.feed.many import Concatenated, Mixed, Operator, Zipped
from wellfed.feed.memory import pool
from wellfed.feed.order import ENDLESS, Order, Positions, order_of
from wellfed.feed.rewrite import rewrite
from wellfed.feed.stages import STAGES, StageContext, seed_of
from wellfed.feed.stats import Meter, since
from wellfed.io import give_up_when

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wellfed.feed.context import RunContext
    from wellfed.feed.readers import Reader
    from wellfed.feed.stats import StageStats
    from wellfed.feed.unit import Unit


@dataclass(frozen=True)
class _Read:
    """A source: positions are rows."""

    reader: Reader
    number: int
    meter: Meter

    def available(self, stop: int) -> int:
        return self.reader.count(stop)

    def make(self, positions: Positions) -> Unit:
        began = perf_counter()
        unit = self.reader.read(positions)
        self.meter.add(len(positions), since(began))
        return replace(unit, source=self.number) if self.number else unit


@dataclass(frozen=True)
class _Through:
    """A verb over one source: positions go down through its order, the unit comes up through its stage."""

    node: plan.Single
    source: Operator
    order: Order
    context: StageContext
    meter: Meter

    def available(self, stop: int) -> int:
        return self.order.available(stop)

    def make(self, positions: Positions) -> Unit:
        began = perf_counter()
        below = self.order.resolve(positions)
        resolved = perf_counter()
        unit = self.source.make(below)
        made = perf_counter()
        unit = STAGES[type(self.node)](self.node, unit, positions, self.context)
        self.meter.add(len(positions), resolved - began + since(made))
        return unit


class Pipeline:
    """Elements of a plan in one epoch of one rank. Any thread may make any unit: nothing is kept between two."""

    def __init__(
        self,
        node: plan.Node,
        readers: Mapping[plan.Source, Reader],
        context: RunContext,
        report: ErrorReport | None = None,
    ) -> None:
        self._context, self._report = context, report
        self._meters: list[Meter] = []
        self._readers: list[Reader] = []  # In the order of the plan's sources.
        self._of_source = readers
        self._depth = 0
        self._cancelled = False
        node = rewrite(node)
        top = self._operator(node)
        self._top = self._guarded(top) if not self._batches(node) else top

    def _guarded(self, operator: Operator) -> Operator:
        """The operator with rows that cannot be made replaced, where that is wanted."""
        if self._report is None:
            return operator
        return Guarded(operator, seed_of(self._depth, self._context.seed), self._report)

    @staticmethod
    def _batches(node: plan.Node) -> bool:
        return any(isinstance(step, (plan.Batch, plan.PaddedBatch)) for step in plan.walk(node))

    def _operator(self, node: plan.Node) -> Operator:
        below = [self._operator(source) for source in plan.below(node)]
        if isinstance(node, (plan.Batch, plan.PaddedBatch)) and not self._batches(node.source):
            below = [self._guarded(below[0])]
        depth = self._depth
        self._depth += 1
        match node:
            case plan.Concatenate():
                return Concatenated(below)
            case plan.Mix():
                return Mixed(below, node)
            case plan.Zip():
                return Zipped(below)
            case plan.Records() | plan.Arrays() | plan.Range() | plan.Generator():
                self._readers.append(self._of_source[node])
                return _Read(self._readers[-1], len(self._readers) - 1, self._meter("read", node))
        if isinstance(node, plan.Sequential):
            raise TypeError(f"{type(node).__name__} has no positions: it is run as a stream")
        order = order_of(node, below[0], depth, self._context)
        stage = StageContext(order, seed_of(depth, self._context.seed), self.locate, lambda: self._cancelled, pool())
        return _Through(node, below[0], order, stage, self._meter("", node))

    def _meter(self, name: str, node: plan.Node) -> Meter:
        function = getattr(node, "function", None)
        called = getattr(function, "__qualname__", type(function).__name__)
        verb = name or type(node).__name__.lower()
        self._meters.append(Meter(f"{verb}({called})" if function is not None else verb))
        return self._meters[-1]

    def stages(self) -> tuple[StageStats, ...]:
        """What each step took so far, in the order in which rows meet them."""
        return tuple(meter.stats() for meter in self._meters)

    @property
    def _is_over(self) -> Callable[[], bool]:
        """Whether nobody waits for this pipeline, for requests that may outlive it: they do not keep it alive."""
        itself = weakref.ref(self)
        return lambda: (pipeline := itself()) is None or pipeline._cancelled

    def cancel(self) -> None:
        """Gives up units that are being made, at the next call of a user's function."""
        self._cancelled = True

    def locate(self, source: int, row: int) -> str:
        """Where a row came from, for errors."""
        return self._readers[source].locate(row)

    def available(self, stop: int) -> int:
        """How many of the elements below `stop` exist."""
        with give_up_when(self._is_over):
            return self._top.available(stop)

    def length(self) -> int | None:
        """How many elements there are; None where they never end. Indexes files that are not indexed yet."""
        length = self._top.available(ENDLESS)
        return None if length >= ENDLESS else length

    def settle(self) -> None:
        """Keeps what was learnt on the way and helps the next time."""
        for reader in self._readers:
            reader.settle()

    def work(self, start: int, stop: int) -> Unit:
        """Makes the unit of positions [start, stop)."""
        with give_up_when(self._is_over):
            return self._top.make(Positions(range(start, stop), self._context.epoch))
