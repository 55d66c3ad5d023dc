"""Array of pixels in, encoded picture out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import simplejpeg
from PIL import Image

from wellfed.errors import ImageError
from wellfed.image import png

if TYPE_CHECKING:
    import numpy.typing as npt


def encode_image(
    array: npt.NDArray[Any],
    format: Literal["png", "jpeg"] = "png",  # noqa: A002 -- the word of tf.io.encode_jpeg, Pillow and imageio.
    *,
    quality: int = 95,
) -> bytes:
    """Encodes a picture.

    Args:
      array: uint8 array of shape `(H, W)` or `(H, W, C)`, C = 1 grey, 3 RGB; for PNG also 2 and 4, with alpha, and
        uint16. Read during the call only.
      format: "png", lossless; or "jpeg", lossy.
      quality: Of a JPEG, 1 to 100. 95 is the default of `tf.io.encode_jpeg`; chroma is stored at half size both ways.

    Returns:
      The encoded picture.

    Raises:
      ImageError: The format cannot hold the array.
      ValueError: An option is none of its choices.

    >>> encode_image(np.zeros((2, 3), np.uint8))[1:4]
    b'PNG'
    """
    pixels = array[..., None] if array.ndim == 2 else array
    if format == "png":
        return _encode_png(pixels)
    if format != "jpeg":
        raise ValueError(f'format must be "png" or "jpeg", got {format!r}')
    if not 1 <= quality <= 100:
        raise ValueError(f"quality must be from 1 to 100, got {quality}")
    _check(pixels, (1, 3), (np.uint8,), "a JPEG")
    grey = pixels.shape[-1] == 1
    colour, subsampling = ("GRAY", "Gray") if grey else ("RGB", "420")
    encoded: bytes = simplejpeg.encode_jpeg(np.ascontiguousarray(pixels), quality, colour, subsampling)
    return encoded


def _encode_png(pixels: npt.NDArray[Any]) -> bytes:
    _check(pixels, (1, 2, 3, 4), (np.uint8, np.uint16), "a PNG")
    if pixels.dtype == np.uint16:
        return png.encode_wide(pixels)
    out = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(out, "PNG")
    return out.getvalue()


def _check(pixels: npt.NDArray[Any], channels: tuple[int, ...], dtypes: tuple[type, ...], what: str) -> None:
    good = pixels.ndim == 3 and pixels.shape[-1] in channels and pixels.dtype in dtypes and pixels.size > 0
    if not good:
        names = " or ".join(np.dtype(d).name for d in dtypes)
        raise ImageError(
            f"{what} needs {names} of shape (H, W) or (H, W, C) with C one of {channels}, "
            f"got {pixels.dtype} {pixels.shape}"
        )
