"""JPEG through simplejpeg (libjpeg-turbo), and what its header says.

    SOI | segment ... | SOF: precision, height, width, components | segment ... | SOS, entropy-coded bytes | EOI

A segment is FF, a marker, a big-endian length that counts itself, and its content.

Source: ITU-T T.81, annex B.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import simplejpeg

from wellfed.errors import ImageError
from wellfed.image.colour import luma, rgb_of_cmyk, with_alpha
from wellfed.image.exif import exif_orientation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

_SOS, _EOI, _COMMENT, _ADOBE = 0xDA, 0xD9, 0xFE, 0xEE
# Any number of FF may fill. FF 00 is no marker; TEM (01) and RSTn (D0 to D7) have no length.
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOFn; the three are DHT, JPG and DAC.
RGB = {1: "GRAY", 3: "RGB", 4: "RGBA"}
BGR = {1: "GRAY", 3: "BGR", 4: "BGRA"}
_INKS = {"CMYK", "YCCK"}
_MAX_SPARE_BYTES = 4 << 20  # A photo of a megapixel.
# A scan of 36 bytes can take as long as a whole picture. libjpeg makes ten of them for a picture in colour.
_MAX_SCANS = 100
_SOON = 10**11  # [bytes x pixels] Below it a file of nothing but such scans takes some ten seconds.


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """What is known before a pixel is decoded. `components` is 1, 3 or 4; `bits` 8 or 12 a sample.

    `adobe` says whether Adobe's marker is there, after which inks are stored inverted.
    """

    height: int
    width: int
    components: int
    bits: int
    orientation: int
    adobe: bool

    @property
    def channels(self) -> int:
        """1 or 3: inks are decoded to RGB."""
        return 1 if self.components == 1 else 3


def read_header(view: memoryview) -> JpegHeader:
    """Walks the segments up to the first scan. Touches no pixel."""
    frame: tuple[int, int, int, int] | None = None
    orientation, adobe = 1, False
    for marker, start, stop in _segments(view):
        content = view[start:stop]
        if marker in _FRAMES and frame is None and len(content) >= 6:
            frame = (int.from_bytes(content[1:3]), int.from_bytes(content[3:5]), content[5], content[0])
        elif marker == 0xE1 and orientation == 1 and bytes(content[:6]) == b"Exif\0\0":
            orientation = exif_orientation(content[6:])
        elif marker == _ADOBE and len(content) >= 12 and bytes(content[:5]) == b"Adobe":
            adobe = True
    if frame is None:
        raise ImageError("the JPEG has no frame header before its first scan")
    return JpegHeader(*frame, orientation, adobe)


@dataclass(frozen=True, slots=True)
class JpegShape:
    """Size, channels (1 or 3) and whether they are made from four inks."""

    height: int
    width: int
    channels: int
    inks: bool


def read_shape(view: memoryview) -> JpegShape:
    """As `read_header`, but in 1 us: for hot paths."""
    try:
        height, width, colour, _ = simplejpeg.decode_jpeg_header(view)
    except ValueError:
        header = read_header(view)
        return JpegShape(header.height, header.width, header.channels, header.components == 4)
    return JpegShape(height, width, 1 if colour == "Gray" else 3, colour in _INKS)


def decode_whole(
    view: memoryview, colours: str, fast_dct: bool, max_pixels: int, scratch: Scratch | None = None
) -> npt.NDArray[np.uint8] | None:
    """The usual picture at full size by the shortest way; None where the long one must look at it.

    With `scratch`, the pixels are gone with the next picture that is decoded there.
    """
    try:
        height, width, stored, _ = simplejpeg.decode_jpeg_header(view)  # Also says whether it is a JPEG at all.
        if height * width > max_pixels or stored in _INKS or _scans(view, height * width) > _MAX_SCANS:
            return None
        if scratch is None:
            return simplejpeg.decode_jpeg(view, colours, fast_dct)  # type: ignore[no-any-return]  # It ships no types.
        memory = scratch.memory(height * width * 4)
        return simplejpeg.decode_jpeg(view, colours, fast_dct, buffer=memory)  # type: ignore[no-any-return]
    except ValueError:
        return None


class Scratch:
    """Memory for one picture at a time, kept from one part of a batch to the next. Belongs to one thread."""

    # Fresh pages for each part cost as much as a picture. Threads put their memory back and take any.
    _spare: ClassVar[deque[npt.NDArray[np.uint8]]] = deque(maxlen=16)

    def __enter__(self) -> Scratch:
        try:
            self._memory = self._spare.pop()
        except IndexError:
            self._memory = np.empty(0, np.uint8)
        return self

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """At least `size` bytes."""
        if len(self._memory) < size:
            self._memory = np.empty(size, np.uint8)
        return self._memory

    def __exit__(self, *_: object) -> None:
        if len(self._memory) <= _MAX_SPARE_BYTES:
            self._spare.append(self._memory)


def decode(
    view: memoryview, shape: JpegShape, channels: int, *, bgr: bool, fast_dct: bool, scale: int = 1
) -> npt.NDArray[np.uint8]:
    """Decodes to `(H, W, channels)` with both sides divided by `scale`, rounded up. Any damage is an error.

    Raises:
      ImageError: The picture is damaged, or has so many scans that it may be meant to take long.
    """
    options = {
        "fastdct": fast_dct,
        "min_height": -(-shape.height // scale),
        "min_width": -(-shape.width // scale),
    }
    scans = _scans(view, shape.height * shape.width)
    if scans > _MAX_SCANS:
        raise ImageError(f"the JPEG has {scans} scans, which may take hours; at most {_MAX_SCANS} are decoded")
    if not shape.inks:
        return _decode(view, BGR[channels] if bgr else RGB[channels], options)
    inks = _decode(view, "CMYK", options)
    pixels = rgb_of_cmyk(inks, inverted=read_header(view).adobe)
    if channels == 1:
        return luma(pixels)
    pixels = np.ascontiguousarray(pixels[..., ::-1]) if bgr else pixels
    return pixels if channels == 3 else with_alpha(pixels)


def _scans(view: memoryview, pixels: int) -> int:
    """How many scans there may be; 0, uncounted, where no number of them takes long."""
    # Entropy-coded bytes never hold this marker. Those of thumbnails count, which are few.
    return bytes(view).count(bytes((0xFF, _SOS))) if len(view) * pixels >= _SOON else 0


def _decode(view: memoryview, colour: str, options: dict[str, int]) -> npt.NDArray[np.uint8]:
    try:
        return simplejpeg.decode_jpeg(view, colour, **options)  # type: ignore[no-any-return]  # It ships no types.
    except ValueError as error:
        first = error
    bits = read_header(view).bits
    if bits != 8:
        raise ImageError(f"the JPEG has {bits} bits a sample; 8 are supported") from first
    # The decoder is strict: any warning is an error. What lies between the header's segments harms no pixel, so
    # a picture that decodes without it is whole (TensorFlow and Pillow take it, too).
    try:
        return simplejpeg.decode_jpeg(_plain_stream(view), colour, **options)  # type: ignore[no-any-return]
    except (ValueError, ImageError):
        raise ImageError(f"the JPEG of {len(view)} bytes is damaged: {first}") from first


def _segments(view: memoryview) -> Iterator[tuple[int, int, int]]:
    """Marker, start and stop of the content of each segment before the first scan; skips what lies between."""
    end = len(view)
    found = _MARKER.search(view, 2)  # In C: a damaged file may hold megabytes that are no segment.
    while found is not None:
        marker, pos = found[1][0], found.end()
        if marker in {_SOS, _EOI} or end - pos < 2:
            return
        length = int.from_bytes(view[pos : pos + 2])
        if length < 2 or length > end - pos:
            return
        yield marker, pos + 2, pos + length
        found = _MARKER.search(view, pos + length)


def _plain_stream(view: memoryview) -> bytes:
    """The same picture without metadata and without bytes between segments."""
    parts = [b"\xff\xd8"]
    header_end = 2
    for marker, start, stop in _segments(view):
        header_end = stop
        # APP0 (JFIF) and APP14 (Adobe) tell the colour space; other APPn and comments only describe.
        if marker in {0xE0, _ADOBE} or not (0xE0 <= marker <= 0xEF or marker == _COMMENT):
            parts.append(bytes((0xFF, marker)) + bytes(view[start - 2 : stop]))
    rest = bytes(view[header_end:])
    scan = rest.find(bytes((0xFF, _SOS)))
    if scan < 0:
        raise ImageError("the JPEG has no scan")
    return b"".join([*parts, rest[scan:]])
