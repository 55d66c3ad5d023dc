"""Nodes of a plan whose elements are made one after another: no element can be asked for by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from wellfed.errors import PlanError
from wellfed.feed.checks import check_whole, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wellfed.feed.plan import Node, Tree


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """What the iterator that `make` gives yields; asked for anew in each epoch."""

    make: Callable[[], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Filter:
    """The elements for which `predicate` is true."""

    source: Node
    predicate: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class TakeWhile:
    """The elements before the first for which `predicate` is false."""

    source: Node
    predicate: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Interleave:
    """The elements of the data sets that `function` makes of the source's, from `cycle_length` of them in turn.

    Attributes:
      function: Takes an element and gives a data set, or any iterable.
      cycle_length: How many are open at a time; 1 is flat_map.
      block_length: How many elements are taken from one before the next.
    """

    source: Node
    function: Callable[[Any], Iterable[Any]]
    cycle_length: int = 1
    block_length: int = 1

    def __post_init__(self) -> None:
        for name in ("cycle_length", "block_length"):
            check_whole(self, "interleave", name, 1)


@dataclass(frozen=True, slots=True)
class Unbatch:
    """Each row of each element."""

    source: Node


@dataclass(frozen=True, slots=True)
class Rebatch:
    """The rows of each element in batches whose sizes go round in a circle; the last one may be smaller."""

    source: Node
    batch_sizes: tuple[int, ...]
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        if not self.batch_sizes or min(self.batch_sizes) < 1:
            raise PlanError("rebatch", f"every size must be at least 1 row, got {list(self.batch_sizes)}")


@dataclass(frozen=True, slots=True)
class Scan:
    """Elements made with a state: `function(state, element)` gives the next state and an element."""

    source: Node
    initial_state: Any
    function: Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Unique:
    """Each element the first time that it comes, as long as the ones seen fit in `limit_bytes`."""

    source: Node
    limit_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        check_whole(self, "unique", "limit_bytes", 0, "bytes")


@dataclass(frozen=True, slots=True)
class IgnoreErrors:
    """The source's elements without those that cannot be made; each of these is counted and named."""

    source: Node
    log_warning: bool = False
    by_option: bool = field(
        default=False, repr=False
    )  # on_error="skip" put it there: for messages, no part of a state.


@dataclass(frozen=True, slots=True)
class Window:
    """Data sets of `size` neighbouring elements."""

    source: Node
    size: int
    shift: int
    stride: int = 1
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        for name in ("size", "shift", "stride"):
            check_whole(self, "window", name, 1)


@dataclass(frozen=True, slots=True)
class BufferShuffle:
    """A seeded reservoir: each element is drawn from the `buffer_size` that are at hand."""

    source: Node
    buffer_size: int
    seed: int | None = None
    reshuffle_each_iteration: bool = True

    def __post_init__(self) -> None:
        check_whole(self, "shuffle", "seed", optional=True)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Padded batches of elements of like length; see `Dataset.bucket_by_sequence_length`.

    Attributes:
      limit_bytes: The elements that wait may take so much. [bytes]
    """

    source: Node
    length_of: Callable[[Any], Any]
    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    padded_shapes: Tree = None
    padding_values: Tree = None
    pad_to_boundary: bool = False
    drop_remainder: bool = False
    limit_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        if len(self.batch_sizes) != len(self.boundaries) + 1:
            raise PlanError(
                "bucket_by_sequence_length",
                f"one batch size more than boundaries is due, got {len(self.batch_sizes)} and {len(self.boundaries)}",
            )
        for size in self.batch_sizes:
            whole("bucket_by_sequence_length", "each batch size", size, 1, "element")
        if any(after <= before for before, after in pairwise(self.boundaries)):
            raise PlanError("bucket_by_sequence_length", f"boundaries must rise, got {list(self.boundaries)}")
