"""What a source is: a cheap listing of items, and a pure read of one of them.

    listing()   ->  Listing            n keys, sizes, labels, splits, and what was skipped; no item's data
    load(i)     ->  {"image": b"..."}  the data of item i of the listing, and nothing else
    part(rows)  ->  Source             those items alone: small to pickle, so it is what a worker is sent

A source lists once. The listing stays with it, also in pickles: a worker reads the items that were planned, whatever
was added to a folder since. Files are read where an item is loaded, and checked against what was listed.

Splits that the raw data brings (MNIST's train and test) are part of the listing: item i belongs to
`listing.split_names[listing.split_ids[i]]`. Where there are none, `split_names` is empty and `split_ids` is None.
"""

from __future__ import annotations

import os
import threading
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from wellfed.errors import SourceError
from wellfed.sources.sniff import HEAD_BYTES, describe, image_kind

# Of all sources together: a lock of its own would not pickle. Reentrant, for a source made of other sources.
_SCANNING = threading.RLock()

StrPath = str | os.PathLike[str]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wellfed.columns import Bytes
    from wellfed.datasets import Schema
    from wellfed.io import MappedFile
    from wellfed.sources.listing import Listing


@runtime_checkable
class Source(Protocol):
    """Raw data of one format. Frozen and picklable; reading it twice gives the same."""

    @property
    def schema(self) -> Schema:
        """What `load` gives: the name and type of each feature."""
        ...

    def listing(self) -> Listing:
        """The items; the same object at each call.

        Raises:
          SourceError: The raw data is not what it was given for, or holds no item.
        """
        ...

    def load(self, index: int) -> dict[str, Any]:
        """Reads item `index` of the listing: a value for each feature of the schema. Safe in threads.

        Raises:
          SourceError: The item is damaged, or is not there any more as it was listed.
        """
        ...

    def part(self, rows: NDArray[np.int64]) -> Source:
        """The source of these rows alone: `part(rows).load(k)` equals `load(rows[k])`; the schema is the whole's."""
        ...


@runtime_checkable
class RecordSource(Source, Protocol):
    """A source whose items are serialized Examples already, which need not be taken apart to be written again."""

    def record(self, index: int) -> bytes:
        """Item `index` of the listing as it is.

        Raises:
          SourceError: It is damaged, or is not there any more as it was listed.
        """
        ...

    def records(self, start: int, stop: int) -> Bytes | None:
        """Items `start` to `stop` of the listing, as `record` gives each; None where it must tell what is at fault."""
        ...


@runtime_checkable
class ColumnSource(Source, Protocol):
    """A source that gives many items at once, in a fraction of the time."""

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Items `start` to `stop` of the listing: for each feature an array `(n, ...)`, `Bytes`, or a list.

        Equal to what `load` gives for each of them; None where `load` must tell which of them is at fault.
        """
        ...


class Place(NamedTuple):
    """Where some items lie in one mapped file.

    Attributes:
      file: The file.
      starts: int64 (n,): where each begins. [bytes]
      sizes: int64 (n,): as many bytes of each.
    """

    file: MappedFile
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


@runtime_checkable
class MappedSource(Source, Protocol):
    """A source that reads items out of large files, in any order."""

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """Where the items `start` to `stop` of the listing lie: what of them is about to be read.

        Advice alone: what is in memory already, or cannot be told in advance, is left out.
        """
        ...


class Scan(NamedTuple):
    """What a source finds when it looks at its raw data."""

    schema: Schema
    listing: Listing
    kept: Any = None  # What else `load` needs of it; small, pickles.


class ListedSource:
    """The half of a source that is the same for all: it lists once, pickles its listing and gives parts of itself.

    A subclass is a frozen dataclass with `scan` and `load`. Files it holds open, or data it holds inflated, are
    `cached_property`s of its own: they stay behind when it is pickled.
    """

    def scan(self) -> Scan:
        """Looks at the raw data; called once."""
        raise NotImplementedError

    def load(self, index: int) -> dict[str, Any]:
        """Reads item `index` of the listing."""
        raise NotImplementedError

    @property
    def schema(self) -> Schema:
        """What `load` gives: the name and type of each feature."""
        return self._found.schema

    def listing(self) -> Listing:
        """The items; the same object at each call."""
        return self._found.listing

    @property
    def kept(self) -> Any:
        """What `scan` kept for `load`."""
        return self._found.kept

    def part(self, rows: NDArray[np.int64]) -> Self:
        """The source of these rows alone; what is open stays shared with the whole."""
        return self.with_listing(self.listing().take(np.asarray(rows, np.int64)))

    def with_listing(self, listing: Listing) -> Self:
        """The same source over another listing."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _found=self._found._replace(listing=listing))
        return twin

    @property
    def _found(self) -> Scan:
        found: Scan | None = self.__dict__.get("_found")
        if found is None:
            with _SCANNING:  # One thread scans: an iterable can be read only once.
                found = self.__dict__.get("_found") or self.scan()
                self.__dict__["_found"] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_found", *(f.name for f in fields(self))}  # type: ignore[arg-type]  # Subclasses are dataclasses.
        return {name: value for name, value in self.__dict__.items() if name in kept}


# --- Reading files -------------------------------------------------------------------------------


def existing_path(path: StrPath) -> str:
    """The absolute path, so that a worker in another folder finds it too.

    Raises:
      SourceError: It is a URL, or nothing is there.
    """
    text = os.fspath(path)
    if "://" in text:
        raise SourceError("is a URL, but sources read local files. Copy the data here first", text)
    if not os.path.exists(text):
        raise SourceError("no such file or folder. Check the path", text)
    return os.path.abspath(text)


def existing_file(path: StrPath, due: str) -> str:
    """`existing_path` of a file; `due` says what it should be, such as "a list".

    Raises:
      SourceError: It is a URL or a folder, or nothing is there.
    """
    found = existing_path(path)
    if os.path.isdir(found):
        raise SourceError(f"is a folder; {due} is due", found)
    return found


def read_listed(path: str, size: int) -> bytes:
    """The bytes of a file that was `size` bytes long when it was listed.

    Raises:
      SourceError: It vanished, cannot be read, or has another size now.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise vanished(path, error) from error
    if len(content) != size:
        raise SourceError(f"has {len(content)} bytes, but had {size} when it was listed. List again", path)
    return content


def read_picture(path: str, size: int) -> bytes:
    """The bytes of a picture that was `size` bytes long when it was listed.

    Raises:
      SourceError: As `read_listed`; or its first bytes are no picture's.
    """
    content = read_listed(path, size)
    if image_kind(content[:HEAD_BYTES]) is None:
        raise SourceError(f"is no picture but {describe(content[:HEAD_BYTES])}", path)
    return content


def vanished(path: str, error: OSError) -> SourceError:
    """The error for a file that was listed and cannot be read."""
    if isinstance(error, FileNotFoundError):
        return SourceError("was there when it was listed and is gone. Restore it, or list again", path)
    return SourceError(f"cannot be read: {error.strerror or error}", path)


def printable(key: str) -> str:
    r"""The key as text that UTF-8 can hold: a byte of a file name that is no UTF-8 becomes `\udc80` and the like."""
    return key.encode("utf-8", "backslashreplace").decode()
