"""The bytes of a whole file, gzipped or not: told by content, checked to the end."""

from __future__ import annotations

import gzip
import mmap
from typing import TYPE_CHECKING

import numpy as np
from isal import igzip
from isal.igzip_lib import IsalError

from wellfed.errors import SourceError
from wellfed.sources.base import vanished

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GZIP = b"\x1f\x8b"


def map_or_inflate(path: str) -> NDArray[np.uint8]:
    """The file's bytes, read-only: a mapping of a plain file, or memory that holds a gzipped one inflated.

    Raises:
      SourceError: The file is gone, cannot be read, or is a damaged or cut gzip.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(2)
            if head == _GZIP:
                return np.frombuffer(_inflate(path), np.uint8)
            if not head:  # An empty file cannot be mapped.
                return np.frombuffer(b"", np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise vanished(path, error) from error


def _inflate(path: str) -> bytes:
    try:
        with igzip.open(path, "rb") as file:  # type: ignore[no-untyped-call]  # isal types it in part.
            return bytes(file.read())
    except EOFError as error:
        raise SourceError("is a gzip file cut before its end, or with bytes after it. Fetch it again", path) from error
    except (gzip.BadGzipFile, IsalError) as error:  # type: ignore[misc]  # isal types its error as a value.
        raise SourceError(f"is a damaged gzip file: {error}. Fetch it again", path) from error
