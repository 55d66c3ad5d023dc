"""Decoding: every real picture equals Pillow's, and each policy does what its table in docs/images.md says."""

from __future__ import annotations

import io
import math
import struct
import zlib

import numpy as np
import pytest
from pictures import CORPUS, EXPECTED, GOOD, REFUSED, encoded, pixels, read
from PIL import Image, ImageOps

from wellfed.errors import ImageError
from wellfed.image import DecodeOptions, decode_image, encode_image, image_info

DECODED = [name for name in GOOD if name not in REFUSED]
JPEGS = [name for name in DECODED if "jpeg" in EXPECTED[name]]


def by_pillow(data, mode):
    picture = Image.open(io.BytesIO(data))
    if picture.mode.startswith("I"):
        # Pillow clips 16 bits to 8; every other decoder keeps the high byte.
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.mode == "P" and mode != "RGBA":
        picture = picture.convert("RGBA")  # Pillow warns otherwise where several colours are transparent.
    pixels = np.asarray(picture.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]


@pytest.mark.filterwarnings("ignore:Image appears to be a malformed MPO")  # Pillow's word on one file; not ours.
@pytest.mark.parametrize("name", DECODED)
def test_every_real_picture_in_colour_equals_pillows(name):
    due = by_pillow(read(name), "RGB").astype(int)
    # Pillow turns CMYK into RGB in another way; all else is equal, JPEGs too (libjpeg-turbo's accurate DCT).
    tolerance = 2 if EXPECTED[name]["pillow"]["mode"] == "CMYK" else 0

    assert np.abs(decode_image(read(name)) - due).max() <= tolerance


@pytest.mark.parametrize("name", [name for name in DECODED if "jpeg" not in EXPECTED[name]])
@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (4, "RGBA")])
def test_every_real_lossless_picture_in_grey_and_with_alpha_equals_pillows(name, channels, mode):
    due = by_pillow(read(name), mode).astype(int)
    # Grey of 16-bit colours is weighed in 16 bits.
    tolerance = EXPECTED[name].get("png", {}).get("bit_depth") == 16

    assert np.abs(decode_image(read(name), channels=channels) - due).max() <= tolerance


@pytest.mark.parametrize("name", DECODED)
def test_every_picture_owns_its_memory_and_can_be_written(name):
    image = decode_image(read(name))

    assert image.flags.writeable
    assert image.flags.c_contiguous
    assert image.dtype == np.uint8


def test_the_facts_are_of_the_pictures_that_lie_here():
    assert len(DECODED) > 60
    assert all((CORPUS / name).exists() for name in EXPECTED)


CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}


@pytest.mark.parametrize("stored", CHANNELS)
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_grey_and_colour_with_and_without_alpha_become_what_is_asked(stored, channels):
    image = pixels(1, 9, 7, CHANNELS[stored])
    source = Image.fromarray(image[..., 0] if stored == "L" else image)
    mode = {0: stored, 1: "L", 3: "RGB", 4: "RGBA"}[channels]
    due = np.asarray(source.convert(mode)).reshape(9, 7, -1)

    assert np.array_equal(decode_image(encoded(source, "PNG"), channels=channels), due)


@pytest.mark.parametrize("name", ["good/pillow/hopper.jpg", "good/pillow/hopper.png", "good/pillow/hopper.webp"])
def test_bgr_is_rgb_backwards(name):
    assert np.array_equal(decode_image(read(name), order="bgr"), decode_image(read(name))[..., ::-1])


def test_bgr_keeps_alpha_last():
    image = pixels(2, 5, 6, 4)

    assert np.array_equal(decode_image(encode_image(image), channels=4, order="bgr"), image[..., [2, 1, 0, 3]])


def test_eight_bits_become_sixteen_by_their_share_of_the_whole():
    image = pixels(3, 4, 4, 3)

    assert np.array_equal(decode_image(encode_image(image), dtype="uint16"), image.astype(int) * 257)


def test_sixteen_bits_become_eight_by_their_high_byte():
    image = pixels(4, 4, 4, 3, dtype=np.uint16)

    assert np.array_equal(decode_image(encode_image(image)), image >> 8)


def test_a_wide_tiff_keeps_its_sixteen_bits():
    image = pixels(5, 6, 5, dtype=np.uint16)

    assert np.array_equal(decode_image(encoded(image, "TIFF"), channels=1, dtype="uint16")[..., 0], image)
    assert np.array_equal(decode_image(encoded(image, "TIFF"), channels=4, dtype="uint16")[..., 1], image)


def wide_colour_tiff():
    """An uncompressed TIFF of one pixel with 16 bits a colour, which Pillow cannot write."""
    entries = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 3, 122), (259, 3, 1, 1), (262, 3, 1, 2)]
    entries += [(273, 4, 1, 128), (277, 3, 1, 3), (278, 3, 1, 1), (279, 4, 1, 6)]
    table = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = b"II*\0" + struct.pack("<IH", 8, len(entries))
    body = (head + table).ljust(122, b"\0") + struct.pack("<HHH", 16, 16, 16)
    return body.ljust(128, b"\0") + struct.pack("<HHH", 0x1234, 0x5678, 0x9ABC)


def test_wide_colours_that_pillow_narrows_are_not_called_sixteen_bits():
    data = wide_colour_tiff()

    assert image_info(data).bits == 16
    assert decode_image(data).tolist() == [[[0x12, 0x56, 0x9A]]]
    with pytest.raises(ImageError, match="has 16-bit colours, of which Pillow gives 8 bits"):
        decode_image(data, dtype="uint16")


@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_floats_are_refused_not_clipped(channels):
    data = encoded(pixels(0, 4, 4, dtype=np.float32), "TIFF")

    with pytest.raises(ImageError, match="pixels of kind F are not supported"):
        decode_image(data, channels=channels)


# --- Palettes -------------------------------------------------------------------------------------


def mask(bits, **options):
    """A palette PNG of class numbers 0 to 3, and the numbers."""
    classes = pixels(6, 11, 13) % 4
    picture = Image.fromarray(classes)
    picture.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120])
    return encoded(picture, "PNG", bits=bits, **options), classes


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_mask_keeps_the_numbers_of_its_palette(bits):
    data, classes = mask(bits)

    assert np.array_equal(decode_image(data, mode="index"), classes[..., None])


def test_a_mask_in_colour_has_the_colours_of_its_palette():
    data, classes = mask(8)

    assert np.array_equal(decode_image(data)[..., 0], np.array([10, 40, 70, 100])[classes])


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF"])
def test_masks_of_other_formats_keep_their_numbers_too(form):
    data, classes = mask(8)
    source = Image.open(io.BytesIO(data))

    assert np.array_equal(decode_image(encoded(source, form), mode="index")[..., 0], classes)


def test_a_grey_mask_keeps_its_values():
    classes = pixels(7, 5, 5) % 4

    assert np.array_equal(decode_image(encode_image(classes), mode="index")[..., 0], classes)
    assert decode_image(read("odd/pngsuite/basn0g02.png"), mode="index").max() == 3  # Not stretched to 255.


@pytest.mark.parametrize("name", ["good/pillow/hopper.png", "good/pillow/hopper.jpg", "good/pillow/hopper.webp"])
def test_a_picture_in_colour_is_no_mask(name):
    with pytest.raises(ImageError, match='mode="index" needs a palette or a grey picture'):
        decode_image(read(name), mode="index")


def test_a_transparent_palette_gives_alpha_as_stored():
    data, classes = mask(8, transparency=2)

    image = decode_image(data, channels=0)

    assert np.array_equal(image[..., 3], np.where(classes == 2, 0, 255))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_transparent_colour_of_a_png_counts_only_where_alpha_is_asked(dtype, channels):
    image = pixels(8, 4, 4, channels, dtype=dtype)
    bits = np.dtype(dtype).name
    data = encode_image(image)
    key = b"".join(int(v).to_bytes(2) for v in image[1, 2])
    data = with_chunk(data, b"tRNS", key)
    due = np.full((4, 4), np.iinfo(dtype).max)
    due[1, 2] = 0

    assert np.array_equal(decode_image(data, channels=4, dtype=bits)[..., 3], due)
    assert np.array_equal(decode_image(data, channels=0, dtype=bits), image)


def chunk(name, content):
    return len(content).to_bytes(4) + name + content + zlib.crc32(name + content).to_bytes(4)


def with_chunk(png, name, content):
    return png[:33] + chunk(name, content) + png[33:]


# --- EXIF -----------------------------------------------------------------------------------------


def turned(orientation, form):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(pixels(9, 16, 24, 3), form, exif=exif)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_exif_apply_turns_pictures_as_pillow_does(form, orientation):
    data = turned(orientation, form)
    due = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))

    assert np.array_equal(decode_image(data, exif="apply"), due)


@pytest.mark.parametrize("exif", ["ignore", "apply", "error"])
def test_a_tiff_stands_upright_under_every_policy(exif):
    data = turned(6, "TIFF")

    assert np.array_equal(decode_image(data, exif=exif), np.asarray(Image.open(io.BytesIO(data))))
    assert decode_image(data, exif=exif).shape == (24, 16, 3)


@pytest.mark.parametrize("name", [name for name in JPEGS if EXPECTED[name]["pillow"].get("exif_orientation")])
def test_exif_apply_turns_real_photos_as_pillow_does(name):
    due = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(read(name)))).convert("RGB"))

    assert np.abs(decode_image(read(name), exif="apply").astype(int) - due).max() <= 2


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_exif_is_ignored_by_default(form):
    assert decode_image(turned(6, form)).shape == (16, 24, 3)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_exif_error_refuses_turned_pictures_only(form):
    assert decode_image(turned(1, form), exif="error").shape == (16, 24, 3)
    with pytest.raises(ImageError, match=r'EXIF orientation 6 and exif="error"'):
        decode_image(turned(6, form), exif="error")


def test_damaged_exif_says_nothing():
    assert decode_image(read("odd/pillow/invalid-exif.jpg"), exif="error").shape == (200, 200, 3)


# --- Frames ---------------------------------------------------------------------------------------


def animated(form):
    frames = [Image.fromarray(pixels(20 + i, 12, 10, 3)) for i in range(3)]
    options = {"lossless": True} if form == "WEBP" else {}
    return encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=50, **options)


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "TIFF"])
def test_all_frames_are_those_that_pillow_finds(form):
    data = animated(form)
    source = Image.open(io.BytesIO(data))
    due = []
    for number in range(3):
        source.seek(number)
        due.append(np.asarray(source.convert("RGB")))

    assert np.array_equal(decode_image(data, frames="all"), np.stack(due))


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "TIFF"])
def test_the_first_frame_is_the_default(form):
    data = animated(form)

    assert np.array_equal(decode_image(data), decode_image(data, frames="all")[0])


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "TIFF"])
def test_frames_error_refuses_animations_only(form):
    still = encoded(pixels(0, 4, 4, 3), form)

    assert decode_image(still, frames="error").shape == (4, 4, 3)
    with pytest.raises(ImageError, match='3 frames and frames="error"'):
        decode_image(animated(form), frames="error")


def test_a_still_picture_has_one_frame():
    assert decode_image(read("good/pillow/hopper.jpg"), frames="all").shape == (1, 128, 128, 3)
    assert decode_image(read("good/pillow/hopper.png"), frames="all").shape == (1, 128, 128, 3)


def pages(*images):
    """A TIFF of one page for each array, with what Pillow writes for it."""
    first, *others = (Image.fromarray(image) for image in images)
    return encoded(first, "TIFF", save_all=True, append_images=others)


def test_frames_of_8_and_of_16_bits_are_each_brought_to_the_type_that_is_due():
    data = pages(np.full((5, 4), 200, np.uint8), np.full((5, 4), 200 * 257, np.uint16))

    assert np.array_equal(decode_image(data, frames="all"), np.full((2, 5, 4, 3), 200, np.uint8))
    assert np.array_equal(decode_image(data, frames="all", dtype="uint16"), np.full((2, 5, 4, 3), 200 * 257, np.uint16))


def growing_gif(side):
    """A GIF of 2 x 2 pixels whose second frame is a square of `side`, which widens the screen, and is cut off."""
    first = encoded(pixels(0, 2, 2), "GIF")[:-1]
    return first + struct.pack("<c4HB", b",", 0, 0, side, side, 0) + bytes([8, 0])


SIZES = {
    "TIFF": (pages(pixels(0, 5, 4), pixels(1, 4, 5)), "5 x 4 pixels, the first 4 x 5"),
    "GIF": (growing_gif(9), "9 x 9 pixels, the first 2 x 2"),
    "a bomb": (growing_gif(9_000), "9000 x 9000 pixels, the first 2 x 2"),
}


@pytest.mark.parametrize(("data", "sizes"), SIZES.values(), ids=SIZES)
def test_a_frame_of_another_size_than_the_first_is_refused_before_it_is_decoded(data, sizes):
    with pytest.raises(ImageError, match=rf'frame 1 \(from 0\) has {sizes}; frames="first" takes'):
        decode_image(data, frames="all")


def test_frames_with_other_channels_than_the_first_need_to_be_told_how_many():
    data = pages(pixels(0, 5, 4, 3), pixels(1, 5, 4))

    assert decode_image(data, frames="all").shape == (2, 5, 4, 3)
    with pytest.raises(ImageError, match=r"frame 1 \(from 0\) has 1 channels, the first 3; give channels=3"):
        decode_image(data, frames="all", channels=0)


def test_16_bit_colours_of_a_later_frame_are_refused_as_uint16_too(monkeypatch):
    monkeypatch.setattr("wellfed.image.pillow.loses_bits", lambda picture: picture.tell() == 1)

    with pytest.raises(ImageError, match="the TIFF has 16-bit colours, of which Pillow gives 8 bits"):
        decode_image(animated("TIFF"), frames="all", dtype="uint16")


# --- Kinds of pixels ------------------------------------------------------------------------------


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB"), (4, "RGBA")])
def test_lab_becomes_colours_and_from_them_all_else(channels, mode):
    lab = Image.fromarray(pixels(3, 6, 7, 3)).convert("LAB")
    due = np.asarray(lab.convert("RGB").convert(mode)).reshape(6, 7, channels)

    assert np.array_equal(decode_image(encoded(lab, "TIFF"), channels=channels), due)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_values_beyond_16_bits_are_told(dtype):
    data = encoded(np.array([[-3, 70_000]], np.int32), "TIFF")

    with pytest.raises(ImageError, match="values from -3 to 70000 are not supported; expected unsigned integers of 8"):
        decode_image(data, dtype=dtype)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_floats_are_told(dtype):
    with pytest.raises(ImageError, match="pixels of kind F are not supported"):
        decode_image(encoded(np.zeros((2, 2), np.float32), "TIFF"), dtype=dtype)


# --- Limits and options ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_a_picture_with_more_pixels_than_allowed_is_refused_before_it_is_decoded(form):
    data = encoded(pixels(0, 20, 30, 3), form)

    assert decode_image(data, max_pixels=600).shape == (20, 30, 3)
    with pytest.raises(ImageError, match="30 x 20 pixels, more than max_pixels=599"):
        decode_image(data, max_pixels=599)


def test_the_limit_counts_all_frames_that_are_asked_for():
    data = animated("GIF")

    assert decode_image(data, max_pixels=120).shape == (12, 10, 3)
    with pytest.raises(ImageError, match="10 x 12 pixels in 3 frames, more than max_pixels=120"):
        decode_image(data, max_pixels=120, frames="all")


def test_a_bomb_of_a_png_is_refused_by_its_header():
    small = encode_image(np.zeros((1, 1, 1), np.uint8))
    bomb = small[:8] + chunk(b"IHDR", (60_000).to_bytes(4) * 2 + small[24:29]) + small[33:]

    with pytest.raises(ImageError, match="60000 x 60000 pixels, more than max_pixels"):
        decode_image(bomb)


WRONG = {"channels": 2, "order": "rbg", "dtype": "float32", "mode": "P", "exif": "yes", "frames": "last", "dct": "slow"}


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_an_option_that_is_none_of_its_choices_is_an_error(name, value):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        DecodeOptions(**{name: value})


def test_a_limit_below_one_pixel_is_an_error():
    with pytest.raises(ValueError, match="max_pixels must be at least 1 pixel, got 0"):
        DecodeOptions(max_pixels=0)


@pytest.mark.parametrize("limit", [math.nan, 1e9, True, "9", None])
def test_a_limit_that_is_no_whole_number_is_an_error(limit):
    with pytest.raises(ValueError, match=f"max_pixels must be a whole number, got {limit!r}"):
        DecodeOptions(max_pixels=limit)


def test_true_is_no_number_of_channels():
    with pytest.raises(ValueError, match=r"channels must be one of \(0, 1, 3, 4\), got True"):
        DecodeOptions(channels=True)
