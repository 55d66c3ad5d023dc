"""PNG: chunks walked here, inflated by isal, scanlines undone by the kernel.

    signature | IHDR | ... | PLTE | tRNS | ... | IDAT ... IDAT | ... | IEND        chunk = length, type, content, CRC-32

Why not Pillow: it gives 16-bit colour as 8 bits, ignores the checksums of pixels, and takes five times as long on
small pictures (ADR 0020).

Source: Portable Network Graphics Specification, W3C (third edition), sections 5 and 11.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from isal import isal_zlib

from wellfed import _native
from wellfed.errors import ImageError
from wellfed.image.colour import luma
from wellfed.image.exif import exif_orientation

if TYPE_CHECKING:
    import numpy.typing as npt

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGB_ALPHA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}  # The others: 8 and 16.
# A wrong checksum of another chunk says nothing about the pixels.
_CHECKED = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
_CHUNK = struct.Struct(">I4s")
_MAX_PIXELS = 2**56  # As many as the kernel can count the bits of; no file holds them.


@dataclass(slots=True)
class Png:
    """A PNG whose chunks are known and whose pixels are not decoded yet."""

    height: int
    width: int
    depth: int
    kind: int
    interlaced: bool
    palette: memoryview | None = None
    transparency: memoryview | None = None
    orientation: int = 1

    @property
    def channels(self) -> int:
        """Channels as stored: a palette counts as the colours it stands for; a transparent colour adds none."""
        if self.kind == _PALETTE:
            return 3 if self.transparency is None else 4
        return _SAMPLES[self.kind]

    @property
    def bits(self) -> int:
        """Of a sample: 16, or 8 for anything less."""
        return 16 if self.depth == 16 else 8


def read_header(view: memoryview) -> Png:
    """The chunks before the pixels. Their checksums are proved, and no pixel is touched."""
    picture, _ = _walk(view, whole=False)
    return picture


def read_whole(view: memoryview) -> tuple[Png, bytes | memoryview]:
    """All chunks, and the content of the IDAT chunks end to end."""
    picture, content = _walk(view, whole=True)
    return picture, content[0] if len(content) == 1 else b"".join(content)


def samples(picture: Png, content: bytes | memoryview) -> npt.NDArray[Any]:
    """The samples as stored, (H, W, samples): palette indexes or values, not scaled; uint8, or uint16 for 16 bits."""
    shape = picture.height, picture.width, picture.depth, _SAMPLES[picture.kind], picture.interlaced
    size = _native.png_scanline_bytes(*shape)
    stream = isal_zlib.decompressobj()
    try:
        # One byte more than due, so that the stream runs into its checksum.
        scanlines = stream.decompress(content, size + 1)
    except isal_zlib.error as error:  # type: ignore[misc]  # isal's stub calls the class an instance.
        raise ImageError(f"the PNG's pixels are damaged: {error}") from error
    if len(scanlines) < size or not (stream.eof or len(scanlines) > size):
        raise ImageError(f"the PNG's pixels end after {len(scanlines)} bytes of {size}")
    status, pixels = _native.unfilter_png(memoryview(scanlines)[:size], *shape)
    if status != _native.PNG_OK:
        raise ImageError("the PNG's pixels are damaged: a scanline has an unknown filter")
    return pixels  # type: ignore[no-any-return]  # An array, as its status says.


def colours(picture: Png, pixels: npt.NDArray[Any], channels: int) -> npt.NDArray[Any]:
    """Samples as pixels of `channels` channels (0 as stored), (H, W, C): uint8, or uint16 for 16 bits."""
    channels = channels or picture.channels
    alpha = None if channels in {1, 3} else _alpha(picture, pixels)
    if picture.kind == _PALETTE:
        pixels = _palette(picture)[pixels[..., 0]]
    elif picture.depth < 8:
        pixels = pixels * np.uint8(255 // (2**picture.depth - 1))
    grey = picture.kind in {_GREY, _GREY_ALPHA}
    if channels <= 2:
        last = pixels[..., :1] if grey else luma(pixels)
    else:
        last = np.repeat(pixels[..., :1], 3, axis=-1) if grey else pixels[..., :3]
    return np.ascontiguousarray(last) if alpha is None else np.concatenate([last, alpha], axis=-1)


def encode_wide(pixels: npt.NDArray[np.uint16]) -> bytes:
    """A PNG of 16 bits, of pixels (H, W, C), which Pillow writes with one channel only."""
    height, width, channels = pixels.shape
    kind = {1: _GREY, 2: _GREY_ALPHA, 3: _RGB, 4: _RGB_ALPHA}[channels]
    lines = np.zeros((height, 1 + 2 * width * channels), np.uint8)  # Filter type 0 before each.
    lines[:, 1:] = pixels.astype(">u2").reshape(height, -1).view(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.data)), (b"IEND", b""))
    parts = [_CHUNK.pack(len(c), name) + c + struct.pack(">I", zlib.crc32(name + c)) for name, c in chunks]
    return b"".join([b"\x89PNG\r\n\x1a\n", *parts])


def _walk(view: memoryview, *, whole: bool) -> tuple[Png, list[memoryview]]:
    picture: Png | None = None
    content: list[memoryview] = []
    pos = 8  # Invariant: a chunk starts at pos.
    while True:
        if len(view) - pos < 12:
            raise ImageError(f"the PNG ends at byte {len(view)}, before its IEND chunk")
        length, name = _CHUNK.unpack_from(view, pos)
        if name == b"IDAT" and picture is not None and not whole:
            return picture, content
        if length > len(view) - pos - 12:
            raise ImageError(f"the PNG ends at byte {len(view)}, inside its {_printable(name)} chunk at byte {pos}")
        chunk = view[pos + 8 : pos + 8 + length]
        _check_sum(view, pos, length, name)
        if picture is None:
            picture = _parse_header(name, chunk)
        elif name == b"IDAT":
            content.append(chunk)
        elif name == b"IEND":
            if not content:
                raise ImageError("the PNG has no pixels (no IDAT chunk)")
            return picture, content
        else:
            _note(picture, name, chunk)
        pos += 12 + length


def _check_sum(view: memoryview, pos: int, length: int, name: bytes) -> None:
    if name not in _CHECKED:
        return
    stored = int.from_bytes(view[pos + 8 + length : pos + 12 + length])
    found = zlib.crc32(view[pos + 4 : pos + 8 + length])
    if stored != found:
        raise ImageError(
            f"the PNG is damaged: CRC-32 of its {_printable(name)} chunk at byte {pos} is {found:#010x}, "
            f"stored {stored:#010x}"
        )


def _parse_header(name: bytes, chunk: memoryview) -> Png:
    if name != b"IHDR" or len(chunk) != 13:
        raise ImageError(f"the PNG begins with a {_printable(name)} chunk of {len(chunk)} bytes, not with IHDR of 13")
    width, height, depth, kind, compression, filters, interlace = struct.unpack(">IIBBBBB", chunk)
    known = kind in _SAMPLES and depth in _DEPTHS.get(kind, (8, 16))
    sized = 0 < width < 2**31 and 0 < height < 2**31 and width * height <= _MAX_PIXELS
    if not (known and sized and compression == filters == 0 and interlace < 2):
        raise ImageError(
            f"the PNG's header is damaged: {width} x {height} pixels, colour type {kind} with {depth} bits, "
            f"compression {compression}, filter {filters}, interlace {interlace}"
        )
    return Png(height, width, depth, kind, bool(interlace))


def _note(picture: Png, name: bytes, chunk: memoryview) -> None:
    if name == b"PLTE":
        picture.palette = chunk
    elif name == b"tRNS":
        picture.transparency = chunk
    elif name == b"eXIf":
        picture.orientation = exif_orientation(chunk)


def _palette(picture: Png) -> npt.NDArray[np.uint8]:
    """All 256 colours; indexes beyond the palette are black, as libpng's and Pillow's."""
    if picture.palette is None or len(picture.palette) % 3 or len(picture.palette) > 768:
        raise ImageError("the PNG's palette is missing or damaged")
    table = np.zeros((256, 3), np.uint8)
    table.reshape(-1)[: len(picture.palette)] = picture.palette
    return table


def _alpha(picture: Png, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(H, W, 1): stored, looked up, or opaque but for the one transparent colour (section 11.3.1.1)."""
    if picture.kind in {_GREY_ALPHA, _RGB_ALPHA}:
        return pixels[..., -1:]
    opaque = np.iinfo(pixels.dtype).max
    table = picture.transparency
    if picture.kind == _PALETTE:
        alphas = np.full(256, opaque, np.uint8)
        if table is not None:
            alphas[: min(len(table), 256)] = table[:256]
        looked_up: npt.NDArray[np.uint8] = alphas[pixels]
        return looked_up
    alpha = np.full((*pixels.shape[:2], 1), opaque, pixels.dtype)
    if table is not None and len(table) == 2 * pixels.shape[-1]:
        key = np.frombuffer(table, ">u2").astype(np.int64)
        alpha[(pixels == key).all(axis=-1)] = 0
    return alpha


def _printable(name: bytes) -> str:
    return name.decode("latin-1") if name.isalpha() else name.hex()
