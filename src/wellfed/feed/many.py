"""Nodes over several sources: which source each position takes from, and units put together from theirs.

concatenate   p -> source i, p - (elements of the sources before)
mix           p -> source pattern[p mod L], (p div L) * (its places in the pattern) + its rank there
zip           p -> every source, p
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed.feed.order import ENDLESS, Countable, Positions
from wellfed.feed.tree import concat_rows, map_tree, map_trees
from wellfed.feed.unit import Unit, moved, sizes_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wellfed.feed import plan
    from wellfed.feed.mixing import UInt64s


class Operator(Countable, Protocol):
    """A node at work: it makes the unit of any of its positions. Any thread may ask; nothing is kept between two."""

    def make(self, positions: Positions) -> Unit:
        """The elements at `positions`, in that order."""

    def trace(self, positions: Positions) -> tuple[int, int]:
        """The source and the row that the first of `positions` comes from."""


@dataclass(frozen=True)
class Zipped:
    """All sources side by side."""

    sources: Sequence[Operator]

    def available(self, stop: int) -> int:
        found = stop
        for source in self.sources:
            found = min(found, source.available(found))
        return found

    def make(self, positions: Positions) -> Unit:
        units = [source.make(positions) for source in self.sources]
        first, replaced = units[0], tuple(chain.from_iterable(unit.replaced for unit in units))
        if all(unit.splits is None for unit in units):
            columns = tuple(unit.as_columns() for unit in units)
            return Unit(columns, None, first.rows, first.source, replaced=replaced)
        return Unit(None, list(zip(*units, strict=True)), first.rows, first.source, first.splits, replaced=replaced)

    def trace(self, positions: Positions) -> tuple[int, int]:
        return self.sources[0].trace(positions)


class Concatenated:
    """One source after another."""

    def __init__(self, sources: Sequence[Operator]) -> None:
        self._sources = sources
        self._starts = [0]  # Where each source begins, as far as lengths were asked for.

    def _start(self, number: int) -> int:
        while len(self._starts) <= number:
            length = self._sources[len(self._starts) - 1].available(ENDLESS)
            self._starts.append(min(self._starts[-1] + length, ENDLESS))
        return self._starts[number]

    def available(self, stop: int) -> int:
        found = 0
        for number, source in enumerate(self._sources):
            due = stop - self._start(number)
            there = source.available(due) if due > 0 else 0
            found = self._start(number) + there
            if there >= due:
                return stop
        return found

    def make(self, positions: Positions) -> Unit:
        return join(self._sources, *self._place(positions))

    def trace(self, positions: Positions) -> tuple[int, int]:
        return _trace(self._sources, *self._place(positions))

    def _place(self, positions: Positions) -> tuple[NDArray[np.int64], UInt64s, NDArray[np.int64]]:
        at = positions.numbers()
        last = int(at.max()) if len(at) else 0
        known = [0]
        while len(known) < len(self._sources) and self._start(len(known)) <= last:
            known.append(self._start(len(known)))
        starts = np.array(known, np.uint64)
        which = np.searchsorted(starts, at, side="right") - 1
        return which, at - starts[which], positions.epochs()


class Mixed:
    """Sources in turn, in a fixed pattern of shares."""

    def __init__(self, sources: Sequence[Operator], node: plan.Mix) -> None:
        self._sources, self._stop = sources, node.stop
        self._pattern = np.array(node.pattern, np.int64)
        self._quotas = np.bincount(self._pattern, minlength=len(sources))
        self._ranks = np.zeros(len(self._pattern), np.int64)
        for source in range(len(sources)):
            places = self._pattern == source
            self._ranks[places] = np.arange(int(places.sum()))
        self._lengths: list[int] = []
        self._length = -1

    def _measure(self) -> int:
        """The number of elements: where the first source ends, or the last."""
        if self._length < 0:
            self._lengths = [min(source.available(ENDLESS), ENDLESS) for source in self._sources]
            shared = [source for source in range(len(self._sources)) if self._quotas[source]]
            # One that is empty cannot start again: all ends where it is first due.
            ending = [source for source in shared if self._stop == "first" or not self._lengths[source]]
            whole = max((self._end(source) for source in shared if source not in ending), default=ENDLESS)
            self._length = min([whole, *map(self._end, ending)])
        return self._length

    def _end(self, source: int) -> int:
        """The position of the element after the last that `source` has: where it would start again."""
        length, quota = self._lengths[source], int(self._quotas[source])
        if length >= ENDLESS:
            return ENDLESS
        places = np.flatnonzero(self._pattern == source)
        if self._stop == "first" or not length:
            return length // quota * len(self._pattern) + int(places[length % quota])
        return (length - 1) // quota * len(self._pattern) + int(places[(length - 1) % quota]) + 1

    def available(self, stop: int) -> int:
        return min(stop, self._measure())

    def make(self, positions: Positions) -> Unit:
        return join(self._sources, *self._place(positions))

    def trace(self, positions: Positions) -> tuple[int, int]:
        return _trace(self._sources, *self._place(positions))

    def _place(self, positions: Positions) -> tuple[NDArray[np.int64], UInt64s, NDArray[np.int64]]:
        self._measure()
        at = positions.numbers().astype(np.int64)
        turn, place = np.divmod(at, len(self._pattern))
        which = self._pattern[place]
        numbers = turn * self._quotas[which] + self._ranks[place]
        lengths = np.maximum(np.array(self._lengths, np.int64)[which], 1)
        # Above it there may be many epochs; a source that starts again must not meet an epoch twice.
        epochs = (positions.epochs() << 32) + numbers // lengths if self._stop == "last" else positions.epochs()
        return which, (numbers % lengths).astype(np.uint64), epochs


def _trace(
    sources: Sequence[Operator], which: NDArray[np.int64], at: UInt64s, epochs: NDArray[np.int64]
) -> tuple[int, int]:
    return sources[int(which[0])].trace(Positions(at[:1], int(epochs[0])))


def join(sources: Sequence[Operator], which: NDArray[np.int64], at: UInt64s, epochs: NDArray[np.int64]) -> Unit:
    """The unit whose row i is what `sources[which[i]]` has at `at[i]`."""
    parts: list[Unit] = []
    places: list[NDArray[np.int64]] = []
    for number in np.unique(which):
        of_it = np.flatnonzero(which == number)
        parts.append(sources[number].make(Positions(as_run(at[of_it]), _one(epochs[of_it]))))
        places.append(of_it)
    if not parts:
        return sources[0].make(Positions(range(0), 0))
    if len(parts) == 1:
        (only,) = parts
        return only
    order = np.argsort(np.concatenate(places), kind="stable")
    unit = (_join_rows if all(part.splits is None for part in parts) else _join_batches)(parts, order)
    unit.replaced = tuple(chain.from_iterable(moved(part.replaced, to) for part, to in zip(parts, places, strict=True)))
    return unit


def _join_rows(parts: list[Unit], order: NDArray[np.int64]) -> Unit:
    columns = map_trees(concat_rows, [part.as_columns() for part in parts])
    rows = np.concatenate([part.rows for part in parts])[order]
    return Unit(map_tree(lambda column: column[order], columns), None, rows, sources_of(parts)[order])


def _join_batches(parts: list[Unit], order: NDArray[np.int64]) -> Unit:
    elements = [element for part in parts for element in part]
    rows = np.concatenate([part.rows for part in parts])
    sizes = sizes_of(parts)
    ends = np.cumsum(sizes)
    of_rows = np.concatenate([np.arange(ends[i] - sizes[i], ends[i]) for i in order])
    splits = np.concatenate([[0], np.cumsum(sizes[order])])
    return Unit(None, [elements[i] for i in order], rows[of_rows], sources_of(parts)[of_rows], splits)


def as_run(rows: UInt64s) -> range | UInt64s:
    """Neighbouring rows as a range, which sources read faster."""
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows) and bool((rows[1:] > rows[:-1]).all()):
        return range(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _one(epochs: NDArray[np.int64]) -> int | NDArray[np.int64]:
    return int(epochs[0]) if len(epochs) and bool((epochs == epochs[0]).all()) else epochs
