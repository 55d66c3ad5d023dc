"""JPEG through simplejpeg (libjpeg-turbo), and what its header says.

    SOI | segment ... | SOF: precision, height, width, components | segment ... | SOS, entropy-coded bytes | EOI

A segment is FF, a marker, a big-endian length that counts itself, and its content.

Source: ITU-T T.81, annex B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import simplejpeg

from wellfed.errors import ImageError
from wellfed.image.exif import exif_orientation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

_SOS, _EOI, _COMMENT = 0xDA, 0xD9, 0xFE
_STANDALONE = {0x01, *range(0xD0, 0xD8)}  # TEM and RSTn have no length.
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOFn; the three are DHT, JPG and DAC.
_COLOURS = {1: "GRAY", 3: "RGB", 4: "RGBA"}


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """What is known before a pixel is decoded. `components` is 1, 3 or 4; `bits` 8 or 12 a sample."""

    height: int
    width: int
    components: int
    bits: int
    orientation: int


def read_header(view: memoryview) -> JpegHeader:
    """Walks the segments up to the first scan. Touches no pixel."""
    frame: tuple[int, int, int, int] | None = None
    orientation = 1
    for marker, start, stop in _segments(view):
        content = view[start:stop]
        if marker in _FRAMES and frame is None and len(content) >= 6:
            frame = (int.from_bytes(content[1:3]), int.from_bytes(content[3:5]), content[5], content[0])
        elif marker == 0xE1 and orientation == 1 and bytes(content[:6]) == b"Exif\0\0":
            orientation = exif_orientation(content[6:])
    if frame is None:
        raise ImageError("the JPEG has no frame header before its first scan")
    return JpegHeader(*frame, orientation)


def stored_shape(view: memoryview) -> tuple[int, int, int]:
    """Height, width and components (CMYK counts 3, as it is decoded to RGB). 1 us; for hot paths."""
    try:
        height, width, colour, _ = simplejpeg.decode_jpeg_header(view)
    except ValueError as error:
        header = read_header(view)
        if header.bits != 8:
            raise ImageError(f"the JPEG has {header.bits} bits a sample; 8 are supported") from error
        return header.height, header.width, min(header.components, 3)
    return height, width, 1 if colour == "Gray" else 3


def decode(
    view: memoryview, channels: int, *, bgr: bool, fast_dct: bool, min_height: int = 0, min_width: int = 0
) -> npt.NDArray[np.uint8]:
    """Decodes to `(H, W, channels)`, at the smallest scale that is not below the minimum sizes. Strict."""
    colour = _COLOURS[channels]
    if bgr:
        colour = colour.replace("RGB", "BGR")
    options = {"fastdct": fast_dct, "min_height": min_height, "min_width": min_width}
    try:
        return simplejpeg.decode_jpeg(view, colour, **options)  # type: ignore[no-any-return]  # It ships no types.
    except ValueError as error:
        first = error
    # The decoder is strict: any warning is an error. What lies between the header's segments harms no pixel, so
    # a picture that decodes without it is whole (TensorFlow and Pillow take it, too).
    try:
        return simplejpeg.decode_jpeg(_plain_stream(view), colour, **options)  # type: ignore[no-any-return]
    except (ValueError, ImageError):
        raise ImageError(f"the JPEG of {len(view)} bytes is damaged: {first}") from first


def _segments(view: memoryview) -> Iterator[tuple[int, int, int]]:
    """Marker, start and stop of the content of each segment before the first scan; skips what lies between."""
    pos, end = 2, len(view)  # Invariant: 2 <= pos; all before pos is read.
    while pos < end:
        if view[pos] != 0xFF:
            pos += 1
            continue
        while pos < end and view[pos] == 0xFF:  # Any number of FF may fill.
            pos += 1
        if pos == end:
            return
        marker = view[pos]
        pos += 1
        if marker == 0 or marker in _STANDALONE:
            continue
        if marker in {_SOS, _EOI}:
            return
        if end - pos < 2:
            return
        length = int.from_bytes(view[pos : pos + 2])
        if length < 2 or length > end - pos:
            return
        yield marker, pos + 2, pos + length
        pos += length


def _plain_stream(view: memoryview) -> bytes:
    """The same picture without metadata and without bytes between segments."""
    parts = [b"\xff\xd8"]
    header_end = 2
    for marker, start, stop in _segments(view):
        header_end = stop
        # APP0 (JFIF) and APP14 (Adobe) tell the colour space; other APPn and comments only describe.
        if marker in {0xE0, 0xEE} or not (0xE0 <= marker <= 0xEF or marker == _COMMENT):
            parts.append(bytes((0xFF, marker)) + bytes(view[start - 2 : stop]))
    rest = bytes(view[header_end:])
    scan = rest.find(bytes((0xFF, _SOS)))
    if scan < 0:
        raise ImageError("the JPEG has no scan")
    return b"".join([*parts, rest[scan:]])
