"""Elements of a user's iterable: forward only, but for iterators that can tell and take their own state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from wellfed.errors import WellfedError
from wellfed.feed.calls import Cancelled, call, failed
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from wellfed.feed.cursors import Cursor

_MARK = "from_generator"


class Generated(Iterator[Tree]):
    """The elements of what `make` gives.

    Args:
      make: Gives an iterable. Where its iterator has `state_dict()` and `load_state_dict()`, they are asked.
      cursor: {"from_generator": [elements given, the iterator's state]}.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], cursor: Cursor) -> None:
        saved: Any
        self._given: int
        self._given, saved = cursor[_MARK] if cursor else (0, None)
        self._make = make
        elements = call(_MARK, make)
        if not hasattr(elements, "__iter__"):
            raise failed(_MARK, make, f"an iterable is due, got {type(elements).__name__}")
        self._elements: Any = iter(elements)
        if self._given:
            call(_MARK, self._elements.load_state_dict, saved)

    def __next__(self) -> Tree:
        try:
            element = next(self._elements)
        except (StopIteration, WellfedError, Cancelled):
            raise
        except Exception as error:
            raise failed(_MARK, self._make, f"{type(error).__name__}: {error}", self._given) from error
        self._given += 1
        return element

    def cursor(self) -> Cursor:
        """See `Stream`."""
        known = getattr(self._elements, "state_dict", None)
        return {_MARK: [self._given, None if known is None else known()]}


def can_go_on(cursor: Cursor, makers: Iterable[Callable[[], Iterable[Any]]]) -> bool:
    """Whether a plan over generators can go on at a cursor.

    Args:
      cursor: Where the plan stood. It may tell nothing of a generator that is read again from its start, as behind the
        first elements, or where a verb still holds one of them: then its iterator is asked whether it has a state.
      makers: What each generator is made by.
    """
    found = list(_states(cursor))
    if found:
        return all(saved is not None or not given for given, saved in found)
    return all(hasattr(iter(call(_MARK, make)), "load_state_dict") for make in makers)


def _states(cursor: Cursor) -> Iterator[tuple[int, Any]]:
    if isinstance(cursor, dict) and _MARK in cursor:
        given, saved = cursor[_MARK]
        yield given, saved
    elif isinstance(cursor, (dict, list)):
        for entry in cursor.values() if isinstance(cursor, dict) else cursor:
            yield from _states(entry)
