"""Items that Python holds: any sequence of mappings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from wellfed.datasets import Schema
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Scan
from wellfed.sources.infer import ClassGuess, SchemaGuess, checked_mapping, size_of
from wellfed.sources.listing import Listing, NumberedKeys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from wellfed.datasets import FeatureType

_SAMPLE = 100


@dataclass(frozen=True)
class Items(ListedSource):
    """The items of a sequence: whatever has `len` and `[i]` and gives mappings, all with the same features.

    Attributes:
      items: The sequence. It is pickled with the source; of a list or tuple, a part takes its own items alone.
      types: The schema. If it is not given, it is found from the values: of all items of a list or tuple, of the
        first 100 of other sequences, whose items may cost something to get.
      label: The feature that is the class: an integer, or a name. Every item is looked at.

    Raises:
      SourceError: There is no item; one is no mapping; without `types`, one has other features or kinds of values.

    Example:
      >>> source = Items([{"x": 1, "y": 0.5}, {"x": 2, "y": 1}])
      >>> source.schema["y"], source.load(1)
      (Scalar(dtype=dtype('float32')), {'x': 2, 'y': 1})
    """

    items: Sequence[Mapping[str, Any]]
    types: Mapping[str, FeatureType] | None = None
    label: str | None = None

    def scan(self) -> Scan:
        """Looks at the items."""
        n = len(self.items)
        if not n:
            raise SourceError("is empty; at least one item is due", "items")
        seen = n if self._is_plain or self.label is not None else min(n, _SAMPLE)
        guess, classes, sizes = SchemaGuess(), ClassGuess(self.label), []
        for at in range(seen):
            item = self._item(at)
            if self.types is None and (self._is_plain or at < _SAMPLE):
                guess.see(item)
            sizes.append(size_of(item))
            classes.see(item)
        schema, labels = classes.applied(guess.schema() if self.types is None else Schema(self.types))
        every = np.array(sizes, np.int64) if seen == n else np.full(n, np.mean(sizes), np.int64)
        places = {"at": np.arange(n, dtype=np.int64)}
        return Scan(schema, Listing(NumberedKeys.of_counts({"item": n}), every, labels, places=places))

    def load(self, index: int) -> dict[str, Any]:
        """Item `index`, as a dict of its own; its values are the sequence's."""
        listing = self.listing()
        item = dict(checked_mapping(self.items[int(listing.places["at"][index])], listing.key(index)))
        if self.label is not None and listing.labels is not None:
            item[self.label] = int(listing.labels[index])
        return item

    def part(self, rows: NDArray[np.int64]) -> Self:
        """The source of these rows alone."""
        twin = super().part(rows)
        if self._is_plain:
            listing = twin.listing()
            chosen = [self.items[at] for at in listing.places["at"]]
            places = {"at": np.arange(len(chosen), dtype=np.int64)}
            twin = twin.with_listing(replace(listing, places=places))
            object.__setattr__(twin, "items", chosen)
        return twin

    def _item(self, at: int) -> Mapping[str, Any]:
        try:
            return checked_mapping(self.items[at], f"item {at}")
        except (LookupError, TypeError) as error:  # Of what has a length and is no sequence, such as a data frame.
            kind = type(self.items).__name__
            reason = f"cannot be got out of the {kind}: {type(error).__name__}: {error}. A sequence of mappings is due"
            raise SourceError(reason, f"item {at}") from error

    @property
    def _is_plain(self) -> bool:
        return isinstance(self.items, list | tuple)
