"""Pictures: decoding, encoding, resizing, and transforms that fill a batch's rows."""

from wellfed.image.decode import MAX_PIXELS, DecodeOptions, decode_image
from wellfed.image.encode import encode_image
from wellfed.image.formats import FORMATS, sniff_format
from wellfed.image.info import ImageInfo, image_info
from wellfed.image.resize import resize

__all__ = [
    "FORMATS",
    "MAX_PIXELS",
    "DecodeOptions",
    "ImageInfo",
    "decode_image",
    "encode_image",
    "image_info",
    "resize",
    "sniff_format",
]
