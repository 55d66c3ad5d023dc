"""Which elements of an epoch were delivered, where they come in any order.

    delivered   0 1 2 3 . . 6 7 . 9        position 4, ahead [[6, 8], [9, 10]]

What is not delivered below the last of them is being made, so there are never more gaps than units under way.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wellfed.feed.tree import Tree
    from wellfed.feed.unit import Unit


class Delivered:
    """A few ranges of positions.

    Args:
      position: All below it were delivered.
      ahead: Ranges [start, stop) behind it that were: in order, apart from each other.
    """

    def __init__(self, position: int, ahead: Iterable[Sequence[int]] = ()) -> None:
        self._ranges = [[0, position], *([start, stop] for start, stop in ahead)]

    def each(self, units: Iterator[Unit], elements_of: Callable[[Unit], Iterable[Tree]]) -> Iterator[Tree]:
        """The elements of the units; each counts once it is given."""
        for unit in units:
            here = [unit.start, unit.start]
            insort(self._ranges, here)
            for element in elements_of(unit):
                here[1] += 1
                yield element
            self._ranges = _joined(self._ranges)

    def place(self) -> tuple[int, list[tuple[int, int]]]:
        """(position, ahead), as the constructor takes them."""
        (_, position), *ahead = _joined(self._ranges)
        return position, [(start, stop) for start, stop in ahead]


def _joined(ranges: list[list[int]]) -> list[list[int]]:
    """The ranges, with those that touch made one, and without empty ones but the first."""
    (first, *others), found = ranges, []
    found.append(list(first))
    for start, stop in others:
        if start == found[-1][1]:
            found[-1][1] = stop
        elif stop > start:
            found.append([start, stop])
    return found
