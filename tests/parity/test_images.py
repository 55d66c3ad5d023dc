"""Pictures against live TensorFlow: decoders bit for bit, resizing within 1e-4."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import EXPECTED, GOOD, REFUSED, encoded, pixels, read
from PIL import Image

from wellfed.image import decode_image, encode_image, resize

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

DECODED = [name for name in GOOD if name not in REFUSED]
JPEGS = [name for name in DECODED if "jpeg" in EXPECTED[name]]
PNGS = [name for name in DECODED if "png" in EXPECTED[name]]
# TensorFlow gives the indexes of some palettes as grey, and cannot read others.
BMPS = [name for name in DECODED if name.endswith((".bmp",)) and "shape" in EXPECTED[name]["tf"] and "pal" not in name]
GIFS = [name for name in DECODED if name.endswith(".gif")]
SUBSAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}


# TensorFlow makes no grey of inks.
WITHOUT_INKS = [name for name in JPEGS if EXPECTED[name]["jpeg"]["components"] < 4]


@pytest.mark.parametrize(
    ("name", "channels"), [(name, c) for c in (0, 3) for name in JPEGS] + [(name, 1) for name in WITHOUT_INKS]
)
def test_the_fast_dct_is_tensorflows_default_bit_for_bit(name, channels):
    due = tf.io.decode_jpeg(read(name), channels=channels).numpy()

    assert np.array_equal(decode_image(read(name), channels=channels, dct="fast"), due)


@pytest.mark.parametrize("name", JPEGS)
def test_the_accurate_dct_is_tensorflows_bit_for_bit(name):
    due = tf.io.decode_jpeg(read(name), channels=3, dct_method="INTEGER_ACCURATE").numpy()

    assert np.array_equal(decode_image(read(name)), due)


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS.values(), ids=SUBSAMPLINGS)
@pytest.mark.parametrize("shape", [(64, 80), (63, 81), (1, 1), (375, 500)])
@pytest.mark.parametrize(("dct", "method"), [("fast", "INTEGER_FAST"), ("accurate", "INTEGER_ACCURATE")])
def test_both_dcts_are_tensorflows_for_every_subsampling_and_odd_sizes(dct, method, shape, subsampling):
    data = encoded(smooth(*shape), "JPEG", subsampling=subsampling, quality=90)

    due = tf.io.decode_jpeg(data, dct_method=method).numpy()

    assert np.array_equal(decode_image(data, dct=dct), due)


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_scaled_decoding_is_tensorflows_ratio(ratio):
    data = encoded(smooth(160, 240), "JPEG", quality=90)

    due = tf.io.decode_jpeg(data, ratio=ratio).numpy()

    assert np.array_equal(decode_image(data, dct="fast", at_least=due.shape[:2]), due)


@pytest.mark.parametrize("name", PNGS)
def test_png_as_stored_and_in_colour_is_tensorflows(name):
    data = read(name)

    assert np.array_equal(decode_image(data, channels=0), tf.io.decode_image(data).numpy())
    assert np.array_equal(decode_image(data), tf.io.decode_png(data, channels=3).numpy())


@pytest.mark.parametrize("name", [name for name in PNGS if EXPECTED[name]["png"]["bit_depth"] == 16])
def test_sixteen_bits_are_tensorflows(name):
    due = tf.io.decode_png(read(name), dtype=tf.uint16).numpy()

    assert np.array_equal(decode_image(read(name), channels=0, dtype="uint16"), due)


@pytest.mark.parametrize("name", BMPS)
def test_bmp_is_tensorflows(name):
    assert np.array_equal(decode_image(read(name), channels=0), tf.io.decode_image(read(name)).numpy())


@pytest.mark.parametrize("name", GIFS)
def test_the_first_frame_of_a_gif_is_tensorflows_where_it_is_opaque(name):
    due = tf.io.decode_image(read(name), expand_animations=False).numpy()
    found = decode_image(read(name), channels=4)

    # What is transparent has the palette's colour here, as in Pillow; TensorFlow leaves it black.
    assert np.array_equal(decode_image(read(name)) * (found[..., 3:] // 255), due)


def test_all_frames_of_a_gif_are_tensorflows():
    frames = [Image.fromarray(pixels(i, 20, 24, 3)) for i in range(3)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])

    assert np.array_equal(decode_image(data, frames="all"), tf.io.decode_gif(data).numpy())


def test_tensorflow_reads_the_png_and_jpeg_that_are_encoded_here():
    image = pixels(0, 17, 23, 3)

    assert np.array_equal(tf.io.decode_png(encode_image(image)).numpy(), image)
    wide = pixels(1, 17, 23, 4, dtype=np.uint16)
    assert np.array_equal(tf.io.decode_png(encode_image(wide), dtype=tf.uint16).numpy(), wide)
    jpeg = encode_image(smooth(40, 50), "jpeg")
    assert np.array_equal(tf.io.decode_jpeg(jpeg).numpy(), decode_image(jpeg, dct="fast"))


def test_inks_become_the_rgb_of_tensorflow():
    data = encoded(Image.fromarray(smooth(40, 48)).convert("CMYK"), "JPEG", quality=92)

    assert np.array_equal(decode_image(data), tf.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE").numpy())


SIDES = st.integers(1, 300)


@given(
    shape=st.tuples(SIDES, SIDES, st.integers(1, 4)),
    size=st.tuples(SIDES, SIDES),
    seed=st.integers(0, 999),
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("method", ["bilinear", "area"])
def test_resize_is_tensorflows_within_1e_4(method, dtype, shape, size, seed):
    image = pixels(seed, *shape, dtype=dtype)

    due = tf.image.resize(image, size, method).numpy()

    np.testing.assert_allclose(resize(image, size, method), due, atol=1e-4, rtol=1e-6)


@given(shape=st.tuples(SIDES, SIDES, st.just(3)), size=st.tuples(SIDES, SIDES), seed=st.integers(0, 999))
@pytest.mark.parametrize("method", ["bilinear", "area"])
def test_resize_to_bytes_is_tensorflows_rounded(method, shape, size, seed):
    image = pixels(seed, *shape)

    due = tf.image.resize(image, size, method).numpy()

    assert np.abs(resize(image, size, method, dtype=np.uint8) - due).max() <= 0.52


def smooth(height, width):
    """Something like a photo: smooth colours with edges."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (7 + c) + c) + np.cos(y / (11 - c)) + (x * (c + 1) + y) % 50 / 25 for c in range(3)]
    return ((np.stack(waves, axis=-1) + 2) * 42).clip(0, 255).astype(np.uint8)


def test_the_decoders_are_compared_on_many_pictures():
    assert min(len(JPEGS), len(PNGS)) > 20
    assert BMPS
    assert GIFS
    assert Image.open(io.BytesIO(encoded(smooth(8, 8), "JPEG"))).size == (8, 8)
