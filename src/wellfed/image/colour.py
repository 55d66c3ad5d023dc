"""Colours to other colours, in the integer arithmetic of the libraries that everybody compares with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def luma(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Grey, (H, W, 1), of the first three channels: ITU-R BT.601 in Pillow's fixed point."""
    weighted = pixels[..., :3].astype(np.uint32) * np.array([19595, 38470, 7471], np.uint32)
    sums: npt.NDArray[np.uint32] = weighted.sum(axis=-1, dtype=np.uint32, keepdims=True)
    return ((sums + np.uint32(0x8000)) >> np.uint32(16)).astype(pixels.dtype)


def rgb_of_cmyk(pixels: npt.NDArray[np.uint8], *, inverted: bool) -> npt.NDArray[np.uint8]:
    """RGB, (H, W, 3), of CMYK as TensorFlow computes it. Adobe stores inks inverted: as the light they leave."""
    light = pixels if inverted else 255 - pixels
    return (light[..., :3].astype(np.uint16) * light[..., 3:] // 255).astype(np.uint8)


def with_alpha(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The pixels and an opaque alpha."""
    alpha = np.full((*pixels.shape[:-1], 1), np.iinfo(pixels.dtype).max, pixels.dtype)
    return np.concatenate([pixels, alpha], axis=-1)
