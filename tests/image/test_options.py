"""Odd options and odd pictures: told when a transform is made, or by the row that holds them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pictures import encoded, model_resize, pixels

from wellfed.errors import ImageError
from wellfed.image import (
    CenterCrop,
    Decode,
    Normalize,
    OneHot,
    RandomFlip,
    RandomResizedCrop,
    Resize,
    decode_image,
    fuse,
    image_info,
    resize,
)

SEEDS = np.arange(2, dtype=np.uint64)
NO_SIZES = [math.nan, 2.0, True, "22", None, (4, 4.5), (True, 4), ("2", "2"), (), (1, 2, 3), [[1, 2]], b"\4\4"]


@pytest.mark.parametrize("size", NO_SIZES, ids=repr)
@pytest.mark.parametrize("make", [Resize, CenterCrop, RandomResizedCrop])
def test_a_size_is_one_whole_number_or_two(make, size):
    with pytest.raises(ValueError, match=r"size must be \(height, width\) or one number, in whole numbers, got"):
        make("x", size)


@pytest.mark.parametrize("size", [-1, (3, 0), np.int64(0)])
@pytest.mark.parametrize("make", [Resize, CenterCrop, RandomResizedCrop])
def test_a_size_is_at_least_a_pixel(make, size):
    with pytest.raises(ValueError, match="size must be at least 1 pixel each way"):
        make("x", size)


@pytest.mark.parametrize("size", [7, (3.0, 4), "34", (1, 2, 3), (0, 1)], ids=repr)
def test_resize_wants_height_and_width(size):
    with pytest.raises(ValueError, match=r"size must be \(height, width\), in whole|size must be at least 1 pixel"):
        resize(np.zeros((2, 2, 3), np.uint8), size)


@pytest.mark.parametrize(
    "given", [0.5, (0.5,), (0.2, 0.3, 0.4), (math.nan, 1.0), (0.5, math.inf), ("1", "1"), (True, 1)]
)
@pytest.mark.parametrize("name", ["scale", "ratio"])
def test_a_range_is_two_finite_numbers(name, given):
    with pytest.raises(ValueError, match=f"{name} must be two numbers above 0, the smaller one first, got"):
        RandomResizedCrop("x", 4, **{name: given})


@pytest.mark.parametrize("probability", [math.nan, True, "0.5", None, -0.1])
def test_a_probability_is_a_number_from_0_to_1(probability):
    with pytest.raises(ValueError, match=f"probability must be a number from 0 to 1, got {probability!r}"):
        RandomFlip("x", probability)


NO_NUMBERS = [math.nan, math.inf, "0.5", ("0.5",), None, True, (), (1, 2, 3, 4, 5), [[1.0, 2.0]]]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ["mean", "std"])
def test_mean_and_std_are_finite_numbers_for_up_to_four_channels(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number, or one for each of up to 4 channels, got"):
        Normalize("x", **{name: value})


@pytest.mark.parametrize("scale", [math.nan, "1", None, (1, 2)])
def test_a_scale_is_a_finite_number(scale):
    with pytest.raises(ValueError, match="scale must be a number, got"):
        Normalize("x", scale=scale)


def test_mean_and_std_are_for_the_same_channels():
    with pytest.raises(ValueError, match="mean and std must be for the same channels, got 3 and 4 numbers"):
        Normalize("x", mean=(0, 0, 0), std=(1, 1, 1, 1))


@pytest.mark.parametrize("classes", [math.nan, 2.0, True, "3", None])
def test_classes_are_a_whole_number(classes):
    with pytest.raises(ValueError, match=f"classes must be a whole number, got {classes!r}"):
        OneHot("x", classes)


@pytest.mark.parametrize("shape", [5, (4, 4), (4, 4, True), "443", (4, 4.0, 3)], ids=repr)
def test_a_shape_is_three_whole_numbers(shape):
    with pytest.raises(ValueError, match=r"shape must be \(height, width, channels\), in whole numbers, got"):
        Decode("x", shape=shape)


def test_a_shape_has_the_channels_that_pictures_are_decoded_to():
    with pytest.raises(
        ValueError, match=r"shape \(4, 4, 1\) has 1 channels, but pictures are decoded to 3; see channels"
    ):
        Decode("x", shape=(4, 4, 1))
    with pytest.raises(ValueError, match="has 3 channels, but pictures are decoded to 1"):
        Decode("x", shape=(4, 4, 3), mode="index")

    assert Decode("x", shape=[4, np.int64(4), 2], channels=0).shape == (4, 4, 2)


def test_a_shape_is_of_one_frame():
    with pytest.raises(ValueError, match='frames="all" gives several'):
        Decode("x", shape=(4, 4, 3), frames="all")


@pytest.mark.parametrize("verb", [decode_image, image_info])
@pytest.mark.parametrize("data", ["cat.jpg", None, 5, [1, 2]], ids=repr)
def test_what_holds_no_bytes_is_told(verb, data):
    with pytest.raises(ImageError, match=f"the bytes of an encoded picture are due, got {type(data).__name__}"):
        verb(data)


# --- Odd pictures ---------------------------------------------------------------------------------

ODD = [np.zeros((2, 0, 4, 3), np.uint8), np.zeros((2, 4, 0, 3), np.uint8), np.zeros((2, 4, 4, 3), ">u2")]
STEPS = [Resize("x", 4), CenterCrop("x", 1), RandomResizedCrop("x", 4), RandomFlip("x"), Normalize("x", layout="chw")]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("pictures", ODD, ids=["no rows", "no columns", "big-endian"])
def test_empty_pictures_and_those_of_another_byte_order_are_told(step, pictures):
    with pytest.raises(ImageError, match=r'column "x": uint8, uint16 or float32 pixels in .*, found .* of shape \(2, '):
        step.apply({"x": pictures}, SEEDS)


def rows(*pictures):
    """An object array of them."""
    column = np.empty(len(pictures), object)
    column[:] = pictures
    return column


WRONG_ROWS = {
    "another type": (np.zeros((4, 4, 3), np.uint16), "the picture is uint16, those before it are uint8"),
    "no pixels": (np.zeros((4, 0, 3), np.uint8), r"found uint8 of shape \(4, 0, 3\)"),
    "another byte order": (np.zeros((4, 4, 3), ">f4"), r"found >f4 of shape \(4, 4, 3\)"),
    "no picture": (None, "the bytes of an encoded picture are due, got NoneType"),
}


@pytest.mark.parametrize(("picture", "reason"), WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_a_row_unlike_the_others_is_named(picture, reason):
    with pytest.raises(ImageError, match=f'row 1 of column "x": .*{reason}'):
        Resize("x", (2, 2)).apply({"x": rows(pixels(0, 4, 4, 3), picture)}, SEEDS)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(1, 1), (1, 10_000), (10_000, 1)])
@pytest.mark.parametrize("method", ["bilinear", "area"])
def test_pictures_one_pixel_high_or_wide_are_resized_right(shape, channels, method):
    pictures = pixels(1, 2, *shape, channels, dtype=np.float32)

    found = Resize("x", (5, 7), method=method).apply({"x": pictures}, SEEDS)["x"]

    due = np.stack([model_resize(picture, (5, 7), method) for picture in pictures])
    assert np.allclose(found, due, atol=0.2)  # Places are float32.


def test_a_narrow_picture_does_not_become_larger_than_the_limit_of_pixels():
    column = [encoded(pixels(0, 1, 9, 3), "PNG"), encoded(pixels(0, 1, 30_000, 3), "PNG")]

    with pytest.raises(
        ImageError,
        match='row 1 of column "x": 30000 x 1 pixels would become 6720000 x 224, more than max_pixels=89478485',
    ):
        Resize("x", 224).apply({"x": column}, SEEDS)


def test_the_limit_of_a_resized_picture_is_that_of_decode_and_a_crop_needs_none():
    column = [encoded(pixels(0, 1, 30_000, 3), "PNG")] * 2
    crop = fuse([Resize("x", 224), CenterCrop("x", 224)])

    assert crop.apply({"x": column}, SEEDS)["x"].shape == (2, 224, 224, 3)
    with pytest.raises(ImageError, match="would become 300000 x 10, more than max_pixels=30000"):
        fuse([Decode("x", max_pixels=30_000), Resize("x", 10)]).apply({"x": column}, SEEDS)
