"""One reader's way to its files, on this machine and behind URLs.

Access    options, counts; files that were opened; requests under way; shards kept on disk
            open(path)    ->  ByteSource        a local file, a remote one, or its copy on disk
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from wellfed.io.attempts import Attempts
from wellfed.io.blocks import Blocks, Requests
from wellfed.io.files import LocalFile, is_url, local_path
from wellfed.io.remote import Counts, RemoteOptions, RemoteStats
from wellfed.io.remote_file import RemoteFile
from wellfed.io.shard_cache import TRIES, ShardCache
from wellfed.io.stamps import Stamp, sample_ranges, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wellfed.io.files import ByteSource, PathLike
    from wellfed.io.shard_cache import CachedShard

Used = TypeVar("Used")

_SMALL_BYTES = 1 << 20  # A remote file of no more is read by one request instead of four.


class Access:
    """How one reader or data set reaches its files. Thread-safe; forks, and pickles as its options.

    A remote file is opened once: its size and version are asked for by one request, and hold for as long as this lives.

    Args:
      options: How remote files are read; None for the defaults.
      counts: Where what is done is counted; None for counts of its own.
      sleep: In the place of a pause between attempts, for tests. [s]
      clock: In the place of the clock that tells whether blocks are waited for, for tests. [s]

    Attributes:
      options: As given.
      blocks: Passes in file order.
      requests: Any other ranges.
    """

    def __init__(
        self,
        options: RemoteOptions | None = None,
        *,
        counts: Counts | None = None,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.options = RemoteOptions() if options is None else options
        self.counts = Counts() if counts is None else counts
        self._closing = threading.Event()
        self.attempts = Attempts(self.options, self.counts, sleep or self._closing.wait)
        self.requests = Requests(self.options)
        self.blocks = Blocks(self.requests, self.options, clock)
        self._cache = None
        if self.options.cache_dir is not None:
            self._cache = ShardCache(self.options.cache_dir, self.options.cache_bytes, self.counts)
        self._begin()
        # Threads that pause between attempts end when nobody is left to read what they fetch. Whoever holds a file of
        # this access holds the access too.
        weakref.finalize(self, self._closing.set)

    def _begin(self) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()
        self._files: dict[str, RemoteFile] = {}
        self._copies: dict[str, CachedShard | None] = {}
        self._stamps: dict[str, Stamp] = {}
        self._opening: dict[str, threading.Lock] = {}

    def stats(self) -> RemoteStats:
        """What was done so far."""
        return self.counts.stats()

    def close(self) -> None:
        """Gives up what was asked for ahead; the threads that wait for it end by themselves."""
        self._closing.set()
        self.blocks.close()

    def remote(self, url: str) -> RemoteFile:
        """A remote file, opened by whoever asks first.

        Raises:
          OSError: As `RemoteFile`.
        """
        with self._lock_of(url):
            if url not in self._files:
                self._files[url] = RemoteFile(url, self.attempts)
            return self._files[url]

    def copy_of(self, url: str) -> CachedShard | None:
        """A remote shard's copy on disk, fetched by whoever asks first; None where none is kept, or none has room.

        Raises:
          OSError: As `RemoteFile`, or the cache's folder cannot be written.
        """
        if self._cache is None:
            return None
        file = self.remote(url)
        with self._lock_of(url):
            copy = self._copies.get(url)
            if url not in self._copies or (copy is not None and copy.is_gone()):
                copy = self._copies[url] = self._cache.get(file, self.requests)
            return copy

    def through_copy(self, url: str, use: Callable[[str], Used]) -> Used | None:
        """What `use` makes of the path of a remote shard's copy on disk; None as for `copy_of`.

        Where somebody removes the copy before `use` has opened it, `use` is called again with a new one.

        Raises:
          OSError: As `copy_of`.
        """
        for _ in range(TRIES):
            copy = self.copy_of(url)
            if copy is None:
                break
            try:
                return use(copy.place)
            except FileNotFoundError:
                if not copy.is_gone():
                    raise
        return None

    def claim(self, url: str) -> None:
        """Holds a shard's copy if there is one.

        Done for all shards of a data set before the first one is fetched, so that none is removed to make room for
        another.

        Raises:
          OSError: As `RemoteFile`.
        """
        if self._cache is None or not is_url(url):
            return
        file = self.remote(url)
        with self._lock_of(url):
            found = None if url in self._copies else self._cache.find(file)
            if found is not None:
                self._copies[url] = found

    def give_up_copy(self, url: str) -> bool:
        """Looks whether a shard's copy is damaged, and drops it then; it is read over the network from here on."""
        with self._lock_of(url):
            copy = self._copies.get(url)
            if copy is None or copy.is_whole():
                return False
            copy.discard()
            self._copies[url] = None
            return True

    def open(self, path: PathLike) -> ByteSource:
        """Opens a path or URL for reading by ranges.

        Raises:
          OSError: The file cannot be opened.
          MissingExtraError: The package that speaks the URL's protocol is not installed.
        """
        if not is_url(path):
            return LocalFile(path)
        url = os.fspath(path)
        return self.through_copy(url, LocalFile) or self.remote(url)

    def stamp(self, path: PathLike) -> Stamp:
        """What tells a file's content from another; read once for a remote file.

        Raises:
          OSError: The file cannot be opened.
        """
        if not is_url(path):
            return stamp_file(path)
        url = os.fspath(path)
        source = self.open(url)
        with self._lock_of(url):
            if url not in self._stamps:
                self._stamps[url] = self._stamp_of_remote(source) if isinstance(source, RemoteFile) else stamp(source)
            return self._stamps[url]

    def _stamp_of_remote(self, file: RemoteFile) -> Stamp:
        """From what was read already; else by requests side by side, or by one for all of a small file."""
        if file.samples.stamp is None:
            ranges = [(0, file.size)] if file.size <= _SMALL_BYTES else sample_ranges(file.size)
            for _ in self.requests.fetch(file, ranges):
                pass
        assert file.samples.stamp is not None  # All of them were read.
        return file.samples.stamp

    def _lock_of(self, url: str) -> threading.Lock:
        """A lock for each file: files are opened side by side, but none twice."""
        if self._process != os.getpid():  # A fork may have caught another thread inside a lock.
            self._begin()
        with self._lock:
            return self._opening.setdefault(url, threading.Lock())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Access, (self.options,))


def stamp_file(path: PathLike) -> Stamp:
    """The stamp of a path or URL.

    Raises:
      OSError: The file cannot be opened.
    """
    source = open_source(path)
    try:
        return stamp(source)
    finally:
        source.close()


def fingerprint(files: Iterable[PathLike], access: Access | None = None) -> str:
    """What changes when the content of one of some files does, and not when they are copied elsewhere.

    Args:
      files: Paths or URLs.
      access: How remote files are reached; None for the usual way.

    Returns:
      A hash of their names, sizes and samples: 16 hexadecimal digits.

    Raises:
      OSError: A file cannot be opened.
    """
    access = access or Access()
    stamps = "\n".join(f"{PurePath(path).name} {access.stamp(path)}" for path in files)
    return hashlib.sha256(stamps.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def file_versions(files: Sequence[PathLike], access: Access | None = None) -> list[str]:
    """What changes, for each file, when it is written to or replaced; one question to its store, no byte is read.

    Args:
      files: Paths or URLs.
      access: Opens remote files, so that they are not asked for again; None asks for what they are now.

    Raises:
      OSError: A file cannot be found.
    """
    access = access or Access()

    def version(path: PathLike) -> str:
        if is_url(path):
            file = access.remote(os.fspath(path))
            return f"{file.size} {file.version}"
        found = Path(local_path(path)).stat()
        return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"

    if not any(map(is_url, files)):
        return [version(path) for path in files]
    with ThreadPoolExecutor(min(access.options.max_requests, len(files)), "wellfed-remote") as pool:
        return list(pool.map(version, files))


def open_source(path: PathLike) -> ByteSource:
    """Opens a path or URL for reading by ranges, with the usual options.

    Raises:
      OSError: The file cannot be opened.
      MissingExtraError: The package that speaks the URL's protocol is not installed.
    """
    if not is_url(path):
        return LocalFile(path)
    return RemoteFile(os.fspath(path), Attempts(RemoteOptions(), Counts()))
