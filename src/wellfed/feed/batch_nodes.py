"""Nodes of a plan that make one element of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.errors import PlanError

if TYPE_CHECKING:
    from wellfed.feed.plan import Node, Tree


@dataclass(frozen=True, slots=True)
class Batch:
    """`batch_size` neighbouring elements become one; the last batch may be smaller."""

    source: Node
    batch_size: int
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise PlanError("batch", f"batch_size must be at least 1 element, got {self.batch_size}")


@dataclass(frozen=True, slots=True)
class PaddedBatch:
    """As Batch, with rows of one batch made equally long.

    Attributes:
      padded_shapes: A tree of shapes, None where the longest row of the batch decides; None: all decide.
      padding_values: A tree of scalars, or one for all; None: 0, or b"".
    """

    source: Node
    batch_size: int
    drop_remainder: bool = False
    padded_shapes: Tree = None
    padding_values: Tree = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise PlanError("padded_batch", f"batch_size must be at least 1 element, got {self.batch_size}")


@dataclass(frozen=True, slots=True)
class RaggedBatch:
    """As Batch, with rows of different length kept as they are.

    Attributes:
      dense: Paths of the leaves whose rows are known to have one shape: they stay arrays.
    """

    source: Node
    batch_size: int
    drop_remainder: bool = False
    dense: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise PlanError("ragged_batch", f"batch_size must be at least 1 element, got {self.batch_size}")


Batches = Batch | PaddedBatch | RaggedBatch
