"""Transforms against plain NumPy, chains against their steps one by one, and results in place."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import bfloat16_bits, encoded, model_resize, pixels, read, rounded

from wellfed.columns import Bytes
from wellfed.errors import ImageError
from wellfed.image import (
    CenterCrop,
    Decode,
    Fused,
    Normalize,
    RandomFlip,
    RandomResizedCrop,
    Resize,
    decode_image,
    encode_image,
    fuse,
    resize,
    split_seeds,
)
from wellfed.image.seeds import uniform

PHOTOS = ["good/pillow/hopper.jpg", "good/pillow/hopper.png", "odd/pillow/hopper_gray.jpg", "good/pillow/flower.jpg"]


def seeds_of(rows, first=0):
    return np.arange(first, first + rows, dtype=np.uint64)


def photos():
    return {"image": Bytes.from_list([read(name) for name in PHOTOS]), "label": np.arange(len(PHOTOS))}


def dense(seed=0, rows=4, shape=(13, 17, 3), dtype=np.uint8):
    return {"image": pixels(seed, rows, *shape, dtype=dtype)}


def apply(transform, columns, rows=None):
    rows = rows or len(columns["image"])
    return transform.apply(columns, seeds_of(rows))["image"]


# --- Each by itself -------------------------------------------------------------------------------


def test_decode_gives_pictures_of_their_own_sizes():
    found = apply(Decode("image"), photos())

    assert found.dtype == object
    assert [image.shape for image in found] == [(128, 128, 3)] * 3 + [(360, 480, 3)]
    assert all(np.array_equal(image, decode_image(read(name))) for image, name in zip(found, PHOTOS, strict=True))


def test_decode_takes_the_options_of_decode_image():
    found = apply(Decode("image", channels=1, order="bgr", dct="fast"), photos())

    assert np.array_equal(found[0], decode_image(read(PHOTOS[0]), channels=1, dct="fast"))


def test_decode_with_a_shape_gives_one_array():
    column = [encode_image(pixels(i, 28, 28, 1)) for i in range(5)]

    found = apply(Decode("image", channels=1, shape=(28, 28, 1)), {"image": column})

    assert found.dtype == np.uint8
    assert np.array_equal(found, np.stack([pixels(i, 28, 28, 1) for i in range(5)]))


@pytest.mark.parametrize("scaled", [False, True])
def test_a_shape_is_that_of_the_whole_picture(scaled):
    chain = fuse([Decode("image", shape=(128, 128, 3), scaled_decode=scaled), Resize("image", (9, 9))])

    with pytest.raises(ImageError, match=r"row 1 .*shape \(360, 480, 3\), expected \(128, 128, 3\)"):
        apply(chain, {"image": [read(PHOTOS[0]), read(PHOTOS[3])]})


def test_decode_with_a_shape_refuses_another_one_and_names_the_row():
    with pytest.raises(ImageError, match=r'row 3 of column "image": .*shape \(360, 480, 3\), expected \(128, 128, 3\)'):
        apply(Decode("image", shape=(128, 128, 3)), photos())


@pytest.mark.parametrize("method", ["bilinear", "area"])
def test_resize_is_resize_of_each_row(method):
    found = apply(Resize("image", (30, 40), method=method, dtype="float32"), photos())

    due = [resize(decode_image(read(name)), (30, 40), method) for name in PHOTOS]
    assert np.array_equal(found, np.stack(due))


SIDES = {(360, 480): (100, 133), (480, 360): (133, 100), (50, 50): (100, 100), (7, 700): (100, 10000)}


@pytest.mark.parametrize(("shape", "size"), SIDES.items())
def test_resize_to_one_number_sets_the_shorter_side(shape, size):
    assert apply(Resize("image", 100), {"image": pixels(0, 1, *shape, 1)}).shape[1:3] == size


@given(height=st.integers(4, 20), width=st.integers(4, 20), size=st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_center_crop_is_a_slice_of_the_middle(height, width, size):
    columns = dense(shape=(height, width, 3))
    top, left = (height - size[0]) // 2, (width - size[1]) // 2

    found = apply(CenterCrop("image", size), columns)

    assert np.array_equal(found, columns["image"][:, top : top + size[0], left : left + size[1]])


def test_center_crop_of_a_smaller_picture_is_an_error():
    with pytest.raises(ImageError, match=r"row 0 .*128 x 128 pixels, fewer than the crop of 200 x 100"):
        apply(CenterCrop("image", (200, 100)), photos())
    with pytest.raises(ImageError, match="13 x 17 pixels, fewer than the crop of 14 x 14"):
        apply(CenterCrop("image", 14), dense())


@given(probability=st.floats(0, 1), first=st.integers(0, 10**9))
def test_a_flip_mirrors_the_rows_whose_draw_is_below_its_probability(probability, first):
    columns, seeds = dense(rows=6), seeds_of(6, first)
    draws = uniform(seeds, 1)[:, 0]

    found = RandomFlip("image", probability).apply(columns, seeds)["image"]

    for row, image in enumerate(columns["image"]):
        assert np.array_equal(found[row], image[:, ::-1] if draws[row] < probability else image)


def test_half_of_many_rows_are_flipped():
    columns = {"image": np.tile(np.array([0, 1], np.uint8).reshape(1, 1, 2, 1), (4000, 1, 1, 1))}

    share = apply(RandomFlip("image"), columns)[:, 0, 0, 0].mean()

    assert abs(share - 0.5) < 0.03


NUMBERS = st.floats(0.1, 2)


@given(mean=st.tuples(NUMBERS, NUMBERS, NUMBERS), std=st.tuples(NUMBERS, NUMBERS, NUMBERS), seed=st.integers(0, 99))
@pytest.mark.parametrize("layout", ["hwc", "chw"])
def test_normalize_is_scale_minus_mean_over_std(layout, mean, std, seed):
    columns = dense(seed)
    due = (columns["image"].astype(np.float64) / 255 - mean) / std

    found = apply(Normalize("image", mean=mean, std=std, layout=layout), columns)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, due.transpose(0, 3, 1, 2) if layout == "chw" else due, atol=1e-5, rtol=1e-5)


def test_normalize_to_half_and_to_bfloat16_narrows_the_floats():
    columns = dense()
    full = apply(Normalize("image", mean=0.5, std=0.25), columns)

    assert np.array_equal(apply(Normalize("image", mean=0.5, std=0.25, dtype="float16"), columns), full.astype("f2"))
    bits = apply(Normalize("image", mean=0.5, std=0.25, dtype="bfloat16"), columns)
    assert bits.dtype == np.uint16
    assert np.array_equal(bits, bfloat16_bits(full))


def test_normalize_of_sixteen_bits_takes_its_own_scale():
    columns = dense(dtype=np.uint16)

    found = apply(Normalize("image", scale=1 / 65535), columns)

    np.testing.assert_allclose(found, columns["image"] / 65535, atol=1e-6)


def test_normalize_needs_as_many_numbers_as_channels():
    with pytest.raises(ImageError, match="3 channels, but mean has 2 values and std 1"):
        apply(Normalize("image", mean=(0.1, 0.2)), dense())


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    low=st.floats(0.01, 1),
    first=st.integers(0, 10**9),
)
def test_random_resized_crop_resizes_the_box_that_torchvisions_rule_gives(size, shape, low, first):
    columns, seeds = dense(rows=2, shape=(*shape, 3)), seeds_of(2, first)
    transform = RandomResizedCrop("image", size, scale=(low, 1.0), dtype="float32")

    found = transform.apply(columns, seeds)["image"]

    for row in range(2):
        top, left, height, width = torchvision_box(shape, (low, 1.0), (3 / 4, 4 / 3), uniform(seeds, 22)[row])
        box = columns["image"][row, top : top + height, left : left + width]
        np.testing.assert_allclose(found[row], model_resize(box, size, "bilinear"), atol=0.03)


def torchvision_box(shape, scale, ratio, draws):
    """torchvision.transforms.RandomResizedCrop.get_params, with its random numbers given."""
    height, width = shape
    for number in range(10):
        area = height * width * (scale[0] + (scale[1] - scale[0]) * draws[2 * number])
        low, high = math.log(ratio[0]), math.log(ratio[1])
        aspect = math.exp(low + (high - low) * draws[2 * number + 1])
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(draws[20] * (height - h + 1)), int(draws[21] * (width - w + 1)), h, w
    w, h = width, height
    if width / height < min(ratio):
        h = round(w / min(ratio))
    elif width / height > max(ratio):
        w = round(h * max(ratio))
    return (height - h) // 2, (width - w) // 2, h, w


def test_a_picture_too_long_for_any_try_gives_its_middle():
    columns = {"image": np.arange(1000, dtype=np.float32).reshape(1, 1, 1000, 1)}
    transform = RandomResizedCrop("image", (1, 1), scale=(1.0, 1.0))

    assert abs(apply(transform, columns)[0, 0, 0, 0] - 499.5) <= 1


# --- Chains ---------------------------------------------------------------------------------------

STEPS = st.lists(
    st.sampled_from(
        [
            CenterCrop("image", (9, 8)),
            CenterCrop("image", (5, 6)),
            Resize("image", (11, 12)),
            Resize("image", 10, method="area"),
            Resize("image", (10, 9), dtype="float32"),
            RandomResizedCrop("image", (9, 9)),
            RandomResizedCrop("image", (12, 10), method="area", dtype="float32"),
            RandomFlip("image"),
            Normalize("image", mean=(0.4, 0.5, 0.6), std=0.25),
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(steps=STEPS, first=st.integers(0, 10**9), kind=st.sampled_from(["dense", "object", "encoded"]))
def test_a_chain_gives_what_its_steps_give_one_after_another(steps, first, kind):
    columns, seeds = dense(rows=3), seeds_of(3, first)
    if kind == "encoded":
        columns = {"image": Bytes.from_list([encode_image(image) for image in columns["image"]])}
    elif kind == "object":
        apart = np.empty(3, object)
        apart[:] = list(columns["image"])
        columns = {"image": apart}
    one_by_one, failed = columns, None
    try:
        for number, step in enumerate(steps):
            one_by_one = step.apply(one_by_one, split_seeds(seeds, number) if len(steps) > 1 else seeds)
    except ImageError as error:
        failed = error.reason  # A crop larger than its picture.
    chain = fuse(steps)

    if failed is not None:
        with pytest.raises(ImageError, match="fewer than the crop"):
            chain.apply(columns, seeds)
        return
    found = chain.apply(columns, seeds)["image"]

    due = one_by_one["image"]
    if due.dtype == object:
        due = np.stack(due)
    found = np.stack(found) if found.dtype == object else found
    assert found.dtype == due.dtype
    assert np.array_equal(found, due)


def test_the_usual_chain_is_one_pass():
    from wellfed.image.transforms import plan_passes

    steps = [Decode("x"), Resize("x", 256), CenterCrop("x", 224), RandomFlip("x"), Normalize("x")]

    assert len(plan_passes(tuple(steps))) == 1
    assert len(plan_passes((*steps, CenterCrop("x", 5)))) == 2


def test_a_row_is_the_same_wherever_it_stands_in_a_unit():
    columns, seeds = photos(), seeds_of(4, 77)
    chain = fuse([Decode("image"), RandomResizedCrop("image", 32), RandomFlip("image"), Normalize("image")])
    whole = chain.apply(columns, seeds)["image"]

    for row in range(4):
        part = chain.apply({"image": columns["image"][row : row + 1]}, seeds[row : row + 1])["image"]
        assert np.array_equal(part[0], whole[row])


def test_other_columns_are_passed_on():
    columns = photos()

    assert Resize("image", (4, 4)).apply(columns, seeds_of(4))["label"] is columns["label"]
    assert isinstance(columns["image"], Bytes)  # What was given is left as it was.


def test_fuse_of_one_is_that_one_and_of_none_or_of_two_columns_is_an_error():
    step = Resize("image", 4)

    assert fuse([step]) is step
    with pytest.raises(ValueError, match="transforms of one column, got columns"):
        fuse([])
    with pytest.raises(ValueError, match=r"got columns \['a', 'b'\]"):
        fuse([Resize("a", 4), RandomFlip("b")])


def test_scaled_decoding_is_close_to_area_resizing():
    chain = fuse([Decode("image", scaled_decode=True), Resize("image", (40, 50))])
    due = apply(Resize("image", (40, 50), method="area"), photos()).astype(int)
    plain = apply(Resize("image", (40, 50)), photos()).astype(int)

    found = apply(chain, photos())

    assert np.abs(found[3] - due[3]).mean() < 4  # The 360 x 480 JPEG, decoded at a quarter.
    assert np.abs(found[3] - due[3]).mean() < np.abs(plain[3] - due[3]).mean() / 2
    assert np.array_equal(found[1], plain[1])  # A PNG is never scaled.


def test_scaled_decoding_finds_the_same_box():
    steps = [RandomResizedCrop("image", 24), RandomFlip("image")]
    near = apply(fuse([Decode("image", scaled_decode=True), *steps]), photos()).astype(int)
    due = apply(fuse([Decode("image"), *(RandomResizedCrop("image", 24, method="area"), steps[1])]), photos())

    assert np.abs(near[3] - due[3]).mean() < 12
    assert np.abs(near[3] - due[3][:, ::-1]).mean() > 20  # What another box or a missing flip would be like.


# --- Places and kinds of rows ---------------------------------------------------------------------

CHAINS = {
    "decode": [Decode("image", shape=(128, 128, 3))],
    "resize": [Resize("image", (20, 30))],
    "shorter side, crop": [Resize("image", 40), CenterCrop("image", (20, 30))],
    "train": [RandomResizedCrop("image", 16), RandomFlip("image"), Normalize("image", layout="chw", dtype="float16")],
    "two passes": [Resize("image", (20, 20)), RandomFlip("image"), CenterCrop("image", 8), Normalize("image")],
    "grey": [Decode("image", channels=1), Resize("image", (9, 9), dtype="float32")],
    "wide": [Decode("image", dtype="uint16"), Resize("image", (9, 9))],
    "mask": [Decode("image", channels=4, order="bgr"), CenterCrop("image", 7)],
    "bfloat16": [Resize("image", (9, 9)), Normalize("image", dtype="bfloat16")],
}


@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
def test_static_output_says_shape_and_type_beforehand_and_rows_are_filled_in_place(steps):
    chain = fuse(steps)
    columns = {"image": [read(name) for name in PHOTOS[:3]]}
    shape, dtype = chain.static_output({"image": ((), bytes)})
    batch = np.full((8, *shape), 99, dtype)

    found = chain.apply(columns, seeds_of(3), batch[2:5])["image"]

    assert np.shares_memory(found, batch)
    assert np.array_equal(batch[2:5], apply(chain, columns))
    assert (batch[:2] == 99).all()
    assert (batch[5:] == 99).all()


@pytest.mark.parametrize("shape", [(13, 17, 3), (13, 17, 1), (13, 17)])
@pytest.mark.parametrize("layout", ["hwc", "chw"])
def test_arrays_with_and_without_a_dimension_for_channels_keep_it(layout, shape):
    chain = fuse([CenterCrop("image", (6, 5)), Normalize("image", layout=layout)])
    columns = dense(shape=shape)
    due_shape, dtype = chain.static_output({"image": (shape, np.uint8)})

    found = apply(chain, columns)

    assert found.shape == (4, *due_shape)
    assert found.dtype == dtype
    assert len(due_shape) == len(shape)
    out = np.zeros_like(found)
    chain.apply(columns, seeds_of(4), out)
    assert np.array_equal(out, found)


UNKNOWN = {
    "any size": (Decode("image"), ((), bytes)),
    "a shorter side": (Resize("image", 9), ((), bytes)),
    "channels as stored": (fuse([Decode("image", channels=0), Resize("image", (4, 4))]), ((), bytes)),
    "all frames": (Decode("image", frames="all"), ((), bytes)),
    "an unknown column": (Resize("image", (4, 4)), None),
}


@pytest.mark.parametrize(("transform", "spec"), UNKNOWN.values(), ids=UNKNOWN)
def test_static_output_is_none_where_rows_may_differ(transform, spec):
    assert transform.static_output({"image": spec}) is None
    assert transform.static_output({}) is None


def test_no_rows_give_no_rows():
    assert len(apply(Resize("image", (4, 4)), {"image": Bytes.from_list([])}, rows=0)) == 0
    assert apply(Resize("image", (4, 4)), {"image": np.zeros((0, 9, 9, 3), np.uint8)}, rows=0).shape == (0, 4, 4, 3)


def test_rows_of_different_channels_cannot_be_one_array():
    with pytest.raises(ImageError, match=r"row 2 .*see Decode's channels"):
        apply(fuse([Decode("image", channels=0), Resize("image", (4, 4))]), photos())


def test_pixels_are_not_decoded_again():
    with pytest.raises(ImageError, match=r"Decode needs encoded pictures, found uint8.*decode=False"):
        apply(Decode("image"), dense())


def test_frames_cannot_be_resized():
    animation = encoded(pixels(0, 4, 4, 3), "GIF")

    assert apply(Decode("image", frames="all"), {"image": [animation]})[0].shape == (1, 4, 4, 3)
    with pytest.raises(ImageError, match='frames="all" can only be decoded'):
        apply(fuse([Decode("image", frames="all"), Resize("image", (2, 2))]), {"image": [animation]})


def test_floats_of_another_size_are_refused():
    with pytest.raises(ImageError, match=r"uint8, uint16 or float32 pixels .* found float64"):
        apply(RandomFlip("image"), {"image": np.zeros((1, 4, 4, 3))})


def test_a_damaged_row_is_named():
    columns = {"image": [read(PHOTOS[0]), read(PHOTOS[0])[:3000]]}

    with pytest.raises(ImageError, match='row 1 of column "image": the JPEG of 3000 bytes is damaged') as caught:
        apply(Resize("image", (4, 4)), columns)

    assert caught.value.source == 'row 1 of column "image"'


def test_random_transforms_need_a_seed_a_row():
    with pytest.raises(ValueError, match=r"a seed a row: 4 rows, seeds of shape \(0,\)"):
        RandomFlip("image").apply(dense(), np.zeros(0, np.uint64))


def test_others_need_no_seeds():
    assert Resize("image", (4, 4)).apply(dense(), np.zeros(0, np.uint64))["image"].shape == (4, 4, 4, 3)


ALL = [
    Decode("image", channels=1),
    Resize("image", 4),
    CenterCrop("image", 4),
    RandomResizedCrop("image", 4),
    RandomFlip("image"),
    Normalize("image", mean=(1, 2, 3)),
    fuse([RandomFlip("image"), Normalize("image")]),
]


@pytest.mark.parametrize("transform", ALL, ids=lambda t: type(t).__name__)
def test_a_transform_is_a_value_that_pickles(transform):
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert len({transform, pickle.loads(pickle.dumps(transform))}) == 1


def test_options_given_as_arrays_lists_and_dtypes_make_the_same_value():
    assert Resize("x", [4, 5], dtype=np.float32) == Resize("x", (4, 5), dtype="float32")
    assert Resize("x", np.int64(4)) == Resize("x", 4)
    assert Normalize("x", mean=np.array([1.0, 2.0]), std=[1, 2]) == Normalize("x", mean=(1, 2), std=(1, 2))
    assert hash(Normalize("x", mean=np.zeros(3))) == hash(Normalize("x", mean=[0, 0, 0]))


def test_fuse_gives_a_fused():
    assert isinstance(ALL[-1], Fused)


WRONG = {
    "size": (lambda: Resize("x", 0), "size must be at least 1 pixel"),
    "three sides": (lambda: Resize("x", (1, 2, 3)), r"size must be \(height, width\) or one number"),
    "crop size": (lambda: CenterCrop("x", (0, 4)), "size must be at least 1 pixel"),
    "method": (lambda: Resize("x", 4, method="cubic"), "method must be one of"),
    "dtype": (lambda: Resize("x", 4, dtype="float16"), "dtype must be one of uint8, uint16, float32"),
    "scale": (lambda: RandomResizedCrop("x", 4, scale=(0.5, 1.5)), "share of the area, at most 1"),
    "ratio": (lambda: RandomResizedCrop("x", 4, ratio=(2, 1)), "ratio must be two numbers above 0"),
    "probability": (lambda: RandomFlip("x", 1.5), "probability must be a number from 0 to 1, got 1.5"),
    "std": (lambda: Normalize("x", std=(1, 0, 1)), "std must be above 0"),
    "layout": (lambda: Normalize("x", layout="nchw"), "layout must be"),
    "float type": (lambda: Normalize("x", dtype=np.uint8), "dtype must be one of float32, float16, bfloat16"),
    "channels": (lambda: Decode("x", channels=2), "channels must be one of"),
}


@pytest.mark.parametrize(("make", "reason"), WRONG.values(), ids=WRONG)
def test_options_are_checked_when_a_transform_is_made(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()


def test_rounding_goes_to_the_type_of_the_pictures():
    columns = dense(dtype=np.uint16)

    found = apply(Resize("image", (5, 6)), columns)

    due = model_resize(columns["image"][0], (5, 6), "bilinear")
    assert found.dtype == np.uint16
    assert np.abs(found[0].astype(int) - rounded(due, np.uint16)).max() <= 8
