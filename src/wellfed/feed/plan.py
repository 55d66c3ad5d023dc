"""The plan: what a pipeline is, as frozen nodes that know nothing of threads, epochs or ranks.

    Records | Arrays | Range                           where elements come from
      Shuffle | Shard | Take | Skip | Part | Repeat    which elements, in which order: arithmetic on positions
      | Select | Sample
      Concatenate | Mix | Zip                          several sources: which one, or all side by side
      Map | Enumerate | RowIds                         one element in, one element out
      Batch | PaddedBatch                              neighbouring elements become one
      Prefetch                                         how far the engine runs ahead

    Generator                                          elements of a Python iterable, forward only
      Filter | TakeWhile | FlatMap | Interleave        as many elements as a function says
      Unbatch | Scan | Unique | Cache | Window         what came before decides
      | BufferShuffle | Bucket

The first group is *addressable*: any element can be made at any time. The second is not: its elements are made one
after another, and whatever stands over it is too.

A node holds its `source` or `sources`, so a plan is the last node of a tree. Nodes are checked when they are made.
`wellfed.feed.order` says what each does to positions, `wellfed.feed.stages` what each does to elements, and
`wellfed.feed.streams` what those do that have no positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wellfed.errors import PlanError
from wellfed.feed.many_nodes import Concatenate, Mix, Zip
from wellfed.feed.sequential_nodes import (
    Bucket,
    BufferShuffle,
    Cache,
    Filter,
    Generator,
    Interleave,
    Scan,
    TakeWhile,
    Unbatch,
    Unique,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from wellfed.example import FeatureSpec
    from wellfed.feed.mixing import UInt64s
    from wellfed.io import RemoteOptions

__all__ = [
    "Arrays",
    "Batch",
    "Bucket",
    "BufferShuffle",
    "Cache",
    "Concatenate",
    "Enumerate",
    "Filter",
    "Generator",
    "Interleave",
    "Many",
    "Map",
    "Mix",
    "Node",
    "PaddedBatch",
    "Part",
    "Prefetch",
    "Range",
    "Records",
    "Repeat",
    "RowIds",
    "Sample",
    "Scan",
    "Select",
    "Sequential",
    "Shard",
    "Shuffle",
    "Single",
    "Skip",
    "Source",
    "Take",
    "TakeWhile",
    "Transform",
    "Tree",
    "Unbatch",
    "Unique",
    "Verb",
    "Window",
    "Zip",
    "below",
    "is_addressable",
    "lost_by",
    "walk",
]

Tree = Any  # A column, or a mapping or tuple of trees.


class Transform(Protocol):
    """A built-in transform: works on whole columns, one row in, one row out, without a loop in Python."""

    def apply(self, columns: Any, seeds: UInt64s) -> Any:
        """The rows of `columns` transformed; all randomness of row i comes from `seeds[i]`."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The records of TFRecord files, in file order.

    Attributes:
      files: Paths or URLs, at least one.
      features: What to parse each record into; None leaves the bytes of the record.
      compression_type: "", "GZIP" or "ZLIB"; None: told from the content of each file.
      on_damage: "raise", or "skip": leave damaged records out before the order starts.
      check_crc: Prove each payload's sum. The header's is always proved.
      remote: How files behind URLs are read; None for the usual way.
    """

    files: tuple[str, ...]
    features: Mapping[str, FeatureSpec] | None = None
    compression_type: str | None = None
    on_damage: str = "raise"
    check_crc: bool = True
    remote: RemoteOptions | None = None

    def __post_init__(self) -> None:
        if self.compression_type not in (None, "", "GZIP", "ZLIB"):
            raise PlanError(
                "TFRecordDataset",
                f'compression_type must be None, "", "GZIP" or "ZLIB", got {self.compression_type!r}',
            )
        if self.on_damage not in ("raise", "skip"):
            raise PlanError("TFRecordDataset", f'on_damage must be "raise" or "skip", got {self.on_damage!r}')


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Rows of columns in memory, all of one length."""

    columns: Tree
    length: int


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True)
class Enumerate:
    """Each element becomes (its number, itself)."""

    source: Node
    start: int = 0


@dataclass(frozen=True, slots=True)
class RowIds:
    """Each element becomes (where it came from, itself): the number of its row, and of its source where several are."""

    source: Node


Source = Records | Arrays | Range | Generator
Many = Concatenate | Zip | Mix
Single = (
    Shuffle
    | Shard
    | Take
    | Skip
    | Part
    | Repeat
    | Select
    | Sample
    | Map
    | Enumerate
    | RowIds
    | Batch
    | PaddedBatch
    | Prefetch
)
Sequential = Filter | TakeWhile | Interleave | Unbatch | Scan | Unique | Cache | Window | BufferShuffle | Bucket
Verb = Single | Many | Sequential
Node = Source | Verb


def below(node: Node) -> tuple[Node, ...]:
    """The nodes that `node` takes its elements from."""
    if isinstance(node, Source):
        return ()
    return node.sources if isinstance(node, Many) else (node.source,)


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a plan, each after what is below it. The place in this order is the node's number."""
    for source in below(node):
        yield from walk(source)
    yield node


def is_addressable(node: Node) -> bool:
    """Whether any element can be made at any time."""
    return not isinstance(node, (Generator, Sequential)) and all(map(is_addressable, below(node)))


def lost_by(node: Node) -> str:
    """The verb that made a plan lose its rows, for messages. REQUIRES: it is not addressable."""
    for step in walk(node):
        if isinstance(step, Generator):
            return "from_generator"
        if isinstance(step, Sequential):
            return type(step).__name__.lower()
    raise ValueError("the plan is addressable")
