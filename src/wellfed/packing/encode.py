"""Items to framed records, some hundred at a time.

    as they are   source.records()        -> frames           Examples that need not be taken apart
    columns       source.load_columns()   -> pictures -> native encoder
    items         source.load(i)          -> pictures -> native encoder; where one is at fault, one by one

All three give the same bytes for the same items.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.datasets import SkippedItem
from wellfed.errors import EncodeError, ImageError, PackError, SourceError, WellfedError
from wellfed.example import encode_examples
from wellfed.io.disk import Disk
from wellfed.packing.progress import Counters
from wellfed.sources import MappedSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wellfed.datasets.folder import Folder
    from wellfed.packing.pictures import Facts
    from wellfed.packing.write import ShardTask

Framed = bytes | np.ndarray[Any, Any]  # Frames end to end, ready to be written.

# What is wrong with one item, not with the job: these may be skipped.
ITEM_ERRORS = (SourceError, ImageError, EncodeError)
QUARANTINE = ".wellfed/quarantine"

# Encoded together: 16 rows a call would be 10 times slower for small ones.
_CHUNK_BYTES, _CHUNK_ITEMS = 1 << 20, 1024


class Stopped(Exception):  # noqa: N818 -- no error: the job was told to stop.
    """Raised in a worker when the pack it works for ends early."""


class EncodedItems:
    """The framed records of a task, some at a time; keeps count of what is left out.

    Attributes:
      skipped: The items left out so far.
      seen: What the pictures so far have in common.
    """

    def __init__(self, task: ShardTask, folder: Folder) -> None:
        self._task, self._folder = task, folder
        self._disk = Disk(task.source_bytes)
        self.skipped: list[SkippedItem] = []
        self.seen: dict[str, Facts] = {}

    def __iter__(self) -> Iterator[tuple[Framed, int]]:
        """Gives framed records, and how many they are."""
        counters = Counters(self._task.counters)
        ends = np.cumsum(self._task.source.listing().sizes)
        start, asked = 0, 0
        while start < len(ends):
            if counters.stopped:
                raise Stopped
            stop = self._chunk_end(ends, start)
            ahead = self._chunk_end(ends, stop) if stop < len(ends) else stop
            self._ask(asked, ahead)  # This one, and the one that follows while it is made.
            yield self._chunk(start, stop)
            start, asked = stop, ahead
            counters.count(self._task.number, start, int(ends[start - 1]))

    def _ask(self, start: int, stop: int) -> None:
        """Has items read that are soon needed, where the source's files are larger than memory."""
        source = self._task.source
        if isinstance(source, MappedSource):
            self._disk.ask(partial(_ask_for, source, start, stop))

    def _chunk_end(self, ends: NDArray[np.int64], start: int) -> int:
        """Returns where the items end that are encoded together: one at least."""
        before = int(ends[start - 1]) if start else 0
        by_bytes = int(np.searchsorted(ends, before + _CHUNK_BYTES, side="right"))
        return max(start + 1, min(by_bytes, start + _CHUNK_ITEMS, len(ends)))

    def _chunk(self, start: int, stop: int) -> tuple[Framed, int]:
        if self._task.as_is:
            return self._records(start, stop)
        columns = self._columns(start, stop)
        if columns is not None:
            return encode_examples(columns, framed=True).data, stop - start
        loaded = ((row, self._item(row)) for row in range(start, stop))
        return self._framed({row: item for row, item in loaded if item is not None})

    def _records(self, start: int, stop: int) -> tuple[Framed, int]:
        """Frames records that are Examples already."""
        source: Any = self._task.source
        found = source.records(start, stop)
        if found is None:
            one_by_one = []
            for row in range(start, stop):
                try:
                    one_by_one.append(source.record(row))
                except SourceError as error:
                    self._refuse(row, {}, error)
            found = Bytes.from_list(one_by_one)
        return _frames(found), len(found)

    def _columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Returns many items' columns for the encoder; None where they have to be loaded one by one."""
        task = self._task
        if task.schema.records != "Example" or not hasattr(task.source, "load_columns"):
            return None
        try:
            columns = task.source.load_columns(start, stop)
            return columns and task.schema.encode_columns(task.work.apply_columns(columns, self.seen))
        except ITEM_ERRORS:
            return None  # Loading one by one tells which item it is.

    def _item(self, row: int) -> dict[str, Any] | None:
        """Returns one item as it is stored; None where it is left out."""
        item: dict[str, Any] = {}
        try:
            item = self._task.source.load(row)
            return self._task.work.apply(item, self.seen)
        except ITEM_ERRORS as error:
            self._refuse(row, item, error)
            return None
        except (OSError, WellfedError):
            raise
        except Exception as error:  # A source of the user's may raise anything; the item's name must not be lost.
            raise PackError(f"{type(error).__name__}: {error}", self._key(row)) from error

    def _framed(self, ready: dict[int, dict[str, Any]]) -> tuple[Framed, int]:
        """Encodes items together; one by one only where one of them does not fit, to tell which."""
        if not ready:
            return np.empty(0, np.uint8), 0
        schema = self._task.schema
        try:
            if schema.records == "SequenceExample":
                return _frames(Bytes.from_list([schema.encode_record(item) for item in ready.values()])), len(ready)
            columns = schema.encode_rows(list(ready.values()))
            return encode_examples(columns, framed=True).data, len(ready)
        except EncodeError:
            good = {row: item for row, item in ready.items() if self._fits(row, item)}
        if len(good) == len(ready):
            raise AssertionError("items fit the schema one by one, but not together")
        return self._framed(good)

    def _fits(self, row: int, item: dict[str, Any]) -> bool:
        try:
            self._task.schema.encode_record(item)
        except EncodeError as error:
            self._refuse(row, item, error)
            return False
        return True

    def _refuse(self, row: int, item: dict[str, Any], error: Exception) -> None:
        """Does with a bad item what was asked for."""
        key = self._key(row)
        if self._task.on_error == "raise":
            named = _named(error, key)
            named.add_note('on_error="skip" (--on-error skip) leaves such items out and lists them.')
            raise named from (None if named is error else error)  # An error that is its own cause ties Dask in a knot.
        self.skipped.append(SkippedItem(key, _reason(error), self._task.split))
        if self._task.on_error == "quarantine":
            for name in self._task.work.names:  # Pictures are put aside as they came.
                if isinstance(item.get(name), bytes):
                    self._folder.write(quarantine_name(key), item[name])

    def _key(self, row: int) -> str:
        return self._task.source.listing().key(row)


def _frames(records: Bytes) -> Framed:
    return _native.frame_records(records.data, records.starts, records.sizes)


def quarantine_name(key: str) -> str:
    """Returns where a refused item is put, within the data set's folder whatever its key."""
    parts = [part for part in key.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join([QUARANTINE, *parts])


def _named(error: Exception, key: str) -> Exception:
    """Returns the error with the item's name in it."""
    if isinstance(error, ImageError):
        return ImageError(error.reason, key)
    return PackError(str(error), key) if isinstance(error, EncodeError) else error


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, (SourceError, ImageError)) else str(error)


def _ask_for(source: MappedSource, start: int, stop: int) -> None:
    # What cannot be opened is told when it is loaded, and maybe left out then.
    with contextlib.suppress(OSError, *ITEM_ERRORS):
        for file, starts, sizes in source.places(start, stop):
            file.read_at_random()
            file.ask_for_ranges(starts, sizes)
