"""What an iteration did, and where its time went.

consumer   waited for elements     the feed is too slow
did not wait            the feed keeps up; whatever takes the elements is the limit
threads    busy in stages          read (and parse), map, batch, ...
           waited for room         they are ahead: as many units are ready as may be
           waited for input        the source below them is slower than they are

docs/profile.md says how each number is read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from wellfed.feed.advice import sentence
from wellfed.io import Damage, RemoteStats

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class ReplacedRow:
    """A row that could not be made, and in whose place another one came.

    Attributes:
      position: The element's number in its epoch, before batches.
      epoch: The epoch.
      where: The file and record, where they are known.
      reason: What was wrong.
    """

    position: int
    epoch: int
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that could not be made, and was left out.

    Attributes:
      position: The element's number in its epoch where it was lost: before batches, in what the failing verb takes.
      epoch: The epoch.
      where: The file and record, where they are known.
      reason: What was wrong.
      row: The number of the row in its source; -1 where a verb after the first that lost the rows failed.
    """

    position: int
    epoch: int
    where: str
    reason: str
    row: int


@dataclass(frozen=True, slots=True)
class StageStats:
    """One step of a plan.

    Attributes:
      name: The step, such as "map(decode)".
      rows: Elements that it made: rows, or batches from `batch` on.
      seconds: Time that threads spent in it, without the steps below, also where it failed and the feed went on;
        threads add up. [s]
      cpu_seconds: How much of `seconds` those threads had a core. What is missing they waited: for a disk, for the
        interpreter, or for a core that someone else had. [s]
      nbytes: Size of what it made; 0 for steps that only choose and order, and in streams. [bytes]
      input_seconds: How long its threads waited for something to work on; not 0 only where a queue, or the search for
        the next rows, stands before the step. Threads add up. [s]
      room_seconds: How long its threads waited because enough was ready; not 0 only before a queue. Threads add up. [s]
      queue_fill: How full the queue after the step was whenever something was taken from it, from 0 to 1; None where no
        queue follows.
      threads: How many threads work on it, together with its neighbours up to the next queue; 0 where it is not known.
      helps: What would help where this step is the limit.
      kept: How many of `rows` a cache had kept before; the others it made from below. 0 for any other step.
    """

    name: str
    rows: int
    seconds: float
    cpu_seconds: float = 0.0
    nbytes: int = 0
    input_seconds: float = 0.0
    room_seconds: float = 0.0
    queue_fill: float | None = None
    threads: int = 0
    helps: str = "more cores, less work in it, or cache() after it"
    kept: int = 0


@dataclass(frozen=True, slots=True)
class FeedStats:
    """What an iteration did so far.

    Attributes:
      elements: Elements delivered.
      seconds: Time since the first element was asked for; it stands still once the iterator is closed. [s]
      waited_seconds: How much of it the consumer waited for elements that were not ready. [s]
      threads: Threads that make elements; 0 before the first was asked for.
      stages: The steps of the plan, in the order in which rows meet them.
      replaced: Rows that were replaced because of `on_error="replace"`, in elements that were delivered.
      skipped: Rows that were left out because of `on_error="skip"` or `ignore_errors`, in the order of the elements,
        before the last one that was delivered; after the end, all.
      first_seconds: Time to the first element: opening, indexing where it is due, and one element. [s]
      consumer_seconds: Time that the consumer spent with elements; None where nobody measured it. [s]
      remote: Requests, retries and shards kept on disk, by all iterations over the same data set so far.
      repeated: Records that hold a feature of `features=` more than once, of which the last one counts: of all records
        parsed as they were read, by all iterations over the same data set so far, also ahead of what was delivered.
      repeated_at: The file and record of one of them.
      damage: Ranges of bytes that `on_damage="skip"` left out of the data set's files.
    """

    elements: int
    seconds: float
    waited_seconds: float
    threads: int = 0
    stages: tuple[StageStats, ...] = ()
    replaced: tuple[ReplacedRow, ...] = ()
    skipped: tuple[SkippedRow, ...] = ()
    first_seconds: float = 0.0
    consumer_seconds: float | None = None
    remote: RemoteStats = field(default_factory=RemoteStats)
    repeated: int = 0
    repeated_at: str = ""
    damage: tuple[Damage, ...] = ()

    def __str__(self) -> str:
        """One sentence: what limits, and what would help."""
        return sentence(self)

    def to_json(self) -> str:
        """All fields as one line of JSON, and the sentence as `sentence`."""
        return json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON's types, and the sentence as `sentence`."""
        return asdict(self) | {"sentence": str(self)}

    def table(self) -> Table:
        """The steps as a table for `rich.print`."""
        from wellfed.feed.report import stages_table  # noqa: PLC0415 -- rich is loaded only when asked for.

        return stages_table(self)
