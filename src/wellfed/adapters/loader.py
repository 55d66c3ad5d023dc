"""What the loaders share: epochs, moving ahead of the consumer, and a state that counts what was delivered.

feed --next--> _start: copy begins --> [ in flight, up to `ahead` ] --> _finish: copy is waited for --> delivered
position in the feed's state             not counted                                                   counted
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wellfed.errors import PlanError
from wellfed.feed import Dataset
from wellfed.feed.checks import whole
from wellfed.feed.state import PLACE
from wellfed.feed.workers import Pools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wellfed.feed.tree import Tree

T = TypeVar("T")


class Loader(ABC, Generic[T]):
    """A data set's elements in another library's form, an epoch for each `iter`.

    Args:
      dataset: What to deliver.
      ahead: Elements on their way to the device while the consumer works on one. They do not count in the state.

    Raises:
      PlanError: `dataset` is none, or `ahead` no whole number of at least 0.
    """

    def __init__(self, dataset: Dataset, ahead: int) -> None:
        name = type(self).__name__
        self._dataset, self._ahead = check_dataset(name, dataset), whole(name, "ahead", ahead, 0, "elements")
        self._pools = Pools()  # Processes of `map` stay from one epoch to the next.
        weakref.finalize(self, self._pools.stop)
        self._here: dict[str, Any] | None = None  # Where the consumer stands; None: at the start of epoch 0.
        self._next: dict[str, Any] | None = None  # Where the next `iter` begins.

    @abstractmethod
    def _start(self, element: Tree) -> T:
        """Begins to move an element; need not wait for it."""

    def _finish(self, element: T) -> T:
        """Makes a moved element ready for the consumer."""
        return element

    def __len__(self) -> int:
        """Elements in a whole epoch.

        Raises:
          TypeError: The data set never ends, or a verb lost its length.
        """
        return len(self._dataset)

    def __iter__(self) -> Iterator[T]:
        """The next epoch; after `load_state_dict`, the rest of the saved one. An epoch counts once it is begun."""
        begin = self._next or self._first()
        self._here, self._next = begin, _epoch_after(begin)
        feed = self._dataset.epoch(begin["epoch"], pools=self._pools)
        if feed.state_dict() != begin:
            feed.load_state_dict(begin)
        moving: deque[tuple[T, list[Any]]] = deque()  # With where the feed stands behind each.
        with feed:
            for element in feed:
                moving.append((self._start(element), feed.progress()))
                if len(moving) > self._ahead:
                    yield self._arrive(begin, *moving.popleft())
            while moving:
                yield self._arrive(begin, *moving.popleft())
        self._here = _epoch_after(begin)

    def _arrive(self, begin: dict[str, Any], element: T, progress: list[Any]) -> T:
        self._here = {**begin, **dict(zip(PLACE, progress, strict=False))}
        return self._finish(element)

    def _first(self) -> dict[str, Any]:
        return self._dataset.epoch(0).state_dict()

    @property
    def epoch(self) -> int:
        """The number of the epoch that the consumer is in, from 0; after a whole one, of the next."""
        return int(self._here["epoch"]) if self._here else 0

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands: a few integers and fingerprints, ready for JSON.

        Returns:
          A new dict. It counts what was delivered, not what is on its way; after a whole epoch it is the start of the
          next one.
        """
        return dict(self._here or self._first())

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on where a saved state stood: the next `iter` gives the rest of its epoch.

        A state of a whole epoch is the start of the next one, also where it was saved before the loop asked for more.

        Raises:
          StateError: The state belongs to another plan, other files, or another way of sharing them; or the data set
            comes from a generator.
        """
        feed = self._dataset.epoch(0)
        feed.load_state_dict(saved)
        begin = self._here = self._next = feed.state_dict()
        if feed.is_whole():
            self._here = self._next = _epoch_after(begin)

    def set_epoch(self, epoch: int) -> None:
        """The next `iter` gives this epoch, from its start, or from a loaded state that stands in it.

        The method of torch's samplers: not needed where each `iter` shall give the next epoch.

        Raises:
          PlanError: `epoch` is no whole number of at least 0.
        """
        epoch = whole(type(self).__name__, "epoch", epoch, 0)
        begin = self._next or self._first()
        if begin["epoch"] != epoch:
            self._here = self._next = {**_epoch_after(begin), "epoch": epoch}


def check_dataset(name: str, dataset: Any) -> Dataset:
    """The data set.

    Raises:
      PlanError: It is none.
    """
    if not isinstance(dataset, Dataset):
        raise PlanError(name, f"a data set is due, got {type(dataset).__name__}")
    return dataset


def _epoch_after(state: dict[str, Any]) -> dict[str, Any]:
    start = {"epoch": state["epoch"] + 1, "position": 0, "cursor": None, "consumed": 0}
    return {**state, **start, **({"ahead": []} if "ahead" in state else {})}
