"""Where a chain of verbs stands, so that it can go on there without starting over.

    Stream    elements one after another; `cursor()` is JSON from which the same stream opens again, right behind the
              last element that it gave
    Stage     a verb at work: a generator over its Input
    Input     the stream below, as the verb sees it

A verb is written as a plain generator `verb(node, source, context, number)` whose `source` is an `Input`. By itself it
resumes by making all of its elements again, which is right for any verb and slow for most. To do better it says once,
before it yields, how it goes on behind whatever element it yielded last:

    source.resumes()                from where the source stands: the verb holds none of its elements
    source.resumes(state)           the same, and `state()` is what the verb knows besides, as JSON
    source.resumes(state, at)       the source is read again from the point `at()`

and it begins with `source.taken` elements taken and `source.state` given where it is opened at a cursor.

A verb that makes each of its elements of one of its source's and of nothing else says `source.passes()`: then elements
that nobody wants are passed over without being made.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from wellfed.feed.guard import ROW_ERRORS
from wellfed.feed.tree import Tree

Cursor: TypeAlias = Any  # JSON; None: the start.


def _nothing() -> None:
    pass


class Stream(Protocol):
    """Elements one after another, for one thread at a time."""

    def __iter__(self) -> Iterator[Tree]:
        """The elements from the next one on; as many such iterators as wanted share one place."""

    def __next__(self) -> Tree:
        """The next element."""

    def cursor(self) -> Cursor:
        """From where the stream goes on behind the last element that it gave; never None."""


@runtime_checkable
class Passing(Protocol):
    """A stream that may go by elements without making them."""

    def pass_over(self, count: int) -> int:
        """See `pass_over`."""


def pass_over(elements: Iterator[Tree], count: int) -> int:
    """Goes by elements that nobody wants; a stream that can leaves them unmade.

    Returns:
      How many: fewer than `count` where they end.
    """
    if isinstance(elements, Passing):
        return elements.pass_over(count)
    return sum(1 for _ in itertools.islice(elements, count))


Opener: TypeAlias = Callable[[Cursor, bool], Stream]
Lost: TypeAlias = Callable[[Exception, int], None]


@dataclass(frozen=True, slots=True)
class Point:
    """A place between two elements of a source.

    Attributes:
      taken: How many elements come before it.
      below: The source's own cursor there.
    """

    taken: int
    below: Cursor

    def as_json(self) -> list[Any]:
        """[taken, below]: what `Point(*...)` takes."""
        return [self.taken, self.below]


class Input(Iterator[Tree]):
    """The elements of a verb's source.

    Args:
      open_source: Opens the source at a cursor; the second argument is whether only an element or two are wanted.
      point: Where to begin.
      state: What the verb had told of itself there.
      lost: Told of an error and the number of the element that it cost; returns where that is to be left out.

    Attributes:
      taken: How many elements of the source were taken, also before the stream was opened at a cursor.
      state: What the verb had told of itself where it begins; None at the start.
      since: Elements that the verb yielded since it began at `point`.
      one_for_one: Whether the verb said `passes`.
    """

    def __init__(self, open_source: Opener, point: Point, state: Any, lost: Lost) -> None:
        self._open, self._begin, self.lost = open_source, point, lost
        self._source: Stream | None = None  # Opened when it is first asked: a cache may never ask.
        self.taken, self.state = point.taken, state
        self.since = 0
        self.one_for_one = False
        self._told: tuple[Callable[[], Any], Callable[[], Point | None]] | None = None

    def __iter__(self) -> Iterator[Tree]:  # A generator passes an element on in half the time of `__next__`.
        for element in self._source or self._opened():
            self.taken += 1
            yield element

    def __next__(self) -> Tree:
        element = next(self._source or self._opened())
        self.taken += 1
        return element

    def tried(self, make: Callable[[Tree, int], Any]) -> Iterator[tuple[Tree, Any]]:
        """Each element with what `make` gives for it and its number, without those that are lost where it fails."""
        for element in self:
            try:
                result = make(element, self.taken - 1)
            except ROW_ERRORS as error:
                self.lost(error, self.taken - 1)
            else:
                yield element, result

    def pass_over(self, count: int) -> int:
        """See `pass_over`."""
        passed = pass_over(self._source or self._opened(), count)
        self.taken += passed
        return passed

    def _opened(self) -> Stream:
        self._source = self._open(self._begin.below, False)
        return self._source

    def here(self) -> Point:
        """The place before the next element."""
        return self._begin if self._source is None else Point(self.taken, self._source.cursor())

    def again(self, point: Point) -> Tree:
        """Makes the element behind `point` once more."""
        return next(self._open(point.below, True))

    def resumes(self, state: Callable[[], Any] = _nothing, at: Callable[[], Point | None] = _nothing) -> None:
        """Says how the verb goes on behind the element that it yielded last.

        Neither function may hold this input: such a circle would keep the threads below until a garbage collection.

        Args:
          state: What the verb knows besides, as JSON. Where it raises a TypeError the verb makes its elements again.
          at: The point from which the source is read again; None: from where it stands.
        """
        self._told = (state, at)

    def passes(self) -> None:
        """Says that each element of the verb is made of one of the source's, by its number and nothing else."""
        self.one_for_one = True

    def cursor(self) -> Cursor:
        """[taken, state, since, below] of the verb."""
        if self._told is not None:
            state, at = self._told
            with contextlib.suppress(TypeError):
                told, point = state(), at() or self.here()
                return [point.taken, told, 0, point.below]
        return [self._begin.taken, self.state, self.since, self._begin.below]


class Stage(Iterator[Tree]):
    """A verb over its source.

    Args:
      make: The verb's generator over its input.
      open_source: As for `Input`.
      cursor: Where to begin.
      lost: As for `Input`.
    """

    def __init__(
        self, make: Callable[[Input], Iterator[Tree]], open_source: Opener, cursor: Cursor, lost: Lost
    ) -> None:
        self._start: Cursor = cursor or [0, None, 0, None]
        taken, state, self._replay, below = self._start
        self._started = False
        self._input = Input(open_source, Point(taken, below), state, lost)
        self._elements = make(self._input)

    def __iter__(self) -> Iterator[Tree]:
        taken = self._input
        self._catch_up()
        for element in self._elements:
            taken.since += 1
            yield element

    def __next__(self) -> Tree:
        self._catch_up()
        element = next(self._elements)
        self._input.since += 1
        return element

    def pass_over(self, count: int) -> int:
        """See `pass_over`."""
        self._catch_up()
        taken = self._input
        passed = taken.pass_over(count) if taken.one_for_one else pass_over(self._elements, count)
        taken.since += passed
        return passed

    def _catch_up(self) -> None:
        self._started = True
        while self._replay:
            self._replay -= 1
            next(self._elements, None)
            self._input.since += 1

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return self._input.cursor() if self._started else self._start
