"""The native pass itself: every implementation the same bits, every type, nothing outside, and the GIL free."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pictures import bfloat16_bits, model_resize, pixels

from wellfed import _native
from wellfed.image import pixels as pass_

IMPLEMENTATIONS = _native.pixel_implementations()
FAST = IMPLEMENTATIONS[1:]


@st.composite
def jobs(draw):
    """Arguments of one call, drawn so that each part of the pass is met."""
    count, channels = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    height, width = draw(st.integers(1, 40)), draw(st.integers(1, 70))
    source = draw(st.sampled_from(["uint8", "uint16", "float32"]))
    method = draw(st.sampled_from(["none", "bilinear", "area"]))
    rounded = draw(st.sampled_from(["uint8", "uint16", "float32"])) if method != "none" else source
    out_type = draw(st.sampled_from(["float32", "float16", "bfloat16", rounded]))
    scaled = out_type.startswith(("f", "b")) and draw(st.booleans())
    window = draw(st.integers(1, 30)), draw(st.integers(1, 60))
    rows = []
    for _ in range(count):
        top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
        box = draw(st.integers(1, height - top)), draw(st.integers(1, width - left))
        resized = box if method == "none" else tuple(w + draw(st.integers(0, 9)) for w in window)
        rows.append((top, left, *box, *resized, window))
    size = window if method != "none" else tuple(min(r[k] for r in rows) for k in (2, 3))
    places = []
    for top, left, *box_and_size, _ in rows:
        spare = box_and_size[2] - size[0], box_and_size[3] - size[1]
        at = draw(st.integers(0, spare[0])), draw(st.integers(0, spare[1]))
        places.append((top, left, *box_and_size, *at, draw(st.integers(0, 1))))
    seed = draw(st.integers(0, 10_000))
    return {
        "pictures": pixels(seed, count, height, width, channels, dtype=np.dtype(source).type),
        "geometry": np.array(places, np.int64),
        "size": size,
        "out_type": out_type,
        "method": method,
        "rounded": rounded,
        "factors": np.random.default_rng(seed).random((2, channels), np.float32) if scaled else None,
        "planar": draw(st.booleans()),
        "stream": draw(st.booleans()),
    }


def run(job, implementation=""):
    pictures, channels = job["pictures"], job["pictures"].shape[3]
    shape = (channels, *job["size"]) if job["planar"] else (*job["size"], channels)
    out = np.zeros((len(pictures), *shape), pass_.array_dtype(job["out_type"]))
    scale, bias = job["factors"] if job["factors"] is not None else (None, None)
    _native.run_pixels(
        pictures,
        job["geometry"],
        out,
        scale=scale,
        bias=bias,
        implementation=implementation,
        **{name: job[name] for name in ("out_type", "method", "rounded", "planar", "stream")},
    )
    return out


def model(job):
    """The same in plain NumPy, in float64, before the last rounding to the result's type."""
    results = []
    for picture, place in zip(job["pictures"], job["geometry"].tolist(), strict=True):
        top, left, height, width, resized_height, resized_width, y, x, flip = place
        box = picture[top : top + height, left : left + width].astype(np.float64)
        if job["method"] != "none":
            box = model_resize(box, (resized_height, resized_width), job["method"])
        box = box[y : y + job["size"][0], x : x + job["size"][1]]
        box = box[:, ::-1] if flip else box
        if job["factors"] is not None:
            box = box * job["factors"][0] + job["factors"][1]
        results.append(box.transpose(2, 0, 1) if job["planar"] else box)
    return np.stack(results)


def as_floats(values, out_type):
    if out_type == "bfloat16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


def test_this_machine_has_an_implementation():
    assert IMPLEMENTATIONS[0] == "portable"


@given(jobs())
def test_every_implementation_gives_the_same_bits(job):
    due = run(job, "portable").view(np.uint8)

    for name in FAST:
        assert np.array_equal(run(job, name).view(np.uint8), due), name


@given(jobs())
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_pass_is_the_models_crop_resize_flip_and_scale(implementation, job):
    wide = job["pictures"].dtype == np.uint16
    assume(not wide or (job["rounded"] != "uint8" and job["out_type"] != "float16"))  # Beyond the result's range.
    due = model(job)
    source_scale = 257 if wide else 1
    # Half a unit by rounding, and what float32 places are off.
    due_error = 0.03 * source_scale + (0.5 if job["rounded"] != "float32" else 0)
    if job["rounded"] == "uint8":
        due = np.clip(due, 0, 255) if job["factors"] is None else due
    relative = {"float32": 1e-6, "float16": 2**-10, "bfloat16": 2**-7}.get(job["out_type"], 0)

    found = as_floats(run(job, implementation), job["out_type"])

    factor = 1 if job["factors"] is None else np.abs(job["factors"][0]).max()
    np.testing.assert_allclose(found, due, atol=due_error * max(1, factor), rtol=relative)


def test_values_beyond_a_type_become_its_limit():
    picture = np.array([[[0], [255], [256], [65535]]], np.uint16)[None]
    geometry = np.array([pass_.whole(1, 4, (1, 4))])
    out = np.zeros((1, 1, 4, 1), np.uint8)

    _native.run_pixels(picture, geometry, out, out_type="uint8", method="bilinear", rounded="uint8")

    assert out.ravel().tolist() == [0, 255, 255, 255]


SPECIAL = [0.0, -0.0, 1.0, -1.0, 65504.0, 65519.996, 65520.0, 1e6, np.inf, -np.inf, np.nan, 2**-14, 2**-24, 2**-25]
SPECIAL += [2**-25 * 1.0001, 2**-26, 2**-15 * 1.3, 1 / 3, 1 + 2**-11, 1 + 3 * 2**-11, 1e-45, 3.4e38]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_floats_are_narrowed_to_half_as_numpy_does(implementation):
    everything = np.arange(0, 2**32, 65537 * 7, dtype=np.uint32).view(np.float32)
    values = np.concatenate([np.array(SPECIAL, np.float32), everything])

    found = narrow(values, "float16", implementation).view(np.float16)

    with np.errstate(over="ignore"):
        due = values.astype(np.float16)
    assert np.array_equal(found, due, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(due))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_floats_are_narrowed_to_bfloat16_to_nearest_even(implementation):
    values = np.arange(0, 2**32, 65537 * 7, dtype=np.uint32).view(np.float32)
    finite = values[np.isfinite(values)]

    assert np.array_equal(narrow(finite, "bfloat16", implementation), bfloat16_bits(finite))
    assert (narrow(np.array([np.nan], np.float32), "bfloat16", implementation) & 0x7FFF > 0x7F80).all()


def narrow(values, out_type, implementation):
    pictures = values.reshape(1, 1, -1, 1)
    out = np.zeros(pictures.shape, np.uint16)
    geometry = np.array([pass_.whole(1, len(values), (1, len(values)))])
    _native.run_pixels(pictures, geometry, out, out_type=out_type, rounded="float32", implementation=implementation)
    return out.ravel()


OUTSIDE = {
    "above": (-1, 0, 2, 2, 2, 2, 0, 0, 0),
    "below": (3, 0, 2, 2, 2, 2, 0, 0, 0),
    "right": (0, 3, 2, 2, 2, 2, 0, 0, 0),
    "empty box": (0, 0, 0, 2, 2, 2, 0, 0, 0),
    "window outside": (0, 0, 4, 4, 2, 2, 1, 0, 0),
    "resized smaller than the window": (0, 0, 4, 4, 1, 2, 0, 0, 0),
    "a sum that wraps": (2**63 - 1, 0, 2, 2, 2, 2, 0, 0, 0),
    "huge": (0, 0, 4, 4, 2**62, 2**62, 0, 0, 0),
}


@pytest.mark.parametrize("place", OUTSIDE.values(), ids=OUTSIDE)
def test_a_place_outside_of_the_picture_is_refused(place):
    picture, out = np.zeros((1, 4, 4, 3), np.uint8), np.full((1, 2, 2, 3), 7, np.uint8)

    with pytest.raises(ValueError, match="the geometry of row 0 does not fit"):
        _native.run_pixels(picture, np.array([place]), out, out_type="uint8", method="bilinear")

    assert (out == 7).all()


def call(pictures, out, rows=1, **options):
    geometry = np.array([(0, 0, 2, 2, 2, 2, 0, 0, 0)] * rows)
    _native.run_pixels(pictures, geometry, out, **{"out_type": "uint8", **options})


def test_arrays_that_do_not_fit_together_are_refused():
    picture, out = np.zeros((1, 2, 2, 3), np.uint8), np.zeros((1, 2, 2, 3), np.uint8)

    with pytest.raises(ValueError, match="the same number of rows"):
        call(picture, out, rows=2)
    with pytest.raises(ValueError, match="the same number of channels"):
        call(picture, np.zeros((1, 2, 2, 1), np.uint8))
    with pytest.raises(ValueError, match="as large as out_type"):
        call(picture, out, out_type="float32")
    with pytest.raises(ValueError, match="one value a channel"):
        call(picture, np.zeros((1, 2, 2, 3), "f4"), out_type="float32", scale=np.ones(2, "f4"), bias=np.ones(2, "f4"))
    with pytest.raises(ValueError, match="types and channels is not supported"):
        call(np.zeros((1, 2, 2, 5), np.uint8), np.zeros((1, 2, 2, 5), np.uint8))
    with pytest.raises(ValueError, match="side by side"):
        call(picture[..., ::-1], out)
    with pytest.raises(ValueError, match="no implementation called mmx"):
        call(picture, out, implementation="mmx")
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call(picture, np.zeros((1, 2, 4, 3), np.uint8)[:, :, ::2])  # Never a copy that nobody sees.


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("stream", [False, True])
def test_a_row_is_written_whole_and_nothing_beside_it(stream, offset):
    picture = pixels(0, 1, 9, 21, 3)
    memory = np.full(9 * 21 * 3 * 4 + 256, 0xAB, np.uint8)
    start = 64 + 4 * offset  # On and off the boundaries of the stores that go past the cache.
    out = memory[start : start + 9 * 21 * 12].view(np.float32).reshape(1, 9, 21, 3)
    geometry = np.array([pass_.whole(9, 21, (9, 21))])

    _native.run_pixels(picture, geometry, out, out_type="float32", stream=stream)

    assert np.array_equal(out, picture)
    assert (memory[:start] == 0xAB).all()
    assert (memory[start + out.nbytes :] == 0xAB).all()


def test_the_gil_is_free_while_the_pass_runs():
    picture = np.ones((1, 3000, 3000, 3), np.uint8)
    out = np.zeros((1, 4000, 4000, 3), np.float32)
    geometry = np.array([pass_.whole(3000, 3000, (4000, 4000))])
    job = threading.Thread(
        target=_native.run_pixels,
        args=(picture, geometry, out),
        kwargs={"out_type": "float32", "method": "area", "rounded": "float32", "implementation": "portable"},
    )
    seen_half_done = False
    job.start()
    while job.is_alive() and not seen_half_done:
        seen_half_done = bool(out[0, 0, 0, 0]) and not out[0, -1, -1, 0]
    job.join()

    assert seen_half_done  # This thread ran while the first row was written and the last one was not.
    assert out[0, -1, -1, 0] == 1


# --- Rows one by one ------------------------------------------------------------------------------


def rows_into(out, source="uint8", channels=3):
    return _native.PixelRows(out, source, channels, "float32", "bilinear", "float32", None, None, False, False)


def test_pictures_one_by_one_are_those_of_a_whole_array():
    pictures = pixels(1, 5, 20, 30, 3)
    due, found = np.empty((2, 5, 8, 9, 3), np.float32)
    place = pass_.whole(20, 30, (8, 9))
    options = {"out_type": "float32", "method": "bilinear", "rounded": "float32"}
    pass_.run(pictures, np.tile(place, (5, 1)), due, **options)
    rows = rows_into(found)
    for row, picture in enumerate(pictures):
        rows.run(row, picture, place)

    assert np.array_equal(found, due)


@pytest.mark.parametrize(
    ("row", "picture", "place", "error", "reason"),
    [
        (5, pixels(1, 20, 30, 3), (0, 0, 20, 30, 8, 9, 0, 0, 0), IndexError, "no such row"),
        (0, pixels(1, 20, 30, 4), (0, 0, 20, 30, 8, 9, 0, 0, 0), ValueError, "other channels"),
        (0, pixels(1, 20, 30, 3).astype(np.uint16), (0, 0, 20, 30, 8, 9, 0, 0, 0), ValueError, "another type"),
        (0, pixels(1, 20, 30, 3)[:, ::2], (0, 0, 20, 15, 8, 9, 0, 0, 0), ValueError, "side by side"),
        (0, pixels(1, 20, 30, 3), (0, 0, 21, 30, 8, 9, 0, 0, 0), ValueError, "the geometry of row 0 does not fit"),
    ],
    ids=["row", "channels", "type", "strides", "geometry"],
)
def test_a_picture_that_does_not_fit_is_refused_and_nothing_is_written(row, picture, place, error, reason):
    out = np.zeros((5, 8, 9, 3), np.float32)

    with pytest.raises(error, match=reason):
        rows_into(out).run(row, picture, place)
    assert not out.any()


def test_rows_can_only_be_written_to_what_can_be_written():
    out = np.zeros((5, 8, 9, 3), np.float32)
    out.flags.writeable = False

    with pytest.raises(TypeError, match="incompatible"):
        rows_into(out)
