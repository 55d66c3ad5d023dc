"""Where bytes come from: a file on this machine or behind a URL, read by ranges or mapped.

    ByteSource   read_into(offset, buffer), any thread        LocalFile; RemoteFile in `wellfed.io.remote_file`
    MappedFile   the whole file as one read-only uint8 array  this machine only

A path with "://" is a URL and goes through fsspec (`memory://`, `s3://`, `https://`, ...); `file://` and anything else
is a path on this machine.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wellfed import _native
from wellfed.errors import FileChangedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PathLike = str | os.PathLike[str]


def path_text(path: PathLike) -> str:
    """A path as text.

    Raises:
      TypeError: It is neither text nor a path object of text.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"a path must be a str or a pathlib.Path, got {path!r:.60}")
    return text


class ByteSource(Protocol):
    """A file whose bytes can be read at any place, by any thread.

    Attributes:
      path: As the caller named it.
      size: Length when it was opened. [bytes]
    """

    path: str
    size: int

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fills `buffer` from `offset` on; returns how many bytes were there, fewer only at the file's end."""

    def close(self) -> None:
        """Gives the file back; may be called again."""


class LocalFile:
    """A `ByteSource` over a file on this machine; closed with its last owner.

    Attributes:
      path: As given.
      size: Length when it was opened. [bytes]
      descriptor: The open file's.

    Raises:
      OSError: The file cannot be opened.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        check_regular(self.path)
        self.descriptor = os.open(local_path(self.path), os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._closer = weakref.finalize(self, os.close, self.descriptor)
        self.size = os.fstat(self.descriptor).st_size
        self._lock = threading.Lock()

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """See `ByteSource`."""
        done = 0
        with errors_named(self.path):
            while done < len(buffer):
                count = self._read_some(offset + done, buffer[done:])
                if not count:
                    break
                done += count
        return done

    def _read_some(self, offset: int, buffer: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self.descriptor, [buffer], offset)
        with self._lock:  # Windows has one position a file.
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            found = os.read(self.descriptor, len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        """See `ByteSource`."""
        self._closer()


def is_url(path: PathLike) -> bool:
    """Whether a path goes through fsspec; `file://` does not."""
    name = os.fspath(path)
    return "://" in name and not name.startswith("file://")


def local_path(path: PathLike) -> str:
    """A path of this machine without its `file://`."""
    return os.fspath(path).removeprefix("file://")


@contextlib.contextmanager
def errors_named(path: PathLike) -> Iterator[None]:
    """Gives errors of reading, such as those of a broken disk, the name of their file, which the system leaves out."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def check_regular(path: PathLike) -> None:
    """Refuses what cannot be read at any place: a pipe would seem to be an empty file.

    Raises:
      OSError: The path is a pipe, a socket or a device, or does not exist.
    """
    mode = Path(local_path(path)).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # Opening a folder says what it is.
        raise OSError(f"{os.fspath(path)} is a pipe or device; records are read from files, so write it to one first")


class MappedFile:
    """A file on this machine as one read-only array over its pages.

    Arrays made from `data` keep the mapping alive; it ends with the last of them, so `close` is never needed. No file
    descriptor is held. If the file is cut meanwhile, its lost pages read as zeros (the process lives), which no
    checksum accepts; `check_unchanged` tells.

    Args:
      path: The file, as the caller names it.

    Attributes:
      path: As given.
      data: Its bytes: uint8 (size,), not writable.
      size: Its length when it was mapped. [bytes]

    Raises:
      OSError: The file cannot be opened or mapped.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        check_regular(self.path)
        self._found = Path(local_path(self.path)).resolve()
        self._stamp = self._stat()
        self.size = self._stamp[2]
        self._at_random = False
        self.data: NDArray[np.uint8] = np.empty(0, np.uint8)
        if self.size:
            with self._found.open("rb") as file:
                self.data = _map(file.fileno(), self.size)

    def is_current(self) -> bool:
        """Whether the file at `path` is still this one, and neither longer nor written to since."""
        try:
            return self._stat() == self._stamp
        except FileNotFoundError:
            return False

    def check_unchanged(self) -> None:
        """Looks whether the file at `path` is still the one that was mapped.

        A file that has only grown is unchanged: what was mapped still stands.

        Raises:
          FileChangedError: It was cut, overwritten, replaced or removed.
        """
        try:
            now = self._stat()
        except FileNotFoundError:
            raise FileChangedError("the file was removed while it was read", self.path) from None
        if now[:2] != self._stamp[:2]:
            raise FileChangedError("another file took its place while it was read", self.path)
        if now[2] < self.size:
            raise FileChangedError(f"the file was cut from {self.size} to {now[2]} bytes while it was read", self.path)
        if self.size and _native.mapping_was_cut(self.data):
            raise FileChangedError("the file was cut while it was read, and has grown again", self.path)
        if now[2] == self.size and now[3] != self._stamp[3]:
            raise FileChangedError("the file was written to while it was read", self.path)

    def _stat(self) -> tuple[int, int, int, int]:
        found = self._found.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def ask_for(self, start: int, stop: int) -> None:
        """Has the pages of bytes [start, stop) brought into memory; returns when they are there."""
        if start < stop and os.name != "nt":
            _native.populate_file(self.data, start, stop)

    def read_whole(self) -> None:
        """Says that all of the file is about to be read: what is not in memory then comes in pieces of 2 MiB or more.

        They lie in memory as such, and are mapped in a tenth of the time from then on.
        """
        if self.size and os.name != "nt":
            _native.read_whole(self.data)

    def read_at_random(self) -> None:
        """Says that memory will not hold the file, and that no place of it is likelier to be read next than another.

        From now on a page that is touched is read alone; `ask_for_ranges`, or a `ShardSet`'s `ask_for`, brings many.
        """
        if self.size and os.name != "nt" and not self._at_random:
            self._at_random = True
            _native.read_at_random(self.data)

    def ask_for_ranges(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Has ranges read that begin at `starts`, and are soon needed: their own pages, and small gaps between them.

        Does not wait for them; what lies outside the file is left out. [bytes]
        """
        if self.size and os.name != "nt":
            _native.ask_for_ranges(self.data, starts, sizes)

    def let_go(self, start: int, stop: int) -> None:
        """Takes the pages of bytes [start, stop), which nobody needs for now, out of the process's memory.

        Unmapping does the same for all pages at once, on the thread that drops the last reference.
        """
        if start < stop and os.name != "nt":
            _native.release_file(self.data, start, stop)

    def __reduce__(self) -> tuple[Any, ...]:
        return (MappedFile, (self.path,))


def _map(descriptor: int, size: int) -> NDArray[np.uint8]:
    if os.name == "nt":  # A file that is mapped cannot be cut there.
        return np.frombuffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), np.uint8)
    mapped: NDArray[np.uint8] = _native.map_file(descriptor, size)
    return mapped
