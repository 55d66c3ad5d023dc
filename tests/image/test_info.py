"""Headers: cheap, and true to what decoding gives."""

from __future__ import annotations

import pytest
from pictures import AVIF, EXPECTED, GOOD, REFUSED, encoded, pixels, read

from wellfed.errors import ImageError
from wellfed.image import ImageInfo, decode_image, encode_image, image_info

DECODED = [name for name in GOOD if name not in REFUSED]


@pytest.mark.parametrize("name", DECODED)
def test_a_header_says_the_shape_that_decoding_as_stored_gives(name):
    info = image_info(read(name))

    assert (info.height, info.width, info.channels) == decode_image(read(name), channels=0).shape


@pytest.mark.parametrize("name", DECODED)
def test_a_header_says_the_orientation_that_pillow_finds(name):
    found = EXPECTED[name]["pillow"].get("exif_orientation")

    assert image_info(read(name)).orientation == (found if found in range(1, 9) else 1)


@pytest.mark.parametrize("name", [name for name in DECODED if "png" in EXPECTED[name]])
def test_a_png_says_how_many_bits_a_sample_has(name):
    assert image_info(read(name)).bits == max(8, EXPECTED[name]["png"]["bit_depth"])


def test_a_jpeg_of_12_bits_is_told_from_its_header():
    assert image_info(read("odd/libjpeg-turbo/monkey12.jpg")).bits == 12


def test_a_header_needs_no_pixels():
    data = encode_image(pixels(0, 40, 30, 3))
    pixels_begin = data.index(b"IDAT") + 100

    assert image_info(data[:pixels_begin]) == ImageInfo("png", 40, 30, 3, 8)
    assert image_info(read("good/pillow/hopper.jpg")[:1000]) == ImageInfo("jpeg", 128, 128, 3, 8)


@pytest.mark.parametrize("form", ["TIFF", AVIF, "WEBP", "BMP", "GIF"])
def test_every_other_format_is_read_from_its_header_too(form):
    info = image_info(encoded(pixels(0, 24, 36, 3), form))

    assert (info.format, info.height, info.width, info.channels) == (form.lower(), 24, 36, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_the_orientation_is_found_in_every_format_that_has_exif(form, orientation):
    exif = _exif(orientation)

    assert image_info(encoded(pixels(0, 8, 12, 3), form, exif=exif)).orientation == orientation


def test_a_tiff_has_no_orientation_left_because_pillow_applies_it():
    info = image_info(encoded(pixels(0, 8, 12, 3), "TIFF", exif=_exif(6)))

    assert (info.height, info.width, info.orientation) == (12, 8, 1)


def test_a_jpeg_without_a_frame_is_an_error():
    with pytest.raises(ImageError, match="no frame header before its first scan"):
        image_info(b"\xff\xd8\xff\xfe\x00\x04ab\xff\xd9")


def _exif(orientation):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif
