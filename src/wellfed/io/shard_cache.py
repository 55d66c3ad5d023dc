"""Whole shards of remote data, kept in a folder of this machine within a budget of bytes.

    KEY.shard      the bytes; whoever reads them holds a shared lock on it
    KEY.json       URL, version, size, the stamp of its samples and the CRC-32C of all; its time is that of the last use
    KEY.partial    being fetched, at its full length from the start; whoever fetches it holds its lock
    lock           held while room is made

KEY is a hash of URL, size and version, so a shard that changed is another entry, and the old one goes when room is
needed. An entry appears by one rename, when all of it was read and the store still says the same of the file. What
is in use is never removed: a shard for which there is no room beside them is read over the network instead, so a data
set larger than the budget keeps what it has, where an LRU alone would fetch every shard in every epoch.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellfed import _native
from wellfed.errors import RemoteError
from wellfed.io.files import LocalFile
from wellfed.io.giving_up import pause
from wellfed.io.locks import is_unused, locked, take_lock
from wellfed.io.stamps import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.io.blocks import Content, Requests
    from wellfed.io.files import PathLike
    from wellfed.io.remote import Counts
    from wellfed.io.remote_file import RemoteFile

_READ_BYTES = 4 << 20
_LOOK_SECONDS = 0.05  # How often is looked whether another process is done with a shard.
_STALLED_SECONDS = 900.0  # Longer than any request takes: who has written nothing for so long does not go on.
TRIES = 3  # Shards and entries may be removed by others between being made, or found, and being opened.


class ShardCache:
    """The folder. Thread-safe, and safe between processes.

    Args:
      folder: Made where it is not there.
      budget_bytes: All entries together take this much at most, those being fetched too. [bytes]
      counts: Where hits, fetches and refusals are counted.

    Raises:
      OSError: The folder cannot be made or written.
    """

    def __init__(self, folder: PathLike, budget_bytes: int, counts: Counts) -> None:
        self._folder, self._budget, self._counts = Path(folder).absolute(), budget_bytes, counts
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            reason = f"cache_dir={str(self._folder)!r} cannot be written: {error.strerror}"
            raise type(error)(error.errno, f"{reason}. Give a folder that this user may write, or none") from error

    def find(self, file: RemoteFile) -> CachedShard | None:
        """The copy of a remote shard, if it is there."""
        found = self._open(_Entry(self._folder, file))
        if found is not None:
            self._counts.add(cache_hits=1)
        return found

    def get(self, file: RemoteFile, requests: Requests) -> CachedShard | None:
        """The copy of a remote shard; fetched where it is not there, None where there is no room for it.

        Raises:
          FileChangedError: The shard changed while it was fetched.
          OSError: It cannot be read, or the folder cannot be written.
        """
        entry, fetched = _Entry(self._folder, file), False
        for _ in range(TRIES):
            self._make_folder()  # Somebody may have removed it.
            found = self._open(entry)
            if found is not None:
                self._counts.add(cache_hits=0 if fetched else 1)
                return found
            try:
                with self._advised(file):
                    partial = self._reserve(entry, file.size)
            except (_PublishedError, FileNotFoundError):
                continue
            if partial is None:
                break
            with partial:
                if not self._wait_for(file, partial):
                    break
                if self._is_ours(entry, partial):
                    fetched = self._fetch(entry, file, partial, requests)
        self._counts.add(cache_refusals=1)
        return None

    def _open(self, entry: _Entry) -> CachedShard | None:
        try:
            facts = json.loads(entry.facts.read_bytes())
            shard = CachedShard(str(entry.shard), facts)
        except OSError:
            return None
        except (ValueError, KeyError, TypeError):  # Nobody can say whether the shard is whole.
            entry.facts.unlink(missing_ok=True)
            return None
        if not shard.looks_whole():
            shard.discard()
            return None
        with contextlib.suppress(OSError):
            os.utime(entry.facts)  # Used last now.
        return shard

    def _reserve(self, entry: _Entry, size: int) -> FileIO | None:
        """Makes room, and a file of the full length in it; that file, or None where there is no room.

        Raises:
          _PublishedError: Another process has published the shard meanwhile.
          FileNotFoundError: Somebody removed the folder meanwhile.
        """
        with locked(self._folder / "lock"):
            if entry.shard.exists() and entry.facts.exists():
                raise _PublishedError
            if entry.partial.exists() and not is_unused(entry.partial):
                return FileIO(entry.partial, "r+")  # Its room is reserved already.
            for dead in self._folder.glob("*.partial"):
                if is_unused(dead):  # Its process ended in the middle.
                    dead.unlink(missing_ok=True)
            for facts in self._folder.glob("*.json"):
                if not facts.with_suffix(".shard").exists():
                    facts.unlink(missing_ok=True)
            if not self._make_room(size):
                return None
            partial = FileIO(entry.partial, "w+")
            take_lock(partial.fileno(), shared=False, wait=False)  # Here, so that it is never seen without its lock.
            partial.truncate(size)
            return partial

    def _wait_for(self, file: RemoteFile, partial: FileIO) -> bool:
        """Takes the lock of a file to be filled; False where another process holds it and does not go on.

        Raises:
          RemoteError: Nobody waits for the shard any more.
        """
        while not take_lock(partial.fileno(), shared=False, wait=False):
            if time.time() - os.fstat(partial.fileno()).st_mtime > _STALLED_SECONDS:
                return False
            if pause(_LOOK_SECONDS, time.sleep):
                raise RemoteError("nobody waits for it any more", file.path, 0, file.size, 0)
        return True

    def _is_ours(self, entry: _Entry, partial: FileIO) -> bool:
        """Whether an open file is the one to be filled: whoever held its lock before may have filled or removed it."""
        try:
            with locked(self._folder / "lock"):
                return entry.is_filled_by(partial)
        except FileNotFoundError:
            return False

    def _make_room(self, size: int) -> bool:
        """Removes entries, those unused for the longest time first, until `size` bytes fit."""
        if size > self._budget:
            return False
        held = list(self._held())
        taken = sum(one.size for one in held)
        for one in sorted((one for one in held if one.facts is not None), key=lambda one: one.used):
            if taken + size <= self._budget:
                break
            if is_unused(one.path) and _remove(one.path):
                one.facts.unlink(missing_ok=True)  # type: ignore[union-attr]  # Chosen above.
                taken -= one.size
        return taken + size <= self._budget

    def _held(self) -> Iterator[_Held]:
        for path in self._folder.iterdir():
            if path.suffix not in (".shard", ".partial"):
                continue
            facts = path.with_suffix(".json") if path.suffix == ".shard" else None
            with contextlib.suppress(FileNotFoundError):
                used = 0.0
                with contextlib.suppress(FileNotFoundError):
                    used = facts.stat().st_mtime if facts else 0.0
                yield _Held(path, path.stat().st_size, facts, used)

    def _fetch(self, entry: _Entry, file: RemoteFile, partial: FileIO, requests: Requests) -> bool:
        """Fills and publishes a shard; False where somebody removed what was filled."""
        crc = 0
        try:
            partial.seek(0)
            for block in requests.fetch(file, requests.cut(file.size)):
                crc = _native.crc32c(block, crc)
                with self._advised(file):
                    _write_all(partial, block)
            file.check_unchanged()
            with self._advised(file):
                os.fsync(partial.fileno())
                published = self._publish(entry, file, partial, crc)
        except BaseException:
            if entry.is_filled_by(partial):
                entry.partial.unlink(missing_ok=True)
            raise
        self._counts.add(cache_fetches=1)
        return published

    @contextlib.contextmanager
    def _advised(self, file: RemoteFile) -> Iterator[None]:
        """Says of what the folder's disk refuses whose copy it is, and what to do."""
        try:
            yield
        except FileNotFoundError:  # Somebody removed the folder.
            raise
        except OSError as error:
            reason = f"{file.path}: its copy of {file.size} bytes cannot be written: {error.strerror or error}"
            advice = f"Free room in cache_dir={str(self._folder)!r}, lower cache_bytes, or give another cache_dir"
            raise type(error)(error.errno, f"{reason}. {advice}") from error

    def _publish(self, entry: _Entry, file: RemoteFile, partial: FileIO, crc: int) -> bool:
        """Gives a filled shard its name; False where it is not there any more."""
        facts = {"url": file.path, "version": file.version, "size": file.size, "crc32c": crc}
        try:
            with locked(self._folder / "lock"):  # Nobody looks for dead files meanwhile.
                if not entry.is_filled_by(partial):
                    return False
                facts["digest"] = _digest(entry.partial)
                entry.facts.write_text(json.dumps(facts) + "\n", encoding="utf-8")
                partial.close()  # Windows renames no file that is open.
                entry.partial.replace(entry.shard)
        except FileNotFoundError:
            return False
        return True


class CachedShard:
    """The copy of a shard, which stays as long as this lives: a lock on it is held.

    Attributes:
      place: Its path.
    """

    def __init__(self, place: str, facts: dict[str, Any]) -> None:
        self.place = place
        self._size, self._digest, self._crc = int(facts["size"]), str(facts["digest"]), int(facts["crc32c"])
        self._source = LocalFile(place)
        take_lock(self._source.descriptor, shared=True, wait=True)
        if self.is_gone():  # Removed between opening and locking.
            raise _gone(place)

    def is_gone(self) -> bool:
        """Whether somebody removed it, in spite of the lock; what is mapped of it can still be read."""
        return not Path(self.place).exists()

    def looks_whole(self) -> bool:
        """Whether its size and samples are right; in constant time."""
        return self._source.size == self._size and stamp(self._source).digest.hex() == self._digest

    def is_whole(self) -> bool:
        """Whether all of it is as it was fetched; reads it."""
        if self._source.size != self._size:
            return False
        crc, buffer = 0, memoryview(bytearray(_READ_BYTES))
        for start in range(0, self._size, _READ_BYTES):
            crc = _native.crc32c(buffer[: self._source.read_into(start, buffer)], crc)
        return crc == self._crc

    def discard(self) -> None:
        """Removes it: it is damaged."""
        self._source.close()
        place = Path(self.place)
        if _remove(place):
            place.with_suffix(".json").unlink(missing_ok=True)


class _PublishedError(Exception):
    """A shard that was not there a moment ago is there now."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A file that takes room."""

    path: Path
    size: int
    facts: Path | None
    used: float


class _Entry:
    """The names of a shard's files."""

    def __init__(self, folder: Path, file: RemoteFile) -> None:
        key = hashlib.blake2b(f"{file.path}\n{file.size}\n{file.version}".encode(), digest_size=16).hexdigest()
        self.shard, self.facts, self.partial = (folder / f"{key}{end}" for end in (".shard", ".json", ".partial"))

    def is_filled_by(self, partial: FileIO) -> bool:
        """Whether an open file is still the one to be filled: nobody has removed it, or put another in its place."""
        try:
            return not partial.closed and os.path.samestat(os.fstat(partial.fileno()), self.partial.stat())
        except FileNotFoundError:
            return False


def _digest(path: Path) -> str:
    source = LocalFile(path)
    try:
        return stamp(source).digest.hex()
    finally:
        source.close()


def _write_all(file: FileIO, content: Content) -> None:
    left = memoryview(content)
    while left:  # A disk that fills up takes a part first and refuses the rest.
        left = left[file.write(left) :]


def _remove(path: Path) -> bool:
    """Removes a file; False where somebody has it open and the system does not allow that."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:  # Windows.
        return False
    return True


def _gone(path: PathLike) -> FileNotFoundError:
    return FileNotFoundError(f"{os.fspath(path)} was removed by another process")
