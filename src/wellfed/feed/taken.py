"""Rows of any TFRecord files: compressed, behind a URL, or with damage left out.

    walked and not read yet, or in a copy on disk      parsed where they lie, by one native call a unit
    all others                                         taken by number, then parsed

Where an index is missing, files behind URLs that are read in order are walked as they are read, and fetched once.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.errors import ExampleError
from wellfed.feed.order import ENDLESS
from wellfed.feed.row_parser import RowParser
from wellfed.feed.tree import map_tree
from wellfed.feed.unit import Unit
from wellfed.io import Records, RemoteOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellfed.feed import plan
    from wellfed.feed.mixing import UInt64s
    from wellfed.feed.order import Positions
    from wellfed.io import Damage, RemoteStats


class TakenReader:
    """A `Reader` over `wellfed.io.Records`.

    Raises:
      OSError: A file cannot be opened.
      NotTFRecordError: A file looks like something else.
      CompressionError: A file has another compression than the one given, or is too large to be read at random.
      RecordError: A file is damaged.
    """

    def __init__(self, node: plan.Records) -> None:
        self._node = node
        self._rows = RowParser(node)
        self.repeats = self._rows.repeats
        self._lock = threading.Lock()
        self._records = self._open()
        self._versions, self._fingerprint = self._records.versions(), ""

    def _open(self) -> Records:
        node = self._node
        return Records(
            node.files, node.compression_type, on_damage=node.on_damage, check_crc=node.check_crc, remote=node.remote
        )

    def count(self, stop: int) -> int:
        with self._lock:
            # An order that needs a length needs the index of each file.
            return min(stop, len(self._records)) if stop >= ENDLESS else self._records.count(stop)

    def read(self, positions: Positions) -> Unit:
        rows = positions.numbers()
        columns = self._at_hand(rows) if len(rows) else None
        if columns is None:
            in_order = isinstance(positions.at, range) and positions.at.step == 1
            columns = self._taken(rows, in_order=in_order)
        return Unit(columns, None, rows)

    def _at_hand(self, rows: UInt64s) -> Any:
        """Columns of rows that lie in memory; None where some do not, or one is damaged: reading it says how."""
        numbers, records = rows.astype(np.int64), self._records
        found = records.at_hand(numbers)
        if found is None:
            return None
        shards, first = found
        within = rows - np.uint64(first) if first else rows
        try:
            columns = self._rows.columns(shards, within, _FailedError, lambda row: self.locate(int(rows[row])))
        except _FailedError:
            return None
        records.took(numbers)
        return columns

    def _taken(self, rows: UInt64s, *, in_order: bool) -> Any:
        taken = self._records.take(rows, in_order=in_order)
        if self.repeats is None:
            return taken.compact()
        try:
            columns = self.repeats.parser.parse(taken, warn=False)
        except ExampleError as error:
            path, record = self._records.locate(int(rows[error.example_index]))
            raise type(error)(error.reason, error.feature, error.example_index, path, record) from None
        self.repeats.look(
            len(rows),
            lambda parser, start, stop: parser.parse(taken[start:stop], warn=False),
            lambda row: self.locate(int(rows[row])),
        )
        return map_tree(_own, columns)

    def locate(self, row: int) -> str:
        path, record = self._records.locate(row)
        return f"{path}: record {record}"

    def fingerprint(self) -> str:
        if not self._fingerprint:
            self._fingerprint = self._records.fingerprint()
        return self._fingerprint

    def refresh(self) -> None:
        now = replace(self._node.remote or RemoteOptions(), cache_dir=None)
        if Records(self._node.files, remote=now).versions() != self._versions:
            with self._lock:
                self._records = self._open()
                self._versions, self._fingerprint = self._records.versions(), ""
        self._records.end_pass()

    def settle(self) -> None:
        self._records.settle()

    def remote_stats(self) -> RemoteStats:
        """What was done so far to read files behind URLs."""
        return self._records.remote_stats

    def damage(self) -> Sequence[Damage]:
        """What was left out of the files, which are indexed then; nothing where damage is an error."""
        return self._records.damage if self._node.on_damage == "skip" else ()


class _FailedError(Exception):
    """A row could not be read where it lies."""


def _own(column: Any) -> Any:
    """The column in memory of its own: byte strings may lie in a mapped file."""
    if isinstance(column, Ragged):
        return Ragged(_own(column.values), column.row_splits)
    return column.compact() if isinstance(column, Bytes) else column
