"""Rows of any TFRecord files, compressed, behind a URL or with damage left out: taken by number, then parsed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from wellfed.columns import Bytes, Ragged
from wellfed.errors import ExampleError
from wellfed.feed.repeats import Repeats
from wellfed.feed.tree import map_tree
from wellfed.feed.unit import Unit
from wellfed.io import Records, file_versions

if TYPE_CHECKING:
    from wellfed.feed import plan
    from wellfed.feed.order import Positions
    from wellfed.io import RemoteStats


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
        self.repeats = None if node.features is None else Repeats(node.features)
        self._lock = threading.Lock()
        self._records, self._versions, self._fingerprint = self._open(), self._read_versions(), ""

    def _open(self) -> Records:
        node = self._node
        return Records(
            node.files, node.compression_type, on_damage=node.on_damage, check_crc=node.check_crc, remote=node.remote
        )

    def count(self, stop: int) -> int:
        with self._lock:
            return min(stop, len(self._records))

    def read(self, positions: Positions) -> Unit:
        rows = positions.numbers()
        in_order = isinstance(positions.at, range) and positions.at.step == 1
        taken = self._records.take(rows, in_order=in_order)
        if self.repeats is None:
            return Unit(taken.compact(), None, rows)
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
        return Unit(map_tree(_own, columns), None, rows)

    def locate(self, row: int) -> str:
        path, record = self._records.locate(row)
        return f"{path}: record {record}"

    def fingerprint(self) -> str:
        if not self._fingerprint:
            self._fingerprint = self._records.fingerprint()
        return self._fingerprint

    def refresh(self) -> None:
        if (versions := self._read_versions()) != self._versions:
            with self._lock:
                self._records, self._versions, self._fingerprint = self._open(), versions, ""

    def _read_versions(self) -> list[str]:
        return file_versions(self._node.files, self._node.remote)

    def settle(self) -> None:
        pass

    def remote_stats(self) -> RemoteStats:
        """What was done so far to read files behind URLs."""
        return self._records.remote_stats


def _own(column: Any) -> Any:
    """The column in memory of its own: byte strings may lie in a mapped file."""
    if isinstance(column, Ragged):
        return Ragged(_own(column.values), column.row_splits)
    return column.compact() if isinstance(column, Bytes) else column
