"""What a check of a file finds: every sum of every record, on any number of threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.io.access import open_source
from wellfed.io.files import is_url, local_path
from wellfed.io.framing import FRAME_BYTES
from wellfed.io.patterns import expand_patterns
from wellfed.io.streams import open_window
from wellfed.io.walk import RUN_BYTES, MappedWindow, Walker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from wellfed.io.files import MappedFile, PathLike
    from wellfed.io.walk import Damage, Run, Window

_THREADS = 2  # Memory has no more to give than two can take.
_PART_BYTES = 32 << 20  # What a thread checks at a time; finding its first record is little beside it.
_SEARCH_BYTES = 4 << 20  # How far a part's first record is looked for: searching is slower than checking.
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class FileReport:
    """What a check of every sum of a file found.

    Attributes:
      path: The file, as the caller named it.
      compression: "", "GZIP" or "ZLIB".
      bytes: Its size. [bytes]
      stream_bytes: Its size when it is not compressed. [bytes]
      records: How many intact records it holds.
      payload_bytes: Bytes of their payloads. [bytes]
      damage: Ranges without an intact record, in the file's order.
    """

    path: str
    compression: str
    bytes: int
    stream_bytes: int
    records: int
    payload_bytes: int
    damage: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damage


def verify(
    files: PathLike | Iterable[PathLike],
    compression_type: str | None = None,
    *,
    threads: int = _THREADS,
    progress: Callable[[int], object] | None = None,
) -> Iterator[FileReport]:
    """Checks files one after another; see `wellfed.io.expand_patterns` and `verify_file`.

    Raises:
      FileNotFoundError: A pattern matches nothing.
      DatasetError: A pattern asks for shards that are missing.
    """
    paths = expand_patterns(files)
    return (verify_file(path, compression_type, threads=threads, progress=progress) for path in paths)


def verify_file(
    path: PathLike,
    compression_type: str | None = None,
    *,
    threads: int = _THREADS,
    progress: Callable[[int], object] | None = None,
    mapped: MappedFile | None = None,
) -> FileReport:
    """Checks every sum of a file, going on after damage.

    Args:
      path: A path of this machine or a URL.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from the content.
      threads: How many threads check a plain file of this machine; others are checked by one.
      progress: Called with the bytes of the uncompressed stream that were just checked, from any of the threads, one
        at a time.
      mapped: The plain file as it is mapped already, and stays mapped: a second check need not map its pages again.

    Raises:
      NotTFRecordError: The file looks like something else.
      CompressionError: The content has another compression than the one given.
      FileChangedError: The file was cut or replaced while it was read.
      OSError: The file cannot be opened.
    """
    window, compression = open_window(path, compression_type, mapped)
    if isinstance(window, MappedWindow) and window.mapped is not mapped:
        window.mapped.read_whole()
        window = _OncePassed(window.mapped)
    name, count_done = str(path), _one_at_a_time(progress)
    size = len(window.block) if isinstance(window, MappedWindow) else 0
    starts = list(range(0, size, _PART_BYTES)) or [0]
    parts: Iterable[_Part]
    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads, "wellfed-verify") as pool:
            checks = pool.map(lambda start: _check_part(window, name, start, count_done), starts)
            parts = list(_join(checks, window, name, count_done))
    else:
        parts = [_walk_part(Walker(window, name, on_damage="skip"), None, count_done)]
    return _report(name, compression, _file_bytes(path), list(parts))


def _file_bytes(path: PathLike) -> int:
    if not is_url(path):
        return Path(local_path(path)).stat().st_size
    source = open_source(path)
    source.close()
    return source.size


def _one_at_a_time(progress: Callable[[int], object] | None) -> Callable[[int], object]:
    lock = threading.Lock()

    def count_done(count: int) -> None:
        if progress is not None:
            with lock:
                progress(count)

    return count_done


@dataclass(frozen=True, slots=True)
class _Part:
    """What a walk over a part of a file found.

    Attributes:
      start: Where it began: 0, or at a true record; _UNKNOWN where none was found, and nothing walked. [bytes]
      stop: Where the part ends, as it was cut; None for the file's end. [bytes]
      end: Where the walk stood when it had passed `stop`. [bytes]
      records: Intact records.
      payload_bytes: Of their payloads.
      damage: Numbered from the part's first record on.
    """

    start: int
    stop: int | None
    end: int
    records: int
    payload_bytes: int
    damage: tuple[Damage, ...]


def _check_part(window: Window, path: str, start: int, count_done: Callable[[int], object]) -> _Part:
    """Checks the part of a mapped file from the first true record at or behind `start` on."""
    stop = start + _PART_BYTES if start + _PART_BYTES < len(window.block) else None
    first = _first_record(window.block, start, min(_PART_BYTES, _SEARCH_BYTES)) if start else 0
    if first == _UNKNOWN:
        return _Part(_UNKNOWN, stop, _UNKNOWN, 0, 0, ())
    part = _walk_part(Walker(window, path, on_damage="skip", start=first), stop, count_done)
    if isinstance(window, _OncePassed):
        window.mapped.let_go(start, start + _PART_BYTES if stop is not None else len(window.block))
    return part


def _first_record(block: NDArray[np.uint8], start: int, search_bytes: int) -> int:
    """Where the first true record begins that begins soon behind `start`; _UNKNOWN where none does."""
    at, search, near = start, _native.FrameSearch(block), _native.FrameSearch(block[: start + search_bytes])
    while True:
        at, status = near.find_in_stream(at)
        if status == _native.FRAME_END:
            return _UNKNOWN
        # A record may end behind the bytes that are searched.
        if status == _native.FRAME_OK or search.scan(at, 1)[2] == _native.FRAME_OK:
            return at
        at += 1


def _walk_part(walker: Walker, stop: int | None, count_done: Callable[[int], object]) -> _Part:
    """Walks until the first place at or behind `stop` where a record, or damage, begins."""
    start = end = walker.position
    records = payload_bytes = seen = 0
    while stop is None or end < stop:
        _ask_ahead(walker)
        run = walker.next_run()
        # Damage that begins behind `stop` belongs to the next part, and what follows it too.
        while stop is not None and seen < len(walker.damage) and walker.damage[seen].start < stop:
            seen += 1
        behind = stop is not None and seen < len(walker.damage)
        if run is None or behind:
            end = walker.damage[seen].start if behind else walker.position
            break
        count, end = _records_before(run, stop)
        records += count
        payload_bytes += end - run.base - int(run.offsets[0]) - FRAME_BYTES * count
        count_done(end - run.base - int(run.offsets[0]))
    damage = tuple(one for one in walker.damage if stop is None or one.start < stop)
    return _Part(start, stop, end, records, payload_bytes, damage)


class _OncePassed(MappedWindow):
    """A mapping of this check's own: nothing of it is at hand before, and nothing is needed after."""


def _ask_ahead(walker: Walker) -> None:
    """Maps the pages of the next run at once: cheaper than a fault for each few, and they are prefetched then."""
    window = walker.window
    if isinstance(window, _OncePassed):
        window.mapped.ask_for(walker.position, min(walker.position + RUN_BYTES, len(window.block)))


def _records_before(run: Run, stop: int | None) -> tuple[int, int]:
    """How many records of a run begin before `stop`, and where the last of them ends."""
    count = len(run)
    if stop is not None and run.base + int(run.offsets[-1]) > stop:
        count = int(np.searchsorted(run.offsets[:-1], np.uint64(stop - run.base)))
    return count, run.base + int(run.offsets[count])


def _join(parts: Iterable[_Part], window: Window, path: str, count_done: Callable[[int], object]) -> Iterator[_Part]:
    """Parts that follow on each other.

    A part begins at the first true record behind its cut. The walk in front of it comes to that very place, unless
    the cut fell into a long record, into one that holds records itself, or into damage: then the part is walked from
    where the other one ended. So the outcome is that of one walk from start to end.
    """
    end = 0
    for found in parts:
        part = found
        if part.start != end:
            # What was walked once was counted then.
            count = count_done if part.start == _UNKNOWN else _one_at_a_time(None)
            part = _walk_part(Walker(window, path, on_damage="skip", start=end), found.stop, count)
        end = part.end
        yield part


def _report(path: str, compression: str, size: int, parts: list[_Part]) -> FileReport:
    damage: list[Damage] = []
    records = 0
    for part in parts:
        damage += [replace(one, record_index=one.record_index + records) for one in part.damage]
        records += part.records
    payload_bytes = sum(part.payload_bytes for part in parts)
    return FileReport(path, compression, size, parts[-1].end, records, payload_bytes, tuple(damage))
