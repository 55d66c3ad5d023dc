"""Encoded picture in, array of pixels out. docs/images.md has the policies in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from wellfed.checks import whole
from wellfed.errors import ImageError
from wellfed.image import jpeg, pillow, png
from wellfed.image.exif import turn_upright
from wellfed.image.formats import as_view, describe, sniff_format, unwrap_gzip

if TYPE_CHECKING:
    import numpy.typing as npt

    from wellfed.image.formats import Encoded

# Pillow warns above this many pixels (1/4 GiB of them at 3 bytes); pictures of data sets are far smaller.
MAX_PIXELS = 89_478_485

_JPEG = b"\xff\xd8\xff"
_CHOICES = {
    "channels": (0, 1, 3, 4),
    "order": ("rgb", "bgr"),
    "dtype": ("uint8", "uint16"),
    "mode": ("colour", "index"),
    "exif": ("ignore", "apply", "error"),
    "frames": ("first", "all", "error"),
    "dct": ("accurate", "fast"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """How pictures are decoded; see `decode_image` for each.

    Attributes:
      channels: 3 RGB, 1 grey, 4 RGB and alpha, 0 as stored.
      order: "rgb" or "bgr".
      dtype: "uint8" or "uint16".
      mode: "colour", or "index" to keep the index of a palette (segmentation masks).
      exif: "ignore", "apply" or "error".
      frames: "first", "all" or "error".
      dct: "accurate" or "fast".
      max_pixels: Refuse pictures with more, over all frames. [pixels]
    """

    channels: Literal[0, 1, 3, 4] = 3
    order: Literal["rgb", "bgr"] = "rgb"
    dtype: Literal["uint8", "uint16"] = "uint8"
    mode: Literal["colour", "index"] = "colour"
    exif: Literal["ignore", "apply", "error"] = "ignore"
    frames: Literal["first", "all", "error"] = "first"
    dct: Literal["accurate", "fast"] = "accurate"
    max_pixels: int = MAX_PIXELS
    _plain: str = field(init=False, repr=False, compare=False)  # The colours that a JPEG without policies is given in.

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            found = getattr(self, name)
            if isinstance(found, bool) or found not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {found!r}")
        object.__setattr__(self, "max_pixels", whole("max_pixels", self.max_pixels, 1, "pixel"))
        plain = (self.dtype, self.mode, self.exif, self.frames) == ("uint8", "colour", "ignore", "first")
        names = jpeg.BGR if self.order == "bgr" else jpeg.RGB
        object.__setattr__(self, "_plain", names[self.channels] if plain and self.channels else "")


_DEFAULTS = DecodeOptions()


class _Options(TypedDict, total=False):
    channels: Literal[0, 1, 3, 4]
    order: Literal["rgb", "bgr"]
    dtype: Literal["uint8", "uint16"]
    mode: Literal["colour", "index"]
    exif: Literal["ignore", "apply", "error"]
    frames: Literal["first", "all", "error"]
    dct: Literal["accurate", "fast"]
    max_pixels: int


def decode_image(
    data: Encoded, *, at_least: tuple[int, int] | None = None, **options: Unpack[_Options]
) -> npt.NDArray[Any]:
    """Decodes a picture. The format is told from the content: JPEG by simplejpeg, everything else by Pillow.

    Args:
      data: The encoded picture, whole; also one wrapped in gzip. Read during the call only.
      at_least: (height, width). [pixels] Decode a JPEG at a half, a quarter or an eighth of its size where that is
        still at least this large both ways: faster, and close to area resizing. None gives full size.
      **options: The fields of `DecodeOptions`.

    Returns:
      uint8 (or uint16) array of shape `(H, W, channels)`; with `frames="all"` `(frames, H, W, channels)`. It owns
      its memory and is writable.

    Raises:
      ImageError: The bytes are no known picture, are damaged or cut off, or the options refuse what they hold.
      ValueError: An option is none of its choices.

    Differs from TensorFlow:
      Three channels by default, not as stored. A JPEG's DCT is the accurate one; `dct="fast"` gives TensorFlow's
      default bit for bit. An animated GIF gives its first frame. Damage is always an error.

    >>> from wellfed.image import encode_image
    >>> decode_image(encode_image(np.zeros((2, 3, 3), np.uint8))).shape
    (2, 3, 3)
    """
    return decode(data, DecodeOptions(**options) if options else _DEFAULTS, at_least)


def decode(data: Encoded, options: DecodeOptions, at_least: tuple[int, int] | None = None) -> npt.NDArray[Any]:
    """`decode_image` with its options in one object."""
    view = as_view(data)
    if options._plain and at_least is None and view[:3] == _JPEG:
        whole = jpeg.decode_whole(view, options._plain, options.dct == "fast", options.max_pixels)
        if whole is not None:
            return whole
    view = unwrap_gzip(view)
    name = sniff_format(view)
    if name is None:
        raise ImageError(describe(view))
    if name == "jpeg":
        pixels = _decode_jpeg(view, options, at_least)
    elif name == "png" and options.frames == "first":
        pixels = _decode_png(view, options)
    else:
        pixels = _decode_other(view, name, options)
    return _typed(pixels, options)


def jpeg_size(data: Encoded, options: DecodeOptions) -> tuple[int, int] | None:
    """Height and width that a JPEG has when decoded at full size; None for any other format."""
    view = unwrap_gzip(as_view(data))
    if sniff_format(view) != "jpeg":
        return None
    shape = jpeg.read_shape(view)
    turned = options.exif == "apply" and jpeg.read_header(view).orientation >= 5
    return (shape.width, shape.height) if turned else (shape.height, shape.width)


def _decode_jpeg(view: memoryview, options: DecodeOptions, at_least: tuple[int, int] | None) -> npt.NDArray[np.uint8]:
    shape = jpeg.read_shape(view)
    _check_pixels(shape.height, shape.width, 1, options)
    orientation = 1
    if options.exif != "ignore":
        orientation = _orientation(jpeg.read_header(view).orientation, options)
    if options.mode == "index" and shape.channels != 1:
        raise ImageError('mode="index" needs a palette or a grey picture, found a JPEG in colour')
    channels = 1 if options.mode == "index" else options.channels or shape.channels
    scale = 1
    if at_least is not None:
        scale = decode_scale(shape.height, shape.width, at_least if orientation < 5 else at_least[::-1])
    bgr, fast_dct = options.order == "bgr", options.dct == "fast"
    pixels = jpeg.decode(view, shape, channels, bgr=bgr, fast_dct=fast_dct, scale=scale)
    pixels = turn_upright(pixels, orientation)
    return pixels[None] if options.frames == "all" else pixels


def decode_scale(height: int, width: int, at_least: tuple[int, int]) -> int:
    """The largest of 8, 4, 2, 1 that leaves `at_least`. Other scales of libjpeg save no time (ADR 0020)."""
    return next(s for s in (8, 4, 2, 1) if s == 1 or (height // s >= at_least[0] and width // s >= at_least[1]))


def _decode_png(view: memoryview, options: DecodeOptions) -> npt.NDArray[Any]:
    picture, content = png.read_whole(view)
    _check_pixels(picture.height, picture.width, 1, options)
    orientation = 1 if options.exif == "ignore" else _orientation(picture.orientation, options)
    pixels = png.samples(picture, content)
    if options.mode == "colour":
        pixels = _ordered(png.colours(picture, pixels, options.channels), options)
    elif pixels.shape[-1] != 1 or picture.bits != 8:
        raise ImageError('mode="index" needs a palette or a grey picture of 8 bits, found another PNG')
    return turn_upright(pixels, orientation)


def _decode_other(view: memoryview, name: str, options: DecodeOptions) -> npt.NDArray[Any]:
    picture = pillow.open_picture(view, name)
    count = pillow.frame_count(picture, view) if options.frames != "first" else 1
    width, height = picture.size
    _check_pixels(height, width, count if options.frames == "all" else 1, options)
    orientation = 1 if options.exif == "ignore" else _orientation(pillow.orientation_of(picture), options)
    if options.frames == "error" and count > 1:
        raise ImageError(f'the picture has {count} frames and frames="error"')
    pixels = (_all_frames if options.frames == "all" else _frame)(picture, view, options)
    return turn_upright(pixels, orientation)


def _all_frames(picture: Any, view: memoryview, options: DecodeOptions) -> npt.NDArray[Any]:
    size = picture.size
    frames = [_frame(picture, view, options)]
    for number in range(1, pillow.frame_count(picture, view)):
        pillow.seek(picture, view, number)
        if picture.size != size:  # Before it is decoded: it may be of any size.
            (width, height), (first_width, first_height) = picture.size, size
            raise ImageError(
                f"frame {number} (from 0) has {width} x {height} pixels, the first {first_width} x {first_height}; "
                'frames="first" takes the first alone'
            )
        frames.append(_frame(picture, view, options))
        channels, first_channels = frames[-1].shape[-1], frames[0].shape[-1]
        if channels != first_channels:
            raise ImageError(
                f"frame {number} (from 0) has {channels} channels, the first {first_channels}; "
                "give channels=3, or another number, for all"
            )
    return np.stack(frames)


def _frame(picture: Any, view: memoryview, options: DecodeOptions) -> npt.NDArray[Any]:
    """The current frame, in the type that is due: frames of one file may have 8 and 16 bits."""
    if options.dtype == "uint16" and pillow.loses_bits(picture):
        form = picture.format
        raise ImageError(f"the {form} has 16-bit colours, of which Pillow gives 8 bits; decode it as uint8")
    if options.mode == "index":
        return _typed(pillow.index_pixels(picture, view), options)
    return _typed(_ordered(pillow.frame_pixels(picture, view, options.channels), options), options)


def _typed(pixels: npt.NDArray[Any], options: DecodeOptions) -> npt.NDArray[Any]:
    if options.dtype == "uint8" and pixels.dtype != np.uint8:
        return (pixels >> 8).astype(np.uint8)  # The high byte, as libpng and TensorFlow do.
    if options.dtype == "uint16" and pixels.dtype != np.uint16:
        return pixels.astype(np.uint16) * np.uint16(257)  # 255 becomes 65535, as in TensorFlow.
    return pixels


def _ordered(pixels: npt.NDArray[Any], options: DecodeOptions) -> npt.NDArray[Any]:
    if options.order == "bgr" and pixels.shape[-1] >= 3:
        pixels[..., [0, 2]] = pixels[..., [2, 0]]
    return pixels


def _check_pixels(height: int, width: int, frames: int, options: DecodeOptions) -> None:
    if height * width * frames > options.max_pixels:
        what = f"{width} x {height} pixels" + (f" in {frames} frames" if frames > 1 else "")
        raise ImageError(f"the picture has {what}, more than max_pixels={options.max_pixels}; give more if it is meant")


def _orientation(found: int, options: DecodeOptions) -> int:
    if options.exif == "error" and found != 1:
        raise ImageError(f'the picture has EXIF orientation {found} and exif="error"')
    return found
