"""Pictures: `tf.image`. Decoding, resizing, cropping, turning and adjusting pixels.

Each function takes pixels and gives pixels at once, or takes a tensor and gives one. Pixels are (height, width,
channels), or a batch of such.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wellfed.compat.colours import (
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjusted,
    convert_image_dtype,
    drawn,
    hsv_to_rgb,
    random_hue,
    random_saturation,
    rgb_to_hsv,
)
from wellfed.compat.deferred.eager import as_value
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import lifted
from wellfed.compat.deferred.randomness import randomly
from wellfed.compat.missing import refuse
from wellfed.compat.pictures import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from wellfed.compat.random import random_crop as _random_crop
from wellfed.compat.resizing import (
    ResizeMethod,
    dtype_of,
    resize,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_images,
    resize_nearest_neighbor,
    resize_with_pad,
    shape_of,
)

# --- Cutting and padding -------------------------------------------------------------------------


@lifted(style="picture")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Gives the part of pictures that begins at an offset and has a size.

    Raises:
      ValueError: The part does not lie inside.
    """
    pixels = np.asarray(as_value(image))
    top, left, height, width = int(offset_height), int(offset_width), int(target_height), int(target_width)
    if top < 0 or left < 0 or top + height > pixels.shape[-3] or left + width > pixels.shape[-2]:
        raise ValueError(
            f"a box of {height}x{width} at ({top}, {left}) is not inside {pixels.shape[-3]}x{pixels.shape[-2]}"
        )
    return pixels[..., top : top + height, left : left + width, :]


@lifted(style="picture")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Gives pictures with zeros around them: at an offset inside a size.

    Raises:
      ValueError: They do not fit inside.
    """
    pixels = np.asarray(as_value(image))
    top, left, height, width = int(offset_height), int(offset_width), int(target_height), int(target_width)
    below, right = height - top - pixels.shape[-3], width - left - pixels.shape[-2]
    if min(top, left, below, right) < 0:
        raise ValueError(
            f"{pixels.shape[-3]}x{pixels.shape[-2]} at ({top}, {left}) does not fit inside {height}x{width}"
        )
    return np.pad(pixels, [(0, 0)] * (pixels.ndim - 3) + [(top, below), (left, right), (0, 0)])


@lifted(style="picture")
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Gives pictures of another size, cut or padded with zeros evenly on all sides."""
    pixels = np.asarray(as_value(image))
    for axis, want in ((-3, int(target_height)), (-2, int(target_width))):
        have = pixels.shape[axis]
        cut, room = max(0, (have - want) // 2), max(0, (want - have) // 2)
        pixels = np.take(pixels, np.arange(cut, cut + min(have, want)), axis)
        widths = [(0, 0)] * pixels.ndim
        widths[axis] = (room, max(0, want - have - room))
        pixels = np.pad(pixels, widths)
    return pixels


resize_image_with_crop_or_pad = resize_with_crop_or_pad


@lifted(style="picture")
def central_crop(image: Any, central_fraction: float) -> Any:
    """Gives the middle of pictures: that part of the height and of the width.

    Raises:
      ValueError: The part is not in (0, 1].
    """
    if not 0 < central_fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    pixels = np.asarray(as_value(image))
    starts = [int((have - have * central_fraction) / 2) for have in pixels.shape[-3:-1]]
    (top, left), (height, width) = starts, pixels.shape[-3:-1]
    return pixels[..., top : height - top, left : width - left, :]


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Gives a part of the shape `size`, from a random place."""
    return _random_crop(value, size, seed, name, wait=False)


# --- Turning -------------------------------------------------------------------------------------


@lifted(style="picture")
def flip_left_right(image: Any) -> Any:
    """Gives pictures with left and right exchanged."""
    return np.asarray(as_value(image))[..., ::-1, :].copy()


@lifted(style="picture")
def flip_up_down(image: Any) -> Any:
    """Gives pictures with top and bottom exchanged."""
    return np.asarray(as_value(image))[..., ::-1, :, :].copy()


@lifted(style="picture")
def transpose(image: Any) -> Any:
    """Gives pictures with rows and columns exchanged."""
    return np.swapaxes(np.asarray(as_value(image)), -3, -2).copy()


transpose_image = transpose


@lifted(style="picture")
def rot90(image: Any, k: Any = 1) -> Any:
    """Gives pictures turned by k quarters, against the clock."""
    return np.rot90(np.asarray(as_value(image)), int(k), (-3, -2)).copy()


def _maybe(turn: Any, image: Any, seed: int | None, name: str) -> Any:
    def draw(rng: np.random.Generator, pixels: Any) -> Any:
        return turn(pixels) if rng.random() < 0.5 else pixels

    return randomly(draw, (_given(image),), seed, name, (dtype_of(image), shape_of(image)))


def _given(image: Any) -> Any:
    return image if isinstance(image, Tensor) else np.asarray(as_value(image))


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Gives a picture as it is, or with left and right exchanged, one as often as the other."""
    return _maybe(flip_left_right.__wrapped__, image, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Gives a picture as it is, or with top and bottom exchanged, one as often as the other."""
    return _maybe(flip_up_down.__wrapped__, image, seed, "random_flip_up_down")


# --- Adjusting -----------------------------------------------------------------------------------


@lifted(style="picture")
def per_image_standardization(image: Any) -> Any:
    """Gives pictures with mean 0 and variance 1, each by its own; float32."""
    pixels = np.asarray(as_value(image)).astype(np.float32)
    axes = (-3, -2, -1)
    count = np.prod(pixels.shape[-3:])
    spread = np.maximum(pixels.std(axes, keepdims=True), 1.0 / np.sqrt(count))
    return ((pixels - pixels.mean(axes, keepdims=True)) / spread).astype(np.float32)


@lifted(style="picture")
def adjust_brightness(image: Any, delta: Any) -> Any:
    """Gives pictures with `delta` added, where the largest integer stands for 1.0."""
    return adjusted(image, lambda pixels: pixels + np.float32(delta))


@lifted(style="picture")
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Gives pictures with each channel's distance from its mean multiplied."""

    def change(pixels: Any) -> Any:
        mean = pixels.mean((-3, -2), keepdims=True)
        return (pixels - mean) * np.float32(contrast_factor) + mean

    return adjusted(images, change)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Gives a picture with a random number from [-max_delta, max_delta) added, as `adjust_brightness` does."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")

    return drawn("random_brightness", adjust_brightness, image, -max_delta, max_delta, seed)


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Gives a picture with its contrast multiplied by a random number from [lower, upper)."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and below upper.")

    return drawn("random_contrast", adjust_contrast, image, lower, upper, seed)


@lifted(style="picture")
def rgb_to_grayscale(images: Any) -> Any:
    """Gives pictures with one channel, the brightness."""
    return adjusted(images, lambda pixels: pixels @ np.array([[0.2989], [0.587], [0.114]], np.float32))


@lifted(style="picture")
def grayscale_to_rgb(images: Any) -> Any:
    """Gives pictures with their one channel three times."""
    return np.repeat(np.asarray(as_value(images)), 3, axis=-1)


__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "is_jpeg",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "transpose",
    "transpose_image",
]

__getattr__ = functools.partial(refuse, "image")
