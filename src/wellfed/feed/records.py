"""Rows of TFRecord files: walked or indexed as far as somebody asks, read and parsed by one native call a unit.

    file order      the headers of a unit are walked when it is claimed; no index is needed first
    any other       all files are indexed before the first row is read: from their sidecars, else by a walk each

An index that somebody needed is written when the iteration ends, by a thread that has nothing else to do; at once where
it took a while. Reading in file order needs none and writes none.
"""

from __future__ import annotations

import contextlib
import math
import threading
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.errors import FileChangedError
from wellfed.feed.order import ENDLESS, Positions
from wellfed.feed.row_parser import RowParser
from wellfed.feed.unit import Unit
from wellfed.io import GrowingIndex, MappedFile, RecordIndex, fingerprint
from wellfed.io.disk import Disk
from wellfed.io.framing import explain, record_error
from wellfed.io.indexing import LongWalk, walks_end_here
from wellfed.io.usable import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed import plan
    from wellfed.feed.mixing import UInt64s

_TRIED = 0.01  # Who reads a smaller share of the rows may have wanted a look alone.
_AT_ONCE_SECONDS = 1.0  # An index that took longer is kept before the first row is read: an epoch may last for hours.


@dataclass
class _File:
    mapped: MappedFile
    first_row: int
    index: RecordIndex | GrowingIndex
    saved: bool

    def known(self) -> int:
        return len(self.index.offsets) - 1

    def complete(self) -> bool:
        return isinstance(self.index, RecordIndex) or self.index.complete

    def finish(
        self,
        executor: Executor | None = None,
        helpers: int = 0,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Walks what is left of the file; see `GrowingIndex.finish`."""
        if isinstance(self.index, GrowingIndex):
            self.index = self.index.finish(executor, helpers, progress)

    def save(self) -> None:
        if self.saved or not isinstance(self.index, RecordIndex):
            return
        self.saved = True
        with contextlib.suppress(OSError):  # The file is gone: its index is of no use either.
            self.index.save()


@dataclass(frozen=True)
class _Window:
    """Some files' records as rows from 0 on; `first_row` is the row of the data set that row 0 is."""

    files: list[_File]
    first_records: list[int]
    shards: _native.ShardSet
    first_row: int


class RecordsReader:
    """A `Reader` over the local, plain files of a `plan.Records`.

    Raises:
      OSError: A file cannot be opened.
      NotTFRecordError: A file looks like something else.
      RecordError: From `count` and `read`: damage, where a unit meets it.
    """

    def __init__(self, node: plan.Records) -> None:
        self._node = node
        self._rows = RowParser(node)
        self.repeats = self._rows.repeats
        self._lock = threading.Lock()  # Guards what `_reset` makes.
        self._reset()

    def _reset(self) -> None:
        self._files: list[_File] = []
        self._known = 0
        self._whole: _Window | None = None
        self._indexed = False  # Whether somebody needed all files indexed.
        self._fingerprint = ""
        self._disk = Disk(0)
        self._left = math.inf  # How many rows may still be all that are wanted of files that memory holds.

    # --- Which rows there are -----------------------------------------------------------------------

    def count(self, stop: int) -> int:
        with self._lock:
            while self._known < stop and self._whole is None:
                if stop >= ENDLESS:
                    self._index_all()
                else:
                    self._walk(stop)
            return min(stop, self._known)

    def _open_next(self) -> _File:
        mapped = MappedFile(self._node.files[len(self._files)])
        found = RecordIndex.find(mapped.path)
        index = GrowingIndex(mapped) if found is None else found
        file = _File(mapped, self._known, index, saved=found is not None)
        self._files.append(file)
        self._known += file.known()
        return file

    def _walk(self, stop: int) -> None:
        """Walks headers until `stop` rows are known or the file at hand ends."""
        file = self._files[-1] if self._files and not self._files[-1].complete() else self._open_next()
        if isinstance(file.index, GrowingIndex):
            try:
                file.index.ensure(stop - file.first_row)
            finally:
                self._known = file.first_row + file.known()
        self._settle()

    def _index_all(self) -> None:
        """Finds or makes the index of every file, as many at a time as there are cores."""
        self._indexed = True
        while len(self._files) < len(self._node.files):
            self._open_next()
        due = [file for file in self._files if not file.complete()]
        start = monotonic()
        if due:
            cores, walk = usable_cores(), LongWalk(len(due), sum(file.mapped.size for file in due))
            with ThreadPoolExecutor(cores, "wellfed-index") as executor, walks_end_here():
                if len(due) < cores:
                    for file in due:
                        file.finish(executor, cores - 1, walk.passed)
                else:
                    finish = partial(_File.finish, progress=walk.passed)
                    made = [executor.submit(copy_context().run, finish, file) for file in due]
                    for one in made:
                        one.result()
        self._known = 0
        for file in self._files:
            file.first_row = self._known
            self._known += file.known()
        self._settle()
        if monotonic() - start > _AT_ONCE_SECONDS:
            self.settle()

    def _settle(self) -> None:
        if len(self._files) < len(self._node.files) or not all(file.complete() for file in self._files[-1:]):
            return
        for file in self._files:
            file.finish()
        self._whole = self._window(0, len(self._files), 0, self._known)
        self._disk = Disk(sum(file.mapped.size for file in self._files))
        if self._disk.is_read_at_random:
            for file in self._files:
                file.mapped.read_at_random()
        else:
            self._left = _TRIED * self._known

    def settle(self) -> None:
        """Writes the sidecars of files whose index was made here and needed."""
        if self._indexed and self._whole is not None:
            for file in self._files:
                file.save()

    # --- Rows ---------------------------------------------------------------------------------------

    def _window(self, first: int, last: int, start: int, stop: int) -> _Window:
        """The rows [start, stop) that lie in files [first, last)."""
        files = self._files[first:last]
        parts, first_records = [], []
        for file in files:
            low, high = max(start - file.first_row, 0), min(stop - file.first_row, file.known())
            parts.append((file.mapped.data, file.index.offsets[low:high]))
            first_records.append(low)
        return _Window(files, first_records, _native.ShardSet(parts), start)

    def _ask_ahead(self) -> None:
        index = self._files[-1].index if self._files else None
        if isinstance(index, GrowingIndex):
            index.ask_ahead()

    def _window_of(self, rows: UInt64s) -> _Window:
        if self._whole is not None:
            return self._whole
        start, stop = int(rows.min()), int(rows.max()) + 1
        with self._lock:
            first = max(i for i, file in enumerate(self._files) if file.first_row <= start)
            last = next((i for i, file in enumerate(self._files) if file.first_row >= stop), len(self._files))
            return self._window(first, last, start, stop)

    def read(self, positions: Positions) -> Unit:
        rows = positions.numbers()
        if self._whole is None:
            self._ask_ahead()
        window = self._window_of(rows) if len(rows) else _Window([], [], _native.ShardSet([]), 0)
        within = rows - np.uint64(window.first_row) if window.first_row else rows
        self._disk.ask(lambda: window.shards.ask_for(within))
        self._try(len(rows))
        return Unit(self._columns(window, within), None, rows)

    def _try(self, rows: int) -> None:
        """Counts rows, until so many are read that the rest will be: it then comes from the disk in large pieces."""
        self._left -= rows  # Two threads that change it at once may count less.
        if self._left < 0:
            self._left = math.inf
            for file in self._files:
                file.mapped.read_whole()

    def _columns(self, window: _Window, rows: UInt64s) -> Any:
        return self._rows.columns(
            window.shards,
            rows,
            partial(self._error, window),
            lambda row: self.locate(window.first_row + int(rows[row])),
        )

    def _error(self, window: _Window, failure: Any) -> Exception:
        status, _position, shard, record, offset, parse = failure
        file = window.files[shard]
        number = window.first_records[shard] + record
        try:
            file.mapped.check_unchanged()
        except FileChangedError as changed:
            return changed
        if status:
            if isinstance(file.index, RecordIndex):
                file.index.check_tables()
            reason = explain(file.mapped.data, offset, status)
            return record_error(status, reason, file.mapped.path, number, offset)
        assert self.repeats is not None
        return self.repeats.parser.error(parse, file.mapped.path, number)

    # --- Facts --------------------------------------------------------------------------------------

    def locate(self, row: int) -> str:
        with self._lock:
            files = [file for file in self._files if file.first_row <= row]
        return f"{files[-1].mapped.path}: record {row - files[-1].first_row}" if files else ""

    def fingerprint(self) -> str:
        if not self._fingerprint:
            self._fingerprint = fingerprint(self._node.files)
        return self._fingerprint

    def refresh(self) -> None:
        with self._lock:
            try:
                for file in self._files:
                    file.mapped.check_unchanged()
            except FileChangedError:
                self._reset()
