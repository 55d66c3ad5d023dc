"""Records by number, over one file or many."""

from __future__ import annotations

import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from wellfed import _native
from wellfed.io.access import Access, file_versions, fingerprint
from wellfed.io.compression import check_name
from wellfed.io.copies import Copies
from wellfed.io.disk import Disk
from wellfed.io.files import is_url
from wellfed.io.index import RecordIndex
from wellfed.io.indexing import LongWalk, walks_end_here
from wellfed.io.kept import kept
from wellfed.io.one_pass import OnePass
from wellfed.io.patterns import expand_patterns
from wellfed.io.proof import gather
from wellfed.io.reader import TFRecordReader
from wellfed.io.remote_shelf import RemoteShelf
from wellfed.io.shelf import open_shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from wellfed.columns import Bytes
    from wellfed.io.files import PathLike
    from wellfed.io.remote import RemoteOptions, RemoteStats
    from wellfed.io.shelf import Shelf
    from wellfed.io.walk import Damage

_Found = TypeVar("_Found")

_BATCH = 1024
_INDEX_THREADS = 8  # Walking headers waits for the disk more than for the processor.


class Records:
    """The records of one or more TFRecord files as a sequence: `len`, `[i]`, slices, `take`.

    The files' indexes are opened, or built and written, on first use. Thread-safe; forks and pickles.

    Args:
      files: A path, URL or pattern, or several; see `wellfed.io.expand_patterns`. Files keep the order in which they
        are named; those of one pattern are sorted by number.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from each file's content.
      on_damage: "raise", or "skip" to leave out whatever is damaged; each payload is checked then when the index is
        built, so that the numbering stands, and `damage` tells what was left out.
      check_crc: Check each payload's CRC32C when it is read.
      remote: How files behind URLs are read; see `RemoteOptions`.

    Attributes:
      paths: The files.

    Raises:
      FileNotFoundError: A pattern matches nothing.
      RecordError: A file is damaged (when it is indexed), or the record that is read is.
      NotTFRecordError: A file looks like something else.
      CompressionError: A file has another compression than the one given, or is too large a GZIP or ZLIB stream to be
        read at random; a seekable GZIP never is.
      FileChangedError: A file was cut or replaced since its index was opened.

    Example:
      >>> records = Records("pairs-*.tfrecord")  # doctest: +SKIP
      >>> len(records), records[0], records[10:20], records.take([7, 3, 7])  # doctest: +SKIP
    """

    def __init__(
        self,
        files: PathLike | Iterable[PathLike],
        compression_type: str | None = None,
        *,
        on_damage: str = "raise",
        check_crc: bool = True,
        remote: RemoteOptions | None = None,
    ) -> None:
        check_name(compression_type)
        if on_damage not in ("raise", "skip"):
            raise ValueError(f'on_damage must be "raise" or "skip", got {on_damage!r}')
        self.paths = expand_patterns(files)
        self._compression_type, self._on_damage, self._check_crc = compression_type, on_damage, check_crc
        self._access = Access(remote)
        self._open_lock, self._making = threading.Lock(), threading.RLock()
        self._shelves: dict[int, Shelf] = {}
        self._furthest = 0  # Of the files that a pass has come to.
        self._pass: OnePass | None = None
        self._copies: Copies | None = None

    @kept
    def indexes(self) -> list[RecordIndex]:
        """One `RecordIndex` a file."""
        if self._pass is None:
            return self._make_indexes(self.paths)
        found = self._pass.indexes()
        missing = [path for path, index in zip(self.paths, found, strict=True) if index is None]
        made = iter(self._make_indexes(missing))
        return [next(made) if index is None else index for index in found]

    @property
    def damage(self) -> list[Damage]:
        """What was left out; empty unless `on_damage="skip"`."""
        return [damage for index in self.indexes for damage in index.damage()]

    def locate(self, row: int) -> tuple[str, int]:
        """The file of a record, and its number there.

        Raises:
          IndexError: There is no such record.
        """
        one_pass = self._pass
        known = one_pass is not None and one_pass.knows(np.array([row]))
        file, within = one_pass.locate(row) if one_pass is not None and known else self._place(row)
        return self.paths[file], within

    @property
    def remote_stats(self) -> RemoteStats:
        """What was done so far to read files behind URLs."""
        return self._access.stats()

    def fingerprint(self) -> str:
        """What changes when the content of a file does: a hash of names, sizes and samples, 16 hexadecimal digits.

        Raises:
          OSError: A file cannot be opened.
        """
        return fingerprint(self.paths, self._access)

    def count(self, stop: int) -> int:
        """How many of the first `stop` records exist.

        Where a file behind a URL has no index, files are walked in order, only as far as this needs. What the walk
        fetches is kept for `take` and `at_hand`, so that reading in order fetches each byte once; the index comes of
        the same bytes, and is written when the file ends.

        Raises:
          RecordError, NotTFRecordError, CompressionError, OSError: As `indexes`, for the files that are walked.
        """
        if not self._begin_pass():
            return min(stop, len(self))
        assert self._pass is not None
        found = self._pass.count(stop)
        if self._pass.is_complete():
            self.indexes = [index for index in self._pass.indexes() if index is not None]
        return found

    def at_hand(self, rows: NDArray[np.int64]) -> tuple[_native.ShardSet, int] | None:
        """Records that can be read in memory: where they were walked and not read yet, or lie in copies on disk.

        Args:
          rows: Their numbers; at least one. They must be known: below what `count` has returned.

        Returns:
          Some records as rows, and the number of the record that row 0 is; None where one of `rows` is not among them.

        Raises:
          OSError: A file cannot be read: its copy is fetched when the first of its records is asked for.
        """
        one_pass = self._pass
        if one_pass is not None and (held := one_pass.held(rows)) is not None:
            return _native.ShardSet(held[0]), held[1]
        if self._access.options.cache_dir is None or "indexes" not in self.__dict__:
            return None
        copies = self._copies_of(rows)
        if copies is None:
            return None
        self._disk.ask(lambda: copies.ask_for(rows.astype(np.uint64)))
        return copies, 0

    def took(self, rows: NDArray[np.int64]) -> None:
        """Says that records were read, out of what was `at_hand`: memory that nobody needs any more is let go."""
        one_pass = self._pass
        if one_pass is not None:
            one_pass.took(rows)

    def end_pass(self) -> None:
        """Lets go of memory that `count` keeps, where all files have been walked to their ends."""
        if "indexes" in self.__dict__:
            self._pass = None

    def settle(self) -> None:
        """Waits until the indexes of files that were walked to their ends are written."""
        if self._pass is not None:
            self._pass.settle()

    def versions(self) -> list[str]:
        """What changes, for each file, when it is written to or replaced: of remote files as they were opened.

        Raises:
          OSError: A file cannot be found.
        """
        return file_versions(self.paths, self._access)

    def take(self, rows: ArrayLike, *, in_order: bool = False) -> Bytes:
        """Records by number, in the order asked for; a number may come twice, and negative ones count from the end.

        Args:
          rows: The numbers.
          in_order: This is one step of a pass through the files: what follows is asked for next. Remote files are then
            read ahead in large ranges, each once.

        Returns:
          `Bytes` as long as `rows`. Those of one plain file of this machine are views of the mapped file; others are
          read or inflated into memory of their own.

        Raises:
          IndexError: There is no such record.
          TypeError: `rows` is no list or array of integers.
        """
        wanted = _as_rows(rows)
        one_pass = self._pass
        if one_pass is not None and "indexes" not in self.__dict__ and one_pass.knows(wanted):
            return one_pass.take(wanted, in_order=in_order)
        total = len(self)
        outside = (wanted < -total) | (wanted >= total)
        if outside.any():
            raise IndexError(f"record {wanted[outside][0]} is not among the {total} records")
        wanted = np.where(wanted < 0, wanted + total, wanted)
        files = np.searchsorted(self._ends, wanted, side="right")
        parts, places = [], []
        for file in np.unique(files).tolist():
            here = np.flatnonzero(files == file)
            within = wanted[here] - self._starts[file]
            parts.append(self._shelf(file).read(within, in_order=in_order))
            places.append(here)
            if in_order:
                self._prepare(file, int(within[0]), int(within[-1]))
        return gather(parts, places)

    def __len__(self) -> int:
        return self._last_rows[-1]

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice | NDArray[Any] | list[int]) -> Bytes: ...
    def __getitem__(self, key: Any) -> bytes | Bytes:
        """`bytes` of one record, or `Bytes` of a slice, index array or mask.

        Raises:
          IndexError: There is no such record; a mask has another length.
          TypeError: `key` is none of these.
        """
        if isinstance(key, (int, np.integer)):
            file, within = self._place(int(key))
            return self._shelf(file).read_one(within)
        if isinstance(key, slice):
            return self.take(np.arange(*key.indices(len(self)), dtype=np.int64))
        keys = np.asarray(key)
        if keys.dtype == bool and keys.shape != (len(self),):
            raise IndexError(f"a mask of {len(self)} values is due, got shape {keys.shape}")
        return self.take(np.flatnonzero(keys) if keys.dtype == bool else keys)

    def __iter__(self) -> Iterator[bytes]:
        for file, index in enumerate(self.indexes):
            if index.compression:  # As a stream: a member may be too long to be read at random.
                yield from TFRecordReader(
                    index.path,
                    index.compression,
                    on_damage=self._on_damage,
                    check_crc=self._check_crc,
                    remote=self._access.options,
                )
            for start in range(0, 0 if index.compression else len(index), _BATCH):
                yield from self._shelf(file).read(np.arange(start, min(start + _BATCH, len(index))), in_order=True)

    def __repr__(self) -> str:
        return f"Records({self.paths[0]!r}{', ...' if len(self.paths) > 1 else ''}, {len(self.paths)} files)"

    def __getstate__(self) -> dict[str, Any]:
        # Not what was opened: each process maps the files itself.
        return {name: value for name, value in self.__dict__.items() if name == "paths" or name in _OPTIONS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open_lock, self._making = threading.Lock(), threading.RLock()
        self._shelves, self._furthest = {}, 0
        self._pass = self._copies = None

    def _make_indexes(self, paths: Sequence[str]) -> list[RecordIndex]:
        return self._for_each_file(partial(RecordIndex.for_file, progress=LongWalk(len(paths)).passed), paths)

    def _for_each_file(self, find: Callable[..., _Found], paths: Sequence[str]) -> list[_Found]:
        """Calls one of `RecordIndex`'s makers for some files, several at a time."""
        skip = self._on_damage == "skip"
        how = partial(find, compression_type=self._compression_type, on_damage=self._on_damage, check=skip)
        if len(paths) == 1:
            return [how(paths[0], access=self._access)]
        with ThreadPoolExecutor(min(_INDEX_THREADS, max(len(paths), 1)), "wellfed-index") as pool, walks_end_here():
            list(pool.map(self._access.claim, paths))
            # Each in a context of its own, so that a walk ends with whoever waits for it.
            found = [pool.submit(copy_context().run, partial(how, path, access=self._access)) for path in paths]
            return [future.result() for future in found]

    def _begin_pass(self) -> bool:
        """Whether files are walked as they are read: the index of a remote one is missing, and no damage is left out.

        What is to be left out is found before the first record has its number.
        """
        if "indexes" in self.__dict__ or self._on_damage == "skip" or not any(map(is_url, self.paths)):
            return False
        if self._pass is None:
            found = self._for_each_file(RecordIndex.ready, self.paths)
            self._pass = OnePass(self.paths, found, self._access, self._compression_type, check_crc=self._check_crc)
        return True

    def _copies_of(self, rows: NDArray[np.int64]) -> _native.ShardSet | None:
        """All records as rows, where the files of some of them have copies on disk; other files' are not to be read."""
        if self._copies is None or not self._copies.whole:
            files = np.unique(np.searchsorted(self._ends, rows, side="right")).tolist()
            if any(self._shelf(file).mapped() is None for file in files):
                return None
            shelves = dict(self._shelves)
            if self._copies is None or self._copies.opened < len(shelves):
                self._copies = Copies.of(self.indexes, {file: shelf.mapped() for file, shelf in shelves.items()})
        return self._copies.shards

    def _shelf(self, file: int) -> Shelf:
        """The shelf of a file, opened when the first of its records is read: a remote shard may be fetched whole."""
        found = self._shelves.get(file)
        if found is None:
            found = open_shelf(self.indexes[file], check=self._check_crc, access=self._access, disk=self._disk)
            with self._open_lock:
                found = self._shelves.setdefault(file, found)
        return found

    @kept
    def _disk(self) -> Disk:
        return Disk(sum(index.stream_bytes for index in self.indexes if not index.compression))

    @kept
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum([len(index) for index in self.indexes], dtype=np.int64)

    @kept
    def _starts(self) -> NDArray[np.int64]:
        return self._ends - np.array([len(index) for index in self.indexes], np.int64)

    @kept
    def _last_rows(self) -> list[int]:
        """`_ends` as a list, which is several times as fast for one row."""
        ends: list[int] = self._ends.tolist()
        return ends

    def _prepare(self, file: int, first: int, last: int) -> None:
        """In a pass, asks for the start of the next file when the end of this one is being read."""
        self._furthest = 0 if not file and not first else max(file, self._furthest)
        if file + 1 == len(self.paths) or file < self._furthest or self._access.options.cache_dir is not None:
            return  # To open a file that is to be kept on disk fetches all of it.
        shelf, following = self._shelf(file), self._shelf(file + 1)
        if isinstance(shelf, RemoteShelf) and isinstance(following, RemoteShelf) and shelf.is_near_end(last):
            self._furthest = file + 1  # Threads share a pass: another one may be there already.
            following.prepare()

    def _place(self, row: int) -> tuple[int, int]:
        total = self._last_rows[-1]
        if not -total <= row < total:
            raise IndexError(f"record {row} is not among the {total} records of {self!r}")
        row += total if row < 0 else 0
        file = bisect_right(self._last_rows, row)
        return file, row - (self._last_rows[file - 1] if file else 0)


def _as_rows(rows: ArrayLike) -> NDArray[np.int64]:
    """Numbers of records as an array."""
    array = np.asarray(rows)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"records are asked for by a list or an array of integers, got {rows!s:.60}")
    return array.astype(np.int64, copy=False)


_OPTIONS = ("_compression_type", "_on_damage", "_check_crc", "_access")
