"""The plan: what a pipeline is, as frozen nodes that know nothing of threads, epochs or ranks.

    Records | Arrays | Range                           where elements come from
      Shuffle | Shard | Take | Skip | Part | Repeat    which elements, in which order: arithmetic on positions
      | Select | Sample
      Concatenate | Mix | Zip                          several sources: which one, or all side by side
      Map | Enumerate | RowIds                         one element in, one element out
      Batch | PaddedBatch | RaggedBatch                neighbouring elements become one
      Cache                                            elements made once and kept
      Prefetch                                         how far the engine runs ahead

    Generator                                          elements of a Python iterable, forward only
      Filter | TakeWhile | FlatMap | Interleave        as many elements as a function says
      Unbatch | Rebatch | Scan | Unique | Window       what came before decides
      | BufferShuffle | Bucket | IgnoreErrors
      SampleFromDatasets | ChooseFromDatasets          several sources: one drawn, or named, at a time

The first group is *addressable*: any element can be made at any time. The second is not: its elements are made one
after another, and whatever stands over it is too.

A node holds its `source` or `sources`, so a plan is the last node of a tree. Nodes are checked when they are made.
`wellfed.feed.order` says what each does to positions, `wellfed.feed.stages` what each does to elements, and
`wellfed.feed.streams` what those do that have no positions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, get_args

from wellfed.errors import PlanError
from wellfed.feed.batch_nodes import Batch, Batches, PaddedBatch, RaggedBatch
from wellfed.feed.cache_node import Cache
from wellfed.feed.checks import check_whole
from wellfed.feed.choice_nodes import Part, Sample, Select
from wellfed.feed.many_nodes import ChooseFromDatasets, Concatenate, Mix, SampleFromDatasets, Zip
from wellfed.feed.sequential_nodes import (
    Bucket,
    BufferShuffle,
    Filter,
    Generator,
    IgnoreErrors,
    Interleave,
    Rebatch,
    Scan,
    TakeWhile,
    Unbatch,
    Unique,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wellfed.example import FeatureSpec
    from wellfed.feed.mixing import UInt64s
    from wellfed.io import RemoteOptions

__all__ = [
    "SKIPPING",
    "Arrays",
    "Batch",
    "Batches",
    "Bucket",
    "BufferShuffle",
    "Cache",
    "ChooseFromDatasets",
    "Concatenate",
    "Enumerate",
    "Filter",
    "Generator",
    "IgnoreErrors",
    "Interleave",
    "Many",
    "Map",
    "Mix",
    "Node",
    "PaddedBatch",
    "Part",
    "Prefetch",
    "RaggedBatch",
    "Range",
    "Rebatch",
    "Records",
    "Repeat",
    "RowIds",
    "Sample",
    "SampleFromDatasets",
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
    "has_batches",
    "is_addressable",
    "lost_by",
    "makes_batches",
    "most_processes",
    "name_of",
    "walk",
]

SKIPPING = 'with_options(on_error="skip")'  # What put an `IgnoreErrors` there that no verb did.
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
    """A permutation of the whole source, another in each epoch unless told otherwise.

    Attributes:
      block: None: any order is as likely as any other. Else this many neighbours stay near each other.
      window: With `block`: how many elements are mixed at a time.
    """

    source: Node
    seed: int | None = None
    reshuffle_each_iteration: bool = True
    block: int | None = None
    window: int = 1

    def __post_init__(self) -> None:
        check_whole(self, "shuffle", "seed", optional=True)
        check_whole(self, "shuffle", "block", 1, "element", optional=True)


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
        check_whole(self, "shard", "num_shards", 1, optional=True)
        check_whole(self, "shard", "index", optional=True)
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
        check_whole(self, "take", "count", 0, "elements")


@dataclass(frozen=True, slots=True)
class Skip:
    """All but the first `count` elements."""

    source: Node
    count: int

    def __post_init__(self) -> None:
        check_whole(self, "skip", "count", 0, "elements")


@dataclass(frozen=True, slots=True)
class Repeat:
    """The source `count` times over; None for ever. Each time is an epoch of its own to what stands below."""

    source: Node
    count: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, "repeat", "count", 0, "times, or None for ever", optional=True)


@dataclass(frozen=True, slots=True)
class Map:
    """One element in, one element out.

    Attributes:
      function: A built-in transform (it has `apply` and works on whole columns), or any function of one element.
      rng: Call the function with a `numpy.random.Generator` as its last argument, made from the run's seed, this node,
        the epoch and the element's position: the same numbers whatever the thread.
      processes: How many processes call the function; 0: the threads of this one.
      deterministic: Whether elements come in their order; None: as the options of the data set say.
    """

    source: Node
    function: Callable[..., Any] | Transform
    rng: bool = False
    processes: int = field(default=0, repr=False)  # No matter of what comes out; nor is the next one.
    deterministic: bool | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Prefetch:
    """How many elements the engine may keep ready; None lets it decide."""

    source: Node
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, "prefetch", "buffer_size", 0, "elements", optional=True)


@dataclass(frozen=True, slots=True)
class Enumerate:
    """Each element becomes (its number, itself)."""

    source: Node
    start: int = 0

    def __post_init__(self) -> None:
        check_whole(self, "enumerate", "start")


@dataclass(frozen=True, slots=True)
class RowIds:
    """Each element becomes (where it came from, itself): the number of its row, and of its source where several are."""

    source: Node


Source = Records | Arrays | Range | Generator
Draws = SampleFromDatasets | ChooseFromDatasets
Many = Concatenate | Zip | Mix | Draws
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
    | RaggedBatch
    | Cache
    | Prefetch
)
Sequential = (
    Filter
    | TakeWhile
    | Interleave
    | Unbatch
    | Rebatch
    | Scan
    | Unique
    | Window
    | BufferShuffle
    | Bucket
    | IgnoreErrors
    | Draws
)
Verb = Single | Many | Sequential
Node = Source | Verb

_NAMES = {
    "Generator": "from_generator",
    "BufferShuffle": "shuffle(buffer_size)",
    "Bucket": "bucket_by_sequence_length",
    "RowIds": "with_row_ids",
}


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


def makes_batches(node: Node) -> bool:
    """Whether elements of the plan are batches."""
    batched = False
    for step in walk(node):
        if isinstance(step, (*get_args(Batches), Bucket, Window, Rebatch)):
            batched = True
        elif isinstance(step, (Unbatch, Interleave)):
            batched = False
    return batched


def has_batches(node: Node) -> bool:
    """Whether a node of the plan makes batches."""
    return any(isinstance(step, Batches) for step in walk(node))


def most_processes(node: Node) -> int:
    """The largest number of processes that a verb of the plan asks for; a thread waits for each of them."""
    return max((step.processes for step in walk(node) if isinstance(step, Map)), default=0)


def name_of(node: Node) -> str:
    """The verb that made a node, such as "take_while"."""
    name = type(node).__name__
    if isinstance(node, Interleave) and node.cycle_length == 1:
        return "flat_map"
    return _NAMES.get(name) or re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def lost_by(node: Node) -> str:
    """The verb that made a plan lose its rows, for messages. REQUIRES: it is not addressable."""
    for step in walk(node):
        if isinstance(step, (Generator, Sequential)):
            return SKIPPING if isinstance(step, IgnoreErrors) and step.by_option else name_of(step)
    raise ValueError("the plan is addressable")
