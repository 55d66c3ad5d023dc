"""Who the items of a source are, in a few arrays: no Python object for each, so a million items are some 50 MB."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray


_BLOCK = 1 << 16  # Keys that are Python objects at a time.


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the raw data that is no item.

    Attributes:
      path: The file, folder or row; relative to the source's root where it has one.
      reason: Why it was left out, as a phrase.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class JoinedKeys:
    """Keys of any text, end to end in one buffer: their bytes and 8 more each.

    Attributes:
      joined: The keys in UTF-8; undecodable bytes of file names come back as they were.
      starts: int64 `(n + 1,)`; key i is `joined[starts[i]:starts[i + 1]]`.
    """

    joined: bytes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> str:
        start, stop = self.starts[i], self.starts[i + 1]
        return self.joined[start:stop].decode("utf-8", "surrogateescape")

    def encoded(self) -> Iterator[bytes]:
        """All keys in order, as their bytes."""
        for start in range(0, len(self), _BLOCK):
            ends = self.starts[start : start + _BLOCK + 1].tolist()
            yield from (self.joined[one:other] for one, other in pairwise(ends))

    def take(self, rows: NDArray[np.int64]) -> JoinedKeys:
        """The keys of `rows`, copied."""
        joined = b"".join([self._joined_of(rows[at : at + _BLOCK]) for at in range(0, len(rows), _BLOCK)])
        sizes = np.diff(self.starts)[rows]
        return JoinedKeys(joined, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    def _joined_of(self, rows: NDArray[np.int64]) -> bytes:
        starts, ends = self.starts[rows].tolist(), self.starts[rows + 1].tolist()
        return b"".join([self.joined[start:end] for start, end in zip(starts, ends, strict=True)])

    def buffers(self) -> list[bytes]:
        """What a fingerprint is taken of."""
        return [self.joined, self.starts.tobytes()]


@dataclass(frozen=True, slots=True, eq=False)
class NumberedKeys:
    """Keys that are computed: the group's name, a slash, and the number in the group.

    Attributes:
      groups: Names of the groups (splits or files), each once.
      starts: int64 `(len(groups),)`: the first row of each group.
      rows: int64 `(n,)`: the items' rows, counted over all groups.
    """

    groups: tuple[str, ...]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of_counts(cls, counts: Mapping[str, int]) -> NumberedKeys:
        """The keys of `counts[group]` items in each group, in order."""
        sizes = np.fromiter(counts.values(), np.int64, len(counts))
        starts = np.cumsum(sizes) - sizes
        return cls(tuple(counts), starts, np.arange(sizes.sum(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> str:
        group, number = self.locate(i)
        return f"{self.groups[group]}/{number}"

    def locate(self, i: int) -> tuple[int, int]:
        """The group of item i, and the item's number in it."""
        row = int(self.rows[i])
        group = int(np.searchsorted(self.starts, row, side="right")) - 1
        return group, row - int(self.starts[group])

    def encoded(self) -> Iterator[bytes]:
        """All keys in order, as their bytes."""
        prefixes = [f"{group}/".encode("utf-8", "surrogateescape") for group in self.groups]
        for start in range(0, len(self), _BLOCK):
            rows = self.rows[start : start + _BLOCK]
            groups = np.searchsorted(self.starts, rows, side="right") - 1
            pairs = zip(groups.tolist(), (rows - self.starts[groups]).tolist(), strict=True)
            yield from (prefixes[group] + b"%d" % number for group, number in pairs)

    def locate_all(self, start: int, stop: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Of the items `start` to `stop`: each group, its items' places from `start` on, and their numbers in it."""
        rows = self.rows[start:stop]
        groups = np.searchsorted(self.starts, rows, side="right") - 1
        for group in np.unique(groups):
            places = np.flatnonzero(groups == group)
            yield int(group), places, rows[places] - self.starts[group]

    def take(self, rows: NDArray[np.int64]) -> NumberedKeys:
        """The keys of `rows`, copied."""
        return NumberedKeys(self.groups, self.starts, self.rows[rows])

    def buffers(self) -> list[bytes]:
        """What a fingerprint is taken of."""
        return ["\0".join(self.groups).encode("utf-8", "surrogateescape"), self.starts.tobytes(), self.rows.tobytes()]


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The items of a source: who they are, not what they hold. At most 200 bytes an item; pickles.

    Attributes:
      keys: A stable, unique name for each item; `key(i)` gives one.
      sizes: int64 `(n,)`: what each item holds, or an estimate where that is not known before reading. [bytes]
      labels: int64 `(n,)` for splits by class, or None.
      skipped: What was found and is no item.
      split_names: The splits that the raw data comes in, such as `("train", "test")`; empty where it has none.
      split_ids: int64 `(n,)`, positions in `split_names`; None exactly where that is empty.
      places: int64 arrays `(n,)` by which the source finds an item again; nobody else's concern.
    """

    keys: JoinedKeys | NumberedKeys
    sizes: NDArray[np.int64]
    labels: NDArray[np.int64] | None = None
    skipped: Sequence[Skipped] = ()
    split_names: tuple[str, ...] = ()
    split_ids: NDArray[np.int64] | None = None
    places: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in self._arrays().items():
            if values.shape != (len(self.keys),):
                raise ValueError(f"{name} must have shape ({len(self.keys)},), one value an item, got {values.shape}")
        if bool(self.split_names) != (self.split_ids is not None):
            raise ValueError("split_names and split_ids must be given together")

    def __len__(self) -> int:
        return len(self.keys)

    def key(self, i: int) -> str:
        """The name of item `i`: stable from one listing to the next, and unique."""
        return self.keys[i]

    def split(self, i: int) -> str | None:
        """The split that the raw data puts item `i` in; None where it has no splits."""
        return None if self.split_ids is None else self.split_names[self.split_ids[i]]

    def take(self, rows: NDArray[np.int64]) -> Listing:
        """The listing of `rows` alone, in their order; a copy. What was skipped is not repeated."""
        arrays = {name: values[rows] for name, values in self._arrays().items()}
        return replace(
            self,
            keys=self.keys.take(rows),
            sizes=arrays["sizes"],
            labels=arrays.get("labels"),
            split_ids=arrays.get("split_ids"),
            skipped=(),
            places={name: arrays[name] for name in self.places},
        )

    def fingerprint(self) -> str:
        """A SHA-256 in hexadecimal that differs when keys, sizes, labels or splits differ."""
        digest = hashlib.sha256()
        for part in [*self.keys.buffers(), "\0".join(self.split_names).encode()]:
            digest.update(len(part).to_bytes(8, "little") + part)
        for name, values in self._arrays().items():
            if name not in self.places:
                digest.update(name.encode() + values.tobytes())
        return digest.hexdigest()

    def _arrays(self) -> dict[str, NDArray[np.int64]]:
        own = {"sizes": self.sizes, "labels": self.labels, "split_ids": self.split_ids}
        return {name: values for name, values in own.items() if values is not None} | dict(self.places)


class ListingBuilder:
    """Collects items one by one into a `Listing` with joined keys, without a Python object for each."""

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self._joined = bytearray()
        self._starts = array("q", [0])
        self._columns: dict[str, array[int]] = {}

    def add(self, key: str, **values: int) -> None:
        """Adds an item; every item has the same `values`: "size", and any of "label", "split" and own places."""
        self._joined += key.encode("utf-8", "surrogateescape")
        self._starts.append(len(self._joined))
        for name, value in values.items():
            self._columns.setdefault(name, array("q")).append(value)

    def add_many(self, prefix: str, names: Sequence[str], **values: int | NDArray[np.int64]) -> None:
        """Adds the items `prefix + name`, in a fraction of the time: each of `values` is theirs all, or one an item."""
        encoded = [f"{prefix}{name}".encode("utf-8", "surrogateescape") for name in names]
        starts = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded))) + len(self._joined)
        self._joined += b"".join(encoded)
        self._starts.frombytes(starts.tobytes())
        for name, value in values.items():
            column = np.broadcast_to(np.asarray(value, np.int64), len(encoded))
            self._columns.setdefault(name, array("q")).frombytes(column.tobytes())

    def skip(self, path: str, reason: str) -> None:
        """Notes something that is no item."""
        self.skipped.append(Skipped(path, reason))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def repeated(self) -> tuple[int, int] | None:
        """The first item whose key an earlier one has: the earlier item and it; None if all keys differ."""
        joined = bytes(self._joined)
        keys = (joined[start:stop] for start, stop in pairwise(self._starts))
        hashes = np.fromiter(map(hash, keys), np.int64, len(self))
        order = np.argsort(hashes, kind="stable")
        alike = np.flatnonzero(np.diff(hashes[order]) == 0)
        pairs = sorted((int(order[at + 1]), int(order[at])) for at in alike)
        for again, first in pairs:
            if (
                joined[self._starts[first] : self._starts[first + 1]]
                == joined[self._starts[again] : self._starts[again + 1]]
            ):
                return first, again
        return None

    def listing(self, split_names: tuple[str, ...] = ()) -> Listing:
        """What was collected. Nothing can be added afterwards: the listing takes the columns over as they are."""
        columns = {name: np.frombuffer(values, np.int64) for name, values in self._columns.items()}
        keys = JoinedKeys(bytes(self._joined), np.frombuffer(self._starts, np.int64))
        sizes = columns.pop("size", np.zeros(0, np.int64))
        labels, split_ids = columns.pop("label", None), columns.pop("split", None)
        if split_names and split_ids is None:
            split_ids = np.zeros(0, np.int64)
        return Listing(keys, sizes, labels, self.skipped, split_names, split_ids, columns)
