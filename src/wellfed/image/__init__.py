"""Pictures: decoding, encoding, resizing, and transforms that fill a batch's rows."""

from wellfed.image.decode import MAX_PIXELS, DecodeOptions, decode_image
from wellfed.image.encode import encode_image
from wellfed.image.formats import FORMATS, sniff_format
from wellfed.image.info import ImageInfo, image_info
from wellfed.image.resize import resize
from wellfed.image.seeds import split_seeds
from wellfed.image.transforms import (
    CenterCrop,
    Decode,
    Fused,
    Normalize,
    PictureTransform,
    RandomFlip,
    RandomResizedCrop,
    Resize,
    fuse,
)
from wellfed.image.values import Cast, OneHot

__all__ = [
    "FORMATS",
    "MAX_PIXELS",
    "Cast",
    "CenterCrop",
    "Decode",
    "DecodeOptions",
    "Fused",
    "ImageInfo",
    "Normalize",
    "OneHot",
    "PictureTransform",
    "RandomFlip",
    "RandomResizedCrop",
    "Resize",
    "decode_image",
    "encode_image",
    "fuse",
    "image_info",
    "resize",
    "sniff_format",
    "split_seeds",
]
