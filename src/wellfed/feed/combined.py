"""Streams made of others: repeated, end to end, side by side, or in a pattern. Each knows where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from wellfed.feed.calls import Cancelled
from wellfed.feed.cursors import Cursor, Stream
from wellfed.feed.guard import bare
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from wellfed.feed import plan

Opener = Callable[[int, Cursor], Stream]  # (which, its cursor) to a stream.


class Repeated(Iterator[Tree]):
    """A source again and again.

    Args:
      open_turn: Opens the source's turn of that number.
      count: How many turns; None: without end, or until a turn is empty.
      cursor: [turn, elements of it, the source's cursor].
    """

    def __init__(self, open_turn: Opener, count: int | None, cursor: Cursor) -> None:
        self._turn: int
        self._given: int
        self._turn, self._given, below = cursor or (0, 0, None)
        self._open, self._count = open_turn, count
        self._source = open_turn(self._turn, below) if self._more() else None

    def _more(self) -> bool:
        return self._count is None or self._turn < self._count

    def __next__(self) -> Tree:
        while self._source is not None:
            for element in self._source:
                self._given += 1
                return element
            if not self._given and self._count is None:
                break  # An endless repeat of nothing would never come back.
            self._turn, self._given = self._turn + 1, 0
            self._source = self._open(self._turn, None) if self._more() else None
        raise StopIteration

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return [self._turn, self._given, None if self._source is None else self._source.cursor()]


class EndToEnd(Iterator[Tree]):
    """All of each source, one after another.

    Args:
      open_source: Opens the source of that number.
      count: How many sources there are.
      cursor: [which, its cursor].
    """

    def __init__(self, open_source: Opener, count: int, cursor: Cursor) -> None:
        self._which: int
        self._which, below = cursor or (0, None)
        self._open, self._count = open_source, count
        self._source = open_source(self._which, below)

    def __next__(self) -> Tree:
        while True:
            for element in self._source:
                return element
            if self._which + 1 >= self._count:
                raise StopIteration
            self._which += 1
            self._source = self._open(self._which, None)

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return [self._which, self._source.cursor()]


class SideBySide(Iterator[Tree]):
    """Tuples of one element of each source, until one ends.

    Args:
      open_source: Opens the source of that number.
      count: How many sources there are.
      cursor: One of each source.
    """

    def __init__(self, open_source: Opener, count: int, cursor: Cursor) -> None:
        self._sources = [open_source(which, cursor and cursor[which]) for which in range(count)]

    def __next__(self) -> Tree:
        elements = []
        for source in self._sources:
            elements.append(next(source))  # noqa: PERF401 -- in a generator the end of a source would be an error.
        return tuple(elements)

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return [source.cursor() for source in self._sources]


class InPattern(Iterator[Tree]):
    """Elements of several sources in the pattern of a `plan.Mix`.

    Args:
      open_turn: Opens the source of that number in that turn, at a cursor.
      node: The pattern, and when to stop.
      cursor: [place in the pattern (-1 behind the end), turn of each source, sources that ended, cursor of each].
    """

    def __init__(self, open_turn: Callable[[int, int, Cursor], Stream], node: plan.Mix, cursor: Cursor) -> None:
        count = len(node.sources)
        self._open, self._node = open_turn, node
        self._place: int
        self._place, turns, ended, cursors = cursor or (0, [0] * count, [], [None] * count)
        self._turns, self._ended = list(turns), set(ended)
        self._sources = [open_turn(which, self._turns[which], cursors[which]) for which in range(count)]
        # Elements, or errors, that were looked for before their turn, and where their sources stood before them.
        self._held: dict[int, tuple[Cursor, Tree, Exception | None]] = {}

    def __next__(self) -> Tree:
        if self._place < 0:
            raise StopIteration
        try:
            element = self._next_of(self._node.pattern[self._place])
        except StopIteration:
            self._place = -1
            raise
        self._place = (self._place + 1) % len(self._node.pattern)
        return element

    def _next_of(self, chosen: int) -> Tree:
        if chosen not in self._ended:
            try:
                return self._take(chosen)
            except StopIteration:
                self._ended.add(chosen)
        if self._node.stop == "first" or not self._any_left():
            raise StopIteration
        for element in self._sources[chosen]:
            return element
        self._turns[chosen] += 1
        self._sources[chosen] = self._open(chosen, self._turns[chosen], None)
        return next(self._sources[chosen])

    def _take(self, which: int) -> Tree:
        if which not in self._held:
            return next(self._sources[which])
        _, element, error = self._held.pop(which)
        try:
            if error is not None:
                raise error
        finally:
            del error  # See `attempt`.
        return element

    def _any_left(self) -> bool:
        """Whether a source has an element that was not given yet; only looking tells that one has none."""
        for which in sorted(set(self._node.pattern) - self._ended):
            if which in self._held:
                return True
            before = self._sources[which].cursor()
            try:
                self._held[which] = before, next(self._sources[which]), None
            except StopIteration:
                self._ended.add(which)
                continue
            except Cancelled:
                raise
            except Exception as error:  # noqa: BLE001 -- raised in its turn.
                self._held[which] = before, None, bare(error)
            return True
        return False

    def cursor(self) -> Cursor:
        """See `Stream`."""
        cursors = [
            self._held[which][0] if which in self._held else source.cursor()
            for which, source in enumerate(self._sources)
        ]
        return [self._place, list(self._turns), sorted(self._ended), cursors]
