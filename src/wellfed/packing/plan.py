"""Which item goes into which shard, at which place: arithmetic on the listing, before any item is read.

    listing --hash of each key--> splits --keyed permutation--> shuffled --equal cuts--> shards

An item's split depends on its own key alone, so it stays when others are added (docs/adr/0031). All of it is a pure
function of the listing and the options; 8 bytes an item stay in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.errors import PackError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from wellfed.datasets import Schema
    from wellfed.packing.options import PackOptions
    from wellfed.sources import Listing

_FRAMING_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class SplitPlan:
    """One split.

    Attributes:
      name: Such as "train".
      rows: int64 (n,), numbers of the listing in the order they are written.
      bounds: int64 (shards + 1,): shard k holds `rows[bounds[k]:bounds[k + 1]]`.
    """

    name: str
    rows: NDArray[np.int64]
    bounds: NDArray[np.int64]

    @property
    def shards(self) -> int:
        """How many shards the split has."""
        return len(self.bounds) - 1

    def rows_of(self, shard: int) -> NDArray[np.int64]:
        """The rows of one shard; a view."""
        return self.rows[self.bounds[shard] : self.bounds[shard + 1]]


def plan_splits(listing: Listing, options: PackOptions, schema: Schema) -> list[SplitPlan]:
    """Plans a data set.

    Raises:
      PackError: A split would be empty, or has fewer items than it should have shards.
    """
    if not len(listing):
        raise PackError("the source has no items", options.name)
    plans = []
    for name, rows in _splits(listing, options).items():
        if not len(rows):
            raise PackError(empty_split(name, len(listing), options), options.name)
        count = _shard_count(name, rows, listing, options, schema)
        order = _native.permute_range(len(rows), _key(options.seed, name), 0, len(rows)) if options.shuffle else None
        shuffled = rows if order is None else rows[order.astype(np.int64, copy=False)]
        plans.append(SplitPlan(name, shuffled, cut(len(rows), count)))
    return plans


def cut(n: int, parts: int) -> NDArray[np.int64]:
    """Returns `parts + 1` bounds that cut n items into parts equal within one.

    >>> cut(10, 4)
    array([ 0,  2,  5,  7, 10])
    """
    return np.arange(parts + 1, dtype=np.int64) * n // parts


def key_hashes(keys: Iterable[bytes], n: int) -> NDArray[np.uint64]:
    """Returns a hash of each of n keys, the same on every machine and in every version: uint64 (n,).

    The 8 bytes of BLAKE2b with that digest size, as a little-endian number.
    """
    digests = bytearray()
    for key in keys:
        digests += hashlib.blake2b(key, digest_size=8).digest()
    assert len(digests) == 8 * n
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _splits(listing: Listing, options: PackOptions) -> dict[str, NDArray[np.int64]]:
    """Returns each split's rows, in the order of the listing."""
    every = np.arange(len(listing), dtype=np.int64)
    split = options.split
    if split is None and listing.split_ids is not None:
        return {name: np.flatnonzero(listing.split_ids == at) for at, name in enumerate(listing.split_names)}
    if split is None or isinstance(split, str):
        return {split or "train": every}
    hashes = key_hashes(listing.keys.encoded(), len(listing))
    which = _stratified(hashes, listing, _edges(split)) if options.stratify else split_numbers(hashes, split)
    return {name: np.flatnonzero(which == at) for at, name in enumerate(split)}


def split_numbers(hashes: NDArray[np.uint64], split: Mapping[str, float]) -> NDArray[np.int64]:
    """Returns which of the splits each key is in, by its hash: int64 (n,)."""
    return np.searchsorted(_edges(split), hashes / 2.0**64, side="right").astype(np.int64)


def _edges(split: Mapping[str, float]) -> NDArray[np.float64]:
    """Returns where one split's share ends and the next one's begins."""
    return np.cumsum(list(split.values()))[:-1]


def _stratified(hashes: NDArray[np.uint64], listing: Listing, edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns each row's split, the shares taken within each class: its rows in order of hash, cut at the edges."""
    if listing.labels is None:
        raise PackError("a stratified split needs a source with one class an item", "stratify")
    order = np.lexsort((hashes, listing.labels))
    labels = listing.labels[order]
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    sizes = np.diff(np.r_[starts, len(labels)])
    rank = np.arange(len(labels)) - np.repeat(starts, sizes)
    # The middle of the row's place in its class, so that shares round to the nearest.
    which = np.empty(len(labels), np.int64)
    which[order] = np.searchsorted(edges, (rank + 0.5) / np.repeat(sizes, sizes), side="right")
    return which


def _shard_count(name: str, rows: NDArray[np.int64], listing: Listing, options: PackOptions, schema: Schema) -> int:
    if options.shards is None:
        total = int(listing.sizes[rows].sum()) + len(rows) * record_overhead(schema)
        return min(len(rows), max(1, -(-total // options.shard_size)))
    if isinstance(options.shards, Mapping):
        if name not in options.shards:
            raise PackError(f"no number of shards for split {name!r} in {dict(options.shards)}", options.name)
        count = options.shards[name]
    else:
        count = options.shards
    if count > len(rows):
        raise PackError(f"split {name!r} has {len(rows)} items, fewer than its {count} shards", options.name)
    return count


def record_overhead(names: Iterable[str]) -> int:
    """Returns about how many bytes a record of these features has beyond its content: framing, names, tags."""
    return _FRAMING_BYTES + sum(len(name.encode()) + 14 for name in names)


def _key(seed: int, split: str) -> int:
    """Returns the permutation's key: splits of one seed are shuffled independently."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{split}".encode(), digest_size=8).digest(), "little")


def empty_split(name: str, n: int, options: PackOptions) -> str:
    """Returns the sentence for a split that gets none of n items."""
    share = options.split.get(name) if isinstance(options.split, Mapping) else None
    of = f"{share:g} of {n} items" if share else f"none of {n} items"
    return f"split {name!r} would be empty ({of}): give it a larger share, more items, or stratify"
