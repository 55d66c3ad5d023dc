"""A pipeline: a plan joined with its run context and its readers. It makes the unit of any range of positions."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from wellfed.feed import plan
from wellfed.feed.account import Part
from wellfed.feed.guard import ROW_ERRORS, Guarded
from wellfed.feed.keeping import Keeping
from wellfed.feed.many import Concatenated, Mixed, Operator, Zipped, as_run
from wellfed.feed.memory import pool
from wellfed.feed.order import ENDLESS, Batched, Order, Positions, Same, Sharded, order_of
from wellfed.feed.rewrite import rewrite
from wellfed.feed.stages import STAGES, StageContext, seed_of
from wellfed.feed.unit import Failure, Unit, moved
from wellfed.feed.workers import Pools, Workers
from wellfed.io import give_up_when

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from wellfed.feed.account import Meter
    from wellfed.feed.context import RunContext
    from wellfed.feed.memory_store import Store
    from wellfed.feed.readers import Reader


@dataclass(frozen=True)
class _Read:
    """A source: positions are rows."""

    reader: Reader
    number: int
    meter: Meter

    def available(self, stop: int) -> int:
        return self.reader.count(stop)

    def make(self, positions: Positions) -> Unit:
        unit = self.meter.run(lambda: self.reader.read(positions))
        return replace(unit, source=self.number) if self.number else unit

    def trace(self, positions: Positions) -> tuple[int, int]:
        return self.number, int(positions.numbers()[0])


@dataclass(frozen=True)
class Anchor:
    """Where elements stand in the order that processes share; their own positions where nothing is shared.

    Seeds of elements come from there, so that ranks differ, and a picture does not change with the world size.

    Attributes:
      order: A verb's order.
      below: The anchor of the verb below, where there is one over one source.
    """

    order: Order
    below: Anchor | None

    def __call__(self, positions: Positions) -> Positions:
        """The positions in that order, of each element or of the first one of each batch."""
        if not self._shared:
            return positions
        if isinstance(self.order, Batched):
            positions = Positions(self.order.first(positions), positions.epoch)
        elif not isinstance(self.order, Same):
            positions = self.order.resolve(positions)
        return positions if self.below is None else self.below(positions)

    @property
    def _shared(self) -> bool:
        return isinstance(self.order, Sharded) or (self.below is not None and self.below._shared)


def _anchor_of(operator: Operator) -> Anchor | None:
    source = operator.source if isinstance(operator, Guarded) else operator
    anchor = source.context.anchor if isinstance(source, Through) else None
    return anchor if isinstance(anchor, Anchor) else None


class _Ending:
    """Whether a pipeline is over; known to what it is made of, which does not know the pipeline."""

    def __init__(self) -> None:
        self.over = False

    def has_come(self) -> bool:
        return self.over


def _locate(readers: list[Reader], source: int, row: int) -> str:
    return readers[source].locate(row)


@dataclass(frozen=True)
class Through:
    """A verb over one source: positions go down through its order, the unit comes up through its stage."""

    node: plan.Single
    source: Operator
    order: Order
    context: StageContext
    meter: Meter

    def available(self, stop: int) -> int:
        """See `Operator`."""
        return self.order.available(stop)

    def make(self, positions: Positions) -> Unit:
        """See `Operator`."""
        began = perf_counter()
        below = self.order.resolve(positions)
        self.meter.took(began)
        unit = self.source.make(below)
        made = self.meter.run(lambda: STAGES[type(self.node)](self.node, unit, positions, self.context), unit)
        if unit.replaced and made is not unit:
            made.replaced = self._carried(unit, made)
        return made

    def _carried(self, unit: Unit, made: Unit) -> tuple[Failure, ...]:
        if not isinstance(self.node, plan.Batches) or made.splits is None:
            return unit.replaced
        return moved(unit.replaced, np.repeat(np.arange(len(made)), np.diff(made.splits)))

    def trace(self, positions: Positions) -> tuple[int, int]:
        """See `Operator`."""
        return self.source.trace(self.order.resolve(positions))


@dataclass(frozen=True)
class Kept(Through):
    """A cache: an element that was kept is taken, one that was not is made from below as epoch 0 and kept.

    Attributes:
      keeping: What is kept.
      first_source: The number of the first source below; what is kept counts them from there.
      lossy: Whether the run goes on without a row that cannot be made.
    """

    keeping: Keeping
    first_source: int
    lossy: bool

    def available(self, stop: int) -> int:
        """See `Operator`."""
        found = self.source.available(stop)
        if found < stop:
            self.keeping.end(found)
        return found

    def make(self, positions: Positions) -> Unit:
        """See `Operator`."""
        if not len(positions):
            return self.source.make(positions)
        began = perf_counter()
        store, rows = self.keeping.store(), positions.numbers().astype(np.int64)
        missing = store.missing(rows)
        self.meter.took(began)
        if len(missing):
            self._keep(store, missing)
        self.meter.reused(len(rows) - len(missing))
        unit = self.meter.run(lambda: store.take(rows))
        told: tuple[Failure, ...] = ()
        if store.replaced:
            numbers = enumerate(rows.tolist())
            told = tuple(replace(each, at=at) for at, row in numbers for each in store.replaced.get(row, ()))
        return replace(unit, source=unit.source + self.first_source, replaced=told)

    def _keep(self, store: Store, rows: NDArray[np.int64]) -> None:
        """Makes rows and keeps them; all that can be made where one cannot, and then raises its error."""
        try:
            unit = self.source.make(Positions(as_run(rows.astype(np.uint64)), 0))
        except ROW_ERRORS:
            if not self.lossy:
                raise
            if len(rows) == 1:
                store.lose(int(rows[0]))
                raise
            unit = None
        if unit is not None:
            began = perf_counter()
            store.put(rows, replace(unit, source=unit.source - self.first_source))
            self.meter.took(began)
            return
        errors: list[Exception] = []
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            try:
                self._keep(store, half)
            except ROW_ERRORS as error:
                errors.append(error)
        try:
            if errors:
                raise errors[0]
        finally:
            errors.clear()  # See `attempt`.

    def trace(self, positions: Positions) -> tuple[int, int]:
        """See `Operator`."""
        return self.source.trace(Positions(positions.at, 0))


class Pipeline:
    """Elements of a plan in one epoch of one rank. Any thread may make any unit: nothing is kept between two.

    Attributes:
      top: The last node at work.
    """

    def __init__(
        self,
        node: plan.Node,
        readers: Mapping[plan.Source, Reader],
        context: RunContext,
        part: Part | None = None,
        *,
        replacing: bool = False,
        pools: Pools | None = None,
    ) -> None:
        self._pools = pools
        self._context, self._replacing, self._part = context, replacing, part or Part()
        self._readers: list[Reader] = []  # In the order of the plan's sources.
        self._of_source = readers
        # Nodes so far; those before the plan at hand: what is below a cache is one of its own.
        self._depth = self._base = 0
        self._workers: list[Workers] = []
        self._ending = _Ending()
        node = rewrite(node)
        top = self._operator(node)
        self.top = self._guarded(top) if not plan.has_batches(node) else top

    def _guarded(self, operator: Operator) -> Operator:
        """The operator with rows that cannot be made replaced, where that is wanted."""
        seed = seed_of(self._depth - self._base, self._context.seed)
        return Guarded(operator, seed) if self._replacing else operator

    def _operator(self, node: plan.Node) -> Operator:
        base, first_source = self._base, len(self._readers)
        if isinstance(node, plan.Cache):
            self._base = self._depth
        below = [self._below(node, source) for source in plan.below(node)]
        self._base = base
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
                return _Read(self._readers[-1], len(self._readers) - 1, self._part.meter(depth, node))
        if isinstance(node, plan.Sequential):
            raise TypeError(f"{type(node).__name__} has no positions: it is run as a stream")
        number = depth - base
        order = order_of(node, below[0], number, self._context)
        stage = StageContext(
            order,
            seed_of(number, self._context.seed),
            partial(_locate, self._readers),  # Nothing here knows the pipeline: else it would not end with its owner.
            self._ending.has_come,
            pool(),
            self._workers_of(node),
            Anchor(order, _anchor_of(below[0])),
        )
        meter = self._part.meter(depth, node)
        if isinstance(node, plan.Cache):
            return Kept(node, below[0], order, stage, meter, *self._keeping(node, first_source))
        return Through(node, below[0], order, stage, meter)

    def _below(self, node: plan.Node, source: plan.Node) -> Operator:
        """What is below a node, guarded where batches are made of it, or where only its neighbours have batches."""
        operator = self._operator(source)
        first = plan.has_batches(node) and not plan.has_batches(source)
        return self._guarded(operator) if first else operator

    def _keeping(self, node: plan.Cache, first_source: int) -> tuple[Keeping, int, bool]:
        sources = self._readers[first_source:]
        replacing = self._replacing and plan.has_batches(node.source)
        keeping = Keeping(
            node, self._context, lambda: "+".join(source.fingerprint() for source in sources), replacing=replacing
        )
        return keeping, first_source, self._context.ignoring or (self._replacing and not replacing)

    def _workers_of(self, node: plan.Node) -> Workers | None:
        if not isinstance(node, plan.Map) or not node.processes:
            return None
        make = Workers if self._pools is None else self._pools.take
        self._workers.append(make(node.function, node.processes))
        return self._workers[-1]

    @property
    def epoch(self) -> int:
        """The epoch that is made."""
        return self._context.epoch

    @property
    def _is_over(self) -> Callable[[], bool]:
        """Whether nobody waits for this pipeline, for requests that may outlive it: they do not keep it alive."""
        itself = weakref.ref(self)
        return lambda: (pipeline := itself()) is None or pipeline._ending.over

    def cancel(self) -> None:
        """Gives up units that are being made, at the next call of a user's function, and ends processes.

        Those that do nothing go back to who lent them.
        """
        self._ending.over = True
        mine, self._workers = self._workers, []  # Given back once: the next epoch may have them by the second time.
        for workers in mine:
            if self._pools is None:
                workers.stop()
            else:
                self._pools.give_back(workers)

    def locate(self, source: int, row: int) -> str:
        """Where a row came from, for errors."""
        return _locate(self._readers, source, row)

    def trace(self, position: int) -> tuple[int, int]:
        """The source and row that the element at a position, or the first row of a batch there, comes from."""
        return self.top.trace(Positions(range(position, position + 1), self._context.epoch))

    def available(self, start: int, stop: int) -> int:
        """How many of the elements below `stop` exist; nothing depends on where a unit would `start`."""
        del start
        with give_up_when(self._is_over):
            return self.top.available(stop)

    def length(self) -> int | None:
        """How many elements there are; None where they never end. Indexes files that are not indexed yet."""
        length = self.top.available(ENDLESS)
        return None if length >= ENDLESS else length

    def settle(self) -> None:
        """Keeps what was learnt on the way and helps the next time."""
        for reader in self._readers:
            reader.settle()

    def work(self, start: int, stop: int) -> Unit:
        """Makes the unit of positions [start, stop)."""
        with give_up_when(self._is_over):
            return self.top.make(Positions(range(start, stop), self._context.epoch))
