"""Where crops lie and how large resized pictures are: arithmetic on sizes, no pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from wellfed.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Sequence

Size: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[int, int, int, int]  # top, left, height, width

_TRIES = 10
RANDOM_BOX_DRAWS = 2 * _TRIES + 2


def resized_size(height: int, width: int, size: Size | int) -> Size:
    """The size that `size` asks for: itself, or with its length as the shorter side (the longer one rounded down)."""
    if not isinstance(size, int):
        return size
    if height <= width:
        return size, max(1, size * width // height)
    return max(1, size * height // width), size


def middle(height: int, width: int, size: Size) -> Box:
    """The box of `size` in the middle; an odd rest leaves one pixel more at the bottom and right."""
    if size[0] > height or size[1] > width:
        raise ImageError(f"the picture has {height} x {width} pixels, fewer than the crop of {size[0]} x {size[1]}")
    return (height - size[0]) // 2, (width - size[1]) // 2, *size


def random_box(
    height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], draws: Sequence[float]
) -> Box:
    """A box with a random share of the area and a random shape.

    Args:
      height: Of the picture. [pixels]
      width: Of the picture. [pixels]
      scale: Smallest and largest share of the area.
      ratio: Smallest and largest width to height.
      draws: `RANDOM_BOX_DRAWS` numbers in [0, 1): area and shape of each try, then where the box lies.

    Source: torchvision.transforms.RandomResizedCrop.get_params.
    """
    area = height * width
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for attempt in range(_TRIES):
        wanted = area * (scale[0] + (scale[1] - scale[0]) * draws[2 * attempt])
        shape = math.exp(low + (high - low) * draws[2 * attempt + 1])
        box_width, box_height = round(math.sqrt(wanted * shape)), round(math.sqrt(wanted / shape))
        if 0 < box_width <= width and 0 < box_height <= height:
            top = int(draws[-2] * (height - box_height + 1))
            left = int(draws[-1] * (width - box_width + 1))
            return top, left, box_height, box_width
    # The largest box in the middle whose shape is allowed.
    if width / height < ratio[0]:
        return middle(height, width, (max(1, min(height, round(width / ratio[0]))), width))
    if width / height > ratio[1]:
        return middle(height, width, (height, max(1, min(width, round(height * ratio[1])))))
    return 0, 0, height, width


def scaled_box(box: Box, full: Size, scaled: Size) -> Box:
    """`box` of a picture of size `full` in the same picture of size `scaled`, to the nearest pixels."""
    top, height = _scaled_range(box[0], box[2], full[0], scaled[0])
    left, width = _scaled_range(box[1], box[3], full[1], scaled[1])
    return top, left, height, width


def _scaled_range(start: int, length: int, full: int, scaled: int) -> tuple[int, int]:
    begin = min(round(start * scaled / full), scaled - 1)
    end = min(round((start + length) * scaled / full), scaled)
    return begin, max(1, end - begin)
