"""Where each member of a tar lies, grouped into items by name.

    header (512 bytes) | content, padded to 512 | header | ... | two blocks of zeros

Members that share a name up to the first dot of its last part are one item; the rest of the name is the field.
Source: POSIX.1-2001 (pax, ustar); https://github.com/webdataset/webdataset, "The WebDataset Format".
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import zlib
from array import array
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from isal import igzip
from isal.igzip_lib import IsalError

from wellfed.errors import FileChangedError, SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import vanished
from wellfed.sources.listing import Listing, ListingBuilder
from wellfed.sources.ownedfile import OwnedFile
from wellfed.sources.sniff import describe, read_head
from wellfed.sources.tarheaders import BLOCK, Headers, Member

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": igzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
_STEP = 1 << 20
IMAGES = {"jpg", "jpeg", "png", "gif", "bmp", "webp", "tif", "tiff", "avif"}


class IndexedTar:
    """A tar whose members are read at any place; a compressed one through an inflated copy in the temporary folder.

    Attributes:
      path: The file, as it was given.

    Raises:
      SourceError: It is gone, or is no tar.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._copy: OwnedFile | None = None
        head = self._head()
        if (opener := _COMPRESSED.get(head[:2])) is not None:
            self._copy = self._inflate(opener)
        self._size = self._mapped.size

    def members(self) -> Iterator[Member]:
        """The members, in order.

        Raises:
          SourceError: The tar is damaged, cut, or several end to end.
        """
        headers = Headers(self._readable(), self._mapped.data.data)
        try:
            yield from headers
        except (tarfile.TarError, ValueError, OverflowError) as error:
            if isinstance(error, SourceError):  # Of the one who reads the members.
                raise
            raise SourceError(self._no_tar(str(error)), self.path) from error
        self._check_end(headers.end)

    def mapped(self) -> MappedFile:
        """The tar, or its inflated copy, as it is mapped.

        Raises:
          OSError: It is gone.
        """
        self._readable()
        return self._mapped

    def read(self, offset: int, size: int) -> bytes:
        """The content of a member.

        Raises:
          SourceError: The tar is gone, or has another length than when it was opened.
        """
        return self.read_all([offset], [size]).tobytes()

    def read_all(self, offsets: Iterable[int], sizes: Iterable[int]) -> NDArray[np.uint8]:
        """The contents of several members, end to end; a copy.

        Raises:
          SourceError: As `read`.
        """
        try:
            if (now := os.stat(self._readable()).st_size) != self._size:
                raise SourceError(f"has {now} bytes, but had {self._size} when it was listed", self.path)
            data = self._mapped.data
            parts = [data[offset : offset + size] for offset, size in zip(offsets, sizes, strict=True)]
            copied = np.concatenate([np.empty(0, np.uint8), *parts])
            self._mapped.check_unchanged()  # Of a file that was cut the rest reads as zeros.
        except OSError as error:
            raise error if isinstance(error, FileChangedError) else vanished(self.path, error) from error
        return copied

    @cached_property
    def _mapped(self) -> MappedFile:
        return MappedFile(self._readable())

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_mapped"}

    def _readable(self) -> str:
        if self._copy is None:
            return self.path
        if not os.path.exists(self._copy.path):  # On another machine it is not there.
            self._copy = self._inflate(_COMPRESSED[self._head()[:2]])
            self.__dict__.pop("_mapped", None)
        return self._copy.path

    def _inflate(self, opener: Any) -> OwnedFile:
        copy = OwnedFile()
        try:
            with opener(self.path, "rb") as packed, open(copy.path, "wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        except (EOFError, zlib.error, lzma.LZMAError, IsalError, gzip.BadGzipFile) as error:  # type: ignore[misc]  # isal types its error as a value.
            raise SourceError(f"is damaged or cut: {error}. Fetch it again", self.path) from error
        except OSError as error:
            folder = os.path.dirname(copy.path)
            reason = f"cannot be inflated into {folder}: {error}. TMPDIR names another folder"
            raise SourceError(reason, self.path) from error
        return copy

    def _check_end(self, end: int) -> None:
        """Makes sure that nothing but zeros follows: the reader takes a damaged header for the end."""
        for at in range(end, self._size, _STEP):
            if self._mapped.data[at : at + _STEP].any():
                reason = f"has bytes after byte {at} that are no member: damage, or another tar behind its end"
                raise SourceError(f"{reason}. Fetch it again, or join tars with tar --concatenate", self.path)

    def _no_tar(self, reason: str) -> str:
        head = self._head()
        if len(head) < BLOCK or head[257:262] != b"ustar":
            return f"is no tar but {describe(head)}"
        return f"is a damaged tar: {reason}. Fetch it again"

    def _head(self) -> bytes:
        try:
            return read_head(self.path)
        except OSError as error:
            raise vanished(self.path, error) from error


class TarIndex:
    """Collects the members of tars into items.

    Attributes:
      features: Name of each feature to its field, in the order they came.
    """

    def __init__(self, fields: set[str] | None) -> None:
        self.features: dict[str, str] = {}
        self._fields = fields
        self._builder = ListingBuilder()
        self._columns: dict[str, tuple[array[int], array[int]]] = {}  # Offsets and sizes; -1 where there is none.

    def add(self, number: int, group: str, tar: IndexedTar) -> None:
        """Adds the items of a tar: the `number`th, whose keys begin with `group`."""
        rows: dict[str, int] = {}
        unasked: dict[str, int] = {}
        for member in tar.members():
            key, field = self._split(member, group, tar)
            if field is None:
                continue
            if self._fields is not None and field not in self._fields:
                unasked[field] = unasked.get(field, 0) + 1
                continue
            if key not in rows:
                rows[key] = len(self._builder)
                self._builder.add(f"{group}/{key}", size=0, file=number)
            self._place(rows[key], field, member, tar)
        for field, count in unasked.items():
            self._builder.skip(f"{group}: *.{field}", f"is a field that was not asked for ({count} members)")

    def listing(self) -> Listing:
        """The items, with the place of each field."""
        listing = self._builder.listing()
        places = dict(listing.places)
        for name, (offsets, sizes) in self._columns.items():
            for kind, values in (("offset", offsets), ("size", sizes)):
                column = np.full(len(listing), -1, np.int64)
                column[: len(values)] = values
                places[f"{kind} {name}"] = column
            listing.sizes[:] += np.maximum(places[f"size {name}"], 0)
        return replace(listing, places=places)

    def _split(self, member: Member, group: str, tar: IndexedTar) -> tuple[str, str | None]:
        """A member's key and field; no field if it is none of an item."""
        if "/" not in member.name and member.kind == "file" and not member.name.startswith("."):
            stem, dot, field = member.name.partition(".")
            if dot:
                return stem, field.lower()  # What nearly all are.
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        if member.name.startswith("/") or ".." in parts:
            reason = f"holds the member {member.name!r}, whose path leads out of its folder. Do not trust this tar"
            raise SourceError(reason, tar.path)
        if member.kind == "folder" or not parts:
            return "", None
        stem, dot, field = parts[-1].partition(".")
        reason = ""
        if any(part.startswith(".") for part in parts):
            reason = "is hidden"
        elif member.kind != "file":
            reason = "is no plain file"
        elif not dot:
            reason = "has no dot in its name, and so is no field of an item"
        if reason:
            self._builder.skip(f"{group}/{member.name}", reason)
            return "", None
        return "/".join([*parts[:-1], stem]), field.lower()

    def _place(self, row: int, field: str, member: Member, tar: IndexedTar) -> None:
        """Notes where a field of an item lies."""
        name = "image" if field in IMAGES else "label" if field == "cls" else field
        self.features.setdefault(name, field)
        offsets, sizes = self._columns.setdefault(name, (array("q"), array("q")))
        for column in (offsets, sizes):
            column.extend([-1] * (row + 1 - len(column)))
        if offsets[row] >= 0:
            other = next(one.name for one in tar.members() if one.offset == offsets[row])
            reason = f"holds {other} and {member.name}, which are both the {name} of one item. Rename or remove one"
            raise SourceError(reason, tar.path)
        offsets[row], sizes[row] = member.offset, member.size
