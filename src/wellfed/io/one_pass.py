"""Files without an index, read in order: each byte is fetched once, for the rows and for the index.

count(stop)    walks on, from file to file, until so many records are known
held(...)      where records lie in memory that were walked and not read yet, or in the copy on disk
take(...)      any that are known; what is not held any more is fetched again
indexes()      those that are whole: found when this was opened, or walked to the file's end, and saved then
"""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_right
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import WellfedError
from wellfed.io.files import is_url
from wellfed.io.index import RecordIndex
from wellfed.io.passing import PassedFile
from wellfed.io.proof import gather
from wellfed.io.shelf import open_shelf
from wellfed.io.streams import open_walker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from wellfed.columns import Bytes
    from wellfed.io.access import Access
    from wellfed.io.passing import Lying
    from wellfed.io.shelf import Shelf

_KEPT_BYTES = 128 << 20  # What was fetched and not read yet, of each file: some units for each of many threads.


@dataclass
class _File:
    first_row: int
    index: RecordIndex | PassedFile
    whole: RecordIndex | None  # Once all of the file is known.
    shelf: Shelf | None = None

    def known(self) -> int:
        return len(self.index.offsets) - 1


class OnePass:
    """The records of some files as far as they are known. Thread-safe.

    Args:
      paths: The files.
      found: Their indexes; None for each that has none.
      access: How remote files are reached.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from each file's content.
      check_crc: Check each payload's sum when `take` reads it.

    A compressed file is indexed by a pass of its own when its first record is asked for.
    """

    def __init__(
        self,
        paths: Sequence[str],
        found: Sequence[RecordIndex | None],
        access: Access,
        compression_type: str | None,
        *,
        check_crc: bool,
    ) -> None:
        self._paths, self._found, self._access = paths, found, access
        self._compression_type, self._check_crc = compression_type, check_crc
        self._lock = threading.Lock()
        self._files: list[_File] = []
        self._known = 0
        self._saving: list[Future[Any]] = []

    def count(self, stop: int) -> int:
        """How many of the first `stop` records exist; walks as far as that needs.

        Raises:
          RecordError, NotTFRecordError, CompressionError, OSError: From the file that the walk has come to.
        """
        with self._lock:
            while self._known < stop and (file := self._current()) is not None:
                self._walk(file, stop)
            return min(stop, self._known)

    def knows(self, rows: NDArray[np.int64]) -> bool:
        """Whether some records, at least one, are known, none of them by a negative number."""
        return len(rows) > 0 and bool(rows.min() >= 0) and bool(rows.max() < self._known)

    def held(self, rows: NDArray[np.int64]) -> tuple[list[Lying], int] | None:
        """Memory that holds records [first, last], and `first`, where some records are between these; else None."""
        start, stop = int(rows.min()), int(rows.max()) + 1
        found: list[Lying] = []
        for file in self._files[self._file_of(start) :]:
            low, high = max(start - file.first_row, 0), min(stop - file.first_row, file.known())
            if high <= 0:
                break
            parts = self._parts(file, low, high) if low < high else []
            if parts is None:
                return None
            found += parts
        return found, start

    def took(self, rows: NDArray[np.int64]) -> None:
        """Says that records were read, out of what was `held`; walks on by as many, so that the next are known."""
        for file, _, within in self._each(rows):
            if isinstance(file.index, PassedFile):
                file.index.took(within)
        with contextlib.suppress(WellfedError, OSError):  # It is met again by whoever needs what comes there.
            self.count(int(rows.max()) + 1 + len(rows))

    def take(self, rows: NDArray[np.int64], *, in_order: bool) -> Bytes:
        """See `Records.take`; `rows` are known."""
        parts, places = [], []
        for file, here, within in self._each(rows):
            parts.append(self._shelf(file).read(within, in_order=in_order))
            places.append(here)
            if isinstance(file.index, PassedFile):
                file.index.took(within)
        return gather(parts, places)

    def locate(self, row: int) -> tuple[int, int]:
        """The number of the file of a known record, and the record's number there."""
        number = self._file_of(row)
        return number, row - self._files[number].first_row

    def is_complete(self) -> bool:
        """Whether all files have been walked to their ends."""
        return len(self._files) == len(self._paths) and self._files[-1].whole is not None

    def indexes(self) -> list[RecordIndex | None]:
        """The index of each file that has a whole one by now."""
        found = list(self._found)
        for number, file in enumerate(list(self._files)):
            found[number] = file.whole or found[number]
        return found

    def settle(self) -> None:
        """Waits for the indexes that are being saved."""
        wait(self._saving)

    # --- The walk -----------------------------------------------------------------------------------

    def _current(self) -> _File | None:
        """The file that the walk stands in; None behind the last one."""
        if self._files and self._files[-1].whole is None:
            return self._files[-1]
        return self._open_next() if len(self._files) < len(self._paths) else None

    def _open_next(self) -> _File:
        number = len(self._files)
        index = self._found[number] or self._begin(self._paths[number])
        file = _File(self._known, index, index if isinstance(index, RecordIndex) else None)
        self._known += file.known()
        self._files.append(file)
        return file

    def _begin(self, path: str) -> RecordIndex | PassedFile:
        access = self._access
        if is_url(path):
            walker, compression = open_walker(path, self._compression_type, check=False, access=access)
            if not compression:
                return PassedFile(path, walker, access.remote(path).size, _KEPT_BYTES)
        return RecordIndex.for_file(path, self._compression_type, access=access)

    def _walk(self, file: _File, stop: int) -> None:
        """Walks until `stop` records are known or the file ends."""
        if not isinstance(file.index, PassedFile):
            return
        try:
            file.index.ensure(stop - file.first_row)
        finally:
            self._known = file.first_row + file.known()
        if file.index.complete:
            file.whole = file.index.index()
            self._saving.append(self._access.requests.run(partial(file.whole.save, access=self._access)))
        self._prepare(file.index)

    def _prepare(self, current: PassedFile) -> None:
        """Asks for the start of the next file when the walk nears the end of this one."""
        number, access = len(self._files), self._access
        ahead = access.options.ranges_ahead * access.blocks.block_bytes
        if number == len(self._paths) or not current.is_near_end(ahead) or access.options.cache_dir is not None:
            return
        if is_url(self._paths[number]):
            access.blocks.prepare(access.remote(self._paths[number]))

    # --- Records ------------------------------------------------------------------------------------

    def _file_of(self, row: int) -> int:
        return bisect_right(self._files, row, key=lambda file: file.first_row) - 1

    def _each(self, rows: NDArray[np.int64]) -> list[tuple[_File, NDArray[np.int64], NDArray[np.int64]]]:
        """The files of some records: which of the records, and their numbers there."""
        files = self._files[:]
        numbers = np.searchsorted([file.first_row for file in files], rows, side="right") - 1
        places = [(files[number], np.flatnonzero(numbers == number)) for number in np.unique(numbers).tolist()]
        return [(file, here, rows[here] - file.first_row) for file, here in places]

    def _parts(self, file: _File, start: int, stop: int) -> list[Lying] | None:
        if isinstance(file.index, PassedFile):
            return file.index.held(start, stop)
        mapped = self._shelf(file).mapped()
        return None if mapped is None else [(mapped, file.index.offsets[start:stop])]

    def _shelf(self, file: _File) -> Shelf:
        if file.shelf is not None:
            return file.shelf
        index = file.index if isinstance(file.index, RecordIndex) else file.index.index()
        shelf = open_shelf(file.whole or index, check=self._check_crc, access=self._access)
        if file.whole is not None:
            file.shelf = shelf
        return shelf
