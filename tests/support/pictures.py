"""Real pictures for tests, what other libraries make of them, and the pixel pass in plain NumPy."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "EXPECTED_IMAGES.json").read_text())["images"]

GOOD = sorted(name for name in EXPECTED if "/corrupt/" not in name)
CORRUPT = sorted(name for name in EXPECTED if "/corrupt/" in name)
# Damaged, or of a kind that nobody decodes, although their folder says odd.
REFUSED = {"photos/odd/libjpeg-turbo/monkey12.jpg", "photos/odd/pillow/ultrahdr.jpg"}
# Damage that harms no pixel: bytes between a JPEG's segments, a PNG's colour profile, an index beyond a palette; and
# damage that Pillow cannot tell from a picture.
TOLERATED = {
    "photos/corrupt/libpng/regression-palette-8.png",
    "photos/corrupt/pillow/hopper_rle8_row_overflow.bmp",
    "photos/corrupt/pillow/no_palette.gif",
    "photos/corrupt/pillow/truncated_app14.jpg",
    "photos/corrupt/pillow/unknown_compression_method.png",
}

Image.init()
AVIF = pytest.param("AVIF", marks=pytest.mark.skipif("AVIF" not in Image.SAVE, reason="Pillow has AVIF from 11.3 on"))


def read(name):
    """The bytes of a picture of the corpus, with or without `photos/` before its name."""
    return (CORPUS / (name if name.startswith("photos/") else f"photos/{name}")).read_bytes()


def encoded(image, form, **options):
    """`image`, a Pillow picture or an array, encoded by Pillow."""
    picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def pixels(seed, *shape, dtype=np.uint8):
    """Pixels that look like noise, the same for the same seed."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.random(shape, dtype) * dtype(255)
    return rng.integers(0, np.iinfo(dtype).max + 1, shape, dtype)


def bilinear_weights(source, target):
    """(target, source): how much each source pixel gives, half-pixel centres, no antialias."""
    places = (np.arange(target) + 0.5) * (source / target) - 0.5
    below = np.floor(places).astype(int)
    share = places - below
    weights = np.zeros((target, source))
    rows = np.arange(target)
    np.add.at(weights, (rows, np.clip(below, 0, source - 1)), 1 - share)
    np.add.at(weights, (rows, np.clip(below + 1, 0, source - 1)), share)
    return weights


def area_weights(source, target):
    """(target, source): how much of each source pixel lies under a target pixel."""
    edges = np.arange(target + 1) * (source / target)
    inside = np.clip(np.arange(source + 1)[None, :], edges[:-1, None], edges[1:, None])
    return np.diff(inside, axis=1) * (target / source)


def model_resize(picture, size, method):
    """(height, width, C) in float64."""
    weights = bilinear_weights if method == "bilinear" else area_weights
    down, across = weights(picture.shape[0], size[0]), weights(picture.shape[1], size[1])
    return np.einsum("yh,xw,hwc->yxc", down, across, picture.astype(np.float64), optimize=True)


def rounded(values, dtype):
    """Halves up, within the type."""
    return np.clip(np.floor(values + 0.5), 0, np.iinfo(dtype).max).astype(dtype)


def bfloat16_bits(values):
    """float32 to the bits of bfloat16: to nearest, halves to even. For numbers that are finite."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
