"""The bytes of a whole file, gzipped or not: told by content, checked to the end."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
from isal import igzip
from isal.igzip_lib import IsalError

from wellfed.errors import SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import vanished
from wellfed.sources.sniff import read_head

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GZIP = b"\x1f\x8b\x08"  # With the only method there is, deflate.


class WholeFile:
    """A file's bytes: a mapping of a plain file, or memory that holds a gzipped one inflated.

    Attributes:
      path: The file.
      data: uint8 `(n,)`, read-only.
      mapped: The mapping, if it is one.

    Raises:
      SourceError: The file is gone, cannot be read, or is a damaged or cut gzip.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.mapped: MappedFile | None = None
        try:
            if read_head(path).startswith(_GZIP):
                self.data: NDArray[np.uint8] = np.frombuffer(_inflate(path), np.uint8)
            else:
                self.mapped = MappedFile(path)
                self.data = self.mapped.data
        except OSError as error:
            raise vanished(path, error) from error

    def check_unchanged(self) -> None:
        """Raises `FileChangedError` if a mapped file was cut or replaced: what was read from it may be wrong."""
        if self.mapped is not None:
            self.mapped.check_unchanged()


def _inflate(path: str) -> bytes:
    try:
        with igzip.open(path, "rb") as file:  # type: ignore[no-untyped-call]  # isal types it in part.
            return bytes(file.read())
    except EOFError as error:
        raise SourceError("is a gzip file cut before its end, or with bytes after it. Fetch it again", path) from error
    except (gzip.BadGzipFile, IsalError) as error:  # type: ignore[misc]  # isal types its error as a value.
        raise SourceError(f"is a damaged gzip file: {error}. Fetch it again", path) from error
