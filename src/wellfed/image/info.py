"""What a picture's header says, without decoding a pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.errors import ImageError
from wellfed.image import jpeg, pillow, png
from wellfed.image.formats import as_view, describe, sniff_format, unwrap_gzip

if TYPE_CHECKING:
    from wellfed.image.formats import Encoded


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What a picture's header says.

    Attributes:
      format: One of `FORMATS`; what the content is, whatever its name says.
      height: As stored, before any EXIF orientation. [pixels]
      width: As stored. [pixels]
      channels: What `decode_image(channels=0)` gives: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
      bits: Of a sample, 8 or 16 (or 12, which cannot be decoded); less than 8 counts as 8.
      orientation: EXIF's, 1 to 8; 1 where the picture has none.
      gzip: Whether the picture is wrapped in gzip.
    """

    format: str
    height: int
    width: int
    channels: int
    bits: int
    orientation: int = 1
    gzip: bool = False


def image_info(data: Encoded) -> ImageInfo:
    """Reads a picture's header. Costs some microseconds, and decodes no pixel.

    Args:
      data: The encoded picture, whole. Read during the call only.

    Raises:
      ImageError: The bytes are no picture of a format in `FORMATS`, or its header is damaged.

    >>> import numpy as np
    >>> from wellfed.image import encode_image
    >>> image_info(encode_image(np.zeros((2, 3, 3), np.uint8))).width
    3
    """
    outer = as_view(data)
    view = unwrap_gzip(outer)
    name = sniff_format(view)
    wrapped = view is not outer
    if name is None:
        raise ImageError(describe(view))
    if name == "jpeg":
        header = jpeg.read_header(view)
        return ImageInfo(name, header.height, header.width, header.channels, header.bits, header.orientation, wrapped)
    if name == "png":
        picture = png.read_header(view)
        return ImageInfo(
            name, picture.height, picture.width, picture.channels, picture.bits, picture.orientation, wrapped
        )
    height, width, channels, bits, orientation = pillow.read_header(view, name)
    return ImageInfo(name, height, width, channels, bits, orientation, wrapped)
