"""JPEG: exact DCTs, scaled decoding, colour spaces."""

from __future__ import annotations

import io

import numpy as np
import pytest
import simplejpeg
from pictures import encoded, model_resize, pixels, read, rounded
from PIL import Image

from wellfed.errors import ImageError
from wellfed.image import decode_image, encode_image, image_info


def test_the_two_dcts_give_different_pixels_and_the_accurate_one_is_the_default():
    data = read("good/pillow/flower.jpg")

    assert np.array_equal(decode_image(data), simplejpeg.decode_jpeg(data))
    assert np.array_equal(decode_image(data, dct="fast"), simplejpeg.decode_jpeg(data, fastdct=True))
    assert not np.array_equal(decode_image(data), decode_image(data, dct="fast"))


@pytest.mark.parametrize("name", ["good/pillow/hopper.jpg", "odd/pillow/hopper_gray.jpg"])
def test_grey_of_a_jpeg_is_its_luma_plane(name):
    picture = Image.open(io.BytesIO(read(name)))
    picture.draft("L", None)

    assert np.array_equal(decode_image(read(name), channels=1)[..., 0], np.asarray(picture))


def test_alpha_of_a_jpeg_is_opaque():
    image = decode_image(read("good/pillow/hopper.jpg"), channels=4)

    assert (image[..., 3] == 255).all()
    assert np.array_equal(image[..., :3], decode_image(read("good/pillow/hopper.jpg")))


@pytest.mark.parametrize("space", ["CMYK", "YCCK"])
def test_cmyk_becomes_rgb(space):
    if space == "YCCK":
        data = read("odd/pillow/pil_sample_cmyk.jpg")
    else:
        data = encoded(Image.fromarray(pixels(0, 16, 16, 3) // 4 * 4).convert("CMYK"), "JPEG", quality=95)
    due = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    assert image_info(data).channels == 3
    assert decode_image(data, channels=0).shape == due.shape
    assert np.abs(decode_image(data) - due).max() <= 2
    assert np.abs(decode_image(data, channels=1)[..., 0] - due @ [0.299, 0.587, 0.114]).max() <= 3


def test_a_jpeg_stored_as_rgb_is_not_taken_for_ycbcr():
    image = pixels(1, 16, 16, 3) // 8 * 8
    data = encoded(image, "JPEG", quality=100, keep_rgb=True)

    assert np.abs(decode_image(data).astype(int) - image).max() <= 8


@pytest.mark.parametrize(
    "name", ["odd/libjpeg-turbo/testimgari.jpg", "odd/libjpeg-turbo/testimgint.jpg", "odd/pillow/app13-multiple.jpg"]
)
def test_arithmetic_and_progressive_coding_are_decoded(name):
    assert decode_image(read(name)).std() > 10


def progressive(extra_scans: int = 0) -> bytes:
    """A flat JPEG of 6 megapixels in ten scans, its last one repeated so many times."""
    data = encoded(Image.new("RGB", (3000, 2000), (200, 90, 30)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:-2] + extra_scans * data[last:-2] + data[-2:]


def test_a_large_picture_of_some_scans_is_decoded():
    assert np.array_equal(decode_image(progressive()), np.asarray(Image.open(io.BytesIO(progressive()))))


def test_a_picture_of_thousands_of_scans_is_refused_before_it_is_decoded():
    with pytest.raises(ImageError, match="the JPEG has 50010 scans, which may take hours; at most 100 are decoded"):
        decode_image(progressive(50_000))


def test_the_first_picture_of_an_mpo_is_decoded():
    first, second = Image.fromarray(pixels(2, 8, 8, 3)), Image.fromarray(pixels(3, 8, 8, 3))
    data = encoded(first, "MPO", save_all=True, append_images=[second])

    assert image_info(data).format == "jpeg"
    assert np.array_equal(decode_image(data, frames="error"), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


SCALES = {(150, 200): 2, (90, 120): 4, (45, 60): 8, (46, 60): 4, (181, 100): 1, (180, 240): 2, (10, 240): 2, (1, 1): 8}


@pytest.mark.parametrize(("at_least", "scale"), SCALES.items())
def test_the_decoder_scales_by_the_most_that_leaves_what_is_asked(at_least, scale):
    image = decode_image(read("good/pillow/flower.jpg"), at_least=at_least)  # 360 x 480.

    assert image.shape[:2] == (360 // scale, 480 // scale)


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_a_scaled_picture_is_close_to_area_resizing(scale):
    data = read("good/pillow/flower.jpg")
    due = rounded(model_resize(decode_image(data), (360 // scale, 480 // scale), "area"), np.uint8).astype(int)
    found = decode_image(data, at_least=due.shape[:2])

    assert np.abs(found - due).mean() < 3


def test_what_is_asked_of_a_turned_picture_is_its_upright_size():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(pixels(4, 64, 128, 3), "JPEG", exif=exif)

    assert decode_image(data, exif="apply", at_least=(64, 32)).shape == (64, 32, 3)
    assert decode_image(data, exif="apply", at_least=(65, 32)).shape == (128, 64, 3)


def test_other_formats_are_never_scaled():
    assert decode_image(read("good/pillow/hopper.png"), at_least=(1, 1)).shape == (128, 128, 3)


def test_an_encoded_jpeg_is_close_to_its_pixels():
    image = decode_image(read("good/pillow/hopper.png"))

    assert np.abs(decode_image(encode_image(image, "jpeg")).astype(int) - image).mean() < 4
    assert len(encode_image(image, "jpeg", quality=50)) < len(encode_image(image, "jpeg"))
    assert decode_image(encode_image(image[..., 0], "jpeg"), channels=0).shape == (128, 128, 1)


CANNOT = {
    "alpha": (np.zeros((4, 4, 4), np.uint8), "jpeg"),
    "16 bits": (np.zeros((4, 4, 3), np.uint16), "jpeg"),
    "floats": (np.zeros((4, 4, 3), np.float32), "png"),
    "no pixels": (np.zeros((0, 4, 3), np.uint8), "png"),
    "a batch": (np.zeros((2, 4, 4, 3), np.uint8), "png"),
}


@pytest.mark.parametrize(("image", "form"), CANNOT.values(), ids=CANNOT)
def test_what_a_format_cannot_hold_is_an_error(image, form):
    with pytest.raises(ImageError, match=f"a {form.upper()} needs uint8"):
        encode_image(image, form)


def test_encoding_checks_its_options():
    image = np.zeros((2, 2, 3), np.uint8)

    with pytest.raises(ValueError, match="quality must be from 1 to 100, got 0"):
        encode_image(image, "jpeg", quality=0)
    with pytest.raises(ValueError, match='format must be "png" or "jpeg", got'):
        encode_image(image, "bmp")
