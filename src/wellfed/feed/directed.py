"""Elements of several sources, one after another: numbers say which source gives the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed.mixing import mix, mix_each
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from wellfed.feed import plan
    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Cursor, Stream

_DRAWN_AT_A_TIME = 256


class Directed(Iterator[Tree]):
    """As tf.data: the number of a source that has ended ends all, or is passed over.

    Args:
      numbers: Opens the numbers, at a cursor of theirs.
      open_source: Opens the source of a number, at a cursor of its own.
      left: The sources that may be asked.
      stop_on_empty: Whether the first source that ends ends all.
      cursor: [the numbers' cursor, the cursor of each source that has not ended, by its number as text].
    """

    def __init__(
        self,
        numbers: Callable[[Cursor], Stream],
        open_source: Callable[[int, Cursor], Stream],
        left: list[int],
        *,
        stop_on_empty: bool,
        cursor: Cursor,
    ) -> None:
        told, cursors = cursor or (None, {str(number): None for number in left})
        self._numbers, self._stop_on_empty = numbers(told), stop_on_empty
        self._sources = {int(number): open_source(int(number), below) for number, below in cursors.items()}

    def __next__(self) -> Tree:
        for number in self._numbers if self._sources else ():
            source = self._sources.get(number)
            if source is None:
                continue
            for element in source:
                return element
            del self._sources[number]
            if self._stop_on_empty or not self._sources:
                break
        self._sources = {}
        raise StopIteration

    def cursor(self) -> Cursor:
        """See `Stream`."""
        cursors = {str(number): source.cursor() for number, source in self._sources.items()}
        return [self._numbers.cursor(), cursors]


class Draws(Iterator[int]):
    """Numbers drawn by weight; draw i depends on seed, node, epoch and i only.

    Args:
      node: The weights, and what seeds the draws.
      context: The run.
      number: The node's number in the plan.
      cursor: How many were drawn.
    """

    def __init__(self, node: plan.SampleFromDatasets, context: RunContext, number: int, cursor: Cursor) -> None:
        seed = context.seed if node.seed is None else node.seed
        self._key = mix(seed, number, context.epoch if node.rerandomize_each_iteration else 0)
        self._bounds = np.cumsum(node.weights) / sum(node.weights)
        self._last = max(which for which, weight in enumerate(node.weights) if weight)
        self._drawn = cursor or 0
        self._ahead: list[int] = []  # The next one last.

    def __next__(self) -> int:
        if not self._ahead:
            numbers = np.arange(self._drawn, self._drawn + _DRAWN_AT_A_TIME, dtype=np.uint64)
            shares = (mix_each(self._key, numbers) >> np.uint64(11)) * 2.0**-53
            which = np.minimum(np.searchsorted(self._bounds, shares, side="right"), self._last)  # 1 by rounding errors.
            self._ahead = which[::-1].tolist()
        self._drawn += 1
        return self._ahead.pop()

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return self._drawn


class Choices(Iterator[int]):
    """The numbers that a data set gives.

    Args:
      choices: The data set's elements.
      count: How many sources there are.
    """

    def __init__(self, choices: Stream, count: int) -> None:
        self._choices, self._count = choices, count

    def __next__(self) -> int:
        value = np.asarray(next(self._choices))
        if value.ndim or value.dtype.kind not in "iu":
            found = f"{value.dtype} of shape {value.shape}"
            raise PlanError("choose_from_datasets", f"choices must be whole numbers, got {found}")
        if not 0 <= value < self._count:
            raise PlanError("choose_from_datasets", f"a choice must be in [0, {self._count}), got {value}")
        return int(value)

    def cursor(self) -> Cursor:
        """See `Stream`."""
        return self._choices.cursor()
