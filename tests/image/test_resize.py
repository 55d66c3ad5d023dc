"""`resize` against plain NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import model_resize, pixels, rounded

from wellfed.errors import ImageError
from wellfed.image import resize

SIDES = st.integers(1, 40)
SHAPES = st.tuples(SIDES, SIDES, st.integers(1, 4))
# The places are computed in float32, as TensorFlow computes them; a place is off by some 1e-5 of a pixel.
NEAR = 3e-2


@given(shape=SHAPES, size=st.tuples(SIDES, SIDES), seed=st.integers(0, 1000))
@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_floats_are_the_models(dtype, method, shape, size, seed):
    picture = pixels(seed, *shape, dtype=dtype)
    scale = np.iinfo(dtype).max if dtype != np.float32 else 255

    found = resize(picture, size, method)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model_resize(picture, size, method), atol=NEAR * scale / 255)


@given(shape=SHAPES, size=st.tuples(SIDES, SIDES), seed=st.integers(0, 1000))
@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_rounded_values_are_the_nearest_to_the_models(dtype, method, shape, size, seed):
    picture = pixels(seed, *shape, dtype=dtype)

    found = resize(picture, size, method, dtype=dtype)

    assert found.dtype == dtype
    error = np.abs(found - model_resize(picture, size, method)).max()
    assert error <= 0.5 + NEAR * np.iinfo(dtype).max / 255


@given(shape=SHAPES, seed=st.integers(0, 1000))
@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_the_same_size_is_the_same_picture(dtype, method, shape, seed):
    picture = pixels(seed, *shape, dtype=dtype)

    assert np.array_equal(resize(picture, shape[:2], method, dtype=dtype), picture)


@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("value", [0, 1, 127, 254, 255])
def test_one_colour_stays_that_colour(method, value):
    picture = np.full((37, 53, 3), value, np.uint8)

    assert (resize(picture, (224, 11), method, dtype=np.uint8) == value).all()


def test_a_batch_is_its_pictures_one_by_one():
    batch = pixels(0, 5, 9, 8, 3)

    assert np.array_equal(resize(batch, (4, 6)), np.stack([resize(picture, (4, 6)) for picture in batch]))


def test_area_by_whole_steps_is_the_mean_of_blocks():
    picture = pixels(1, 12, 20, 3)
    due = picture.reshape(3, 4, 4, 5, 3).mean(axis=(1, 3))

    np.testing.assert_allclose(resize(picture, (3, 4), "area"), due, atol=1e-4)
    assert np.array_equal(resize(picture, (3, 4), "area", dtype=np.uint8), rounded(due, np.uint8))


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[:, 3:11], np.s_[:, ::-1], np.s_[..., ::-1]])
def test_views_of_pictures_are_resized_as_their_copies(view):
    picture = pixels(2, 14, 18, 3)[view]

    assert np.array_equal(resize(picture, (7, 5)), resize(picture.copy(), (7, 5)))


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 5), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), "u1")]
)
def test_what_is_no_picture_is_an_error(image):
    with pytest.raises(ImageError, match=r"resize needs uint8, uint16 or float32 of shape"):
        resize(image, (2, 2))


def test_options_are_checked():
    image = np.zeros((4, 4, 3), np.uint8)

    with pytest.raises(ValueError, match="method must be one of"):
        resize(image, (2, 2), "bicubic")
    with pytest.raises(ValueError, match="size must be at least 1 pixel each way, got"):
        resize(image, (2, 0))
    with pytest.raises(ValueError, match="dtype must be one of float32, uint8, got"):
        resize(image, (2, 2), dtype=np.uint16)
