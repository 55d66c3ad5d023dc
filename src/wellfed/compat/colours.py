"""Hue, saturation and gamma: the part of `tf.image` that looks at all channels of a pixel at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import as_value
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import lifted
from wellfed.compat.deferred.randomness import randomly
from wellfed.compat.resizing import dtype_of, shape_of


@lifted(static=lambda image, dtype, *_, **__: (dtype, shape_of(image)), style="picture")
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False) -> Any:
    """Gives pictures in another dtype; the largest integer stands for 1.0."""
    pixels, kind = np.asarray(as_value(image)), as_dtype(dtype).dtype
    if pixels.dtype == kind:
        return pixels
    if pixels.dtype.kind == kind.kind == "f":
        return pixels.astype(kind)
    if kind.kind == "f":
        return (pixels.astype(kind) * (1.0 / np.iinfo(pixels.dtype).max)).astype(kind)
    if pixels.dtype.kind == "f":
        scaled = pixels * (np.iinfo(kind).max + 0.5)
        return (np.clip(scaled, 0, np.iinfo(kind).max) if saturate else scaled).astype(kind)
    shift = 8 * (kind.itemsize - pixels.dtype.itemsize)
    return pixels.astype(kind) << shift if shift > 0 else (pixels >> -shift).astype(kind)


def adjusted(image: Any, change: Any) -> Any:
    """Changes pixels as float32, where the largest integer is 1.0, and gives them in their own dtype."""
    pixels = np.asarray(as_value(image))
    floats = convert_image_dtype.__wrapped__(pixels, np.float32)
    return convert_image_dtype.__wrapped__(change(floats).astype(np.float32), pixels.dtype, saturate=True)


def drawn(name: str, adjust: Any, image: Any, low: float, high: float, seed: int | None) -> Any:
    """Gives a picture adjusted by a random number from [low, high)."""

    def draw(rng: np.random.Generator, pixels: Any) -> Any:
        return adjust.__wrapped__(pixels, rng.uniform(low, high))

    given = image if isinstance(image, Tensor) else np.asarray(as_value(image))
    return randomly(draw, (given,), seed, name, (dtype_of(image), shape_of(image)))


@lifted(style="picture")
def rgb_to_hsv(images: Any) -> Any:
    """Gives hue, saturation and value, from 0 to 1, of pixels from 0 to 1."""
    pixels = np.asarray(as_value(images))
    red, green, blue = np.moveaxis(pixels, -1, 0)
    value = pixels.max(-1)
    span = value - pixels.min(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(value > 0, span / value, 0)
        turns = np.select(
            [red == value, green == value],
            [(green - blue) / span, 2 + (blue - red) / span],
            4 + (red - green) / span,
        )
    hue = np.where(span > 0, turns / 6, 0)
    return np.stack([hue + (hue < 0), saturation, value], -1).astype(pixels.dtype)


@lifted(style="picture")
def hsv_to_rgb(images: Any) -> Any:
    """Gives pixels from 0 to 1 of hue, saturation and value."""
    pixels = np.asarray(as_value(images))
    hue, saturation, value = np.moveaxis(pixels, -1, 0)
    turns = hue[..., None] * 6 - np.array([3, 2, 4])
    strength = np.clip(np.abs(turns) * [1, -1, -1] + [-1, 2, 2], 0, 1)
    return (((strength - 1) * saturation[..., None] + 1) * value[..., None]).astype(pixels.dtype)


def _in_hsv(image: Any, change: Any) -> Any:
    def recoloured(pixels: Any) -> Any:
        return hsv_to_rgb.__wrapped__(np.stack(change(*np.moveaxis(rgb_to_hsv.__wrapped__(pixels), -1, 0)), -1))

    return adjusted(image, recoloured)


@lifted(style="picture")
def adjust_saturation(image: Any, saturation_factor: Any) -> Any:
    """Gives pictures with their saturation multiplied."""
    return _in_hsv(image, lambda h, s, v: (h, np.clip(s * np.float32(saturation_factor), 0, 1), v))


@lifted(style="picture")
def adjust_hue(image: Any, delta: Any) -> Any:
    """Gives pictures with `delta` added to their hue, where 1 is once around."""
    return _in_hsv(image, lambda h, s, v: ((h + np.float32(delta)) % 1, s, v))


@lifted(style="picture")
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """Gives pictures to the power of `gamma`, times `gain`, where the largest integer stands for 1.0.

    Raises:
      ValueError: `gamma` is negative.
    """
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return adjusted(image, lambda pixels: np.float32(gain) * pixels ** np.float32(gamma))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Gives a picture with its saturation multiplied by a random number from [lower, upper)."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and below upper.")
    return drawn("random_saturation", adjust_saturation, image, lower, upper, seed)


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Gives a picture with a random number from [-max_delta, max_delta) added to its hue."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be from 0 to 0.5.")
    return drawn("random_hue", adjust_hue, image, -max_delta, max_delta, seed)
