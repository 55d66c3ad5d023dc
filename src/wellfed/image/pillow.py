"""Every format but JPEG, through Pillow.

mode     1  L  I;16  LA  P      PA  RGB  RGBA  CMYK, YCbCr, LAB
channels 1  1  1     2   3 or 4 4   3    4     3
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import BmpImagePlugin, GifImagePlugin, Image, PngImagePlugin, TiffImagePlugin, WebPImagePlugin

from wellfed.errors import ImageError
from wellfed.image.colour import with_alpha
from wellfed.image.exif import exif_orientation

if TYPE_CHECKING:
    import numpy.typing as npt

# The classes by themselves, not Image.open: it tries formats in turn and warns about sizes that `max_pixels` decides.
_READERS: dict[str, type[Any]] = {
    "png": PngImagePlugin.PngImageFile,
    "gif": GifImagePlugin.GifImageFile,
    "bmp": BmpImagePlugin.BmpImageFile,
    "webp": WebPImagePlugin.WebPImageFile,
    "tiff": TiffImagePlugin.TiffImageFile,
}
try:
    from PIL import AvifImagePlugin

    _READERS["avif"] = AvifImagePlugin.AvifImageFile
except ImportError:
    pass  # Pillow before 11.3.

_BITS_PER_SAMPLE = 258  # TIFF 6.0, section 8.
_CHANNELS = {"1": 1, "L": 1, "I;16": 1, "I;16B": 1, "I;16L": 1, "I": 1, "LA": 2, "La": 2, "PA": 4}
_CHANNELS |= {"RGB": 3, "RGBX": 3, "RGBA": 4, "RGBa": 4, "CMYK": 3, "YCbCr": 3, "LAB": 3}
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def read_header(view: memoryview, name: str) -> tuple[int, int, int, int, int]:
    """Height, width, channels as stored, bits a sample and EXIF orientation."""
    picture = open_picture(view, name)
    width, height = picture.size
    bits = 16 if _is_wide(picture) or loses_bits(picture) else 8
    return height, width, stored_channels(picture), bits, orientation_of(picture)


def open_picture(view: memoryview, name: str) -> Image.Image:
    """Opens a picture of the format `name`; its pixels are not read yet."""
    reader = _READERS.get(name)
    if reader is None:
        raise ImageError(f"this Pillow cannot read {name}; pip install --upgrade pillow")
    try:
        return reader(io.BytesIO(view))  # type: ignore[no-any-return]  # The table's classes are all pictures.
    except MemoryError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageError(f"the {name.upper()} is too large for Pillow: {error}") from error
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise _damaged(name, view, error) from error


def frame_count(picture: Image.Image, view: memoryview) -> int:
    """How many frames the picture has; walks the file, without decoding where its format allows."""
    try:
        return getattr(picture, "n_frames", 1)
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise _damaged(str(picture.format).lower(), view, error) from error


def seek(picture: Image.Image, view: memoryview, number: int) -> None:
    """Makes frame `number`, counted from 0, the current one."""
    try:
        picture.seek(number)
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise _damaged(str(picture.format).lower(), view, error) from error


def stored_channels(picture: Image.Image) -> int:
    """How many channels the picture has by itself; a palette counts as the colours it stands for."""
    if picture.mode == "P":
        # Transparency of a GIF belongs to its animation.
        return 4 if "transparency" in picture.info and picture.format != "GIF" else 3
    if picture.mode not in _CHANNELS:
        raise ImageError(f"pixels of kind {picture.mode} are not supported; expected integers of 8 or 16 bits")
    return _CHANNELS[picture.mode]


def loses_bits(picture: Image.Image) -> bool:
    """Whether Pillow gives fewer bits than the picture has: colours of 16 bits in a TIFF."""
    if picture.format != "TIFF" or _is_wide(picture) or picture.mode not in _CHANNELS:
        return False
    bits = picture.tag_v2.get(_BITS_PER_SAMPLE, (8,))  # type: ignore[attr-defined]  # TIFF pictures have it.
    return bool(max(bits) > 8)


def orientation_of(picture: Image.Image) -> int:
    """EXIF's orientation, 1 to 8, that the pixels still have."""
    if picture.format == "TIFF":
        return 1  # Pillow turns TIFFs itself when it reads them; their size is that of the upright picture.
    block = picture.info.get("exif", b"")
    return exif_orientation(block.removeprefix(b"Exif\0\0"))


def frame_pixels(picture: Image.Image, view: memoryview, channels: int) -> npt.NDArray[Any]:
    """The pixels of the current frame, `(H, W, channels)`; uint16 where the picture has 16 bits, else uint8."""
    try:
        picture.load()
        stored = stored_channels(picture)  # Refuses floats, which `convert` would clip.
        if _is_wide(picture):
            return _wide_pixels(picture, channels)
        mode = _MODES[channels or stored]
        if picture.mode == "P" and mode in {"L", "RGB"}:
            # By way of alpha, which is then dropped: straight away Pillow warns where several colours have one.
            picture = picture.convert("RGBA")
        elif picture.mode == "LAB":
            picture = picture.convert("RGB")  # The only thing that Pillow makes of it.
        pixels = np.array(picture if picture.mode == mode else picture.convert(mode))
    except (MemoryError, ImageError):
        raise
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise _damaged(str(picture.format).lower(), view, error) from error
    return pixels[..., None] if pixels.ndim == 2 else pixels


def index_pixels(picture: Image.Image, view: memoryview) -> npt.NDArray[np.uint8]:
    """The palette's indexes (or the grey values) of the current frame, `(H, W, 1)`."""
    if picture.mode not in {"P", "L", "1"}:
        raise ImageError(f'mode="index" needs a palette or a grey picture of 8 bits, found {picture.mode}')
    try:
        picture.load()
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise _damaged(str(picture.format).lower(), view, error) from error
    return np.array(picture, dtype=np.uint8)[..., None]


def _is_wide(picture: Image.Image) -> bool:
    return picture.mode.startswith("I")


def _wide_pixels(picture: Image.Image, channels: int) -> npt.NDArray[np.uint16]:
    pixels = np.asarray(picture)
    if pixels.dtype.itemsize > 2 and (pixels.min() < 0 or pixels.max() > 0xFFFF):
        raise ImageError(
            f"values from {pixels.min()} to {pixels.max()} are not supported; "
            "expected unsigned integers of 8 or 16 bits"
        )
    grey = pixels.astype(np.uint16)[..., None]
    if channels in {0, 1}:
        return grey
    colours = np.repeat(grey, 3, axis=-1)
    return colours if channels == 3 else with_alpha(colours)


def _damaged(name: str, view: memoryview, error: Exception) -> ImageError:
    return ImageError(f"the {name.upper()} of {len(view)} bytes is damaged: {error or type(error).__name__}")
