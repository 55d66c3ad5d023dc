"""Elements one after another: what a verb does where its source cannot be asked for an element by number.

Each verb is a generator over the elements of its source, in one thread. Where a plan is addressable again below, the
engine makes those elements ahead, on all threads.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.bucket import buckets
from wellfed.feed.calls import call
from wellfed.feed.combined import EndToEnd, InPattern, Repeated, SideBySide
from wellfed.feed.cursors import Cursor, Input, Point, Stage, Stream
from wellfed.feed.generated import Generated
from wellfed.feed.interleave import interleave
from wellfed.feed.jsonable import pack, unpack
from wellfed.feed.mixing import mix
from wellfed.feed.padding import pad
from wellfed.feed.reservoir import shuffle
from wellfed.feed.tree import Tree, dense, leaves, length_of, nbytes_of, row_of, rows_of, stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.feed.context import RunContext

    Addressable = Callable[[plan.Node, RunContext, int, bool], Stream]


class Streams:
    """Opens the elements of any node of a plan.

    Args:
      node: The plan.
      addressable: Gives the elements of an addressable node in a run, from a position on; its last argument is whether
        only an element or two are wanted.
    """

    def __init__(self, node: plan.Node, addressable: Addressable) -> None:
        self._addressable = addressable
        self._numbers = {id(step): number for number, step in enumerate(plan.walk(node))}

    def open(self, node: plan.Node, context: RunContext, cursor: Cursor = None, few: bool = False) -> Stream:
        """The elements of `node` in the epoch of `context`, from a cursor on.

        Raises:
          PlanError: A verb needs rows by number, and a verb before it lost them.
        """
        if plan.is_addressable(node):
            return self._addressable(node, context, cursor or 0, few)
        if isinstance(node, plan.Generator):
            return Generated(node.make, cursor)
        if isinstance(node, plan.Repeat):
            return self._repeat(node, context, cursor)
        if isinstance(node, plan.Many):
            return self._many(node, context, cursor)
        number = self._numbers[id(node)]
        (source,) = plan.below(node)
        make = _MAKERS.get(type(node))
        if make is None:
            verb = type(node).__name__.lower()
            raise PlanError(verb, f"needs rows by number, which {plan.lost_by(node)} lost; put {verb} before it")
        # A cache keeps epoch 0, whichever comes first: what it gives must not depend on what was run before.
        below = context.at(0) if isinstance(node, plan.Cache) else context
        return Stage(
            lambda taken: make(node, taken, context, number),
            lambda place, once: self.open(source, below, place, few or once),
            cursor,
        )

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

        def open_turn(which: int, turn: int, below: Cursor) -> Stream:
            epoch = (context.epoch << 32) + turn if turn else context.epoch
            return self.open(sources[which], context.at(epoch), below)

        return InPattern(open_turn, node, cursor)


def _filter(node: plan.Filter, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    for element in source:
        if call("filter", node.predicate, element, number=source.taken - 1):
            yield element


def _take_while(node: plan.TakeWhile, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    for element in source:
        if not call("take_while", node.predicate, element, number=source.taken - 1):
            return
        yield element


def _map(node: plan.Map, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    source.resumes()
    for element in source:
        at = source.taken - 1
        seed = mix(context.seed, number, context.epoch, at)
        if hasattr(node.function, "apply"):
            columns = node.function.apply(stack([element]), np.array([seed], np.uint64))
            yield row_of(columns, 0)
        elif node.rng:
            yield call("map", node.function, element, np.random.Generator(np.random.Philox(key=seed)), number=at)
        else:
            yield call("map", node.function, element, number=at)


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
        length = length_of(batch)
        for row in range(given, length):
            given = row + 1
            yield row_of(batch, row)
        given = 0


def _scan(node: plan.Scan, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    state = node.initial_state if source.state is None else unpack(source.state)[0]
    source.resumes(lambda: [pack(state)])
    for element in source:
        state, made = call("scan", node.function, state, element, number=source.taken - 1)
        yield made


def _unique(node: plan.Unique, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    seen: set[Any] = set()
    held = 0
    for element in source:
        key = tuple((path, np.asarray(leaf).tobytes(), np.shape(leaf)) for path, leaf in leaves(element))
        if key in seen:
            continue
        held += sum(len(content) + 64 for _, content, _ in key)
        if held > node.limit_bytes:
            raise PlanError("unique", f"the elements seen take more than {node.limit_bytes} bytes; give limit_bytes")
        seen.add(key)
        yield element


def _cache(node: plan.Cache, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    if node.kept:
        yield from itertools.islice(node.kept[0], source.taken, None)
        return
    source.resumes()
    if source.taken:  # What came before was made by another iteration: only a whole one is kept.
        yield from source
        return
    elements: list[Tree] = []
    held = 0
    for element in source:
        held += nbytes_of(stack([element]))
        if held > node.limit_bytes:
            raise PlanError("cache", f"the elements take more than {node.limit_bytes} bytes; give limit_bytes")
        elements.append(element)
        yield element
    node.kept.append(elements)


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


def _batch(node: plan.Batch | plan.PaddedBatch, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    while rows := list(itertools.islice(source, node.batch_size)):
        if len(rows) < node.batch_size and node.drop_remainder:
            return
        columns = stack(rows)
        if isinstance(node, plan.PaddedBatch):
            yield pad(columns, node.padded_shapes, node.padding_values)
        else:
            yield dense(rows_of(columns, 0, len(rows)))


def _enumerate(node: plan.Enumerate, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    source.resumes()
    return ((np.int64(at), element) for at, element in enumerate(source, node.start + source.taken))


def _same(node: plan.Node, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    del node, context, number
    source.resumes()
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
    plan.Map: _map,
    plan.Interleave: interleave,
    plan.Unbatch: _unbatch,
    plan.Scan: _scan,
    plan.Unique: _unique,
    plan.Cache: _cache,
    plan.Window: _window,
    plan.BufferShuffle: shuffle,
    plan.Bucket: buckets,
    plan.Shard: _shard,
    plan.Batch: _batch,
    plan.PaddedBatch: _batch,
    plan.Enumerate: _enumerate,
    plan.Prefetch: _same,
    plan.Take: _take,
    plan.Skip: _skip,
}
