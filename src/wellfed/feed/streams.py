"""Elements one after another: what a verb does where its source cannot be asked for an element by number.

Each verb is a generator over the elements of its source, in one thread. Where a plan is addressable again below, the
engine makes those elements ahead, on all threads.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.bucket import buckets
from wellfed.feed.caching import cached
from wellfed.feed.calls import call, failed, judge
from wellfed.feed.combined import EndToEnd, InPattern, Repeated, SideBySide
from wellfed.feed.cursors import Cursor, Input, Point, Stage, Stream
from wellfed.feed.directed import Choices, Directed, Draws
from wellfed.feed.elements import encode_element
from wellfed.feed.generated import Generated
from wellfed.feed.interleave import interleave
from wellfed.feed.jsonable import pack, unpack
from wellfed.feed.map_streams import map_here, map_in_processes
from wellfed.feed.padding import finished
from wellfed.feed.regroup import Regrouped
from wellfed.feed.reservoir import shuffle
from wellfed.feed.specs import spec_of, stack_as
from wellfed.feed.tree import Tree, row_of, rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.feed.account import Account, Part
    from wellfed.feed.context import RunContext
    from wellfed.feed.workers import Pools, Workers

_DIGEST_BYTES = 16  # Of elements that are longer: two of 2^40 different ones agree once in 10^14 runs.
_ENTRY_BYTES = 64  # What a set needs for each. [bytes]


class Below(Protocol):
    """What streams stand on.

    Attributes:
      pools: Where processes wait from one turn of `repeat` to the next.
      replacing: Whether rows that cannot be made are replaced.
    """

    pools: Pools
    replacing: bool

    def elements(self, node: plan.Node, context: RunContext, position: int, part: Part, few: bool) -> Stream:
        """The elements of an addressable node from a position on, counted; `few`: only one or two are wanted."""

    def columns(self, node: plan.Node, context: RunContext, position: int, part: Part) -> Stream:
        """The same as columns of any number of rows; its cursor is the position of the next row."""

    def own(self, workers: Workers) -> None:
        """Stops processes when nobody wants more elements."""

    def lost(self, error: Exception, position: int, context: RunContext) -> None:
        """Counts an element that is left out; raises the error where it is one too many."""

    def files(self, node: plan.Node) -> str:
        """Fingerprints what the rows below a node come from."""


class Streams:
    """Opens the elements of any node of a plan.

    Args:
      node: The plan.
      below: Makes what is addressable in it.
      account: Where each verb's elements and time are counted.
    """

    def __init__(self, node: plan.Node, below: Below, account: Account) -> None:
        self._below, self._account = below, account
        self._numbers = {id(step): number for number, step in enumerate(plan.walk(node))}

    def open(self, node: plan.Node, context: RunContext, cursor: Cursor = None, few: bool = False) -> Stream:
        """The elements of `node` in the epoch of `context`, from a cursor on, counted.

        Raises:
          PlanError: A verb needs rows by number, and a verb before it lost them.
        """
        columns = self._columns(node, context)
        sources = plan.below(node) if columns is None else columns[:1]
        below = [self._numbers[id(source)] for source in sources]
        elements = self._open(node, context, cursor, few) if columns is None else columns[1](cursor)
        return self._account.flow(self._numbers[id(node)], node, below, elements)

    def _open(self, node: plan.Node, context: RunContext, cursor: Cursor, few: bool) -> Stream:
        if plan.is_addressable(node):
            part = self._account.part(self._numbers[id(node)])
            return self._below.elements(node, context, cursor or 0, part, few)
        if isinstance(node, plan.Generator):
            return Generated(node.make, cursor)
        if isinstance(node, plan.Repeat):
            return self._repeat(node, context, cursor)
        if isinstance(node, plan.Many):
            return self._many(node, context, cursor)
        return self._stage(node, context, cursor, few)

    def _stage(self, node: Any, context: RunContext, cursor: Cursor, few: bool) -> Stream:
        number = self._numbers[id(node)]
        make = _MAKERS.get(type(node))
        if isinstance(node, plan.Cache):
            context = context.at(0)  # What is kept must not depend on the epoch that was first.
            make = self._cached
        if isinstance(node, plan.Map) and node.processes:
            make = self._in_processes
        if make is None:
            verb = plan.name_of(node)
            lost = plan.lost_by(node)
            to_do = f'{verb} before batch, or give on_error="replace"' if lost == plan.SKIPPING else f"{verb} before it"
            raise PlanError(verb, f"needs rows by number, which {lost} lost; put {to_do}")
        inside = context.without_errors(node.log_warning) if isinstance(node, plan.IgnoreErrors) else context
        return Stage(
            partial(_made, make, node, context, number),
            lambda below, once: self.open(node.source, inside, below, few or once),
            cursor,
            partial(_lost, self._below, context) if context.ignoring else _raise,
        )

    def _cached(self, node: plan.Cache, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
        del number
        return cached(node, source, context, self._below.files(node.source), replacing=self._below.replacing)

    def _columns(self, over: Any, context: RunContext) -> tuple[plan.Node, Callable[[Cursor], Stream]] | None:
        """Where a node makes batches of rows that come as columns of many: where these come from, and what opens it."""
        if not isinstance(over, plan.Batches | plan.Rebatch):
            return None
        node: plan.Node = over if isinstance(over, plan.Rebatch) else over.source
        while isinstance(node, plan.Prefetch):
            node = node.source
        if isinstance(node, plan.Unbatch) or node is over:
            (batches,) = plan.below(node)
            return batches, partial(Regrouped, over, lambda below: self.open(batches, context, below))
        if not isinstance(node, plan.IgnoreErrors) or not plan.is_addressable(node.source):
            return None
        if plan.has_batches(node.source):
            return None
        inside = context.without_errors(node.log_warning)
        rows, part = node.source, self._account.part(self._numbers[id(node.source)])
        return rows, partial(Regrouped, over, lambda below: self._below.columns(rows, inside, below or 0, part))

    def _draw(self, node: plan.Draws, context: RunContext, cursor: Cursor) -> Stream:
        sources: tuple[plan.Node, ...] = node.sources
        if isinstance(node, plan.SampleFromDatasets):
            number = self._numbers[id(node)]
            left = [which for which, weight in enumerate(node.weights) if weight]
            numbers: Callable[[Cursor], Any] = partial(Draws, node, context, number)
        else:
            choices, *others = node.sources
            sources, left = tuple(others), list(range(len(others)))
            numbers = lambda below: Choices(self.open(choices, context, below), len(sources))  # noqa: E731
        return Directed(
            numbers,
            lambda which, below: self.open(sources[which], context, below),
            left,
            stop_on_empty=node.stop_on_empty_dataset,
            cursor=cursor,
        )

    def _in_processes(self, node: plan.Map, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
        pools = self._below.pools
        workers = pools.take(node.function, node.processes)
        self._below.own(workers)
        return map_in_processes(node, source, context, number, workers, pools=pools)

    def _repeat(self, node: plan.Repeat, context: RunContext, cursor: Cursor) -> Stream:
        epochs = (1 << 30) if node.count is None else node.count
        return Repeated(
            lambda turn, below: self.open(node.source, context.at(context.epoch * epochs + turn), below),
            node.count,
            cursor,
        )

    def _many(self, node: plan.Many, context: RunContext, cursor: Cursor) -> Stream:
        sources = node.sources
        if isinstance(node, plan.Concatenate):
            return EndToEnd(lambda which, below: self.open(sources[which], context, below), len(sources), cursor)
        if isinstance(node, plan.Zip):
            return SideBySide(lambda which, below: self.open(sources[which], context, below), len(sources), cursor)

        if not isinstance(node, plan.Mix):
            return self._draw(node, context, cursor)

        def open_turn(which: int, turn: int, below: Cursor) -> Stream:
            epoch = (context.epoch << 32) + turn if turn else context.epoch
            return self.open(sources[which], context.at(epoch), below)

        return InPattern(open_turn, node, cursor)


def _made(
    make: Callable[..., Iterator[Tree]], node: plan.Node, context: RunContext, number: int, source: Input
) -> Iterator[Tree]:
    return make(node, source, context, number)


def _lost(below: Below, context: RunContext, error: Exception, number: int) -> None:
    below.lost(error, number, context)


def _raise(error: Exception, number: int) -> None:
    del number
    try:
        raise error
    finally:
        del error  # See `attempt`.


def _filter(node: plan.Filter, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    for element, holds in source.tried(lambda element, at: judge("filter", node.predicate, element, at)):
        if holds:
            yield element


def _take_while(node: plan.TakeWhile, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    ended = bool(source.state)  # The source goes on behind the element that ended this.
    source.resumes(lambda: ended)
    if ended:
        return
    for element, holds in source.tried(lambda element, at: judge("take_while", node.predicate, element, at)):
        if not holds:
            ended = True
            return
        yield element


def _unbatch(node: plan.Unbatch, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del node, context, number
    point, given = None, source.state or 0
    source.resumes(lambda: given, lambda: point)
    while True:
        point = source.here()
        try:
            batch = next(source)
        except StopIteration:
            return
        length = rows_in(batch, "unbatch")
        for row in range(given, length):
            given = row + 1
            yield row_of(batch, row)
        given = 0


def _scan(node: plan.Scan, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    state = node.initial_state if source.state is None else unpack(source.state)[0]

    def make(element: Tree, at: int) -> Tree:
        nonlocal state
        made = call("scan", node.function, state, element, number=at)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            what = f"the pair (next state, element) is due, got {type(made).__name__}"
            raise failed("scan", node.function, what, at)
        state, element = made
        return element

    source.resumes(lambda: [pack(state)])
    return (made for _, made in source.tried(make))


def _unique(node: plan.Unique, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    seen: set[bytes] = set()
    held = 0
    for element in source:
        key = encode_element(element, "unique")
        if len(key) > _DIGEST_BYTES:
            key = hashlib.blake2b(key, digest_size=_DIGEST_BYTES).digest()
        if key in seen:
            continue
        held += len(key) + _ENTRY_BYTES
        if held > node.limit_bytes:
            raise PlanError("unique", f"the elements seen take more than {node.limit_bytes} bytes; give limit_bytes")
        seen.add(key)
        yield element


def _window(node: plan.Window, source: Input, context: RunContext, number: int) -> Iterator[list[Tree]]:
    del context, number
    span = (node.size - 1) * node.stride + 1
    held: list[Tree] = []
    starts: deque[Point] = deque()  # Where windows begin whose first element is held.
    skip = source.state or 0
    source.resumes(lambda: skip, lambda: starts[0] if starts else None)
    while True:
        if not skip and source.taken % node.shift == 0:
            starts.append(source.here())
        try:
            element = next(source)
        except StopIteration:
            break
        if skip:
            skip -= 1
            continue
        held.append(element)
        if len(held) == span:
            given, held = held[:: node.stride], held[node.shift :]
            skip = max(node.shift - span, 0)
            starts.popleft()
            yield given
    while held and not node.drop_remainder:
        given, held = held[:: node.stride], held[node.shift :]
        starts.popleft()
        yield given


def _shard(node: plan.Shard, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del number
    if node.even is not None:
        raise PlanError("shard", f"even={node.even!r} needs a length; shard before the verb that loses it, or leave it")
    count = context.world_size if node.num_shards is None else node.num_shards
    index = context.rank if node.index is None else node.index
    source.resumes()
    for element in source:
        if (source.taken - 1) % count == index:
            yield element


def _batch(node: plan.Batches, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    spec = spec_of(node.source)
    while rows := list(itertools.islice(source, node.batch_size)):
        if len(rows) < node.batch_size and node.drop_remainder:
            return
        yield finished(node, stack_as(rows, spec))


def _enumerate(node: plan.Enumerate, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    source.passes()
    return ((np.int64(node.start + source.taken - 1), element) for element in source)


def _same(node: plan.Node, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del node, context, number
    source.resumes()
    source.passes()
    return source


def _take(node: plan.Take, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    return itertools.islice(source, max(node.count - source.taken, 0))


def _skip(node: plan.Skip, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    return itertools.islice(source, max(node.count - source.taken, 0), None)


_MAKERS: dict[type, Callable[[Any, Any, Any, int], Iterator[Any]]] = {
    plan.Filter: _filter,
    plan.TakeWhile: _take_while,
    plan.Map: map_here,
    plan.Interleave: interleave,
    plan.Unbatch: _unbatch,
    plan.Scan: _scan,
    plan.Unique: _unique,
    plan.Window: _window,
    plan.BufferShuffle: shuffle,
    plan.Bucket: buckets,
    plan.Shard: _shard,
    plan.Batch: _batch,
    plan.PaddedBatch: _batch,
    plan.RaggedBatch: _batch,
    plan.Enumerate: _enumerate,
    plan.Prefetch: _same,
    plan.IgnoreErrors: _same,
    plan.Take: _take,
    plan.Skip: _skip,
}
