"""A source of a few rows that the tests of packing shape as they need: sizes, classes, bad items, waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wellfed.datasets import ClassLabel, Scalar, Schema, Text
from wellfed.errors import SourceError
from wellfed.sources import ListedSource, ListingBuilder, Scan

SCHEMA = Schema({"key": Text(), "number": Scalar(), "label": ClassLabel(num_classes=3)})


@dataclass(frozen=True)
class TinySource(ListedSource):
    """`n` items with the keys "item/0", "item/1", ...; their classes go round.

    Attributes:
      n: How many items.
      size: Of each, as listed. [bytes]
      bad: Numbers of the items that cannot be read.
      skips: Pairs of path and reason that the listing reports.
    """

    n: int = 20
    size: int = 100
    bad: tuple[int, ...] = ()
    skips: tuple[tuple[str, str], ...] = ()

    def scan(self) -> Scan:
        """Makes the listing."""
        builder = ListingBuilder()
        for number in range(self.n):
            builder.add(f"item/{number}", size=self.size, label=number % 3, number=number)
        for path, reason in self.skips:
            builder.skip(path, reason)
        return Scan(SCHEMA, builder.listing())

    def load(self, index: int) -> dict[str, Any]:
        """Gives an item, or fails as it should."""
        listing = self.listing()
        number = int(listing.places["number"][index])
        if number in self.bad:
            raise SourceError("is broken", listing.key(index))
        return {"key": listing.key(index), "number": np.int64(number), "label": number % 3}


@dataclass(frozen=True)
class ManyItems(ListedSource):
    """`n` items with keys as long as those of pictures in class folders, given by column."""

    n: int = 0

    def scan(self) -> Scan:
        """Makes the listing."""
        builder = ListingBuilder()
        for number in range(self.n):
            builder.add(f"class_{number % 100:03d}/picture_{number:08d}.jpg", size=1000, label=number % 100)
        return Scan(Schema({"x": Scalar(), "label": ClassLabel(num_classes=100)}), builder.listing())

    def load(self, index: int) -> dict[str, Any]:
        """Gives an item."""
        return {"x": index, "label": index % 100}

    def load_columns(self, start: int, stop: int) -> dict[str, Any]:
        """Gives many items."""
        rows = np.arange(start, stop)
        return {"x": rows, "label": rows % 100}
