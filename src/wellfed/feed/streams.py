"""Elements one after another: what a verb does where its source cannot be asked for an element by number.

Each verb is a generator over the elements of its source, in one thread. Where a plan is addressable again below, the
engine makes those elements ahead, on all threads.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import PlanError, StageError, WellfedError
from wellfed.feed import plan
from wellfed.feed.bucket import buckets
from wellfed.feed.mixing import mix
from wellfed.feed.padding import pad
from wellfed.feed.tree import Tree, dense, leaves, length_of, nbytes_of, row_of, rows_of, stack
from wellfed.feed.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.feed.account import Account, Part
    from wellfed.feed.context import RunContext


def call(verb: str, function: Callable[..., Any], *arguments: Any, number: int = -1) -> Any:
    """Calls a user's function; what it raises arrives as a StageError that names it.

    Raises:
      StageError: The function raised; `row` is the number of the element in what the verb takes.
    """
    try:
        return function(*arguments)
    except WellfedError:
        raise
    except Exception as error:
        code = getattr(function, "__code__", None)
        where = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
        name = getattr(function, "__qualname__", type(function).__name__)
        raise StageError(f"{verb}({name}{where})", number, "", f"{type(error).__name__}: {error}") from error


class Streams:
    """Opens the elements of any node of a plan.

    Args:
      node: The plan.
      addressable: Gives the elements of an addressable node in a run, and counts in the part.
      account: Where each verb's elements and time are counted.
    """

    def __init__(
        self,
        node: plan.Node,
        addressable: Callable[[plan.Node, RunContext, Part], Iterator[Tree]],
        account: Account,
    ) -> None:
        self._addressable, self._account = addressable, account
        self._numbers = {id(step): number for number, step in enumerate(plan.walk(node))}

    def open(self, node: plan.Node, context: RunContext) -> Iterator[Tree]:
        """The elements of `node` in the epoch of `context`, counted.

        Raises:
          PlanError: A verb needs rows by number, and a verb before it lost them.
        """
        below = [self._numbers[id(source)] for source in plan.below(node)]
        return self._account.flow(self._numbers[id(node)], node, below, self._open(node, context))

    def _open(self, node: plan.Node, context: RunContext) -> Iterator[Tree]:  # noqa: PLR0911 -- one a kind of node.
        if plan.is_addressable(node):
            return self._addressable(node, context, self._account.part(self._numbers[id(node)]))
        if isinstance(node, plan.Generator):
            return _generate(node)
        if isinstance(node, plan.Repeat):
            return self._repeat(node, context)
        if isinstance(node, plan.Concatenate):
            return itertools.chain.from_iterable(self.open(source, context) for source in node.sources)
        if isinstance(node, plan.Zip):
            return zip(*(self.open(source, context) for source in node.sources), strict=False)
        if isinstance(node, plan.Mix):
            return self._mix(node, context)
        number = self._numbers[id(node)]
        (source,) = plan.below(node)
        make = _MAKERS.get(type(node))
        if make is None:
            verb = type(node).__name__.lower()
            raise PlanError(verb, f"needs rows by number, which {plan.lost_by(node)} lost; put {verb} before it")
        return make(node, self.open(source, context), context, number)

    def _repeat(self, node: plan.Repeat, context: RunContext) -> Iterator[Tree]:
        turns = itertools.count() if node.count is None else range(node.count)
        below = (1 << 30) if node.count is None else node.count
        for turn in turns:
            empty = True
            for element in self.open(node.source, context.at(context.epoch * below + turn)):
                empty = False
                yield element
            if empty and node.count is None:
                return  # An endless repeat of nothing would never come back.

    def _mix(self, node: plan.Mix, context: RunContext) -> Iterator[Tree]:
        turns = [0] * len(node.sources)
        opened = [self.open(source, context) for source in node.sources]
        ended: set[int] = set()
        for chosen in itertools.cycle(node.pattern):
            element = next(opened[chosen], _END)
            if element is _END:
                ended.add(chosen)
                if node.stop == "first" or len(ended) == len(set(node.pattern)):
                    return
                turns[chosen] += 1
                epoch = (context.epoch << 32) + turns[chosen]
                opened[chosen] = self.open(node.sources[chosen], context.at(epoch))
                element = next(opened[chosen], _END)
                if element is _END:
                    return
            yield element


_END = object()


def _generate(node: plan.Generator) -> Iterator[Tree]:
    return iter(call("from_generator", node.make))


def _filter(node: plan.Filter, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    for at, element in enumerate(source):
        if call("filter", node.predicate, element, number=at):
            yield element


def _take_while(node: plan.TakeWhile, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    for at, element in enumerate(source):
        if not call("take_while", node.predicate, element, number=at):
            return
        yield element


def _map(node: plan.Map, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    for at, element in enumerate(source):
        seed = mix(context.seed, number, context.epoch, at)
        if hasattr(node.function, "apply"):
            columns = node.function.apply(stack([element]), np.array([seed], np.uint64))
            yield row_of(columns, 0)
        elif node.rng:
            yield call("map", node.function, element, np.random.Generator(np.random.Philox(key=seed)), number=at)
        else:
            yield call("map", node.function, element, number=at)


def _interleave(node: plan.Interleave, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    """As tf.data: a place whose data set ended is filled when its turn comes again."""
    del context, number
    inputs = enumerate(source)
    places: list[Iterator[Tree] | None] = [None] * node.cycle_length
    turn, open_places, ended = 0, 0, False
    while open_places or not ended:
        current = places[turn]
        if current is None and not ended:
            following = next(inputs, None)
            if following is None:
                ended = True
            else:
                places[turn] = _open_inner(call("interleave", node.function, following[1], number=following[0]))
                open_places += 1
            continue
        if current is not None:
            block = list(itertools.islice(current, node.block_length))
            yield from block
            if len(block) < node.block_length:
                places[turn] = None
                open_places -= 1
        turn = (turn + 1) % node.cycle_length


def _open_inner(elements: Any) -> Iterator[Tree]:
    return iter(elements.with_options(threads=1) if hasattr(elements, "with_options") else elements)


def _unbatch(node: plan.Unbatch, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del node, context, number
    for batch in source:
        for row in range(length_of(batch)):
            yield row_of(batch, row)


def _scan(node: plan.Scan, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    state = node.initial_state
    for at, element in enumerate(source):
        state, made = call("scan", node.function, state, element, number=at)
        yield made


def _unique(node: plan.Unique, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
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


def _cache(node: plan.Cache, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    if node.kept:
        yield from node.kept[0]
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


def _window(node: plan.Window, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[list[Tree]]:
    del context, number
    span = (node.size - 1) * node.stride + 1
    held: list[Tree] = []
    skip = 0
    for element in source:
        if skip:
            skip -= 1
            continue
        held.append(element)
        if len(held) == span:
            yield held[:: node.stride]
            skip = max(node.shift - span, 0)
            held = held[node.shift :]
    while held and not node.drop_remainder:
        yield held[:: node.stride]
        held = held[node.shift :]


def _shuffle(node: plan.BufferShuffle, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    seed = context.seed if node.seed is None else node.seed
    epoch = context.epoch if node.reshuffle_each_iteration else 0
    rng = np.random.Generator(np.random.Philox(key=mix(seed, number, epoch)))
    held = list(itertools.islice(source, node.buffer_size))
    for element in source:
        drawn = int(rng.integers(len(held)))
        yield held[drawn]
        held[drawn] = element
    while held:
        drawn = int(rng.integers(len(held)))
        yield held[drawn]
        held[drawn] = held[-1]
        held.pop()


def _shard(node: plan.Shard, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del number
    if node.even is not None:
        raise PlanError("shard", f"even={node.even!r} needs a length; shard before the verb that loses it, or leave it")
    count = context.world_size if node.num_shards is None else node.num_shards
    return itertools.islice(source, context.rank if node.index is None else node.index, None, count)


def _batch(
    node: plan.Batch | plan.PaddedBatch, source: Iterator[Tree], context: RunContext, number: int
) -> Iterator[Tree]:
    del context, number
    while rows := list(itertools.islice(source, node.batch_size)):
        if len(rows) < node.batch_size and node.drop_remainder:
            return
        columns = stack(rows)
        if isinstance(node, plan.PaddedBatch):
            yield pad(columns, node.padded_shapes, node.padding_values)
        else:
            yield dense(rows_of(columns, 0, len(rows)))


def _enumerate(node: plan.Enumerate, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    return ((np.int64(at), element) for at, element in enumerate(source, node.start))


def _same(node: plan.Node, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del node, context, number
    return source


def _take(node: plan.Take, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    return itertools.islice(source, node.count)


def _skip(node: plan.Skip, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    del context, number
    return itertools.islice(source, node.count, None)


_MAKERS: dict[type, Callable[[Any, Any, Any, int], Iterator[Any]]] = {
    plan.Filter: _filter,
    plan.TakeWhile: _take_while,
    plan.Map: _map,
    plan.Interleave: _interleave,
    plan.Unbatch: _unbatch,
    plan.Scan: _scan,
    plan.Unique: _unique,
    plan.Cache: _cache,
    plan.Window: _window,
    plan.BufferShuffle: _shuffle,
    plan.Bucket: buckets,
    plan.Shard: _shard,
    plan.Batch: _batch,
    plan.PaddedBatch: _batch,
    plan.Enumerate: _enumerate,
    plan.Prefetch: _same,
    plan.Take: _take,
    plan.Skip: _skip,
}


class StreamWork:
    """A stream as the engine's work: elements are pulled when a unit is claimed, by one thread at a time."""

    def __init__(self, elements: Iterator[Tree], skip: int) -> None:
        self._elements = itertools.islice(elements, skip, None)
        self._known = skip
        self._pulled: dict[int, list[Tree]] = {}
        self._error: Exception | None = None

    def available(self, stop: int) -> int:
        """Pulls elements until `stop` are known or the stream ends.

        Raises:
          Exception: What the stream raised, once all elements before it were told.
        """
        pulled: list[Tree] = []
        start = self._known
        while self._known < stop and self._error is None:
            try:
                element = next(self._elements, _END)
            except Exception as error:  # noqa: BLE001 -- raised in its turn.
                self._error = error
                break
            if element is _END:
                break
            pulled.append(element)
            self._known += 1
        if pulled:
            self._pulled[start] = pulled
        elif self._error is not None:
            raise self._error
        return self._known

    def work(self, start: int, stop: int) -> Unit:
        """The elements [start, stop), which the claim has pulled."""
        elements = self._pulled.pop(start)
        return Unit(None, elements, np.arange(start, stop, dtype=np.uint64))
