"""Resizing pictures by the rules of both TensorFlows.

resize            TensorFlow 2's: half-pixel centres
resize_images     TensorFlow 1's: no half-pixel centres, and `align_corners`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wellfed import image as pictures
from wellfed.compat.arrays import cast
from wellfed.compat.deferred.dtypes import as_dtype, float32
from wellfed.compat.deferred.eager import as_value, is_deferred
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import Call, lifted
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.image import pixels


class ResizeMethod:
    """The ways of resizing that are here; Lanczos, Gaussian and Mitchell's ones are not."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"


_WAYS = ("bilinear", "nearest", "bicubic", "area")
_METHODS: dict[Any, str] = {**dict(enumerate(_WAYS)), **{way: way for way in _WAYS}}


def _method(method: Any) -> str:
    if method not in _METHODS:
        raise NotImplementedError(
            f"method {method!r} is not kept in wellfed.compat: bilinear, nearest, bicubic and area are"
        )
    return _METHODS[method]


def shape_of(value: Any) -> TensorShape:
    """Gives what is known of a value's shape."""
    return value.shape if isinstance(value, Tensor) else TensorShape(np.shape(value))


def dtype_of(value: Any) -> Any:
    """Gives a value's dtype."""
    return value.dtype if isinstance(value, Tensor) else as_dtype(np.asarray(as_value(value)).dtype)


def _sized(images: Any, size: Any) -> Any:
    """Gives what is known of the shape of pictures of a new size."""
    known = [None, None] if isinstance(size, Tensor) else [None if isinstance(n, Tensor) else int(n) for n in size]
    sizes = shape_of(images).sizes
    if sizes is None or len(sizes) < 3:
        return None
    return [*sizes[:-3], *known, sizes[-1]]


def _pair(size: Any) -> tuple[int, int]:
    height, width = (int(n) for n in np.asarray(size).tolist())
    return height, width


def _resize_static(images: Any, size: Any, method: Any) -> Any:
    return dtype_of(images) if _method(method) == "nearest" else float32, _sized(images, size)


def resize_options(call: Call) -> tuple[tuple[int, int], str] | None:
    """Gives size and method of a call of `resize`; None where it asks for more, or the size is not known."""
    names = ("images", "size", "method", "preserve_aspect_ratio", "antialias")
    given = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    kind = _method(given.get("method", "bilinear"))
    more = given.get("preserve_aspect_ratio") or given.get("antialias")
    if more or kind in ("nearest", "bicubic") or is_deferred(given["size"]):
        return None
    return _pair(given["size"]), kind


def _resize_rows(call: Call, inputs: Any, columns: Any, count: int) -> Any:
    """Resizes pictures of any size into the rows of one batch."""
    del inputs
    found, images = resize_options(call), columns[0]
    if found is None or len(columns) != 1 or not isinstance(images, list):
        return None
    size, kind = found
    channels = images[0].shape[-1]
    fits = all(i.ndim == 3 and i.shape[2] == channels and i.dtype.name in pixels.SOURCES for i in images)
    if not fits or channels > 4:
        return None
    out = np.empty((count, *size, channels), np.float32)
    for at, picture in enumerate(images):
        geometry = np.array([pixels.whole(picture.shape[0], picture.shape[1], size)], np.int64)
        pixels.run(picture[None], geometry, out[at : at + 1], out_type="float32", method=kind, rounded="float32")
    return out


def _resize_kind(images: Any, size: Any, method: Any = "bilinear", preserve: Any = False, *_: Any, **more: Any) -> Any:
    dtype, sizes = _resize_static(images, size, method)
    if sizes is not None and (preserve or more.get("preserve_aspect_ratio")):
        sizes = [*sizes[:-3], None, None, sizes[-1]]  # Fits into the size given.
    return dtype, sizes


@lifted(static=_resize_kind, style=_resize_rows)
def resize(
    images: Any, size: Any, method: Any = "bilinear", preserve_aspect_ratio: bool = False, antialias: bool = False
) -> Any:
    """Gives pictures of another size, by TensorFlow 2's rule. See `wellfed.image.resize`.

    Args:
      images: One picture, or a batch.
      size: (height, width). [pixels]
      method: "bilinear", "nearest", "bicubic" or "area".
      preserve_aspect_ratio: Fit into `size` instead of filling it.
      antialias: Not kept here; "area" does not need it.

    Returns:
      float32; for "nearest" the dtype of `images`.

    Raises:
      NotImplementedError: `antialias`, or another method.
    """
    if antialias:
        raise NotImplementedError('antialias=True is not kept in wellfed.compat: method="area" averages')
    whole = np.asarray(as_value(images))
    height, width = _pair(size)
    if preserve_aspect_ratio:
        scale = min(height / whole.shape[-3], width / whole.shape[-2])
        height, width = round(whole.shape[-3] * scale), round(whole.shape[-2] * scale)
    kind = _method(method)
    if kind == "nearest":
        return _nearest(whole, height, width, centre=0.5)
    if kind == "bicubic":
        return _bicubic(whole.astype(np.float32), height, width, centre=0.5)
    if whole.dtype.name not in ("uint8", "uint16", "float32"):
        whole = whole.astype(np.float32)
    return pictures.resize(whole, (height, width), kind)  # type: ignore[arg-type]  # One of the two methods.


def _padded_static(
    image: Any, target_height: Any, target_width: Any, method: Any = "bilinear", *_: Any, **__: Any
) -> Any:
    return _resize_static(image, [target_height, target_width], method)


@lifted(static=_padded_static)
def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = "bilinear", antialias: bool = False
) -> Any:
    """Gives pictures that fit into a size with their sides' ratio kept, and zeros around them.

    Args:
      image: One picture, or a batch.
      target_height: Height. [pixels]
      target_width: Width. [pixels]
      method: As in `resize`.
      antialias: Not kept here.

    Returns:
      float32; for "nearest" the dtype of `image`.

    Raises:
      NotImplementedError: `antialias`, or another method.
    """
    have = np.array(np.shape(as_value(image))[-3:-1], np.float32)
    want = np.array([int(target_height), int(target_width)])
    exact = have / (have / want.astype(np.float32)).max()
    size = np.floor(exact).astype(int)
    before = np.floor((want - exact) / 2).astype(int)
    pixels = np.asarray(resize.__wrapped__(image, size, method, antialias=antialias))
    sides = [(0, 0)] * (pixels.ndim - 3) + [*zip(before, want - size - before, strict=True), (0, 0)]
    return np.pad(pixels, sides)


def _nearest(pixels: Any, height: int, width: int, *, centre: float, corners: bool = False) -> Any:
    rows, columns = (
        _places(have, want, centre, corners=corners)
        for have, want in zip(pixels.shape[-3:-1], (height, width), strict=True)
    )
    pick = (lambda at: np.floor(at + 0.5)) if corners else np.floor  # Halves up, as roundf.
    rows, columns = (
        np.clip(pick(at), 0, have - 1).astype(int)
        for at, have in zip((rows, columns), pixels.shape[-3:-1], strict=True)
    )
    return pixels[..., rows[:, None], columns, :]


def _places(have: int, want: int, centre: float, *, corners: bool) -> Any:
    """Gives where each pixel of the result lies in the picture, in TensorFlow's precision."""
    scale = (have - 1) / (want - 1) if corners and want > 1 else have / want
    return (np.arange(want, dtype=np.float32) + np.float32(centre)) * np.float32(scale)


def _legacy_static(images: Any, size: Any, method: Any = 0, *_: Any, **__: Any) -> Any:
    shape = _sized(images, size)
    same = shape is not None and shape_of(images).sizes == tuple(shape) and None not in shape
    return dtype_of(images) if same or _method(method) == "nearest" else float32, shape


@lifted(static=_legacy_static)
def resize_images(
    images: Any, size: Any, method: Any = 0, align_corners: bool = False, preserve_aspect_ratio: bool = False
) -> Any:
    """Gives pictures of another size, by TensorFlow 1's rule, which has no half-pixel centres.

    Args:
      images: One picture, or a batch.
      size: (height, width). [pixels]
      method: "bilinear", "nearest", "bicubic" or "area", or TensorFlow 1's numbers from 0 to 3.
      align_corners: Whether the corners' pixels stay where they are.
      preserve_aspect_ratio: Not kept here.

    Returns:
      float32; for "nearest", and where the size is the same, the dtype of `images`.

    Raises:
      NotImplementedError: `preserve_aspect_ratio`, or another method.
    """
    if preserve_aspect_ratio:
        raise NotImplementedError(
            "resize_images keeps no preserve_aspect_ratio in wellfed.compat: tf.image.resize does"
        )
    pixels = np.asarray(as_value(images))
    height, width = _pair(size)
    kind = _method(method)
    if pixels.shape[-3:-1] == (height, width):
        return pixels
    if kind == "area":
        return pictures.resize(
            pixels if pixels.dtype == np.uint8 else pixels.astype(np.float32), (height, width), "area"
        )
    if kind == "nearest":
        return _nearest(pixels, height, width, centre=0.0, corners=align_corners)
    if kind == "bicubic":
        return _bicubic(pixels.astype(np.float32), height, width, centre=0.0, corners=align_corners)
    return _bilinear(pixels.astype(np.float32), height, width, corners=align_corners)


def _bilinear(pixels: Any, height: int, width: int, *, corners: bool) -> Any:
    """Blends the four pixels around each place, first down, then across."""
    for axis, want in ((-3, height), (-2, width)):
        have = pixels.shape[axis]
        at = _places(have, want, 0.0, corners=corners)
        low = np.minimum(np.floor(at).astype(int), have - 1)
        high = np.minimum(low + 1, have - 1)
        weight = (at - low).astype(np.float32).reshape(-1, *[1] * (-1 - axis))
        first, second = np.take(pixels, low, axis), np.take(pixels, high, axis)
        pixels = first + (second - first) * weight
    return pixels


def _bicubic(pixels: Any, height: int, width: int, *, centre: float, corners: bool = False) -> Any:
    """Blends the sixteen pixels around each place by a cubic curve, first down, then across.

    TensorFlow 2's rule (half-pixel centres) has Keys' curve and leaves pixels outside the picture out; TensorFlow 1's
    has a steeper one and repeats the pixel at the edge.
    """
    keys = centre != 0.0
    for axis, want in ((-3, height), (-2, width)):
        have = pixels.shape[axis]
        at = _places(have, want, centre, corners=corners) - np.float32(centre)
        low = np.floor(at).astype(np.int64)
        step = np.rint((at - low) * np.float32(_STEPS)) / _STEPS  # TensorFlow looks weights up in a table.
        near = low[:, None] + np.arange(-1, 3)
        weights = _cubic(np.abs(step[:, None] - np.arange(-1, 3)), -0.5 if keys else -0.75)
        if keys:
            weights = np.where((near >= 0) & (near < have), weights, np.float32(0))
            weights = weights / weights.sum(axis=1, keepdims=True)
        taken = np.take(pixels, np.clip(near, 0, have - 1), axis)  # (..., want, 4, ...) in place of the axis.
        pixels = (taken * weights.reshape(*weights.shape, *[1] * (-1 - axis))).sum(axis=axis, dtype=np.float32)
    return pixels


_STEPS = 1024


def _cubic(distance: Any, a: float) -> Any:
    """Gives the weights of pixels at distances from 0 to 2; `a` is the curve's slope at 1."""
    inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    outer = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, inner, outer).astype(np.float32)


def resize_bilinear(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Any:
    """Gives a batch of another size, blended, by TensorFlow 1's rule; float32."""
    return resize_images(cast(images, float32), size, 0, align_corners, name=name)


def resize_bicubic(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Any:
    """Gives a batch of another size, by a cubic curve and TensorFlow 1's rule; float32."""
    return resize_images(cast(images, float32), size, 2, align_corners, name=name)


def resize_nearest_neighbor(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Any:
    """Gives a batch of another size, of the nearest pixels, by TensorFlow 1's rule."""
    return resize_images(images, size, 1, align_corners, name=name)


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Any:
    """Gives a batch of another size, averaged; float32."""
    return resize_images(cast(images, float32), size, 3, align_corners, name=name)
