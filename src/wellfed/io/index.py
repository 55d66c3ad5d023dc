"""Where each record of a file stands: found once by walking the headers, then kept in a sidecar.

RecordIndex    all of a file's records; opened from its sidecar, or built and written
GrowingIndex   as many as were asked for: reading in file order needs no pass of its own
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import CorruptRecordError, IndexFileError
from wellfed.io import sidecar
from wellfed.io.access import Access
from wellfed.io.files import check_regular, is_url
from wellfed.io.giving_up import check_wanted
from wellfed.io.growing import Growing
from wellfed.io.sidecar import Tables
from wellfed.io.streams import open_walker
from wellfed.io.walk import Damage, MappedWindow, Walker

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from wellfed.io.files import MappedFile, PathLike

_ASK_BYTES = 16 << 20  # How far ahead of a walk pages are asked for: some units for each of a few threads.
_FAR_BYTES = 128 << 20  # How far ahead of a walk that does nothing else.
_BLOCK_BYTES = 8 << 20  # The pages of four page tables.
_FIRST_STEP = 1 << 10
_NO_STREAM = "the compressed stream is damaged here"
_WHOLE_BYTES = 128 << 10  # Records of this mean size: what the system reads around each header is the whole file.
_DENSE_BYTES = 8 << 10  # Records of this mean size: a walk over their headers touches most pages.


class RecordIndex:
    """Where the records of one file stand. Immutable; safe to share between threads, to fork and to pickle.

    Made by `for_file`, `find` or `build`.

    Attributes:
      path: The file, as the caller named it.
      offsets: uint64 (n + 1,): where each record's header starts in the uncompressed stream, then where the last
        record ends. Mapped from the sidecar where there is one; not writable then. [bytes]
      gaps: uint64 (k, 2): start and end of each damaged range that was left out, equal where a compressed stream is
        damaged between two records. A record in front of a gap ends where the gap starts; any other ends where the next
        one starts. [bytes]
      members: uint64 (m, 2): start in the file and start in the uncompressed stream of each GZIP or ZLIB member; none
        for plain files. [bytes]
      compression: "", "GZIP" or "ZLIB".
      checked: Whether each payload's sum was checked when the index was built.
      stream_bytes: Length of the uncompressed stream.

    An index is a claim: whoever reads a record proves its header again.
    """

    def __init__(self, path: str, tables: Tables, stored: NDArray[np.uint8] | None = None, place: str = "") -> None:
        self.path = path
        self.offsets, self.gaps, self.members = tables.offsets, tables.gaps, tables.members
        self.compression, self.checked = tables.compression, tables.checked
        self.stream_bytes = tables.stream_bytes
        self._stored, self._place = stored, place

    @classmethod
    def for_file(
        cls,
        path: PathLike,
        compression_type: str | None = None,
        *,
        on_damage: str = "raise",
        check: bool = False,
        access: Access | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> RecordIndex:
        """Opens the index of a file; builds it, and writes it for the next time, where there is none that fits.

        It is written beside the file, in the user's cache folder where that cannot be, and kept in memory alone where
        neither can.

        Args:
          path: A path of this machine or a URL.
          compression_type: "", "GZIP" or "ZLIB"; None has it told from the content.
          on_damage: "raise", or "skip" to leave damage out as `gaps`.
          check: Check each payload's sum too, if that was not done when the index was built. Otherwise damage inside
            a payload shows when that record is read.
          access: How a remote file is reached; None for the usual way.
          progress: Called while an index is built, with the bytes of the stream that were walked since the last call.

        Raises:
          RecordError: The file is damaged (`on_damage="raise"`).
          NotTFRecordError: The file looks like something else.
          CompressionError: The content has another compression than the one given, or its stream is damaged.
          OSError: The file cannot be opened.
        """
        access = access or Access()
        found = cls.ready(path, compression_type, on_damage=on_damage, check=check, access=access)
        if found is None:
            found = cls.build(
                path, compression_type, on_damage=on_damage, check=check, access=access, progress=progress
            )
            found.save(access=access)
        return found

    @classmethod
    def ready(
        cls,
        path: PathLike,
        compression_type: str | None = None,
        *,
        on_damage: str = "raise",
        check: bool = False,
        access: Access | None = None,
    ) -> RecordIndex | None:
        """As `for_file`, but None where the index has to be built."""
        found = cls.find(path, access=access)
        if found is None or compression_type not in (None, found.compression) or (check and not found.checked):
            return None
        if len(found.gaps) and on_damage == "raise":
            start, end = (int(position) for position in found.gaps[0])
            before = int(np.searchsorted(found.offsets[:-1], np.uint64(start)))
            reason = f"bytes [{start}..{end}) hold no intact record" if end > start else _NO_STREAM
            raise CorruptRecordError(reason, found.path, before, start)
        return found

    @classmethod
    def find(cls, path: PathLike, *, access: Access | None = None) -> RecordIndex | None:
        """Opens the sidecar of a file in constant time; None where there is none that fits the file as it is now.

        Raises:
          OSError: There is no such file, or it is a pipe or a device.
        """
        access = access or Access()
        if is_url(path):
            access.remote(str(path))
        else:
            check_regular(path)
        of = None
        for place in sidecar.places(path):
            data = sidecar.read_place(place, access)
            if data is None:
                continue
            of = of or access.stamp(path)  # Read only where there is an index that may fit.
            try:
                return cls(str(path), sidecar.unpack_tables(data, of, place), data, place)
            except IndexFileError:
                continue  # Stale, cut or foreign: as good as none; `save` puts a new one in its place.
        return None

    @classmethod
    def build(
        cls,
        path: PathLike,
        compression_type: str | None = None,
        *,
        on_damage: str = "raise",
        check: bool = False,
        access: Access | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> RecordIndex:
        """Walks a file's headers, without looking for a sidecar or writing one; see `for_file`."""
        walker, compression = open_walker(path, compression_type, check=check, on_damage=on_damage, access=access)
        parts, end = [], 0
        while (run := walker.next_run()) is not None:
            parts.append(run.offsets[:-1] + np.uint64(run.base))
            before, end = end, run.base + int(run.offsets[-1])
            if progress is not None:
                progress(end - before)
            check_wanted()
        offsets = np.concatenate([*parts, np.array([end], np.uint64)])
        return cls(str(path), tables_of(walker, offsets, compression, checked=check))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def save(self, *, access: Access | None = None) -> bool:
        """Writes the sidecar; False where neither its place nor the user's cache folder can be written.

        Raises:
          OSError: The file itself cannot be read for its stamp.
        """
        access = access or Access()
        parts = sidecar.pack_tables(self._tables(), access.stamp(self.path))
        return any(sidecar.write_place(place, parts, access) for place in sidecar.places(self.path))

    def check_tables(self) -> None:
        """Proves that the sidecar's tables are as they were written; call it where a record is not where they say.

        Raises:
          IndexFileError: They are not.
        """
        if self._stored is not None:
            sidecar.check_tables(self._stored, self._place)

    def ends_of(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Where some records end in the uncompressed stream: uint64, as long as `rows`, [bytes]."""
        ends = self.offsets[rows + 1]
        if len(self.gaps):
            # The first gap that starts behind the record's header, if it starts before the next record.
            gap = np.searchsorted(self.gaps[:, 0], self.offsets[rows], side="right")
            starts = np.append(self.gaps[:, 0], np.uint64(self.stream_bytes))
            ends = np.minimum(ends, starts[gap])
        return ends

    def damage(self) -> list[Damage]:
        """What was left out, in the file's order; `wellfed verify` gives the reasons."""
        found = []
        for start, end in self.gaps.tolist():
            before = int(np.searchsorted(self.offsets[:-1], np.uint64(start)))
            reason = "no intact record stands here" if end > start else _NO_STREAM
            found.append(Damage(self.path, start, end, reason, before, None))
        return found

    def _tables(self) -> Tables:
        return Tables(self.offsets, self.gaps, self.members, self.compression, self.checked, self.stream_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._stored is None:
            return (RecordIndex, (self.path, self._tables()))
        return (_reopen, (self.path, self.compression, self.checked))

    def __repr__(self) -> str:
        return f"RecordIndex({self.path!r}, {len(self)} records, {len(self.gaps)} gaps)"


class GrowingIndex(Growing):
    """The index of a mapped plain file, walked only as far as it was asked for. Thread-safe.

    Args:
      mapped: The file.
      on_damage: "raise", or "skip" to leave damage out as gaps.

    Payloads are not checked; whoever reads a record does that.
    """

    def __init__(self, mapped: MappedFile, *, on_damage: str = "raise") -> None:
        super().__init__(Walker(MappedWindow(mapped), mapped.path, check=False, on_damage=on_damage), mapped.size)
        self._path, self._mapped = mapped.path, mapped
        self._ask_lock, self._asked = threading.Lock(), 0

    def ask_ahead(self) -> None:
        """Has the next bytes of the walk brought into memory, so that the walk itself waits for none.

        Called from many threads, each of them gets a range of its own.
        """
        if not self._asked:
            self._mapped.read_whole()
        with self._ask_lock:  # Not the walk's own: nobody is to wait for it here.
            start, stop = max(self._asked, self._walker.position), self._walker.position + _ASK_BYTES
            stop = min(stop, self._bytes)
            self._asked = max(stop, start)
        self._mapped.ask_for(start, stop)

    def finish(
        self, executor: Executor | None = None, helpers: int = 0, progress: Callable[[int], object] | None = None
    ) -> RecordIndex:
        """Walks to the file's end; the whole index, in memory.

        Args:
          executor: Its threads bring pages into memory ahead of the walk, where most pages hold a header.
          helpers: As many of them.
          progress: Called with the bytes that were walked since the last call.
        """
        asking: list[Future[None]] = []
        try:
            is_told = False
            while not self.complete:
                check_wanted()
                before = self._walker.position
                self.ensure(self._count + max(_FIRST_STEP, _BLOCK_BYTES * self._count // (before or 1)))
                if progress is not None:
                    progress(self._walker.position - before)
                if not is_told and self._walker.position < _WHOLE_BYTES * self._count:
                    is_told = True
                    self._mapped.read_whole()
                if executor is not None and self._walker.position < _DENSE_BYTES * self._count:
                    asking = [one for one in asking if not one.done()]
                    while len(asking) < helpers and self._asked < self._bytes:
                        asking.append(executor.submit(self._ask_blocks))
        finally:
            with self._ask_lock:
                self._asked = self._bytes  # Nobody needs the rest.
        return RecordIndex(self._path, tables_of(self._walker, self.offsets, "", checked=False))

    def _ask_blocks(self) -> None:
        """Brings blocks into memory that the walk is about to come to, until it is far enough behind.

        Where the walk is near, it gets a block to itself: both at work in one would wait for each other's pages.
        """
        while True:
            with self._ask_lock:
                position = self._walker.position
                start = max(self._asked, position)
                start += _BLOCK_BYTES if start < position + 2 * _BLOCK_BYTES else 0
                stop = min(start + _BLOCK_BYTES, self._bytes)
                if start >= stop or start > position + _FAR_BYTES:
                    return
                self._asked = stop
            self._mapped.ask_for(start, stop)

    def save(self) -> bool:
        """Walks to the file's end and writes the sidecar; see `RecordIndex.save`."""
        return self.finish().save()


def tables_of(walker: Walker, offsets: NDArray[np.uint64], compression: str, *, checked: bool) -> Tables:
    """What an index holds once a walk has come to its file's end."""
    gaps = [(damage.start, damage.end) for damage in walker.damage]  # Also of no bytes: a stream that was cut there.
    return Tables(
        offsets,
        np.array(gaps, np.uint64).reshape(-1, 2),
        np.array(walker.window.members, np.uint64).reshape(-1, 2),
        compression,
        checked,
        walker.position,
    )


def _reopen(path: str, compression: str, checked: bool) -> RecordIndex:
    """An index that was pickled by its sidecar: opened again, or built where that did not travel along."""
    return RecordIndex.for_file(path, compression, on_damage="skip", check=checked)
