"""Which format some bytes hold."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest
from pictures import AVIF, EXPECTED, GOOD, encoded, pixels, read

from wellfed.errors import ImageError
from wellfed.image import FORMATS, decode_image, image_info, sniff_format

NAMES = {"JPEG": "jpeg", "PNG": "png", "GIF": "gif", "BMP": "bmp", "WEBP": "webp"}
KNOWN = [name for name in GOOD if "format" in EXPECTED[name]["pillow"]]


@pytest.mark.parametrize("name", KNOWN)
def test_the_format_of_a_real_picture_is_the_one_pillow_names(name):
    assert sniff_format(read(name)) == NAMES[EXPECTED[name]["pillow"]["format"]]


@pytest.mark.parametrize("form", ["TIFF", AVIF])
def test_formats_that_the_corpus_lacks_are_named_too(form):
    assert sniff_format(encoded(pixels(0, 8, 8, 3), form)) == form.lower()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"GIF",
        b"<html>",
        b"\x1f\x8b",
        b"\x1f\x8b" + bytes(40),
        b"RIFF1234WAVE" + bytes(20),
        b"BMW and others",
    ],
)
def test_what_is_no_picture_has_no_format(data):
    assert sniff_format(data) is None


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_any_kind_of_bytes_is_taken(kind):
    data = kind(read("good/pillow/hopper.png"))

    assert sniff_format(data) == "png"
    assert decode_image(data).shape == (128, 128, 3)


def test_a_picture_wrapped_in_gzip_is_what_it_is_inside():
    inside = read("good/pillow/hopper.jpg")
    data = gzip.compress(inside)

    assert sniff_format(data) == "jpeg"
    assert image_info(data).gzip
    assert not image_info(inside).gzip
    assert np.array_equal(decode_image(data), decode_image(inside))


def test_a_cut_gzip_stream_is_an_error_that_says_so():
    data = gzip.compress(read("good/pillow/hopper.jpg"))[:-3000]

    with pytest.raises(ImageError, match=r"wrapped in gzip, whose stream ends early"):
        decode_image(data)


def test_a_damaged_gzip_stream_is_an_error_that_says_so():
    data = bytearray(gzip.compress(read("good/pillow/hopper.jpg")))
    data[-6] ^= 1  # In its CRC-32.

    with pytest.raises(ImageError, match="wrapped in gzip, whose stream is damaged"):
        decode_image(bytes(data))


def test_what_is_no_picture_inside_gzip_is_not_unwrapped():
    data = gzip.compress(b"<html>" + bytes(64 << 20))

    tracemalloc.start()
    with pytest.raises(ImageError, match="look like HTML"):
        decode_image(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_bomb_inside_gzip_is_told():
    data = gzip.compress(read("good/pillow/hopper.jpg") + bytes(256 << 20), 1)

    with pytest.raises(ImageError, match="wrapped in gzip, whose stream holds more than 268435456 bytes"):
        decode_image(data)


LOOKS = {
    b"": "empty",
    b"<!DOCTYPE html><html>": "HTML",
    b"version https://git-lfs.github.com/spec/v1": "git-lfs pointer",
    b"%PDF-1.7": "PDF",
    b"PK\x03\x04" + bytes(30): "zip archive",
    b"\x00\x01\x02\x03\x04\x05\x06\x07\x08": "begin 00 01 02 03 04 05 06 07",
}


@pytest.mark.parametrize(("data", "what"), LOOKS.items(), ids=LOOKS.values())
@pytest.mark.parametrize("verb", [decode_image, image_info])
def test_bytes_that_are_no_picture_are_named_by_what_they_look_like(verb, data, what):
    with pytest.raises(ImageError, match=what):
        verb(data)


def test_the_error_lists_the_formats_that_are_known():
    with pytest.raises(ImageError, match=", ".join(FORMATS)):
        decode_image(b"nothing of the kind")
