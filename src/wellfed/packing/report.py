"""What a pack will do, and what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellfed.datasets import Schema, SkippedItem


# Reasons of sources for what lies beside the data in most folders.
_HARMLESS = ("is hidden", "is empty", "has no idx file's name")


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """One split of a plan.

    Attributes:
      items: How many items it gets.
      shards: The file names of its shards.
      bytes: About how large it will be, by the listing. [bytes]
      classes: Items a class, by the class's name or number; empty where the source has no classes.
    """

    items: int
    shards: Sequence[str]
    bytes: int
    classes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PackPlan:
    """What a pack would write.

    Attributes:
      folder: Where.
      name: The data set's name.
      version: Its version.
      schema: What each record will hold.
      splits: Split to what goes into it.
      skipped: What the source found and is no item.
    """

    folder: str
    name: str
    version: str
    schema: Schema
    splits: Mapping[str, PlannedSplit]
    skipped: Sequence[SkippedItem]


@dataclass(frozen=True, slots=True)
class PackReport:
    """What a pack did.

    Attributes:
      folder: Where the data set is.
      name: Its name.
      version: Its version.
      records: Split to how many records it holds.
      shards: Split to how many shards it has.
      bytes_in: What the items held. [bytes]
      bytes_out: What the shards hold on disk. [bytes]
      skipped: What was left out, and why.
      seconds: How long it took, without what an earlier run had done. [s]
      resumed_shards: How many shards an earlier run had finished.
    """

    folder: str
    name: str
    version: str
    records: Mapping[str, int]
    shards: Mapping[str, int]
    bytes_in: int
    bytes_out: int
    skipped: Sequence[SkippedItem]
    seconds: float
    resumed_shards: int

    @property
    def ratio(self) -> float:
        """Bytes out for each byte in."""
        return self.bytes_out / self.bytes_in if self.bytes_in else 0.0

    @property
    def lost(self) -> Sequence[SkippedItem]:
        """What was left out and may be missed: all of `skipped` but what nobody takes for data."""
        return [item for item in self.skipped if item.reason not in _HARMLESS]
