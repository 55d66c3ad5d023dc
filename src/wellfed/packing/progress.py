"""How far a pack is: counters that workers write and the pack reads, without a message between them.

The file holds one row of int64 for each shard (items, bytes in), and a first row whose first number tells the workers
to stop. Threads and processes of this machine map it; workers on other machines go without and count a shard when it
is whole.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pack is, as its callback is told.

    Attributes:
      items: Items done, skipped ones among them.
      total_items: All items of the plan.
      bytes_in: What the items done hold. [bytes]
      total_bytes: What all items hold, by the listing. [bytes]
      shards: Shards finished.
      total_shards: All shards of the plan.
      seconds: Since packing began, without what an earlier run had finished.
      resumed_items: Items that an earlier run had finished; they count in `items`, not in the rate.
      resumed_bytes: What those hold; they count in `bytes_in`, not in the rate. [bytes]
    """

    items: int
    total_items: int
    bytes_in: int
    total_bytes: int
    shards: int
    total_shards: int
    seconds: float
    resumed_items: int
    resumed_bytes: int

    @property
    def items_per_second(self) -> float:
        """The rate so far, in items a second."""
        return (self.items - self.resumed_items) / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        """The rate so far, in bytes a second."""
        return (self.bytes_in - self.resumed_bytes) / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Returns the seconds that are left at the rate so far; None before there is a rate."""
        rate = self.items_per_second
        return (self.total_items - self.items) / rate if rate else None


class Counters:
    """The mapped file of counters.

    Args:
      path: The file. Where it is not there, as on another machine, or "", nothing is counted and nothing stops.
      shards: How many shards it counts for, to make the file; 0 to map one that is there.
    """

    def __init__(self, path: str, shards: int = 0) -> None:
        self.path = path
        if shards:
            Path(path).write_bytes(bytes(16 * (shards + 1)))
        self._rows: NDArray[np.int64] = np.zeros((1, 2), np.int64)
        if path:
            with contextlib.suppress(OSError):
                self._rows = np.memmap(path, np.int64, "r+").reshape(-1, 2)

    def count(self, shard: int, items: int, bytes_in: int) -> None:
        """Notes how far a shard is. Only its own worker writes its row."""
        if len(self._rows) > 1:
            self._rows[shard + 1] = items, bytes_in

    def totals(self) -> tuple[int, int]:
        """Returns items and bytes over all shards."""
        items, bytes_in = self._rows[1:].sum(axis=0)
        return int(items), int(bytes_in)

    def stop(self) -> None:
        """Tells the workers to stop at their next item."""
        self._rows[0, 0] = 1

    @property
    def stopped(self) -> bool:
        """Says whether `stop` was called."""
        return bool(self._rows[0, 0])
