"""The folder of a data set, on this machine or behind a URL, as a few whole-file operations.

Every write appears whole or not at all: a temporary name and a rename on this machine; object stores do so by
themselves.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wellfed.io.attempts import Attempts
from wellfed.io.files import is_url, local_path
from wellfed.io.remote import Counts, RemoteOptions
from wellfed.io.systems import System, is_hdfs_native

if TYPE_CHECKING:
    from collections.abc import Callable


class Folder(Protocol):
    """A folder; names are relative to it, with "/" between their parts.

    Attributes:
      path: As the caller named it, without a slash at its end.
    """

    path: str

    def full(self, name: str) -> str:
        """Returns the path or URL of a file in it."""

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of a file, or None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a file there, whole, in place of an older one; makes the folders it needs."""

    def put(self, local: str, name: str) -> None:
        """Moves a file of this machine there, in place of an older one."""

    def move(self, name: str, to: str) -> None:
        """Renames a file, in place of an older one."""

    def remove(self, name: str) -> None:
        """Removes a file or a folder with all it holds; nothing where there is none."""

    def names(self, under: str = "") -> list[str]:
        """Returns the names of what is in a folder of it, sorted; none where there is no such folder."""

    def size(self, name: str) -> int | None:
        """Returns a file's size in bytes, or None where there is none."""

    def is_folder(self) -> bool:
        """Returns whether there is a folder, as far as its store knows folders."""


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """Returns the folder at a path or URL; it need not be there.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
    """
    return RemoteFolder(os.fspath(path)) if is_url(path) else LocalFolder(path)


class LocalFolder:
    """A `Folder` on this machine."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._root = Path(local_path(path))
        self.path = str(self._root)

    def full(self, name: str) -> str:
        """See `Folder`."""
        return str(self._root / name)

    def read(self, name: str) -> bytes | None:
        """See `Folder`."""
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`."""
        place = self._place(name)
        partial = place.with_name(f".{place.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(content)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)

    def put(self, local: str, name: str) -> None:
        """See `Folder`."""
        shutil.move(local, self._place(name))

    def move(self, name: str, to: str) -> None:
        """See `Folder`."""
        (self._root / name).replace(self._place(to))

    def remove(self, name: str) -> None:
        """See `Folder`."""
        place = self._root / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    def names(self, under: str = "") -> list[str]:
        """See `Folder`."""
        try:
            return sorted(place.name for place in (self._root / under).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, name: str) -> int | None:
        """See `Folder`."""
        try:
            return (self._root / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_folder(self) -> bool:
        """See `Folder`."""
        return self._root.is_dir()

    def _place(self, name: str) -> Path:
        place = self._root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


class RemoteFolder:
    """A `Folder` behind a URL, through fsspec. A request that fails for a passing reason is made again."""

    def __init__(self, url: str) -> None:
        self.path = url.rstrip("/")
        self._system = System(self.path)
        self._attempts = Attempts(RemoteOptions(), Counts())

    def full(self, name: str) -> str:
        """See `Folder`."""
        return f"{self.path}/{name}"

    def read(self, name: str) -> bytes | None:
        """See `Folder`."""
        try:
            content: bytes = self._ask(name, lambda system, place: system.cat_file(place))
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`."""
        self._with_parent(name, lambda system, place: system.pipe_file(place, content))

    def put(self, local: str, name: str) -> None:
        """See `Folder`."""
        self._with_parent(name, lambda system, place: system.put_file(local, place))
        Path(local).unlink()

    def move(self, name: str, to: str) -> None:
        """See `Folder`."""
        if is_hdfs_native(self._system.get()):
            self._with_parent(to, lambda system, place: system.mv(self._place(name), place, overwrite=True))
            return
        # Not `mv`, nor `rm` below: they take brackets in a name for a pattern.
        self._with_parent(to, lambda system, place: system.cp_file(self._place(name), place))
        self._system.get().rm_file(self._place(name))

    def remove(self, name: str) -> None:
        """See `Folder`."""
        system = self._system.get()
        system.invalidate_cache()
        if is_hdfs_native(system):
            system.rm(self._place(name), recursive=True)  # Folders too.
            return
        for found in system.find(self._place(name)):
            system.rm_file(found)

    def names(self, under: str = "") -> list[str]:
        """See `Folder`."""
        try:
            found = self._ask(under, lambda system, place: system.ls(place.rstrip("/"), detail=False))
        except FileNotFoundError:
            return []
        return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def size(self, name: str) -> int | None:
        """See `Folder`."""
        try:
            return int(self._ask(name, lambda system, place: system.size(place)))
        except FileNotFoundError:
            return None

    def is_folder(self) -> bool:
        """Whether the store itself says that there is a folder; servers of http know none."""
        if self.path.startswith(("http://", "https://")):
            return False
        return bool(self._ask("", lambda system, place: system.isdir(place.rstrip("/"))))

    def _place(self, name: str) -> str:
        return f"{self._system.name}/{name}"

    def _ask(self, name: str, request: Callable[[Any, str], Any]) -> Any:
        system = self._system.get()
        system.invalidate_cache()  # fsspec remembers listings; another process may have written since.
        return self._attempts.make(lambda: request(system, self._place(name)), self.full(name))

    def _with_parent(self, name: str, write: Callable[[Any, str], object]) -> None:
        """Writes to a name; object stores have no folders, other systems may need theirs made."""
        try:
            self._ask(name, write)
        except FileNotFoundError:
            self._system.get().makedirs(self._place(name).rpartition("/")[0], exist_ok=True)
            self._ask(name, write)
