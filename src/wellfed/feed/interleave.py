"""Data sets within a data set: the elements of several, made by a function of the source's elements, in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wellfed.feed import plan
from wellfed.feed.calls import call, failed
from wellfed.feed.cursors import Cursor, Input, Point
from wellfed.feed.guard import ROW_ERRORS
from wellfed.feed.mixing import mix
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from wellfed.feed.context import RunContext


class _Counted(Iterator[Tree]):
    """The elements of any iterable: it goes on at a place by taking as many again."""

    def __init__(self, elements: Any, cursor: Cursor) -> None:
        self._given = cursor or 0
        self._elements = itertools.islice(elements, self._given, None)

    def __next__(self) -> Tree:
        element = next(self._elements)
        self._given += 1
        return element

    def progress(self) -> Cursor:
        return self._given


@dataclass
class _Place:
    """One of the data sets that are open: where its element stood in the source, and its own elements."""

    point: Point
    elements: Any


class _Cycle:
    """The open data sets of one interleave."""

    def __init__(self, node: plan.Interleave, context: RunContext, number: int) -> None:
        self._function, self._context, self._number = node.function, context, number
        self._verb = plan.name_of(node)
        self.places: list[_Place | None] = [None] * node.cycle_length
        self.turn, self.left, self.ended = 0, node.block_length, False

    def open(self, point: Point, element: Tree, cursor: Cursor) -> _Place:
        """Calls the user's function; the seed of what it gives depends on the place in the source only."""
        elements = call(self._verb, self._function, element, number=point.taken)
        nested = getattr(elements, "_nested", None)
        if nested is None:
            if not hasattr(elements, "__iter__"):
                what = f"a data set or another iterable is due, got {type(elements).__name__}"
                raise failed(self._verb, self._function, what, point.taken)
            return _Place(point, _Counted(elements, cursor))
        seed = mix(self._context.seed, self._number, self._context.epoch, point.taken)
        return _Place(point, nested(seed, cursor))

    def state(self) -> Any:
        """Everything but the source's place, as JSON."""
        places = [place and [place.point.as_json(), place.elements.progress()] for place in self.places]
        return [self.turn, self.left, self.ended, places]

    def restore(self, source: Input) -> None:
        """Opens the data sets that were open, each where it stood."""
        self.turn, self.left, self.ended, places = source.state
        for number, saved in enumerate(places):
            if saved is not None:
                point = Point(*saved[0])
                self.places[number] = self.open(point, source.again(point), saved[1])


def interleave(node: plan.Interleave, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    """As tf.data: a place whose data set ended is filled when its turn comes again."""
    cycle = _Cycle(node, context, number)
    if source.state is not None:
        cycle.restore(source)
    source.resumes(cycle.state)
    while not cycle.ended or any(cycle.places):
        place = cycle.places[cycle.turn]
        if place is None and not cycle.ended:
            point = source.here()
            try:
                element = next(source)
            except StopIteration:
                cycle.ended = True
                continue
            try:
                place = cycle.places[cycle.turn] = cycle.open(point, element, None)
            except ROW_ERRORS as error:
                source.lost(error, point.taken)
                continue
            cycle.left = node.block_length
        while place is not None and cycle.left:
            try:
                element = next(place.elements)
            except StopIteration:
                cycle.places[cycle.turn] = None
                break
            except ROW_ERRORS as error:  # It has ended with that.
                source.lost(error, place.point.taken)
                cycle.places[cycle.turn] = None
                break
            cycle.left -= 1
            yield element
        cycle.turn, cycle.left = (cycle.turn + 1) % node.cycle_length, node.block_length
