"""A pipeline: a plan joined with its run context and its reader. It makes the unit of any range of positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.feed import plan
from wellfed.feed.order import ENDLESS, Bottom, Order, Positions, order_of
from wellfed.feed.stages import STAGES, StageContext, seed_of

if TYPE_CHECKING:
    from wellfed.feed.context import RunContext
    from wellfed.feed.readers import Reader
    from wellfed.feed.unit import Unit


@dataclass(frozen=True)
class _Step:
    node: plan.Verb
    context: StageContext


class Pipeline:
    """Elements of `node` in one epoch of one rank.

    Positions go down the chain to rows of the source; the rows come up through the stages. Any thread may make any
    unit: nothing is kept between two.
    """

    def __init__(self, node: plan.Node, reader: Reader, context: RunContext) -> None:
        self._reader, self._context = reader, context
        self.cancelled = False
        self._steps: list[_Step] = []
        self._order: Order = Bottom(reader.count)
        for depth, step in enumerate(plan.chain(node)):
            if isinstance(step, plan.Source):
                continue
            self._order = order_of(step, self._order, depth, context)
            stage = StageContext(self._order, seed_of(depth, context.seed), reader.locate, lambda: self.cancelled)
            self._steps.append(_Step(step, stage))

    def available(self, stop: int) -> int:
        """How many of the elements below `stop` exist."""
        return self._order.available(stop)

    def length(self) -> int | None:
        """How many elements there are; None where they never end. Indexes files that are not indexed yet."""
        length = self._order.available(ENDLESS)
        return None if length >= ENDLESS else length

    def settle(self) -> None:
        """Keeps what was learnt on the way and helps the next time."""
        self._reader.settle()

    def work(self, start: int, stop: int) -> Unit:
        """Makes the unit of positions [start, stop)."""
        positions = Positions(range(start, stop), self._context.epoch)
        places = []
        for step in reversed(self._steps):
            places.append(positions)
            positions = step.context.order.resolve(positions)
        unit = self._reader.read(positions)
        for step, place in zip(self._steps, reversed(places), strict=True):
            unit = STAGES[type(step.node)](step.node, unit, place, step.context)
        return unit
