"""Readers: what stands under a plan while it runs. They open files once and give units of rows at any positions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.records import RecordsReader
from wellfed.feed.taken import TakenReader
from wellfed.feed.tree import map_tree
from wellfed.feed.unit import Unit
from wellfed.io import RemoteStats, is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wellfed.feed.order import Positions
    from wellfed.io import Damage


class Reader(Protocol):
    """Rows of a source. Thread-safe but for `count`, which one thread calls at a time."""

    def count(self, stop: int) -> int:
        """How many of the first `stop` rows exist."""

    def read(self, positions: Positions) -> Unit:
        """The rows at `positions`, in that order, in memory of their own."""

    def locate(self, row: int) -> str:
        """Where a row came from, for errors; "" where nothing is to be said."""

    def fingerprint(self) -> str:
        """Changes when what the rows come from changes."""

    def refresh(self) -> None:
        """Opens anew what changed since it was opened. Called before an iteration starts."""

    def settle(self) -> None:
        """Keeps what was learnt while reading. Called by an idle thread when the last rows are being read."""


class ArraysReader:
    """Rows of columns in memory."""

    def __init__(self, node: plan.Arrays) -> None:
        self._columns, self._length = node.columns, node.length

    def count(self, stop: int) -> int:
        return min(stop, self._length)

    def read(self, positions: Positions) -> Unit:
        rows = positions.numbers().astype(np.int64)
        return Unit(map_tree(lambda column: column[rows], self._columns), None, positions.numbers())

    def locate(self, row: int) -> str:
        del row
        return ""

    def fingerprint(self) -> str:
        return f"{self._length} rows in memory"

    def refresh(self) -> None:
        pass

    def settle(self) -> None:
        pass


class RangeReader:
    """The numbers of a range, int64."""

    def __init__(self, node: plan.Range) -> None:
        self._values = node.values

    def count(self, stop: int) -> int:
        return min(stop, len(self._values))

    def read(self, positions: Positions) -> Unit:
        rows = positions.numbers().astype(np.int64)
        return Unit(rows * self._values.step + self._values.start, None, positions.numbers())

    def locate(self, row: int) -> str:
        del row
        return ""

    def fingerprint(self) -> str:
        return repr(self._values)

    def refresh(self) -> None:
        pass

    def settle(self) -> None:
        pass


class GeneratorReader:
    """Nothing to read by number: a stream asks the generator itself."""

    def count(self, stop: int) -> int:
        raise PlanError("from_generator", f"has no elements by number, {stop} of them were asked for")

    def read(self, positions: Positions) -> Unit:
        raise PlanError("from_generator", f"has no elements by number, {len(positions)} of them were asked for")

    def locate(self, row: int) -> str:
        del row
        return ""

    def fingerprint(self) -> str:
        return "a generator"

    def refresh(self) -> None:
        pass

    def settle(self) -> None:
        pass


class Readers:
    """The readers of a plan's sources, opened on first use and shared by all data sets made over them.

    Pickles and forks as the sources alone: the other side opens its own.
    """

    def __init__(self, sources: Iterable[plan.Source]) -> None:
        self._shared = {source: _Shared(source) for source in sources}

    def over(self, node: plan.Node) -> Readers:
        """The readers of a plan's sources: these, and new ones where it has others."""
        sources = dict.fromkeys(step for step in plan.walk(node) if isinstance(step, plan.Source))
        if sources.keys() == self._shared.keys():
            return self
        made = Readers(())
        made._shared = {source: self._shared.get(source) or _Shared(source) for source in sources}
        return made

    def open(self) -> dict[plan.Source, Reader]:
        """The readers, fresh: files that changed since are opened anew."""
        return {source: shared.open() for source, shared in self._shared.items()}

    def fingerprint(self) -> str:
        """Changes when what the rows come from changes."""
        return "+".join(shared.open().fingerprint() for shared in self._shared.values())

    def remote_stats(self) -> RemoteStats:
        """What was done so far to read files behind URLs."""
        return sum((shared.remote_stats() for shared in self._shared.values()), RemoteStats())

    def damage(self) -> tuple[Damage, ...]:
        """What `on_damage="skip"` left out of files that are indexed by now."""
        return tuple(one for shared in self._shared.values() for one in shared.damage())

    def repeats(self) -> tuple[int, str]:
        """How many records parsed so far hold a feature more than once, and where one of them is."""
        found = [shared.repeats() for shared in self._shared.values()]
        return sum(count for count, _ in found), next((where for _, where in found if where), "")

    @classmethod
    def merged(cls, several: Iterable[Readers]) -> Readers:
        """The readers of all, each once."""
        merged = cls(())
        for readers in several:
            merged._shared.update(readers._shared)
        return merged


class _Shared:
    """One reader, opened by whoever asks first."""

    def __init__(self, source: plan.Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._reader: Reader | None = None

    def open(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = _open(self._source)
            else:
                self._reader.refresh()
            return self._reader

    def remote_stats(self) -> RemoteStats:
        reader = self._reader
        return reader.remote_stats() if isinstance(reader, TakenReader) else RemoteStats()

    def damage(self) -> Sequence[Damage]:
        reader = self._reader
        return reader.damage() if isinstance(reader, TakenReader) else ()

    def repeats(self) -> tuple[int, str]:
        found = getattr(self._reader, "repeats", None)
        return (0, "") if found is None else (found.count(), found.where)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Shared, (self._source,))


def _open(node: plan.Source) -> Reader:
    match node:
        case plan.Records():
            return RecordsReader(node) if _is_plain(node) else TakenReader(node)
        case plan.Arrays():
            return ArraysReader(node)
        case plan.Range():
            return RangeReader(node)
        case plan.Generator():
            return GeneratorReader()


def _is_plain(node: plan.Records) -> bool:
    """Whether all files are plain ones of this machine, of which no damage is to be left out."""
    return node.on_damage == "raise" and all(is_plain(path, node.compression_type) for path in node.files)
