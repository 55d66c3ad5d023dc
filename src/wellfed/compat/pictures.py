"""Encoded pictures to pixels and back, by TensorFlow's rules: `tf.io.decode_image` and its kin.

The format is told from the content whatever the function's name, as in TensorFlow. A JPEG's transform is the fast one
by default, which is TensorFlow's, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wellfed import image
from wellfed.compat.deferred.dtypes import as_dtype, bool, int32, string, uint8, uint16
from wellfed.compat.deferred.eager import as_value
from wellfed.compat.deferred.lift import lifted


def _pixels(contents: Any, channels: int, dtype: Any, frames: str, dct: str = "fast") -> Any:
    kind = as_dtype(dtype)
    stored = "uint16" if kind == uint16 else "uint8"
    options = {"channels": int(channels), "frames": frames, "dct": dct, "dtype": stored}
    pixels = image.decode_image(as_value(contents), **options)  # type: ignore[arg-type]  # Checked there.
    return pixels if kind.is_integer else (pixels / np.float32(255)).astype(kind.dtype)


def _static(contents: Any, channels: Any = 0, dtype: Any = uint8, *_: Any, **__: Any) -> Any:
    del contents
    return dtype, [None, None, int(channels) or None]


def _image_static(contents: Any, channels: Any = 0, dtype: Any = uint8, expand_animations: Any = True) -> Any:
    return dtype, None if expand_animations else _static(contents, channels)[1]


@lifted(static=_image_static)
def decode_image(contents: Any, channels: Any = 0, dtype: Any = uint8, expand_animations: Any = True) -> Any:
    """Gives the pixels of a picture.

    Args:
      contents: A JPEG, PNG, GIF, BMP, WebP or TIFF.
      channels: 1 grey, 3 RGB, 4 RGB and alpha, 0 as stored.
      dtype: uint8, uint16, or float32, where the largest value becomes 1.
      expand_animations: Whether a GIF gives all its frames, with one more dimension.

    Returns:
      Pixels of shape (height, width, channels); of a GIF (frames, height, width, channels), if asked.

    Raises:
      ImageError: The bytes are no picture, or damaged; inside a run an `InvalidArgumentError`, with it as cause.
    """
    animated = expand_animations and bytes(as_value(contents)[:3]) == b"GIF"
    return _pixels(contents, channels or (3 if animated else 0), dtype, "all" if animated else "first")


@lifted(static=lambda contents, channels=0, *_, **__: _static(contents, channels))
def decode_jpeg(
    contents: Any,
    channels: Any = 0,
    ratio: Any = 1,
    fancy_upscaling: Any = True,
    try_recover_truncated: Any = False,
    acceptable_fraction: Any = 1,
    dct_method: str = "",
) -> Any:
    """Gives the pixels of a JPEG, or of another picture. See `decode_image`.

    Raises:
      ImageError: As for `decode_image`.
      NotImplementedError: `ratio`, `fancy_upscaling` or `try_recover_truncated` is not the default.
    """
    del acceptable_fraction
    if ratio != 1 or not fancy_upscaling or try_recover_truncated:
        raise NotImplementedError(
            "tf.io.decode_jpeg keeps ratio=1, fancy_upscaling=True and try_recover_truncated=False here: "
            "wellfed.image.decode_image(at_least=) decodes at smaller sizes"
        )
    return _pixels(contents, channels, uint8, "first", "accurate" if dct_method == "INTEGER_ACCURATE" else "fast")


@lifted(static=_static)
def decode_png(contents: Any, channels: Any = 0, dtype: Any = uint8) -> Any:
    """Gives the pixels of a PNG, or of another picture, as uint8 or uint16. See `decode_image`."""
    return _pixels(contents, channels, dtype, "first")


@lifted(static=_static)
def decode_bmp(contents: Any, channels: Any = 0) -> Any:
    """Gives the pixels of a BMP, or of another picture. See `decode_image`."""
    return _pixels(contents, channels, uint8, "first")


@lifted(static=lambda _: (uint8, [None, None, None, 3]))
def decode_gif(contents: Any) -> Any:
    """Gives the pixels of all frames of a GIF: (frames, height, width, 3). See `decode_image`."""
    return _pixels(contents, 3, uint8, "all")


@lifted(static=lambda *_, **__: (string, []))
def encode_jpeg(image: Any, format: str = "", quality: int = 95, **_: Any) -> bytes:
    """Gives the JPEG of pixels, uint8 of shape (height, width, 1 or 3)."""
    del format
    return _encoded(image, "jpeg", quality)


@lifted(static=lambda *_, **__: (string, []))
def encode_png(image: Any, compression: int = -1) -> bytes:
    """Gives the PNG of pixels, uint8 or uint16 of shape (height, width, 1 to 4)."""
    del compression
    return _encoded(image, "png", 95)


def _encoded(pixels: Any, name: str, quality: int) -> bytes:
    return image.encode_image(np.asarray(as_value(pixels)), name, quality=quality)  # type: ignore[arg-type]  # One of two.


@lifted(static=lambda *_, **__: (int32, [3]))
def extract_jpeg_shape(contents: Any, output_type: Any = int32) -> Any:
    """Gives height, width and channels of a JPEG, without decoding it."""
    found = image.image_info(as_value(contents))
    return np.array([found.height, found.width, found.channels], as_dtype(output_type).dtype)


@lifted(static=lambda _: (bool, []))
def is_jpeg(contents: Any) -> Any:
    """Says whether bytes are a JPEG."""
    return np.bool_(image.sniff_format(as_value(contents)) == "jpeg")


__all__ = [
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]
