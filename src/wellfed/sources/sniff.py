"""What a file is, told from its first bytes and never from its name."""

from __future__ import annotations

import codecs
import os
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.image import sniff_format
from wellfed.io.sniff import sniff

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

_SIGNATURE_BYTES = 8
_JPEG = np.frombuffer(b"\xff\xd8\xff", np.uint8)
_PNG = np.frombuffer(b"\x89PNG\r\n\x1a\n", np.uint8)
_NATIVE_CHUNK = 256

HEAD_BYTES = 1024  # As much as a picture inside gzip needs to show itself.

# DIB header sizes from BITMAPCOREHEADER to BITMAPV5HEADER: "BM" alone would take texts for pictures.
_BMP_HEADERS = {12, 16, 40, 52, 56, 64, 108, 124}


def image_kind(head: bytes) -> str | None:
    """The format of a picture ("jpeg", "png", ...) from the first `HEAD_BYTES` of its file, or None."""
    kind = sniff_format(head)
    if kind == "bmp" and int.from_bytes(head[14:18], "little") not in _BMP_HEADERS:
        return None
    return kind


def describe(head: bytes) -> str:
    """What the first bytes of a file look like that is not what was due, as a noun."""
    if not head:
        return "an empty file"
    if found := sniff(head):
        return found
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16 text"
    if not any(byte < 9 or 13 < byte < 32 for byte in head):
        return "text"
    return "bytes of no known kind"


def sure_pictures(pool: ThreadPoolExecutor, folder: str, names: list[str]) -> NDArray[np.int64]:
    """The size of each file that begins as a JPEG or a PNG: int64 (n,); -1 for all others, which have to be looked at.

    In native code, some hundred at a time: most files of most folders need no more than this.
    """
    if not hasattr(_native, "read_heads"):
        return np.full(len(names), -1, np.int64)
    chunks = [names[at : at + _NATIVE_CHUNK] for at in range(0, len(names), _NATIVE_CHUNK)]
    look = partial(_sizes_of_pictures, folder)
    return np.concatenate([np.empty(0, np.int64), *(map(look, chunks) if len(chunks) == 1 else pool.map(look, chunks))])


def _sizes_of_pictures(folder: str, names: list[str]) -> NDArray[np.int64]:
    encoded = [os.fsencode(name) for name in names]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    heads, sizes = _native.read_heads(os.fsencode(folder), b"".join(encoded), starts, _SIGNATURE_BYTES)
    heads = heads.reshape(-1, _SIGNATURE_BYTES)
    sure = (heads[:, :3] == _JPEG).all(axis=1) | (heads == _PNG).all(axis=1)
    return np.where(sure, sizes, -1)


def read_head(path: str) -> bytes:
    """The first bytes of a file: one open, one read."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(descriptor, HEAD_BYTES)
    finally:
        os.close(descriptor)


def read_heads(pool: ThreadPoolExecutor, paths: list[str]) -> Iterator[bytes | OSError]:
    """The first bytes of each file, in order; an error in the place of what cannot be read.

    In threads, since on a network's or a spinning disk each file costs a wait and no work.
    """
    chunks = [paths[at : at + 32] for at in range(0, len(paths), 32)]
    for heads in map(_read_some, chunks) if len(chunks) == 1 else pool.map(_read_some, chunks):
        yield from heads


def _read_some(paths: list[str]) -> list[bytes | OSError]:
    heads: list[bytes | OSError] = []
    for path in paths:
        try:
            heads.append(read_head(path))
        except OSError as error:
            heads.append(error)
    return heads
