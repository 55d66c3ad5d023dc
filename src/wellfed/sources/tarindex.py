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
from typing import TYPE_CHECKING, Any

import numpy as np
from isal import igzip
from isal.igzip_lib import IsalError

from wellfed.errors import SourceError
from wellfed.sources.base import vanished
from wellfed.sources.listing import Listing, ListingBuilder
from wellfed.sources.ownedfile import OwnedFile
from wellfed.sources.sniff import describe, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": igzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
_BLOCK = 512
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
        self._size = os.stat(self._readable()).st_size

    def members(self) -> Iterator[tarfile.TarInfo]:
        """The header of each member.

        Raises:
          SourceError: The tar is damaged, cut, or several end to end.
        """
        end = 0
        try:
            with tarfile.open(self._readable(), "r:") as tar:
                while (member := tar.next()) is not None:
                    tar.members.clear()  # type: ignore[attr-defined]  # It keeps them all; typeshed lacks it.
                    if member.size < 0 or member.offset < end:
                        raise tarfile.ReadError(f"the member at byte {member.offset} has {member.size} bytes")
                    end = member.offset + 1
                    yield member
                end = tar.offset
        except (tarfile.TarError, ValueError, OverflowError) as error:
            if isinstance(error, SourceError):  # Of the one who reads the members.
                raise
            raise SourceError(self._no_tar(str(error)), self.path) from error
        self._check_end(end)

    def read(self, offset: int, size: int) -> bytes:
        """The content of a member.

        Raises:
          SourceError: The tar is gone, or has another length than when it was opened.
        """
        try:
            with open(self._readable(), "rb") as file:
                if (now := os.fstat(file.fileno()).st_size) != self._size:
                    raise SourceError(f"has {now} bytes, but had {self._size} when it was listed", self.path)
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise vanished(self.path, error) from error

    def _readable(self) -> str:
        if self._copy is None:
            return self.path
        if not os.path.exists(self._copy.path):  # On another machine it is not there.
            self._copy = self._inflate(_COMPRESSED[self._head()[:2]])
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
        with open(self._readable(), "rb") as file:
            file.seek(end)
            at = end
            while block := file.read(1 << 20):
                if block.strip(b"\0"):
                    reason = f"has bytes after byte {at} that are no member: damage, or another tar behind its end"
                    raise SourceError(f"{reason}. Fetch it again, or join tars with tar --concatenate", self.path)
                at += len(block)

    def _no_tar(self, reason: str) -> str:
        head = self._head()
        if len(head) < _BLOCK or head[257:262] != b"ustar":
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

    def _split(self, member: tarfile.TarInfo, group: str, tar: IndexedTar) -> tuple[str, str | None]:
        """A member's key and field; no field if it is none of an item."""
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        if member.name.startswith("/") or ".." in parts:
            reason = f"holds the member {member.name!r}, whose path leads out of its folder. Do not trust this tar"
            raise SourceError(reason, tar.path)
        if member.isdir() or not parts:
            return "", None
        stem, dot, field = parts[-1].partition(".")
        reason = ""
        if any(part.startswith(".") for part in parts):
            reason = "is hidden"
        elif not member.isreg() or member.issparse():
            reason = "is no plain file"
        elif not dot:
            reason = "has no dot in its name, and so is no field of an item"
        if reason:
            self._builder.skip(f"{group}/{member.name}", reason)
            return "", None
        return "/".join([*parts[:-1], stem]), field.lower()

    def _place(self, row: int, field: str, member: tarfile.TarInfo, tar: IndexedTar) -> None:
        """Notes where a field of an item lies."""
        name = "image" if field in IMAGES else "label" if field == "cls" else field
        self.features.setdefault(name, field)
        offsets, sizes = self._columns.setdefault(name, (array("q"), array("q")))
        for column in (offsets, sizes):
            column.extend([-1] * (row + 1 - len(column)))
        if offsets[row] >= 0:
            other = next(one.name for one in tar.members() if one.offset_data == offsets[row])
            reason = f"holds {other} and {member.name}, which are both the {name} of one item. Rename or remove one"
            raise SourceError(reason, tar.path)
        offsets[row], sizes[row] = member.offset_data, member.size
