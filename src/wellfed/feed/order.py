"""The order: which element of its source each element of a node is. Pure arithmetic on positions.

A position is an element's number in what its node yields, together with the epoch it belongs to. `resolve` takes
positions of a node to positions of its source; `available` says how many elements a node has, looking no further into
its source than it must, so that a file read in order need not be indexed first.

    shuffle   p -> permutation(p), keyed by (seed, node, epoch)
    shard     p -> p * num_shards + index
    skip      p -> p + count
    repeat    p -> (p mod n, epoch of that repetition)
    batch     b -> b * batch_size ... (b + 1) * batch_size - 1

Nodes over several sources are in `wellfed.feed.many`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed import _native
from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.block_order import BlockOrder
from wellfed.feed.mixing import UInt64s, mix, mix_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.feed.context import RunContext

ENDLESS = 1 << 62  # More elements than any data set has.


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of a node.

    Attributes:
      at: Where: a range, or uint64 numbers.
      epoch: The epoch of all, or of each. int64
    """

    at: range | UInt64s
    epoch: int | NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.at)

    def numbers(self) -> UInt64s:
        """The positions as a uint64 array of shape (len(self),)."""
        if isinstance(self.at, range):
            return np.arange(self.at.start, self.at.stop, self.at.step, dtype=np.uint64)
        return self.at

    def epochs(self) -> NDArray[np.int64]:
        """The epoch of each position, int64, shape (len(self),)."""
        return np.broadcast_to(np.asarray(self.epoch, np.int64), len(self))


class Countable(Protocol):
    """What says how many elements it has."""

    def available(self, stop: int) -> int:
        """How many of the positions below `stop` exist."""


class Order(Countable, Protocol):
    """What a node does to positions."""

    def resolve(self, positions: Positions) -> Positions:
        """The positions of the source that the elements at `positions` come from."""


@dataclass(frozen=True)
class Same:
    """Element for element: map, enumerate, prefetch."""

    source: Countable

    def available(self, stop: int) -> int:
        return self.source.available(stop)

    def resolve(self, positions: Positions) -> Positions:
        return positions


def length_of(order: Countable, verb: str) -> int:
    """The number of elements, for a verb that cannot do without it.

    Raises:
      PlanError: They never end.
    """
    length = order.available(ENDLESS)
    if length >= ENDLESS:
        raise PlanError(verb, "needs a length, and repeat() without a count has none; put repeat() last")
    return length


class Shuffled:
    """A keyed bijection over the whole source, or one that keeps blocks of neighbours near each other."""

    def __init__(self, source: Countable, node: plan.Shuffle, depth: int, context: RunContext) -> None:
        self._length = length_of(source, "shuffle")
        self._seed = context.seed if node.seed is None else node.seed
        # One order of its own, whatever plan it stands in: parts of it that are joined again share no row.
        fixed = node.seed is not None and not node.reshuffle_each_iteration
        self._depth, self._reshuffle = 0 if fixed else depth, node.reshuffle_each_iteration
        self._blocks = None if node.block is None else BlockOrder(self._length, node.block, node.window)

    def available(self, stop: int) -> int:
        return min(stop, self._length)

    def _key(self, epoch: int) -> int:
        return mix(self._seed, self._depth, epoch if self._reshuffle else 0)

    def resolve(self, positions: Positions) -> Positions:
        at, epoch = positions.at, positions.epoch
        if not len(positions):
            return Positions(np.empty(0, np.uint64), epoch)
        if not isinstance(epoch, np.ndarray):
            return Positions(self._rows(self._key(epoch), at), epoch)
        rows = positions.numbers().copy()
        for one in np.unique(epoch):
            of_one = epoch == one
            rows[of_one] = self._rows(self._key(int(one)), rows[of_one])
        return Positions(rows, epoch)

    def _rows(self, key: int, at: range | UInt64s) -> UInt64s:
        if self._blocks is not None:
            return self._blocks.rows(key, at)
        if isinstance(at, range) and at.step == 1:
            return _native.permute_range(self._length, key, at.start, at.stop)
        numbers = np.arange(at.start, at.stop, at.step, dtype=np.uint64) if isinstance(at, range) else at
        return _native.permute_apply(self._length, key, numbers)


class Sharded:
    """Every `num_shards`-th element."""

    def __init__(self, source: Countable, node: plan.Shard, context: RunContext) -> None:
        self._source, self._even = source, node.even
        self._count = context.world_size if node.num_shards is None else node.num_shards
        self._index = context.rank if node.index is None else node.index
        self._first = context.consumed  # Not 0 only in the middle of an epoch that others began: `feed.elastic`.

    def available(self, stop: int) -> int:
        if self._even is None:
            first = self._first + self._index
            last = min((stop - 1) * self._count + first + 1, ENDLESS)
            found = self._source.available(max(last, 0))
            if found >= ENDLESS:
                return stop
            return min(stop, max(0, -(-(found - first) // self._count)))
        length = max(length_of(self._source, "shard") - self._first, 0)
        rounded = length // self._count if self._even == "drop" else -(-length // self._count)
        return min(stop, rounded)

    def resolve(self, positions: Positions) -> Positions:
        at, count, index = positions.at, self._count, self._first + self._index
        if self._even == "pad":
            length = length_of(self._source, "shard")
            numbers = positions.numbers() * np.uint64(count) + np.uint64(index)
            return Positions(numbers % np.uint64(max(length, 1)), positions.epoch)
        if isinstance(at, range):
            return Positions(range(at.start * count + index, at.stop * count + index, at.step * count), positions.epoch)
        return Positions(at * np.uint64(count) + np.uint64(index), positions.epoch)


@dataclass(frozen=True)
class Taken:
    """The first `count` elements."""

    source: Countable
    count: int

    def available(self, stop: int) -> int:
        return self.source.available(min(stop, self.count))

    def resolve(self, positions: Positions) -> Positions:
        return positions


@dataclass(frozen=True)
class Skipped:
    """All but the first `count` elements."""

    source: Countable
    count: int

    def available(self, stop: int) -> int:
        found = self.source.available(min(stop + self.count, ENDLESS))
        return stop if found >= ENDLESS else max(0, found - self.count)

    def resolve(self, positions: Positions) -> Positions:
        at = positions.at
        if isinstance(at, range):
            return Positions(range(at.start + self.count, at.stop + self.count, at.step), positions.epoch)
        return Positions(at + np.uint64(self.count), positions.epoch)


class Parted:
    """The elements between two shares of the whole."""

    def __init__(self, source: Countable, node: plan.Part) -> None:
        length = length_of(source, "split")
        self._first, self._last = round(length * node.start), round(length * node.stop)

    def available(self, stop: int) -> int:
        return min(stop, self._last - self._first)

    def resolve(self, positions: Positions) -> Positions:
        return Skipped(self, self._first).resolve(positions)


@dataclass(frozen=True)
class Selected:
    """The elements at given numbers."""

    source: Countable
    rows: UInt64s

    def available(self, stop: int) -> int:
        if len(self.rows) and (last := int(self.rows.max())) >= (found := self.source.available(last + 1)):
            raise PlanError("select", f"there is no row {last}: the data set has {found}")
        return min(stop, len(self.rows))

    def resolve(self, positions: Positions) -> Positions:
        return Positions(self.rows[positions.numbers()], positions.epoch)


class Sampled:
    """Elements drawn by weight, with replacement: each position draws by itself."""

    def __init__(self, source: Countable, node: plan.Sample, depth: int, context: RunContext) -> None:
        found = length_of(source, "sample")
        if found != len(node.cumulative):
            raise PlanError("sample", f"a weight for each of the {found} elements is due, got {len(node.cumulative)}")
        self._node, self._depth = node, depth
        self._seed = context.seed if node.seed is None else node.seed

    def available(self, stop: int) -> int:
        return min(stop, self._node.count)

    def resolve(self, positions: Positions) -> Positions:
        state = mix_each(mix(self._seed, self._depth), positions.epochs().astype(np.uint64))
        shares = (mix_each(state, positions.numbers()) >> np.uint64(11)) * 2.0**-53
        rows = np.searchsorted(self._node.cumulative, shares * self._node.cumulative[-1], side="right")
        return Positions(np.minimum(rows, len(self._node.cumulative) - 1).astype(np.uint64), positions.epoch)


class Repeated:
    """The source again and again; each time has an epoch of its own below."""

    def __init__(self, source: Countable, node: plan.Repeat) -> None:
        self._source = source
        self._times = ENDLESS if node.count is None else node.count
        # An endless repeat has one epoch above it; a billion epochs below leave room for a second all the same.
        self._epochs_below = (1 << 30) if node.count is None else node.count

    def available(self, stop: int) -> int:
        if self._times == 0:
            return 0
        found = self._source.available(stop)
        if found >= stop:
            return stop
        return min(stop, found * self._times)

    def resolve(self, positions: Positions) -> Positions:
        at, length = positions.at, max(self._source.available(ENDLESS), 1)
        base = positions.epoch * self._epochs_below
        if isinstance(at, range) and len(at) and at[0] // length == at[-1] // length:
            turn = at[0] // length
            return Positions(range(at.start - turn * length, at.stop - turn * length, at.step), base + turn)
        numbers = positions.numbers()
        turns = (numbers // np.uint64(length)).astype(np.int64)
        return Positions(numbers % np.uint64(length), base + turns)


class Batched:
    """Neighbouring elements become one."""

    def __init__(self, source: Countable, node: plan.Batches) -> None:
        self._source, self._size, self._drop = source, node.batch_size, node.drop_remainder

    def available(self, stop: int) -> int:
        found = self._source.available(min(stop * self._size, ENDLESS))
        if found >= ENDLESS:
            return stop
        return found // self._size if self._drop else -(-found // self._size)

    def splits(self, positions: Positions) -> NDArray[np.int64]:
        """Where each batch begins and ends among the elements that `resolve` gives: int64, shape (batches + 1,)."""
        at = positions.at
        if not len(positions):
            return np.zeros(1, np.int64)
        last = at.stop if isinstance(at, range) else int(at.max()) + 1
        found = self._source.available(min(last * self._size, ENDLESS))
        if isinstance(at, range) and at.step == 1:
            splits = np.arange(len(at) + 1, dtype=np.int64) * self._size
            splits[-1] = min(splits[-1], found - at.start * self._size)
            return splits
        sizes = np.minimum(found - positions.numbers().astype(np.int64) * self._size, self._size)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    def first(self, positions: Positions) -> UInt64s:
        """The position in the source of each batch's first element."""
        return positions.numbers() * np.uint64(self._size)

    def resolve(self, positions: Positions) -> Positions:
        at, size = positions.at, self._size
        if isinstance(at, range) and at.step == 1:
            stop = self._source.available(min(at.stop * size, ENDLESS))
            return Positions(range(at.start * size, max(stop, at.start * size)), positions.epoch)
        splits = self.splits(positions)
        lengths = np.diff(splits)
        first = np.repeat(positions.numbers() * np.uint64(size), lengths)
        within = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
        return Positions(first + within.astype(np.uint64), np.repeat(positions.epochs(), lengths))


def order_of(node: plan.Single, source: Countable, depth: int, context: RunContext) -> Order:
    """The order of one verb over its source; `depth` is the node's number in the plan."""
    order: Order
    match node:
        case plan.Shuffle() | plan.Sample():
            order = _random_order(node, source, depth, context)
        case plan.Shard():
            order = Sharded(source, node, context)
        case plan.Take():
            order = Taken(source, node.count)
        case plan.Skip():
            order = Skipped(source, node.count)
        case plan.Part():
            order = Parted(source, node)
        case plan.Select():
            order = Selected(source, node.rows)
        case plan.Repeat():
            order = Repeated(source, node)
        case plan.Batch() | plan.PaddedBatch() | plan.RaggedBatch():
            order = Batched(source, node)
        case _:
            order = Same(source)
    return order


def _random_order(node: plan.Shuffle | plan.Sample, source: Countable, depth: int, context: RunContext) -> Order:
    if isinstance(node, plan.Shuffle):
        return Shuffled(source, node, depth, context)
    return Sampled(source, node, depth, context)
