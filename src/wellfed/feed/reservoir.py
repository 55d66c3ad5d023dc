"""The seeded reservoir: a shuffle of elements that come one after another.

    the first `size` elements fill the slots 0, 1, ... size - 1
    draw i gives what lies in slot draws(i), and element size + i takes its place
    where the source ends, the rest is drawn from what is left, and the last slot closes each gap

A draw is a function of its number, so which element lies in which slot after any number of draws is found by looking
back until each slot was met: about `size * (log(size) + 1)` draws, without an element at hand. To go on at a place,
the source is opened at a point no later than the oldest element that still lies in a slot, and read from there. An
element waits for `size` draws on average, and the oldest of all for about `log(size) + 1` times as many. Those on the
way that were drawn are passed over: what is made element for element below makes none of them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import StateError
from wellfed.feed.mixing import mix, mix_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wellfed.feed import plan
    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input, Point
    from wellfed.feed.tree import Tree

_AT_A_TIME = 4096  # Draws made by one call.
_POINTS = 8  # Points kept for each `size` elements.


def draws(seed: int, start: int, stop: int, size: int) -> NDArray[np.int64]:
    """The slots of draws [start, stop): int64. Each of `size` slots is as likely to one part in 2**31 at least."""
    mixed = mix_each(seed, np.arange(start, stop, dtype=np.uint64)) >> np.uint64(32)
    slots: NDArray[np.int64] = ((mixed * np.uint64(size)) >> np.uint64(32)).astype(np.int64)
    return slots


def contents(seed: int, count: int, size: int) -> NDArray[np.int64]:
    """Which element of the source lies in each slot after `count` draws: int64, shape (size,)."""
    found = np.full(size, -1, np.int64)
    stop = count
    while stop > 0 and (found < 0).any():
        start = max(stop - max(size, _AT_A_TIME), 0)
        later = np.full(size, -1, np.int64)
        later[draws(seed, start, stop, size)] = np.arange(start, stop) + size  # The last one of each slot stays.
        found = np.where(found < 0, later, found)
        stop = start
    return np.where(found < 0, np.arange(size), found)


class _Reservoir:
    """The slots, and since when what lies in them waits."""

    def __init__(self, seed: int, size: int) -> None:
        self._seed, self._size = seed, size
        self.held: list[Any] = []
        self._numbers: list[int] = []  # Which element of the source lies in each slot.
        self._waiting: deque[tuple[int, int]] = deque()  # (element, slot) in the order of the source; some are gone.
        self._points: deque[Point] = deque()
        self.drawn = self.taken = 0
        self.last = 0  # Elements given since the source ended.
        self._ahead: list[int] = []  # Draws to come, the next one last.

    def put(self, slot: int, number: int, element: Tree) -> None:
        if slot == len(self.held):
            self.held.append(element)
            self._numbers.append(number)
        else:
            self.held[slot], self._numbers[slot] = element, number
        self._waiting.append((number, slot))

    def draw(self) -> int:
        if not self._ahead:
            self._ahead = draws(self._seed, self.drawn, self.drawn + _AT_A_TIME, self._size)[::-1].tolist()
        self.drawn += 1
        return self._ahead.pop()

    def pass_by(self, source: Input) -> None:
        """Notes the place before the next element now and then, and forgets those that nothing waits for any more."""
        if source.taken % max(self._size // _POINTS, 1) and self._points:
            return
        self._points.append(source.here())
        while self._waiting and self._numbers[self._waiting[0][1]] != self._waiting[0][0]:
            self._waiting.popleft()
        oldest = self._waiting[0][0] if self._waiting else source.taken
        while len(self._points) > 1 and self._points[1].taken <= oldest:
            self._points.popleft()

    def start(self) -> Point:
        """From where the source must be read to fill the slots as they are."""
        return self._points[0]

    def state(self) -> list[int]:
        """What `refill` takes, and how many elements were given since the source ended."""
        return [self.drawn, self.taken, self.last]

    def refill(self, source: Input, drawn: int, taken: int) -> None:
        """Fills the slots as they were after `drawn` draws, with `taken` elements of the source gone by.

        Raises:
          StateError: The source has fewer elements now.
        """
        size = min(taken, self._size)
        numbers = contents(self._seed, drawn, self._size)[:size]
        slots = {int(number): slot for slot, number in enumerate(numbers)}
        self.held, self._numbers = [None] * size, numbers.tolist()
        while source.taken < taken:
            self.pass_by(source)
            number = source.taken
            element = next(source, None) if number in slots else source.pass_over(1)
            if source.taken == number:
                raise StateError(
                    f"shuffle(buffer_size): {taken} elements came before it where the state was saved, here no "
                    f"more than {number}; a function before it must give the same for the same element"
                )
            if number in slots:
                self.put(slots[number], number, element)
        self.drawn, self.taken = drawn, taken


def shuffle(node: plan.BufferShuffle, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    """Elements drawn from the `buffer_size` that are at hand."""
    seed = context.seed if node.seed is None else node.seed
    key = mix(seed, number, context.epoch if node.reshuffle_each_iteration else 0)
    slots = _Reservoir(key, node.buffer_size)
    if source.state is not None:
        drawn, taken, slots.last = source.state
        slots.refill(source, drawn, taken)
    source.resumes(slots.state, slots.start)
    while not slots.last:
        slots.pass_by(source)
        at = source.taken
        try:
            element = next(source)
        except StopIteration:
            break
        if at < node.buffer_size:
            slots.put(at, at, element)
            continue
        slot = slots.draw()
        given = slots.held[slot]
        slots.put(slot, at, element)
        slots.taken = source.taken
        yield given
    slots.taken = source.taken
    yield from _rest(slots, mix(key, 1))


def _rest(slots: _Reservoir, key: int) -> Iterator[Tree]:
    """What is left once the source ended, but for what was given of it."""
    held, before = slots.held, slots.last
    order = mix_each(key, np.arange(len(held), dtype=np.uint64)).tolist()
    for given, drawn in enumerate(order):
        slot = drawn % len(held)
        element, held[slot] = held[slot], held[-1]
        held.pop()
        if given >= before:
            slots.last = given + 1
            yield element
