"""What happens to a picture between its source and its shard: nothing, unless asked for.

bytes --header, end-->  the same bytes                      the default
      --decode, resize, crop, turn, encode-->  other bytes  where an option asks for what the picture is not yet
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import JpegImagePlugin, PngImagePlugin

from wellfed import image
from wellfed.columns import Bytes
from wellfed.datasets import Image, Scalar, Schema, Text
from wellfed.errors import ImageError, PackError
from wellfed.packing.options import PictureOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from wellfed.datasets import FeatureType

_CHANNELS = {"rgb": 3, "bgr": 3, "grey": 1, None: 0}
_FIELD_TYPES: dict[str, FeatureType] = {"format": Text(), "height": Scalar(), "width": Scalar(), "channels": Scalar()}


@dataclass(frozen=True, slots=True)
class Facts:
    """What one stored picture is, or what all pictures of a shard have in common: None where they differ."""

    format: str | None
    height: int | None
    width: int | None
    channels: int | None
    bits: int | None

    def common(self, other: Facts) -> Facts:
        """Returns what both have in common."""
        pairs = zip(self.values(), other.values(), strict=True)
        return Facts(*(mine if mine == its else None for mine, its in pairs))  # type: ignore[arg-type]  # same order

    def values(self) -> tuple[str | int | None, ...]:
        """Returns the facts in order."""
        return self.format, self.height, self.width, self.channels, self.bits


@dataclass(frozen=True, slots=True)
class PictureWork:
    """Does to the pictures of an item what the options ask for.

    Attributes:
      names: The features that hold pictures.
      options: What is asked for.
    """

    names: tuple[str, ...]
    options: PictureOptions

    def apply(self, item: dict[str, Any], seen: dict[str, Facts]) -> dict[str, Any]:
        """Returns the item with its pictures as they are stored.

        Args:
          item: A row's values.
          seen: Facts of the pictures so far; those of this item are joined in.

        Raises:
          ImageError: A picture is damaged, or the options do not fit it.
        """
        if not self.names:
            return item
        item = dict(item)
        for name in self.names:
            item[name], facts = prepare_picture(item[name], self.options)
            if seen.get(name) != facts:
                seen[name] = seen[name].common(facts) if name in seen else facts
            for field_name in self.options.fields:
                item[field_name] = getattr(facts, field_name)
        return item

    def apply_columns(self, columns: dict[str, Any], seen: dict[str, Facts]) -> dict[str, Any]:
        """`apply` for many items at once: each value is a column.

        Raises:
          ImageError: As `apply`, without saying which of the pictures it is.
        """
        if not self.names:
            return columns
        columns = dict(columns)
        for name in self.names:
            columns[name], facts = prepare_pictures(columns[name], self.options)
            for found in facts:
                if seen.get(name) != found:
                    seen[name] = seen[name].common(found) if name in seen else found
            if self.options.fields:
                every = facts if len(facts) == len(columns[name]) else facts * len(columns[name])
                columns |= {
                    field_name: [getattr(one, field_name) for one in every] for field_name in self.options.fields
                }
        return columns


def prepare_pictures(column: Any, options: PictureOptions) -> tuple[Any, list[Facts]]:
    """Returns a column of pictures as they are stored, and what each is; one fact where all are alike."""
    if isinstance(column, np.ndarray) and len(column) and not options.changes_pixels:
        return column, [prepare_picture(column[0], options)[1]]
    if isinstance(column, Bytes) and options == PictureOptions() and (facts := plain_pngs(column)) is not None:
        return column, facts
    pictures = [column.view(at) for at in range(len(column))] if isinstance(column, Bytes) else column
    prepared = [prepare_picture(picture, options) for picture in pictures]
    stored, facts = [picture for picture, _ in prepared], [fact for _, fact in prepared]
    kept = isinstance(column, Bytes) and all(one is other for one, other in zip(stored, pictures, strict=True))
    return column if kept else stored, facts


def plain_pngs(column: Bytes) -> list[Facts] | None:
    """Returns the facts of pictures that are all PNGs of the plainest kind, each only once; None if one is not.

    Plain is what begins with an IHDR of 8 bits a sample and no palette, and ends with an IEND: what `prepare_picture`
    would find by looking at each, for a whole column of small pictures at once.
    """
    if not len(column) or column.sizes.min() < _PNG_LEAST_BYTES:
        return None
    heads = column.data[column.starts[:, np.newaxis] + np.arange(_PNG_HEAD_BYTES)]
    tails = column.data[(column.starts + column.sizes)[:, np.newaxis] + np.arange(-len(_PNG_END), 0)]
    colours = _PNG_CHANNELS[heads[:, 25]]
    plain = (heads[:, :16] == _PNG_BEGIN).all() and (tails == np.frombuffer(_PNG_END, np.uint8)).all()
    if not plain or (heads[:, 24] != 8).any() or not colours.all():
        return None
    sizes = np.ascontiguousarray(heads[:, 16:24]).view(">u4")
    sums = heads[:, 29:33].copy().view(">u4").ravel()
    if not sizes.all() or any(zlib.crc32(head) != due for head, due in zip(heads[:, 12:29].copy(), sums, strict=True)):
        return None
    kinds = np.unique(np.column_stack([sizes, colours]).astype(np.int64), axis=0)
    return [Facts("png", height, width, channels, 8) for width, height, channels in kinds.tolist()]


def prepare_picture(value: Any, options: PictureOptions) -> tuple[Any, Facts]:
    """Returns a picture as it is stored, bytes or pixels (height, width, channels), and what it is."""
    if isinstance(value, np.ndarray):
        pixels = value[:, :, np.newaxis] if value.ndim == 2 else value
        channels = _CHANNELS[options.channels]
        if options.channels == "bgr" and pixels.shape[-1] == 3:
            pixels = pixels[:, :, ::-1]  # Sources give RGB.
        elif channels and pixels.shape[-1] != channels:
            # Between grey and colour by the one way there is: through an encoded picture.
            return prepare_picture(
                image.encode_image(pixels, "png"),
                replace(options, encoding="raw" if options.encoding == "keep" else options.encoding),
            )
        return _store(pixels, _kept(options, "raw"), options)
    info = image.image_info(value)
    if info.gzip:  # 26 pictures of ImageNet are; nothing but wellfed reads them so.
        value = gzip.decompress(value)
    target = _kept(options, info.format)
    if not _differs(info, target, options):
        _check_end(value, info.format)
        if options.check:
            image.decode_image(value, channels=0, dtype="uint16" if info.bits > 8 else "uint8")
            _check_opens(value, info.format)
        return value, Facts(info.format, info.height, info.width, info.channels, info.bits)
    pixels = image.decode_image(
        value,
        channels=_CHANNELS[options.channels],  # type: ignore[arg-type]  # one of 0, 1 and 3
        order="bgr" if options.channels == "bgr" else "rgb",
        dtype="uint16" if info.bits > 8 and target != "jpeg" else "uint8",
        exif="apply" if options.exif == "apply" else "ignore",
    )
    return _store(pixels, target if target in ("jpeg", "raw") else "png", options)


def stored_schema(schema: Schema, options: PictureOptions, sample: Mapping[str, Any]) -> tuple[Schema, PictureWork]:
    """Returns the schema of what is stored, and the work that makes it so.

    Args:
      schema: The source's.
      options: What is asked for.
      sample: An item of the source, which tells whether its pictures come as bytes or as pixels; may be empty.

    Raises:
      PackError: The options need pictures, or one picture an item, and the source has others.
    """
    names = tuple(name for name, kind in schema.items() if isinstance(kind, Image))
    if not names and (options.changes_pixels or options.fields):
        raise PackError("picture options were given, but the source has no pictures", "pack")
    if options.fields and len(names) != 1:
        raise PackError(f"fields need one picture an item, the source has {len(names)}", "pack")
    if taken := [name for name in options.fields if name in schema]:
        raise PackError(f"the source has a feature {taken[0]!r} of its own: leave it out of fields", "pack")
    types: dict[str, FeatureType] = {}
    for name in names:
        kind = schema[name]
        assert isinstance(kind, Image)
        types[name] = _stored_type(kind, options, sample.get(name))
    return schema.replace({**types, **{name: _FIELD_TYPES[name] for name in options.fields}}), PictureWork(
        names, options
    )


def narrowed_schema(schema: Schema, seen: Mapping[str, Facts]) -> Schema:
    """Returns the schema with the sizes and formats that all stored pictures turned out to share."""
    types: dict[str, Image] = {}
    for name, facts in seen.items():
        kind = schema[name]
        assert isinstance(kind, Image)
        known = facts.format if facts.format in ("jpeg", "png", "raw") else None
        dtype = np.uint16 if facts.bits == 16 else np.uint8
        types[name] = Image((facts.height, facts.width, facts.channels), dtype, known)
    return schema.replace(types)


def _kept(options: PictureOptions, own: str) -> str:
    return own if options.encoding == "keep" else options.encoding


def _differs(info: image.ImageInfo, target: str, options: PictureOptions) -> bool:
    """Says whether the stored picture has to be another one than the picture that came."""
    channels = _CHANNELS[options.channels]
    return (
        info.format != target
        or options.resize is not None
        or options.crop is not None
        or options.channels == "bgr"
        or channels not in {0, info.channels}
        or (options.exif == "apply" and info.orientation != 1)
    )


def _store(pixels: NDArray[Any], target: str, options: PictureOptions) -> tuple[Any, Facts]:
    pixels = _cropped(_resized(pixels, options.resize), options.crop)
    height, width, channels = pixels.shape
    facts = Facts(target, height, width, channels, pixels.dtype.itemsize * 8)
    if target == "raw":
        return pixels, facts
    return image.encode_image(pixels, target, quality=options.quality), facts  # type: ignore[arg-type]  # jpeg or png


def _resized(pixels: NDArray[Any], size: tuple[int, int] | int | None) -> NDArray[Any]:
    height, width, _ = pixels.shape
    if isinstance(size, int):
        shorter = min(height, width)
        size = (max(1, round(height * size / shorter)), max(1, round(width * size / shorter)))
    if size is None or size == (height, width):
        return pixels
    # Averaging loses no detail on the way down; on the way up there is nothing to average.
    method: Literal["area", "bilinear"] = "area" if size[0] <= height and size[1] <= width else "bilinear"
    return image.resize(pixels, size, method, dtype=pixels.dtype)


def _cropped(pixels: NDArray[Any], size: tuple[int, int] | None) -> NDArray[Any]:
    if size is None:
        return pixels
    height, width, _ = pixels.shape
    if height < size[0] or width < size[1]:
        raise ImageError(f"is {height} x {width}, too small to cut {size[0]} x {size[1]} from it: resize first")
    top, left = (height - size[0]) // 2, (width - size[1]) // 2
    return np.ascontiguousarray(pixels[top : top + size[0], left : left + size[1]])


def _stored_type(kind: Image, options: PictureOptions, sample: Any) -> Image:
    if (isinstance(sample, np.ndarray) and options.encoding in ("keep", "raw")) or (
        options.encoding == "raw" and sample is not None
    ):
        _, facts = prepare_picture(sample, options)
    else:
        return Image((None, None, _CHANNELS[options.channels] or kind.shape[2]), kind.dtype)
    dtype = np.uint16 if facts.bits == 16 else np.uint8
    return Image((facts.height, facts.width, facts.channels), dtype, "raw")


def _check_end(encoded: bytes, name: str) -> None:
    """Raises `ImageError` where a JPEG or PNG was cut, without decoding it."""
    view = memoryview(encoded)
    if name == "png":
        _check_png_end(view)
    elif name == "jpeg" and view[-2:] != _JPEG_END and bytes(view).rfind(_JPEG_END) < 0:
        raise ImageError(f"the JPEG of {len(view)} bytes is cut: it has no end marker")


# The other formats are decoded by Pillow itself. Its classes, not Image.open, which warns about sizes.
_PILLOW = {"jpeg": JpegImagePlugin.JpegImageFile, "png": PngImagePlugin.PngImageFile}


def _check_opens(encoded: bytes, name: str) -> None:
    """Raises `ImageError` where Pillow, by which most other tools read, cannot open what the decoder takes."""
    if name not in _PILLOW:
        return
    try:
        _PILLOW[name](io.BytesIO(encoded)).close()
    except Exception as error:  # Pillow's readers raise anything on damaged bytes.
        raise ImageError(f"Pillow cannot open the {name.upper()} of {len(encoded)} bytes: {error}") from error


# Signature, then a chunk of 13 bytes named IHDR: width, height, bits, colour type, ... Source: PNG specification,
# third edition, section 11.2.1. The table gives channels by colour type, 0 where a palette or nothing stands for it.
_PNG_BEGIN = np.frombuffer(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", np.uint8)
_PNG_CHANNELS = np.array([1, 0, 3, 0, 2, 0, 4] + [0] * 249)
_PNG_HEAD_BYTES = 33
_PNG_LEAST_BYTES = _PNG_HEAD_BYTES + 12

_JPEG_END = b"\xff\xd9"
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


def _check_png_end(view: memoryview) -> None:
    """Walks the chunks: length, name, content, CRC. Source: PNG specification, third edition, section 5.3."""
    if view[-12:] == _PNG_END:
        return
    pos = 8
    while len(view) - pos >= 12:
        length, name = int.from_bytes(view[pos : pos + 4]), bytes(view[pos + 4 : pos + 8])
        if length > len(view) - pos - 12:
            break
        if name == b"IEND":
            return
        pos += 12 + length
    raise ImageError(f"the PNG of {len(view)} bytes is cut: it has no end chunk")
