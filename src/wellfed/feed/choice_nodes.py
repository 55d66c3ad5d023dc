"""Nodes of a plan that choose among the rows of their source, by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed.checks import check_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellfed.feed.mixing import UInt64s
    from wellfed.feed.plan import Node


@dataclass(frozen=True, slots=True)
class Part:
    """The elements from the share `start` of the whole to the share `stop`: neighbouring parts share nothing."""

    source: Node
    start: float
    stop: float

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop <= 1:
            raise PlanError("split", f"fractions must lie in [0, 1] and not fall, got {self.start} and {self.stop}")


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """The elements at the numbers `rows`, in that order: uint64 (n,)."""

    source: Node
    rows: UInt64s


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Elements drawn with replacement, another draw in each epoch.

    Attributes:
      cumulative: Running sums of the weights, float64, one for each element of the source.
      count: How many are drawn.
      seed: As in Shuffle.
    """

    source: Node
    cumulative: NDArray[np.float64]
    count: int
    seed: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, "sample", "count", 0, "elements")
        check_whole(self, "sample", "seed", optional=True)
