"""Resizing by TensorFlow's rules: bilinear with half-pixel centres and no antialias, or area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def resize(
    image: npt.NDArray[Any], size: tuple[int, int], method: Literal["bilinear", "area"] = "bilinear"
) -> npt.NDArray[np.float32]:
    """Resizes one picture, or a batch of pictures of one size.

    Args:
      image: Array of shape `(H, W, C)` or `(B, H, W, C)`: uint8, uint16 or float32.
      size: (height, width) of the result. [pixels]
      method: "bilinear" blends the four nearest pixels (no antialias: for small steps, or up); "area" averages all that
        a result's pixel covers (for large steps down).

    Returns:
      float32 array of shape `(height, width, C)` or `(B, height, width, C)`.

    Differs from `tf.image.resize`:
      Nothing but rounding of the last digit. Source: kernel resize_bilinear with half_pixel_centers, resize_area.
    """
    if method not in {"bilinear", "area"}:
        raise ValueError(f'method must be "bilinear" or "area", got {method!r}')
    down = _weights(image.shape[-3], size[0], method)
    across = _weights(image.shape[-2], size[1], method)
    rows = np.einsum("yh,...hwc->...ywc", down, image.astype(np.float32), optimize=True)
    result: npt.NDArray[np.float32] = np.einsum("xw,...ywc->...yxc", across, rows, optimize=True)
    return result


def _weights(source: int, target: int, method: str) -> npt.NDArray[np.float32]:
    """How much each source pixel gives to each target pixel: `(target, source)`, rows sum to 1."""
    scale = np.float32(source) / np.float32(target)
    weights = np.zeros((target, source), np.float32)
    for place in range(target):
        if method == "bilinear":
            at = np.float32(place + 0.5) * scale - np.float32(0.5)
            below = np.floor(at)
            weights[place, max(int(below), 0)] += 1 - (at - below)
            weights[place, min(int(np.ceil(at)), source - 1)] += at - below
        else:
            start, stop = place * scale, (place + 1) * scale
            edges = np.clip(np.arange(source + 1, dtype=np.float32), start, stop)
            weights[place] = np.diff(edges) / scale
    return weights
