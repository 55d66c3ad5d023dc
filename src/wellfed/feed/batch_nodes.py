"""Nodes of a plan that make one element of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.feed.checks import check_whole

if TYPE_CHECKING:
    from wellfed.feed.plan import Node, Tree


@dataclass(frozen=True, slots=True)
class Batch:
    """`batch_size` neighbouring elements become one; the last batch may be smaller."""

    source: Node
    batch_size: int
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "batch", "batch_size", 1, "element")


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
        check_whole(self, "padded_batch", "batch_size", 1, "element")


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
        check_whole(self, "ragged_batch", "batch_size", 1, "element")


Batches = Batch | PaddedBatch | RaggedBatch
