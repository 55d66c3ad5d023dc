"""What a file is, told from its first bytes and never from its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wellfed.image import sniff_format
from wellfed.io.sniff import sniff

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ThreadPoolExecutor

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
    if not any(byte < 9 or 13 < byte < 32 for byte in head):
        return "text"
    return "bytes of no known kind"


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
