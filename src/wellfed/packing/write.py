"""Writing one shard: a pure function of its task, so it can run anywhere, and again.

task --load--> item --pictures--> --schema.encode--> Example --writer--> shard, index, note
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellfed.datasets import Schema, SkippedItem
from wellfed.datasets.folder import Folder, open_folder
from wellfed.errors import EncodeError, ImageError, PackError, SourceError, WellfedError
from wellfed.example import encode_example, encode_examples
from wellfed.io import TFRecordWriter
from wellfed.io.files import is_url
from wellfed.packing.progress import Counters
from wellfed.packing.staging import ShardResult, done_name, staged_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from wellfed.packing.options import Compression, OnError
    from wellfed.packing.pictures import Facts, PictureWork
    from wellfed.sources import Source

# What is wrong with one item, not with the job: these may be skipped.
ITEM_ERRORS = (SourceError, ImageError, EncodeError)

_COUNT_EVERY = 32
# Encoded together: 16 rows a call would be 10 times slower for small ones.
_CHUNK_BYTES, _CHUNK_ITEMS = 1 << 20, 1024

QUARANTINE = ".wellfed/quarantine"


@dataclass(frozen=True, slots=True)
class ShardTask:
    """All that writing one shard needs. Pickles; holds only the shard's own part of the listing.

    Attributes:
      number: The shard's place among all shards of all splits.
      source: The items of this shard, in order.
      schema: What is stored.
      work: What is done to pictures.
      out: The data set's folder, a path or URL.
      file: The shard's final name.
      split: The split it belongs to.
      compression: As in `PackOptions`.
      on_error: What a bad item does.
      counters: The file of progress counters; "" where the worker cannot reach it.
    """

    number: int
    source: Source
    schema: Schema
    work: PictureWork
    out: str
    file: str
    split: str
    compression: Compression
    on_error: OnError
    counters: str


class Stopped(Exception):  # noqa: N818 -- no error: the job was told to stop.
    """Raised in a worker when the pack it works for ends early."""


def write_shard(task: ShardTask) -> ShardResult:
    """Writes the shard of a task into the staging folder: the shard, its index, then the note that vouches for it.

    Returns:
      What it holds. The same task gives the same bytes.

    Raises:
      SourceError, ImageError, PackError: An item is bad and `on_error` is "raise"; the error names it.
      OSError: The shard cannot be written.
    """
    folder = open_folder(task.out)
    if not is_url(task.out):
        return _write(task, folder, Path(folder.full(staged_name(task.file))))
    with tempfile.TemporaryDirectory(prefix="wellfed-") as scratch:
        return _write(task, folder, Path(scratch) / task.file)


def _write(task: ShardTask, folder: Folder, place: Path) -> ShardResult:
    place.parent.mkdir(parents=True, exist_ok=True)
    items = _Items(task, folder)
    kind, _, seekable = task.compression.partition("_")
    records = 0
    with TFRecordWriter(place, kind, seekable=bool(seekable), overwrite=True, index=True) as writer:
        for framed, count in items:
            writer.write_framed(framed)
            records += count
    result = ShardResult(
        file=task.file,
        records=records,
        bytes=place.stat().st_size,
        sha256=_sha256(place),
        bytes_in=int(task.source.listing().sizes.sum()),
        skipped=tuple(items.skipped),
        pictures=items.seen,
    )
    if is_url(task.out):
        folder.put(str(place), staged_name(task.file))
        folder.put(str(place.parent / index_name(place.name)), staged_name(index_name(task.file)))
    folder.write(done_name(task.file), result.to_json())
    return result


class _Items:
    """The encoded items of a task, some at a time; keeps count of what is left out."""

    def __init__(self, task: ShardTask, folder: Folder) -> None:
        self._task, self._folder = task, folder
        self.skipped: list[SkippedItem] = []
        self.seen: dict[str, Facts] = {}

    def __iter__(self) -> Iterator[tuple[NDArray[np.uint8], int]]:
        """Gives framed records, and how many they are."""
        task = self._task
        counters = Counters(task.counters)
        sizes = task.source.listing().sizes
        ready: dict[int, dict[str, Any]] = {}
        bytes_in = pending = 0
        for row in range(len(sizes)):
            if row % _COUNT_EVERY == 0:
                counters.count(task.number, row, bytes_in)
                if counters.stopped:
                    raise Stopped
            item = self._item(row)
            bytes_in += int(sizes[row])
            pending += int(sizes[row])
            if item is not None:
                ready[row] = item
            if pending >= _CHUNK_BYTES or len(ready) == _CHUNK_ITEMS:
                yield self._framed(ready)
                ready, pending = {}, 0
        if ready:
            yield self._framed(ready)
        counters.count(task.number, len(sizes), bytes_in)

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

    def _framed(self, ready: dict[int, dict[str, Any]]) -> tuple[NDArray[np.uint8], int]:
        """Encodes items together; one by one only where one of them does not fit, to tell which."""
        try:
            columns = self._task.schema.encode_rows(list(ready.values()))
            return encode_examples(columns, framed=True).data, len(ready)
        except EncodeError:
            good = {row: item for row, item in ready.items() if self._fits(row, item)}
        if len(good) == len(ready):
            raise AssertionError("items fit the schema one by one, but not together")
        return self._framed(good)

    def _fits(self, row: int, item: dict[str, Any]) -> bool:
        try:
            encode_example(self._task.schema.encode(item))
        except EncodeError as error:
            self._refuse(row, item, error)
            return False
        return True

    def _refuse(self, row: int, item: dict[str, Any], error: Exception) -> None:
        """Does with a bad item what was asked for."""
        key = self._key(row)
        if self._task.on_error == "raise":
            raise _named(error, key) from error
        self.skipped.append(SkippedItem(key, _reason(error), self._task.split))
        if self._task.on_error == "quarantine":
            self._quarantine(row, item)

    def _quarantine(self, row: int, item: dict[str, Any]) -> None:
        """Puts a refused item's pictures aside, as they came."""
        for name in self._task.work.names:
            if isinstance(item.get(name), bytes):
                self._folder.write(quarantine_name(self._key(row)), item[name])

    def _key(self, row: int) -> str:
        return self._task.source.listing().key(row)


def index_name(file: str) -> str:
    """Returns where the index of a shard stands, beside it."""
    return f".wellfed/{file}.index"


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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
