"""Nodes of a plan that take their elements from several sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed.checks import check_whole

if TYPE_CHECKING:
    from wellfed.feed.plan import Node


@dataclass(frozen=True, slots=True)
class Concatenate:
    """All elements of the first source, then all of the next, and so on."""

    sources: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Zip:
    """Element i is the tuple of the sources' elements i; as many as the shortest source has."""

    sources: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mix:
    """The sources' elements in turn, in a fixed pattern of shares.

    Attributes:
      pattern: Which source each place of the pattern takes from.
      stop: "first": ends where a source would have to start again. "last": ends when each source was given whole; the
        shorter ones start again, each time a new epoch of theirs.
    """

    sources: tuple[Node, ...]
    pattern: tuple[int, ...]
    stop: str = "first"

    def __post_init__(self) -> None:
        if self.stop not in ("first", "last"):
            raise PlanError("mix", f'stop must be "first" or "last", got {self.stop!r}')


@dataclass(frozen=True, slots=True)
class SampleFromDatasets:
    """Elements of sources that are drawn one after another.

    Attributes:
      weights: How likely each source is, at least 0, not all 0.
      seed: The same seed draws the same.
      stop_on_empty_dataset: End where a source that was drawn has ended; else go on with the others.
      rerandomize_each_iteration: Draw anew in each epoch.
    """

    sources: tuple[Node, ...]
    weights: tuple[float, ...]
    seed: int | None = None
    stop_on_empty_dataset: bool = False
    rerandomize_each_iteration: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "sample_from_datasets", "seed", optional=True)


@dataclass(frozen=True, slots=True)
class ChooseFromDatasets:
    """Elements of sources that the first source names by number, from 0 for the second source on."""

    sources: tuple[Node, ...]
    stop_on_empty_dataset: bool = True
