"""PNG by the kernel: every depth, colour type, filter and interlace, against Pillow and against its definition."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import pixels

from wellfed import _native
from wellfed.errors import ImageError
from wellfed.image import decode_image, encode_image

KINDS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # Colour type -> samples of a pixel.
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filtered(kind, row, above, step):
    """A scanline with its filter, byte by byte as section 9.2 defines it."""
    out = bytearray([kind])
    for i, value in enumerate(row):
        a = row[i - step] if i >= step else 0
        b = above[i] if above else 0
        c = above[i - step] if above and i >= step else 0
        out.append((value - [0, a, b, (a + b) // 2, paeth(a, b, c)][kind]) % 256)
    return bytes(out)


def packed(row, depth):
    """Samples of a row as bytes, the first one in the high bits."""
    if depth == 16:
        return row.astype(">u2").tobytes()
    bits = ((row.reshape(-1, 1) >> np.arange(depth - 1, -1, -1)) & 1).astype(np.uint8)
    return np.packbits(bits.reshape(-1)).tobytes()


def scanlines(image, depth, filters, interlaced):
    """All scanlines of samples (H, W, samples); filters are taken in turn."""
    step = max(1, image.shape[2] * depth // 8)
    out, number = b"", 0
    for top, left, down, across in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        part = image[top::down, left::across]
        above = None
        for row in part if part.shape[1] else []:
            line = packed(row.reshape(-1), depth)
            out += filtered(filters[number % len(filters)], line, above, step)
            above, number = line, number + 1
    return out


def png(image, kind, depth, filters=(0,), interlaced=False, extra=b""):
    height, width = image.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    content = zlib.compress(scanlines(image, depth, filters, interlaced))
    body = chunk(b"IHDR", header) + extra + chunk(b"IDAT", content) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def chunk(name, content):
    return len(content).to_bytes(4) + name + content + zlib.crc32(name + content).to_bytes(4)


PALETTE = chunk(b"PLTE", bytes(range(256)) * 3)
CASES = [(kind, depth) for kind in KINDS for depth in DEPTHS[kind]]


@st.composite
def pictures(draw):
    kind, depth = draw(st.sampled_from(CASES))
    height, width = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    image = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, 2**depth, (height, width, KINDS[kind]))
    filters = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    return image, kind, depth, filters, draw(st.booleans())


@given(pictures())
def test_samples_of_every_kind_come_back_as_they_were_stored(case):
    image, _, depth, filters, interlaced = case
    lines = scanlines(image, depth, filters, interlaced)
    shape = (*image.shape[:2], depth, image.shape[2], interlaced)

    status, found = _native.unfilter_png(lines, *shape)

    assert status == _native.PNG_OK
    assert len(lines) == _native.png_scanline_bytes(*shape)
    assert found.dtype == (np.uint16 if depth == 16 else np.uint8)
    assert np.array_equal(found, image)


@given(pictures())
def test_a_picture_of_any_kind_decodes_to_its_values_in_full_range(case):
    image, kind, depth, filters, interlaced = case
    data = png(image, kind, depth, filters, interlaced, PALETTE if kind == 3 else b"")
    dtype = "uint16" if depth == 16 else "uint8"

    found = decode_image(data, channels=0, dtype=dtype)

    if kind == 3:
        due = np.arange(768).reshape(256, 3)[image[..., 0]] % 256
    else:
        due = image * ((2 ** max(depth, 8) - 1) // (2**depth - 1))
    assert np.array_equal(found, due)


@given(shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 2, 3, 4])), seed=st.integers(0, 99))
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_what_is_encoded_comes_back(dtype, shape, seed):
    image = pixels(seed, *shape, dtype=dtype)

    assert np.array_equal(decode_image(encode_image(image), channels=0, dtype=np.dtype(dtype).name), image)


def test_an_unknown_filter_is_an_error():
    data = png(np.zeros((2, 2, 1), int), 0, 8)
    body = chunk(b"IDAT", zlib.compress(bytes([0, 1, 1, 5, 1, 1])))
    wrong = data[:33] + body + chunk(b"IEND", b"")

    with pytest.raises(ImageError, match="a scanline has an unknown filter"):
        decode_image(wrong)


@pytest.mark.parametrize(("lines", "reason"), [(bytes(5), "end after 5 bytes of 6"), (b"", "end after 0 bytes of 6")])
def test_too_few_pixels_are_an_error(lines, reason):
    data = png(np.zeros((2, 2, 1), int), 0, 8)
    short = data[:33] + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")

    with pytest.raises(ImageError, match=reason):
        decode_image(short)


def test_pixels_that_inflate_to_more_than_the_header_says_are_not_inflated_further():
    data = png(np.ones((2, 2, 1), int), 0, 8)
    much = zlib.compress(bytes([0, 1, 1, 0, 1, 1]) + bytes(50_000_000))
    bomb = data[:33] + chunk(b"IDAT", much) + chunk(b"IEND", b"")

    assert (decode_image(bomb) == 1).all()  # As libpng does; nothing above 7 bytes was made.


BROKEN = {
    "no header": (chunk(b"IDAT", b""), "begins with a IDAT chunk"),
    "colour type 5": (chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 5, 0, 0, 0)), "colour type 5"),
    "16-bit palette": (chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 16, 3, 0, 0, 0)), "colour type 3 with 16 bits"),
    "no width": (chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 1, 8, 0, 0, 0, 0)), "0 x 1 pixels"),
    "no pixels": (chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IEND", b""), "no pixels"),
}


@pytest.mark.parametrize(("body", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_structure_is_named(body, reason):
    with pytest.raises(ImageError, match=reason):
        decode_image(b"\x89PNG\r\n\x1a\n" + body + bytes(12))


def test_a_palette_picture_without_a_palette_is_an_error():
    with pytest.raises(ImageError, match="palette is missing"):
        decode_image(png(np.zeros((1, 1, 1), int), 3, 8))


def test_the_kernel_refuses_shapes_that_no_png_has():
    with pytest.raises(ValueError, match="no PNG has this shape"):
        _native.unfilter_png(b"", 1, 1, 3, 1, False)


def test_the_kernel_refuses_scanlines_of_another_length():
    assert _native.unfilter_png(bytes(7), 2, 2, 8, 1, False) == (_native.PNG_BAD_SIZE, None)


def test_a_size_that_no_file_can_hold_is_a_damaged_header_whatever_is_allowed():
    header = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")

    with pytest.raises(ImageError, match="header is damaged: 2147483647 x 2147483647 pixels, colour type 6"):
        decode_image(data, max_pixels=2**64)
