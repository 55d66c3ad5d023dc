"""From a path to a window that a walk goes through: mapped where that can be, else block by block.

plain, this machine     MappedWindow                     nothing is copied
plain, behind a URL     RemoteWindow                     ranges of 8 MiB, some of them ahead
GZIP, ZLIB              InflateStream -> StreamWindow    blocks of 4 MiB, or as long as a record needs
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed.errors import FileChangedError
from wellfed.io.access import Access
from wellfed.io.blocks import BlockSource
from wellfed.io.compression import HEAD_BYTES, choose, detect
from wellfed.io.files import LocalFile, MappedFile, check_regular, errors_named, is_url, local_path
from wellfed.io.inflate import InflateStream
from wellfed.io.remote_window import RemoteWindow
from wellfed.io.walk import MappedWindow, Walker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.files import PathLike
    from wellfed.io.walk import Window

BLOCK_BYTES = 4 << 20


class Stream(Protocol):
    """Uncompressed bytes, one after another.

    Attributes:
      failure: Why it ended before its end; "" while all is well.
      members: (start in the file, start in the stream) of each compressed member met so far; empty for plain files.
    """

    failure: str
    members: list[tuple[int, int]]

    def read_into(self, buffer: memoryview) -> int:
        """Fills `buffer`; returns how many bytes were there, fewer only at the end or at a failure."""

    def resume(self) -> bool:
        """After a failure, goes on where something is left; False where nothing is."""


class StreamWindow:
    """A `Window` over a stream: one block at a time, longer where a record needs it.

    A block grows with the bytes that are really there, never with the length that a record claims.
    """

    def __init__(self, stream: Stream, base: int = 0, block_bytes: int = BLOCK_BYTES, access: object = None) -> None:
        self._access = access  # Kept alive: the stream reads by it.
        self._stream, self._block_bytes = stream, block_bytes
        self.block: NDArray[np.uint8] = np.empty(0, np.uint8)
        self.base = base
        self.members = stream.members

    def advance(self, keep: int, want: int = 0) -> bool:
        """See `Window`."""
        kept = self.block[keep - self.base :]
        # By a quarter at least: what is kept is copied, and headers may ask for little more again and again.
        size = max(self._block_bytes, min(want, 2 * len(kept)), len(kept) + max(self._block_bytes, len(kept)) // 4)
        block = np.empty(size, np.uint8)
        block[: len(kept)] = kept
        added = self._stream.read_into(block[len(kept) :].data)
        if not added:
            return False
        self.block, self.base = block[: len(kept) + added], keep
        return True

    def failure(self) -> str:
        """See `Window`."""
        return self._stream.failure

    def resume(self) -> bool:
        """See `Window`."""
        end = self.base + len(self.block)
        if not self._stream.resume():
            return False
        self.block, self.base = np.empty(0, np.uint8), end
        return True

    def check(self, *, at_end: bool = False) -> None:
        """See `Window`; a stream's own sums tell whether it is what it was."""


class CopyWindow(MappedWindow):
    """A `Window` over the copy on disk of a file behind a URL."""

    def __init__(self, mapped: MappedFile, access: Access, url: str) -> None:
        super().__init__(mapped)
        self._access, self._url = access, url

    def check(self, *, at_end: bool = False) -> None:
        """See `Window`. A copy that was removed is read to its end; one that is damaged is no fault of the file's."""
        if not at_end and self._access.give_up_copy(self._url):
            raise FileChangedError("its copy on disk is damaged and was removed. Read it again", self._url)


def is_plain(path: PathLike, compression_type: str | None = None) -> bool:
    """Whether a file can be mapped as it is: it is on this machine, and not compressed.

    Args:
      path: A path of this machine or a URL.
      compression_type: "", "GZIP" or "ZLIB", which is believed; None has it told from the content.

    Raises:
      OSError: The file cannot be opened.
    """
    if is_url(path) or compression_type is not None:
        return not is_url(path) and not compression_type
    with errors_named(path), Path(local_path(path)).open("rb") as file:
        return not detect(file.read(HEAD_BYTES))


def open_window(
    path: PathLike,
    compression_type: str | None = None,
    mapped: MappedFile | None = None,
    access: Access | None = None,
) -> tuple[Window, str]:
    """Opens a file for a walk over its records.

    Args:
      path: A path of this machine or a URL.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from the content.
      mapped: The file from an earlier walk, used again if it is plain and the same still: its pages are at hand.
      access: How a remote file is reached; None for the usual way.

    Returns:
      The window, at the start of the file, and the compression: "", "GZIP" or "ZLIB".

    Raises:
      OSError: The file cannot be opened.
      ValueError: The compression's name is unknown.
      CompressionError: The content has another compression than the one given.
    """
    name = str(path)
    if mapped is not None and mapped.is_current():
        return MappedWindow(mapped), ""
    if not is_url(path):
        return _open_local(local_path(path), compression_type, name)
    access = access or Access()
    opened = access.through_copy(name, lambda place: _open_local(place, compression_type, name))
    if opened is not None:
        window, compression = opened
        return (CopyWindow(window.mapped, access, name) if isinstance(window, MappedWindow) else window), compression
    file = access.remote(name)
    window = RemoteWindow(access, file)
    compression = choose(window.head(HEAD_BYTES), compression_type, name)
    if not compression:
        return window, ""
    return StreamWindow(InflateStream(BlockSource(access.blocks, file), compression), access=access), compression


def _open_local(path: str, compression_type: str | None, name: str) -> tuple[Window, str]:
    check_regular(path)
    with errors_named(name), Path(path).open("rb", buffering=0) as file:
        compression = choose(file.read(HEAD_BYTES), compression_type, name)
    if not compression:
        return MappedWindow(MappedFile(path)), ""
    return StreamWindow(InflateStream(LocalFile(path), compression)), compression


def open_walker(
    path: PathLike,
    compression_type: str | None = None,
    mapped: MappedFile | None = None,
    *,
    check: bool = True,
    on_damage: str = "raise",
    access: Access | None = None,
) -> tuple[Walker, str]:
    """Opens a file and stands in front of its first record; see `open_window` and `Walker`."""
    window, compression = open_window(path, compression_type, mapped, access)
    if check and isinstance(window, MappedWindow):
        window.mapped.read_whole()
    return Walker(window, str(path), check=check, on_damage=on_damage), compression
