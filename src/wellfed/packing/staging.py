"""What a pack leaves behind while it runs, so that it can go on after any end.

    OUT/.wellfed/pack/
      lock                                       held by the pack that runs
      plan.json                                  what is being packed: the options and the listing's fingerprint
      digits-train.tfrecord-00000-of-00003       finished shards, and the index of each in .wellfed/
      done/digits-train....json                  what each finished shard holds; written after it, so it vouches for it
      progress                                   counters that the workers of this machine write

All of it goes when the manifest stands.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wellfed.datasets.folder import LocalFolder
from wellfed.datasets.manifest import UNFINISHED, SkippedItem
from wellfed.errors import PackError
from wellfed.packing.pictures import Facts

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from wellfed.datasets.folder import Folder

STAGING = ".wellfed/pack"
PLAN = UNFINISHED
REPLACED = f"{STAGING}/replaced.json"

_IN_USE_ERRNOS = {errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.ENOENT}
_IN_USE = "another pack is writing here now: wait for it, or choose another folder"


Content = bytes  # Within the class below `bytes` is a number of them.


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What a finished shard holds.

    Attributes:
      file: Its final name.
      records: How many records it holds.
      bytes: Its size on disk. [bytes]
      crc32c: The checksum of its bytes.
      bytes_in: What the items it was made of held, by the listing. [bytes]
      skipped: The items left out, and why.
      pictures: For each feature that holds pictures, what all of the shard have in common.
    """

    file: str
    records: int
    bytes: int
    crc32c: str
    bytes_in: int
    skipped: tuple[SkippedItem, ...] = ()
    pictures: Mapping[str, Facts] | None = None

    def to_json(self) -> Content:
        """Returns the result as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, content: Content) -> ShardResult:
        """Returns the result that `to_json` wrote."""
        values = json.loads(content)
        values["skipped"] = tuple(SkippedItem(**item) for item in values["skipped"])
        values["pictures"] = {name: Facts(**facts) for name, facts in (values["pictures"] or {}).items()}
        return cls(**values)


def done_name(file: str) -> str:
    """Returns the name of the note that vouches for a finished shard."""
    return f"{STAGING}/done/{file}.json"


def staged_name(file: str) -> str:
    """Returns where a finished shard waits."""
    return f"{STAGING}/{file}"


def finished(folder: Folder, files: list[str]) -> dict[str, ShardResult]:
    """Returns the results of those shards that an earlier run finished."""
    notes = set(folder.names(f"{STAGING}/done"))
    results = {}
    for file in files:
        content = folder.read(done_name(file)) if f"{file}.json" in notes else None
        try:
            result = ShardResult.from_json(content or b"")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # No note, or a damaged one: the shard is written again.
        # The shard waits in staging, or a publishing that was cut short has moved it already.
        if result.bytes in (folder.size(staged_name(file)), folder.size(file)):
            results[file] = result
    return results


def check_plan(folder: Folder, plan: Mapping[str, Any], *, restart: bool) -> None:
    """Writes the plan of a new pack, or checks that the pack that goes on is the one that began.

    Args:
      folder: The data set's folder.
      plan: Options and fingerprint, as JSON values.
      restart: Drop what another plan has left, rather than raise.

    Raises:
      PackError: A pack with other options, or of another listing, began here.
    """
    written = folder.read(PLAN)
    if written is not None:
        before = json.loads(written)
        due = json.loads(json.dumps(plan))
        if before == due:
            return
        if not restart:
            raise PackError(
                f"a pack that began here differs: {_difference(before, due)}. Run it with the same input and options "
                "to go on, or with overwrite=True (--overwrite) to begin again",
                folder.path,
            )
        started = [note.removesuffix(".json") for note in folder.names(f"{STAGING}/done")]
        note_replaced(folder, started)  # A publishing that was cut short may have moved them already.
        clear(folder, keep=("lock", "replaced.json"))
    folder.write(PLAN, json.dumps(plan).encode())


def note_replaced(folder: Folder, files: Iterable[str]) -> None:
    """Notes shards that are to go once the new manifest stands, beside those noted before."""
    folder.write(REPLACED, json.dumps(sorted({*replaced(folder), *files})).encode())


def replaced(folder: Folder) -> list[str]:
    """Returns the shards that were noted by `note_replaced`."""
    files: list[str] = json.loads(folder.read(REPLACED) or b"[]")
    return files


def clear(folder: Folder, keep: Iterable[str] = ("lock",)) -> None:
    """Removes what is in the staging folder, but for `keep`."""
    for name in folder.names(STAGING):
        if name not in keep:
            folder.remove(f"{STAGING}/{name}")
    if tuple(keep) == ("lock",) and not isinstance(folder, LocalFolder):
        folder.remove(STAGING)  # It is empty: the lock is on this machine.


def remove_partial(folder: Folder, done: Container[str]) -> None:
    """Removes what a killed run left of shards that it had not finished."""
    kept = {"lock", "plan.json", "replaced.json", "done", ".wellfed"}
    for name in folder.names(STAGING):
        if name not in kept and name not in done:
            folder.remove(f"{STAGING}/{name}")


def lock_path(folder: Folder) -> Path:
    """Returns the lock file of a folder; for one behind a URL, a file of this machine that stands for it."""
    if isinstance(folder, LocalFolder):
        return Path(folder.full(f"{STAGING}/lock"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.blake2b(folder.path.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return cache / "wellfed" / "pack" / key / "lock"


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Says in a few words what differs between two plans."""
    if before.get("options") != now["options"]:
        old, new = before.get("options", {}), now["options"]
        changed = [f"{key} was {old.get(key)!r}, is {new[key]!r}" for key in new if old.get(key) != new[key]]
        return "; ".join(changed)
    if before.get("items") != now["items"]:
        return f"the source had {before.get('items')} items, it has {now['items']}"
    if before.get("listing") != now["listing"]:
        return "names, sizes or classes of the source's items have changed"
    return "the schema has changed"


_HELD: set[str] = set()  # Lock files held by this process: POSIX locks do not stand between its threads.
_HELD_GUARD = threading.Lock()


class Lock:
    """Keeps a second pack out of a folder; the system lifts it when the process ends, however it ends.

    Args:
      path: The lock file, on this machine.
      owner: The folder it stands for, for the error.

    Raises:
      PackError: Another pack holds it.
    """

    def __init__(self, path: Path, owner: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._name = str(path.resolve())
        with _HELD_GUARD:
            taken = self._name in _HELD
            _HELD.add(self._name)
        if taken:
            raise PackError(_IN_USE, owner)
        self._path = path
        self._file: IO[bytes] | None = None
        try:
            self._file = path.open("a+b")
            _lock_file(self._file)
            # A pack that ended between the two lines above has removed the file that was locked here.
            stands = path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except OSError as error:
            self._forget()
            if error.errno not in _IN_USE_ERRNOS:
                raise
            raise PackError(_IN_USE, owner) from error
        if not stands:
            self._forget()
            raise PackError(_IN_USE, owner)

    def release(self) -> None:
        """Removes the lock file and lets others in; may be called again."""
        if sys.platform == "win32":  # An open file cannot be removed there.
            self._forget()
        self._path.unlink(missing_ok=True)
        self._forget()

    def _forget(self) -> None:
        if self._file is not None:
            self._file.close()
        with _HELD_GUARD:
            _HELD.discard(self._name)


def unlock(lock: Lock, folder: Folder) -> None:
    """Releases a lock, and removes the staging folder where nothing is left in it."""
    lock.release()
    with contextlib.suppress(OSError):
        lock_path(folder).parent.rmdir()


if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_file(file: IO[bytes]) -> None:
        # Not flock: that would pass to forked workers, which may outlive a killed pack for a moment.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
