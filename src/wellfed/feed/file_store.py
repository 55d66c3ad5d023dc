"""What a cache keeps in a file, by row.

    until all rows are made    a file without a name beside the one to be: rows as they come, found by their numbers
    then                       a TFRecord file that appears whole: a record that says what it is a cache of, then one
                               for each row in the order of their numbers, empty where a row cannot be made

A file without a name ends with the process, however that ends, and so leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import weakref
from copy import copy
from dataclasses import astuple
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import PlanError, StageError
from wellfed.feed.memory_store import Replaced, Rows, check_limit, replaced_in
from wellfed.feed.numbered import Numbered, each_once
from wellfed.feed.rows_as_bytes import Content, decode_unit, encode_unit
from wellfed.feed.stats import ReplacedRow
from wellfed.feed.unit import Failure
from wellfed.io import Records, TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellfed.columns import Bytes
    from wellfed.feed.plan import Cache
    from wellfed.feed.tree import Tree
    from wellfed.feed.unit import Unit

MAGIC = b"wellfed cache 1\n"
_NEVER, _LOST = -1, -2  # Instead of a place: not made yet, and cannot be made.
_ROWS_AT_A_TIME = 64  # They are in memory together.


def head_of(filename: str) -> dict[str, Any] | None:
    """What a cache's file says of itself; None where there is no such file.

    Raises:
      PlanError: The file is something else.
      FileNotFoundError: There is no folder to put it in.
    """
    if not Path(filename).exists():
        if not (folder := _folder_of(filename)).is_dir():
            raise FileNotFoundError(ENOENT, "there is no such folder for a cache: make it first", str(folder))
        return None
    head = next(iter(TFRecordReader(filename)), b"")
    if not head.startswith(MAGIC):
        raise PlanError("cache", f"{filename} is there, and is no cache of wellfed's: give another name or remove it")
    told: dict[str, Any] = json.loads(head[len(MAGIC) :])
    return told


def _folder_of(filename: str) -> Path:
    return Path(os.path.realpath(filename)).parent


class _Whole:
    """A finished file."""

    def __init__(self, filename: str, lost: Sequence[int]) -> None:
        self._records, self._file = Records(filename), _which(filename)
        self._lost = np.array(lost, np.int64)
        self._records.take([0])  # Opens it now: a file that replaces it later is another one.

    def __len__(self) -> int:
        return len(self._records) - 1

    def is_there(self) -> bool:
        """Whether the name still means the same file."""
        return _which(self._records.paths[0]) == self._file

    def has(self, rows: Rows) -> Any:
        return ~np.isin(rows, self._lost)

    def take(self, rows: Rows) -> list[Content]:
        taken = self._records.take(rows + 1)
        memory = taken.data.data
        return [memory[at : at + size] for at, size in zip(taken.starts.tolist(), taken.sizes.tolist(), strict=True)]


def _which(filename: str) -> tuple[int, ...] | None:
    """What tells a file from another one under its name; None where there is none."""
    try:
        found = Path(filename).stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _as_json(replaced: Replaced) -> list[list[Any]]:
    return [[number, *astuple(failure.row)] for number, failures in replaced.items() for failure in failures]


def _as_failures(told: list[list[Any]]) -> Replaced:
    found: Replaced = {}
    for number, *fields in told:
        row = ReplacedRow(*fields)
        error = StageError("cache", row.position, row.where, f"replaced when it was kept: {row.reason}")
        found[number] = (*found.get(number, ()), Failure(0, row, error))
    return found


class _Spool:
    """Rows as they come, in a file without a name; made with the first of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.places, self.nbytes = folder, Numbered(), 0
        self._sizes = Numbered()
        self._lock = threading.Lock()  # One place at a time: not every system reads at a place.
        self._file: Any = None

    def add(self, rows: Rows, contents: Bytes) -> None:
        """Adds rows, by one thread at a time."""
        contents = contents.compact()
        with self._lock:
            if self._file is None:
                # Without a buffer: what a full disk refused must not be tried again when the file ends.
                self._file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115 -- ends with this object.
                weakref.finalize(self, self._file.close)
            self._file.seek(self.nbytes)
            left = contents.data.data
            while left:
                left = left[self._file.write(left) :]
        self._sizes.set(rows, contents.sizes)
        self.places.set(rows, self.nbytes + contents.starts)
        self.nbytes += len(contents.data)

    def take(self, rows: Rows) -> list[Content]:
        contents: list[Content] = []
        with self._lock:
            for size, place in zip(self._sizes.get(rows).tolist(), self.places.get(rows).tolist(), strict=True):
                self._file.seek(place)
                contents.append(self._read(size))
        return contents

    def _read(self, size: int) -> bytes:
        content: bytes = self._file.read(size)
        while len(content) < size:  # The system gives about 2 GiB at a time.
            if not (more := self._file.read(size - len(content))):
                raise OSError(f"the temporary file of a cache in {self.folder} was cut")
            content += more
        return content


class FileStore:
    """A `Store` in a file.

    Args:
      node: Names the file.
      due: What the file must say that it is a cache of.
      spec: The form of an element, where it is known.

    Raises:
      PlanError: The file is there, and is no cache.
      OSError: From `put` and `take`: the file cannot be written.
    """

    def __init__(self, node: Cache, due: str, spec: Tree | None) -> None:
        self._filename, self._limit, self._due, self._spec = node.filename, node.limit_bytes, due, spec
        self._lock, self._process = threading.Lock(), os.getpid()
        self._spool = _Spool(_folder_of(node.filename))
        self.replaced: Replaced = {}
        self._whole = self._found()
        self._length: int | None = None
        self._done = 0
        self._refused: OSError | None = None

    def _found(self) -> _Whole | None:
        head = head_of(self._filename)
        if head is None or head["source"] != self._due:
            return None
        whole = _Whole(self._filename, head["lost"])
        if len(whole) != head["rows"]:  # Cut between two records: only their number tells.
            return None
        self.replaced = _as_failures(head.get("replaced", []))
        return whole

    def missing(self, rows: Rows) -> Rows:
        """See `Store`."""
        spool, whole = self._spool, self._whole
        kept = spool.places.get(rows) > _NEVER
        if whole is not None:
            kept |= whole.has(rows)
        return each_once(rows[~kept])

    def put(self, rows: Rows, unit: Unit) -> None:
        """See `Store`."""
        contents = encode_unit(unit)
        with self._lock:
            spool, places = self._spool, self._spool.places.get(rows)
            new = np.flatnonzero(places <= _NEVER)
            if self._whole is not None:
                new = new[~self._whole.has(rows[new])]
            check_limit(spool.nbytes + int(contents.sizes[new].sum()), self._limit)
            if len(new):
                self.replaced |= replaced_in(unit, rows, new)  # Before anyone finds the elements.
                spool.add(rows[new], contents[new])
                self._done += int((places[new] == _NEVER).sum())
            self._publish()

    def take(self, rows: Rows) -> Unit:
        """See `Store`."""
        if self._done == self._length and self._whole is None:  # It could not be written: that is not to be missed.
            with self._lock:
                self._publish()
        spool = self._spool  # Asked before `_whole`: what it no longer has is there by then.
        whole = self._whole
        if whole is None:
            return decode_unit(spool.take(rows), self._spec)
        in_file = whole.has(rows)
        if in_file.all():
            return decode_unit(whole.take(rows), self._spec)
        contents: list[Content] = [b""] * len(rows)
        for part, where in ((whole, np.flatnonzero(in_file)), (spool, np.flatnonzero(~in_file))):
            for at, content in zip(where.tolist(), part.take(rows[where]), strict=True):
                contents[at] = content
        return decode_unit(contents, self._spec)

    def lose(self, row: int) -> None:
        """See `Store`."""
        rows = np.array([row])
        with self._lock:
            if self._whole is None and self._spool.places.get(rows)[0] == _NEVER:
                self._spool.places.set(rows, _LOST)
                self._done += 1
                self._publish()

    def end(self, length: int) -> None:
        """See `Store`."""
        with self._lock:
            self._length = length
            self._publish()

    def here(self) -> FileStore | None:
        """See `Store`: None where the named file is gone, and after a fork: the file without a name is the parent's."""
        self._refused = None  # Another iteration may find room.
        gone = self._whole is not None and not self._whole.is_there()
        return None if gone or self._process != os.getpid() else self

    def _publish(self) -> None:
        """Gives the file its name, where all rows are made. REQUIRES: the lock is held."""
        if self._length is None or self._done < self._length or self._whole is not None:
            return
        if self._refused is not None:
            raise copy(self._refused)
        try:
            self._write(self._length)
        except OSError as error:
            self._refused = copy(error)  # Without the frames that hold this store.
            raise

    def _write(self, length: int) -> None:
        spool, rows = self._spool, np.arange(length)
        lost = spool.places.where(_LOST, length).tolist()
        head = {"source": self._due, "rows": length, "lost": lost, "replaced": _as_json(self.replaced)}
        with TFRecordWriter(self._filename, overwrite=True, index=True) as writer:
            writer.write(MAGIC + json.dumps(head).encode())
            for start in range(0, length, _ROWS_AT_A_TIME):
                for record in self._records(spool, rows[start : start + _ROWS_AT_A_TIME]):
                    writer.write(record)
        self._whole = _Whole(self._filename, lost)
        self._spool = _Spool(spool.folder)  # The old one ends when nobody reads it any more.

    @staticmethod
    def _records(spool: _Spool, rows: Rows) -> list[Content]:
        contents: list[Content] = [b""] * len(rows)
        made = np.flatnonzero(spool.places.get(rows) > _NEVER)
        for at, content in zip(made.tolist(), spool.take(rows[made]), strict=True):
            contents[at] = content
        return contents
