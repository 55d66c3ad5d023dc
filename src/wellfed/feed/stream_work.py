"""A stream as the engine's work: elements are pulled when a unit is claimed, by one thread at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed.feed.calls import Cancelled
from wellfed.feed.cursors import pass_over
from wellfed.feed.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed.cursors import Cursor, Stream
    from wellfed.feed.tree import Tree


_Place: TypeAlias = "tuple[int, Cursor]"


class StreamWork:
    """Pulls the elements of a stream, and remembers where it stood between them until they are delivered.

    Args:
      elements: The stream.
      position: How many elements came before those that it gives.
      skip: How many it gives once more first, which are dropped.
      cursor: Where the stream stands now, `skip` elements before `position`.
      window: How many units may be claimed and not taken.
      every: How many elements lie between two places that are remembered.
      errors: How many rows were lost or replaced so far.
    """

    def __init__(
        self,
        elements: Stream,
        position: int,
        *,
        skip: int,
        cursor: Cursor,
        window: int,
        every: int,
        errors: Callable[[], int],
    ) -> None:
        self._elements, self._skip, self._every = elements, skip, every
        self._pulled: dict[int, list[Tree]] = {}
        self._errors = errors
        self._counts = [(0, 0)]  # (position, errors before it), for each element that came after an error.
        self._error: Exception | None = None
        self._over = False
        # Places of each unit that is claimed, made or with the consumer; its first one is the last before it.
        self._places: deque[list[_Place]] = deque([[(position - skip, cursor)]], maxlen=window + 3)

    def available(self, start: int, stop: int) -> int:
        """Pulls elements from `start` on until `stop` are known or the stream ends.

        Raises:
          Exception: What the stream raised, once all elements before it were told.
        """
        pulled: list[Tree] = []
        places = [self._places[-1][-1]]
        if self._error is None and start < stop:
            try:
                self._pull(start, stop - start, pulled, places)
            except Cancelled:  # Not kept: its traceback would hold this object, and so the threads below.
                raise
            except Exception as error:  # noqa: BLE001 -- raised in its turn.
                self._error = error
                if self._over:
                    self._error = None
        if pulled:
            self._pulled[start] = pulled
            self._places.append(places)
        elif self._error is not None:
            raise self._error
        return start + len(pulled)

    def _pull(self, start: int, count: int, pulled: list[Tree], places: list[_Place]) -> None:
        every = self._every
        pass_over(self._elements, self._skip)
        self._skip = 0
        for element in self._elements:
            pulled.append(element)
            if self._errors() != self._counts[-1][1]:
                self._counts.append((start + len(pulled), self._errors()))
            if not (start + len(pulled)) % every:
                places.append((start + len(pulled), self._elements.cursor()))
            if len(pulled) == count:
                return

    def work(self, start: int, stop: int) -> Unit:
        """The elements [start, stop), which the claim has pulled."""
        elements = self._pulled.pop(start)
        return Unit(None, elements, np.arange(start, stop, dtype=np.uint64))

    def close(self) -> None:
        """Drops the stream, and with it what its verbs hold open."""
        self._elements = iter(())  # type: ignore[assignment]  # Nobody asks it where it stands.
        self.forget()

    def forget(self) -> None:
        """Drops an error whose turn will not come: its traceback holds this object, and so the threads below."""
        self._over = True
        self._error = None

    def errors_at(self, position: int) -> int:
        """How many rows were lost or replaced before the last element that was delivered."""
        return self._counts[bisect_right(self._counts, position, key=itemgetter(0)) - 1][1]

    def cursor_at(self, position: int) -> list[Any]:
        """[position, cursor] of the last place at or before a position that the consumer just reached."""
        found: list[Any] = [0, None]
        for places in list(self._places):
            for at, cursor in places:
                if found[0] <= at <= position:
                    found = [at, cursor]
        return found
