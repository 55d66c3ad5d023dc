"""One file behind a URL: its size and version when it was opened, and any range of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.errors import FileChangedError, RemoteError
from wellfed.io.answers import WrongAnswerError, ask, limit
from wellfed.io.attempts import changed, is_of_another_content
from wellfed.io.stamps import Samples
from wellfed.io.systems import System

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wellfed.io.attempts import Attempts

# What stores call a content's mark, best first: a name that changes with every content, or else the time of writing.
_MARKS = (
    ("etag", "generation", "md5hash", "content-md5", "digest"),
    ("lastmodified", "last-modified", "mtime", "modification_time"),
)
_TIMES = ("modified", "created")


class RemoteFile:
    """A `ByteSource` over a URL, through fsspec. Thread-safe; after a fork it asks for a connection of its own.

    Args:
      path: The URL.
      attempts: Makes the requests.

    Attributes:
      path: As given.
      size: Its length when it was opened. [bytes]
      version: What tells its content from a later one, as far as the store says so; "" where it does not.
      samples: What its stamp is made of, as far as it was read.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
      FileNotFoundError: There is no such file or bucket.
      PermissionError: It may not be read.
      RemoteError: It cannot be reached.
    """

    def __init__(self, path: str, attempts: Attempts) -> None:
        self.path, self._attempts = path, attempts
        self._whole: bytes | None = None
        self._system = System(path)
        self._info = self._look()
        self.size, self.version = int(self._info["size"]), version_in(self._info)
        self.samples = Samples(self.size)

    def at_hand(self) -> bool:
        """Whether no request is needed to read it: it lies in this process, or all of it has come for a part."""
        return self._whole is not None or self._in_this_process() is not None

    def read(self, start: int, end: int) -> bytes | memoryview:
        """The bytes [start, end), all of which must be there, by one request; a view where they are `at_hand`.

        Raises:
          FileChangedError: The file is not the one that was opened, as far as its store tells; see `answers`.
          PermissionError, RemoteError: As when it is opened.
        """
        found = self._read(start, end)
        self.samples.note(start, found)
        return found

    def _read(self, start: int, end: int) -> bytes | memoryview:
        found = self._in_this_process() if self._whole is None else self._whole
        if found is not None and len(found) == self.size:
            return memoryview(found)[start:end]
        found = self._attempts.make(lambda: self._request(start, end), self.path, start, end)
        if len(found) == end - start:
            return found
        self._whole = found
        return memoryview(found)[start:end]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """See `ByteSource`."""
        end = min(offset + len(buffer), self.size)
        if end <= offset:
            return 0
        buffer[: end - offset] = self.read(offset, end)
        return end - offset

    def check_unchanged(self) -> None:
        """Asks the store whether the file is still the one that was opened.

        Raises:
          FileChangedError: It is another one, or gone.
          PermissionError, RemoteError: As when it is opened.
        """
        try:
            info = self._look()
        except FileNotFoundError:
            raise changed(self.path, "it was removed") from None
        size, version = int(info["size"]), version_in(info)
        if size != self.size:
            raise changed(self.path, f"it had {self.size} bytes and has {size} now")
        if version != self.version:
            raise changed(self.path, f"its version was {self.version} and is {version} now")

    def close(self) -> None:
        """See `ByteSource`."""

    def _request(self, start: int, end: int) -> bytes:
        try:
            found = ask(self._system.get(), self._system.name, start, end, self._info)
        except FileChangedError:
            raise
        except Exception as error:
            if isinstance(error, WrongAnswerError) or is_of_another_content(error):
                self.check_unchanged()
            raise
        self._attempts.came(len(found))
        return found

    def _in_this_process(self) -> memoryview | None:
        """All of a file of `memory://`, where it lies; None for any other."""
        system = self._system.get()
        store = system.store if type(system).__name__ == "MemoryFileSystem" else {}  # Not of a class made from it.
        file = store.get(self._system.name)
        return None if file is None else file.getbuffer()

    def _look(self) -> Mapping[str, Any]:
        info = self._attempts.make(self._ask, self.path)
        if info.get("type") == "directory":
            raise IsADirectoryError(f"{self.path} is a folder: name the files in it, such as {self.path}/*.tfrecord")
        if info.get("size") is None:
            reason = "the server does not say how long the file is. Copy it to a disk, and read it there"
            raise RemoteError(reason, self.path, 0, 0, 1)
        return info

    def _ask(self) -> Mapping[str, Any]:
        system, name = self._system.get(), self._system.name
        system.invalidate_cache(name)  # fsspec remembers listings; the file may have been replaced since.
        info: Mapping[str, Any] = system.info(name, **limit(system))
        return info


def version_in(info: Mapping[str, Any]) -> str:
    """What tells one content from a later one, out of what a file system knows about a file."""
    known = {key.lower(): value for key, value in info.items() if value}
    for names in (*_MARKS, _TIMES):
        found = [f"{name}={known[name]}" for name in names if name in known]
        if found:
            return " ".join(found)
    return ""
