"""Facts about files as dataclasses: the one source for the command line and the viewer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.io.files import is_url, local_path, open_source
from wellfed.io.framing import FRAME_BYTES, explain
from wellfed.io.patterns import expand_patterns
from wellfed.io.streams import open_window
from wellfed.io.walk import Damage, MappedWindow, Walker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wellfed.io.files import PathLike
    from wellfed.io.walk import Run

_THREADS = 2  # One walks headers while the other checks payloads; memory has no more to give than two can take.


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
) -> FileReport:
    """Checks every sum of a file, going on after damage.

    Args:
      path: A path of this machine or a URL.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from the content.
      threads: How many threads check a plain file of this machine; others are checked by one.
      progress: Called with the bytes of the uncompressed stream that were just checked, from any of the threads, one
        at a time.

    Raises:
      NotTFRecordError: The file looks like something else.
      CompressionError: The content has another compression than the one given.
      FileChangedError: The file was cut or replaced while it was read.
      OSError: The file cannot be opened.
    """
    window, compression = open_window(path, compression_type)
    mapped = isinstance(window, MappedWindow)
    walker = Walker(window, str(path), check=not mapped, on_damage="skip")
    check = _Check(walker, progress)
    if mapped and threads > 1:
        with ThreadPoolExecutor(threads, "wellfed-verify") as pool:
            for done in [pool.submit(check.work) for _ in range(threads)]:
                done.result()
    else:
        check.work()
    size = _file_bytes(path)
    return FileReport(
        str(path), compression, size, walker.position, check.records, check.payload_bytes, check.all_damage()
    )


def _file_bytes(path: PathLike) -> int:
    if not is_url(path):
        return Path(local_path(path)).stat().st_size
    source = open_source(path)
    source.close()
    return source.size


@dataclass
class _Check:
    """Checks the payloads of the runs that one walk over the headers gives, by any number of threads."""

    walker: Walker
    progress: Callable[[int], object] | None
    records: int = 0
    payload_bytes: int = 0
    bad: list[Damage] = field(default_factory=list)
    _walking: threading.Lock = field(default_factory=threading.Lock)
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def work(self) -> None:
        """Takes runs and checks them until there are none left."""
        while True:
            with self._walking:  # The others check what they have taken meanwhile.
                run = self.walker.next_run()
            if run is None:
                return
            bad = self._bad_records(run)
            start, end = int(run.offsets[0]), int(run.offsets[-1])
            lost = sum(damage.end - damage.start for damage in bad)
            with self._counting:
                self.records += len(run) - len(bad)
                self.payload_bytes += end - start - lost - FRAME_BYTES * (len(run) - len(bad))
                self.bad += bad
                if self.progress is not None:
                    self.progress(end - start)

    def _bad_records(self, run: Run) -> list[Damage]:
        """The records of a run whose payload's sum does not hold."""
        bad: list[Damage] = []
        at, last = int(run.offsets[0]), int(run.offsets[-1])
        while at < last:
            _, at, status = _native.scan_frames(run.block, at, _left(run, at), True)
            if status == _native.FRAME_OK:
                break
            row = int(np.searchsorted(run.offsets, np.uint64(at)))
            end = int(run.offsets[row + 1])
            reason = explain(run.block, at, status)
            bad.append(Damage(self.walker.path, run.base + at, run.base + end, reason, run.record_index + row, 1))
            at = end
        return bad

    def all_damage(self) -> tuple[Damage, ...]:
        """What the walk and the checks found, in order; each with the number of intact records in front of it."""
        found = sorted([*self.walker.damage, *self.bad], key=lambda damage: (damage.start, damage.end))
        bad_before, out = 0, []
        starts = {damage.start for damage in self.bad}
        for damage in found:
            out.append(replace(damage, record_index=damage.record_index - bad_before))
            bad_before += damage.start in starts
        return tuple(out)


def _left(run: Run, at: int) -> int:
    return len(run) - int(np.searchsorted(run.offsets, np.uint64(at)))
