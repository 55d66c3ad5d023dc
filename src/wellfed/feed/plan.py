"""The plan: what a pipeline is, as frozen nodes that know nothing of threads, epochs or ranks.

    Records | Arrays | Range                    where elements come from
      Shuffle | Shard | Take | Skip | Repeat    which elements, in which order: arithmetic on positions
      Map                                       one element in, one element out
      Batch                                     neighbouring elements become one
      Prefetch                                  how far the engine runs ahead

Each node but the first three holds its `source`, so a plan is the last node of a chain. Nodes are checked when they
are made; `wellfed.feed.order` says what each does to positions, `wellfed.feed.stages` what each does to elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wellfed.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wellfed.example import FeatureSpec
    from wellfed.feed.mixing import UInt64s

Tree = Any  # A column, or a mapping or tuple of trees.


class Transform(Protocol):
    """A built-in transform: works on whole columns, one row in, one row out, without a loop in Python."""

    def apply(self, columns: Any, seeds: UInt64s) -> Any:
        """The rows of `columns` transformed; all randomness of row i comes from `seeds[i]`."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records of TFRecord files, in file order.

    Attributes:
      files: Local paths, at least one.
      features: What to parse each record into; None leaves the bytes of the record.
      check_crc: Prove each payload's sum. The header's is always proved.
    """

    files: tuple[str, ...]
    features: Mapping[str, FeatureSpec] | None = None
    check_crc: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Rows of columns in memory, all of one length."""

    columns: Tree
    length: int


@dataclass(frozen=True, slots=True)
class Range:
    """The int64 numbers of a `range`."""

    values: range


@dataclass(frozen=True, slots=True)
class Shuffle:
    """An exact permutation of the whole source, another in each epoch unless told otherwise."""

    source: Node
    seed: int | None = None
    reshuffle_each_iteration: bool = True


@dataclass(frozen=True, slots=True)
class Shard:
    """Every `num_shards`-th element, from `index` on.

    Attributes:
      num_shards: How many shards there are; None takes the run's world size.
      index: Which one this is; None takes the run's rank.
      even: None leaves shards that differ by one element; "drop" leaves out the remainder; "pad" repeats elements from
        the start so that all shards are as long as the longest.
    """

    source: Node
    num_shards: int | None
    index: int | None
    even: str | None = None

    def __post_init__(self) -> None:
        if (self.num_shards is None) != (self.index is None):
            raise PlanError("shard", "num_shards and index go together: give both or neither")
        if self.num_shards is not None and self.num_shards < 1:
            raise PlanError("shard", f"num_shards must be at least 1, got {self.num_shards}")
        if self.index is not None and not 0 <= self.index < (self.num_shards or 0):
            raise PlanError("shard", f"index must be in [0, {self.num_shards}), got {self.index}")
        if self.even not in (None, "drop", "pad"):
            raise PlanError("shard", f'even must be None, "drop" or "pad", got {self.even!r}')


@dataclass(frozen=True, slots=True)
class Take:
    """The first `count` elements."""

    source: Node
    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise PlanError("take", f"count must be at least 0 elements, got {self.count}")


@dataclass(frozen=True, slots=True)
class Skip:
    """All but the first `count` elements."""

    source: Node
    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise PlanError("skip", f"count must be at least 0 elements, got {self.count}")


@dataclass(frozen=True, slots=True)
class Repeat:
    """The source `count` times over; None for ever. Each time is an epoch of its own to what stands below."""

    source: Node
    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 0:
            raise PlanError("repeat", f"count must be at least 0 times, or None for ever; got {self.count}")


@dataclass(frozen=True, slots=True)
class Map:
    """One element in, one element out.

    Attributes:
      function: A built-in transform (it has `apply` and works on whole columns), or any function of one element.
      rng: Call the function with a `numpy.random.Generator` as its last argument, made from the run's seed, this node,
        the epoch and the element's position: the same numbers whatever the thread.
    """

    source: Node
    function: Callable[..., Any] | Transform
    rng: bool = False


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
class Prefetch:
    """How many elements the engine may keep ready; None lets it decide."""

    source: Node
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        if self.buffer_size is not None and self.buffer_size < 0:
            raise PlanError("prefetch", f"buffer_size must be at least 0 elements, got {self.buffer_size}")


Source = Records | Arrays | Range
Verb = Shuffle | Shard | Take | Skip | Repeat | Map | Batch | Prefetch
Node = Source | Verb


def chain(node: Node) -> list[Node]:
    """The nodes from the source to `node`, in the order in which elements meet them."""
    nodes: list[Node] = [node]
    while not isinstance(nodes[-1], Source):
        nodes.append(nodes[-1].source)
    return nodes[::-1]
