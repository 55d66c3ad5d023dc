"""Which picture format some bytes hold, told from the bytes alone.

FF D8 FF              jpeg          47 49 46 38 "GIF8"        gif
89 50 4E 47 0D 0A ..  png           52 49 46 46 .. "WEBP"     webp
42 4D "BM"            bmp           49 49 2A 00 / 4D 4D 00 2A tiff
.. "ftypavif"         avif          1F 8B                     any of them inside gzip
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from wellfed.errors import ImageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Encoded = bytes | bytearray | memoryview | npt.NDArray[np.uint8]

FORMATS = ("jpeg", "png", "gif", "bmp", "webp", "tiff", "avif")

_GZIP = b"\x1f\x8b"
# 26 JPEGs of ImageNet are wrapped in gzip; nothing that is a picture needs more than this.
_MAX_UNWRAPPED_BYTES = 256 << 20


def as_view(data: Encoded) -> memoryview:
    """The bytes of `data` as a flat view that shares its memory."""
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # NumPy arrays are buffers; its stubs say so from 3.12 on.
        return view if view.ndim == 1 and view.format == "B" else view.cast("B")
    except TypeError as error:
        raise ImageError(f"the bytes of an encoded picture are due, got {type(data).__name__}") from error


def sniff_format(data: Encoded) -> str | None:
    """Names the picture format that `data` begins like.

    Args:
      data: The encoded picture, or at least its first 32 bytes. Read during the call only.

    Returns:
      One of "jpeg", "png", "gif", "bmp", "webp", "tiff", "avif"; None where it is none of them. A picture inside
      gzip gives the picture's own format. File names play no part.

    Differs from TensorFlow:
      `decode_image` knows the first four only.

    >>> sniff_format(b"GIF89a" + bytes(20))
    'gif'
    """
    head = bytes(as_view(data)[:32])
    if head[:2] == _GZIP:
        # A cut gzip stream gives its beginning too; that is enough here.
        head = _inflate_head(as_view(data))
    return _sniff_head(head)


def unwrap_gzip(view: memoryview) -> memoryview:
    """The picture inside a gzip stream, its first bytes where it is none; `view` itself where it is not wrapped."""
    if view[:2] != _GZIP:
        return view
    head = _inflate_head(view)
    if head and _sniff_head(head) is None:  # Such as a tar: four megabytes may hold a thousand times as much.
        return memoryview(head)
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(view, _MAX_UNWRAPPED_BYTES)
    except zlib.error as error:
        raise ImageError(f"the picture is wrapped in gzip, whose stream is damaged: {error}") from error
    if not stream.eof:
        whole = stream.unconsumed_tail
        what = f"holds more than {_MAX_UNWRAPPED_BYTES} bytes" if whole else f"ends early, after {len(view)} bytes"
        raise ImageError(f"the picture is wrapped in gzip, whose stream {what}")
    return memoryview(content)


def describe(view: memoryview) -> str:
    """What bytes that are no picture look like, for an error message."""
    head = bytes(view[:64])
    if not head:
        return "the picture is empty (0 bytes)"
    known = f"expected one of {', '.join(FORMATS)}"
    text = head.lstrip().lower()
    for start, name in (
        (b"version https://git-lfs", "a git-lfs pointer"),
        (b"<!doctype html", "HTML"),
        (b"<html", "HTML"),
        (b"<svg", "SVG"),
        (b"<?xml", "XML"),
        (b"%pdf", "PDF"),
        (b"pk\x03\x04", "a zip archive"),
    ):
        if text.startswith(start):
            return f"the bytes look like {name}, not like a picture; {known}"
    return f"the bytes are no picture format that is known (they begin {head[:8].hex(' ')}); {known}"


def _inflate_head(view: memoryview) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(view[:4096], 64)
    except zlib.error:
        return b""


def _sniff_head(head: bytes) -> str | None:
    for start, name in (
        (b"\xff\xd8\xff", "jpeg"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
        (b"II*\0", "tiff"),
        (b"MM\0*", "tiff"),
    ):
        if head.startswith(start):
            return name
    # Two letters could begin any text: the size of the header behind them must be one that exists.
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in {12, 40, 52, 56, 64, 108, 124}:
        return "bmp"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[4:12] in {b"ftypavif", b"ftypavis"}:
        return "avif"
    return None
