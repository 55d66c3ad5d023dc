"""The shortest way through the usual JPEGs gives what the long one gives, and leaves it what is not usual."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import pixels, read

from wellfed.columns import Bytes
from wellfed.errors import ImageError
from wellfed.image import CenterCrop, Decode, Normalize, RandomFlip, RandomResizedCrop, Resize, encode_image, fuse

CHAINS = {
    "resize": [Resize("x", (12, 9), dtype="float32")],
    "as training does": [RandomResizedCrop("x", 8), RandomFlip("x"), Normalize("x", layout="chw", dtype="float16")],
    "as evaluation does": [Decode("x", order="bgr", dct="fast"), Resize("x", 20), CenterCrop("x", 16)],
    "grey": [Decode("x", channels=1), Resize("x", (5, 5))],
}
SIZES = [(30, 40), (30, 40), (31, 20), (64, 33), (30, 40)]
JPEGS = [encode_image(pixels(seed, *size, 3), "jpeg") for seed, size in enumerate(SIZES)]
SEEDS = np.arange(len(JPEGS) + 3, dtype=np.uint64)


def both(steps, encoded):
    """The rows filled from a column of strings, the short way, and from a list, the long one."""
    chain, seeds = fuse(steps), SEEDS[: len(encoded)]
    shape, dtype = chain.static_output({"x": ((), bytes)})
    short, long = np.empty((2, len(encoded), *shape), dtype)
    chain.apply({"x": Bytes.from_list(encoded)}, seeds, short)
    chain.apply({"x": encoded}, seeds, long)
    return short, long


@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
def test_usual_jpegs_are_what_they_are_one_by_one(steps):
    short, long = both(steps, JPEGS)

    assert np.array_equal(short, long)


@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("at", [0, 2, 5])
def test_other_pictures_may_stand_between_them(steps, at):
    others = [
        encode_image(pixels(9, 50, 50, 3)),
        read("odd/pillow/pil_sample_cmyk.jpg"),
        read("good/pillow/hopper.webp"),
    ]

    short, long = both(steps, [*JPEGS[:at], *others, *JPEGS[at:]])

    assert np.array_equal(short, long)


@pytest.mark.parametrize(
    ("step", "broken", "reason"),
    [
        (Resize("x", (4, 4)), JPEGS[0][:-90], 'row 3 of column "x".*damaged'),
        (CenterCrop("x", 20), encode_image(pixels(1, 10, 40, 3), "jpeg"), 'row 3 of column "x".*fewer than the crop'),
        (
            Decode("x", max_pixels=2500),
            encode_image(pixels(1, 60, 60, 3), "jpeg"),
            'row 3 of column "x".*60 x 60 pixels',
        ),
    ],
    ids=["damage", "too small", "too large"],
)
def test_a_picture_that_fails_is_named_by_its_row(step, broken, reason):
    steps = [step] if isinstance(step, Resize | CenterCrop) else [step, Resize("x", (4, 4))]

    with pytest.raises(ImageError, match=reason):
        both(steps, [*JPEGS[:3], broken, *JPEGS[3:]])
