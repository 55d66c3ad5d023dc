"""TensorFlow's functions and ours on the same values: at once, and deferred in a session."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import wellfed.compat as ours

theirs = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

RNG = np.random.default_rng(7)
FLOATS = RNG.normal(size=(3, 4)).astype(np.float32)
POSITIVE = np.abs(FLOATS) + np.float32(0.5)
INTS = RNG.integers(-9, 9, (3, 4)).astype(np.int64)
BYTES = RNG.integers(0, 255, (6, 8, 3)).astype(np.uint8)
UNIT = RNG.random((5, 7, 3)).astype(np.float32)
WORDS = np.array([b"one two", b"", b"Three"], object)
BATCH = RNG.integers(0, 255, (2, 6, 8, 3)).astype(np.uint8)

# A name, the arguments that are values, and the rest.
CASES = {
    "add": ("add", [FLOATS, FLOATS], {}),
    "add strings": ("add", [WORDS, WORDS], {}),
    "subtract broadcast": ("subtract", [FLOATS, FLOATS[0]], {}),
    "multiply by a python number": ("multiply", [FLOATS], {"y": 2.5}),
    "divide floats": ("divide", [FLOATS, POSITIVE], {}),
    "divide integers": ("divide", [INTS], {"y": 4}),
    "floordiv": ("math.floordiv", [INTS], {"y": 4}),
    "mod": ("math.floormod", [INTS], {"y": 4}),
    "maximum": ("maximum", [FLOATS, FLOATS.T.copy().reshape(3, 4)], {}),
    "equal": ("equal", [INTS, INTS % 3], {}),
    "less": ("less", [FLOATS], {"y": 0.0}),
    "logical_and": ("logical_and", [FLOATS > 0, INTS > 0], {}),
    "sqrt": ("sqrt", [POSITIVE], {}),
    "exp": ("exp", [FLOATS], {}),
    "round": ("round", [np.array([0.5, 1.5, -0.5, 2.4], np.float32)], {}),
    "sign": ("sign", [FLOATS], {}),
    "clip": ("clip_by_value", [FLOATS], {"clip_value_min": -0.5, "clip_value_max": 0.5}),
    "cumsum": ("cumsum", [FLOATS], {"axis": 1}),
    "sum": ("reduce_sum", [FLOATS], {"axis": 0}),
    "sum of all": ("reduce_sum", [INTS], {}),
    "mean": ("reduce_mean", [FLOATS], {"axis": [0, 1]}),
    "mean of integers": ("reduce_mean", [INTS], {"axis": 1}),
    "max": ("reduce_max", [FLOATS], {"axis": -1, "keepdims": True}),
    "any": ("reduce_any", [FLOATS > 1], {"axis": 0}),
    "argmax": ("argmax", [FLOATS], {"axis": 1}),
    "argmax by default": ("argmax", [FLOATS], {}),
    "argmin": ("argmin", [FLOATS], {"axis": 0}),
    "cast down": ("cast", [np.array([1.9, -1.9], np.float32)], {"dtype": "int32"}),
    "cast truths": ("cast", [FLOATS > 0], {"dtype": "float32"}),
    "cast up": ("cast", [BYTES], {"dtype": "float32"}),
    "reshape": ("reshape", [FLOATS], {"shape": [2, -1]}),
    "expand_dims": ("expand_dims", [FLOATS], {"axis": 1}),
    "squeeze": ("squeeze", [FLOATS[:, :1]], {}),
    "squeeze one": ("squeeze", [FLOATS[:1, :1]], {"axis": 1}),
    "transpose": ("transpose", [BYTES], {"perm": [2, 0, 1]}),
    "transpose by default": ("transpose", [FLOATS], {}),
    "tile": ("tile", [INTS], {"multiples": [1, 2]}),
    "pad": ("pad", [INTS], {"paddings": [[1, 0], [0, 2]]}),
    "pad by reflection": ("pad", [INTS], {"paddings": [[1, 1], [1, 1]], "mode": "REFLECT"}),
    "reverse": ("reverse", [INTS], {"axis": [1]}),
    "gather": ("gather", [FLOATS, np.array([2, 0])], {}),
    "gather along": ("gather", [FLOATS, np.array([3, 0])], {"axis": 1}),
    "slice": ("slice", [INTS], {"begin": [1, 0], "size": [-1, 2]}),
    "boolean_mask": ("boolean_mask", [FLOATS, INTS[:, 0] > -3], {}),
    "where": ("where", [FLOATS > 0, FLOATS, POSITIVE], {}),
    "where indices": ("where", [FLOATS > 0], {}),
    "one_hot": ("one_hot", [np.array([0, 2, 5])], {"depth": 3}),
    "one_hot with values": ("one_hot", [np.array([1])], {"depth": 3, "on_value": 5, "off_value": -1, "dtype": "int32"}),
    "shape": ("shape", [BYTES], {}),
    "size": ("size", [BYTES], {}),
    "rank": ("rank", [BYTES], {}),
    "zeros_like": ("zeros_like", [INTS], {}),
    "ones_like": ("ones_like", [FLOATS], {}),
    "sequence_mask": ("sequence_mask", [np.array([1, 3, 0])], {}),
    "string length": ("strings.length", [WORDS], {}),
    "lower": ("strings.lower", [WORDS], {}),
    "upper": ("strings.upper", [WORDS], {}),
    "strip": ("strings.strip", [np.array([b" a ", b"b\n"], object)], {}),
    "substr": ("strings.substr", [WORDS[[0, 2]]], {"pos": 1, "len": 2}),
    "regex": ("strings.regex_replace", [WORDS], {"pattern": "o(.)", "rewrite": r"<\1>"}),
    "full match": ("strings.regex_full_match", [WORDS], {"pattern": "T.*"}),
    "to_number": ("strings.to_number", [np.array([b"1.5", b"-2"], object)], {}),
    "to integers": ("strings.to_number", [np.array([b"15", b"-2"], object)], {"out_type": "int32"}),
    "as_string": ("strings.as_string", [INTS], {}),
    "decode_raw": ("io.decode_raw", [np.array([b"\1\0\2\0", b"\3\0\4\0"], object)], {"out_type": "int16"}),
    "decode_raw big-endian": (
        "io.decode_raw",
        [np.array([b"\1\0\2\0"], object)],
        {"out_type": "int16", "little_endian": False},
    ),
    "flip": ("image.flip_left_right", [BYTES], {}),
    "flip up": ("image.flip_up_down", [BATCH], {}),
    "rot90": ("image.rot90", [BYTES], {"k": 3}),
    "picture transpose": ("image.transpose", [BATCH], {}),
    "crop": (
        "image.crop_to_bounding_box",
        [BYTES],
        {"offset_height": 1, "offset_width": 2, "target_height": 3, "target_width": 4},
    ),
    "pad to box": (
        "image.pad_to_bounding_box",
        [BATCH],
        {"offset_height": 1, "offset_width": 2, "target_height": 9, "target_width": 12},
    ),
    "crop or pad larger": ("image.resize_with_crop_or_pad", [BYTES], {"target_height": 9, "target_width": 5}),
    "crop or pad smaller": ("image.resize_with_crop_or_pad", [BATCH], {"target_height": 3, "target_width": 11}),
    "central_crop": ("image.central_crop", [BYTES], {"central_fraction": 0.5}),
    "to float": ("image.convert_image_dtype", [BYTES], {"dtype": "float32"}),
    "to uint8": ("image.convert_image_dtype", [np.abs(FLOATS) % 1], {"dtype": "uint8"}),
    "to uint16": ("image.convert_image_dtype", [BYTES], {"dtype": "uint16"}),
    "standardization": ("image.per_image_standardization", [BYTES], {}),
    "brightness": ("image.adjust_brightness", [BYTES], {"delta": 0.1}),
    "contrast": ("image.adjust_contrast", [BYTES], {"contrast_factor": 1.5}),
    "grey": ("image.rgb_to_grayscale", [BYTES], {}),
    "colour": ("image.grayscale_to_rgb", [BYTES[..., :1]], {}),
    "resize": ("image.resize", [BYTES], {"size": [4, 5]}),
    "resize up": ("image.resize", [BATCH], {"size": [13, 9]}),
    "resize nearest": ("image.resize", [BYTES], {"size": [4, 11], "method": "nearest"}),
    "resize area": ("image.resize", [BYTES], {"size": [3, 4], "method": "area"}),
    "resize bicubic": ("image.resize", [BYTES], {"size": [4, 5], "method": "bicubic"}),
    "resize bicubic up": ("image.resize", [BATCH], {"size": [13, 9], "method": "bicubic"}),
    "resize with pad": ("image.resize_with_pad", [BYTES], {"target_height": 9, "target_width": 21}),
    "resize with pad down": ("image.resize_with_pad", [BATCH], {"target_height": 5, "target_width": 4}),
    "saturation": ("image.adjust_saturation", [BYTES], {"saturation_factor": 1.7}),
    "saturation of floats": ("image.adjust_saturation", [UNIT], {"saturation_factor": 0.4}),
    "hue": ("image.adjust_hue", [BYTES], {"delta": 0.3}),
    "hue of floats": ("image.adjust_hue", [UNIT], {"delta": -0.2}),
    "gamma": ("image.adjust_gamma", [BYTES], {"gamma": 0.5, "gain": 0.9}),
    "hsv": ("image.rgb_to_hsv", [UNIT], {}),
    "from hsv": ("image.hsv_to_rgb", [UNIT], {}),
    "strided slice": ("strided_slice", [BATCH], {"begin": [0, 1], "end": [2, 4], "strides": [1, 2]}),
    "strided slice by masks": (
        "strided_slice",
        [BATCH],
        {"begin": [1, 2, 0], "end": [0, 3, 9], "end_mask": 1, "begin_mask": 4, "shrink_axis_mask": 2},
    ),
    "matmul": ("matmul", [np.eye(3, dtype=np.float32) * 2, np.arange(6, dtype=np.float32).reshape(3, 2)], {}),
    "resize within": ("image.resize", [BYTES], {"size": [12, 12], "preserve_aspect_ratio": True}),
}
# Pictures are rounded from floats: TensorFlow's and ours may differ by one there.
ROUNDED = {"brightness", "contrast", "grey", "saturation", "hue", "gamma"}


def find(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def same(case, got, due):
    got, due = np.asarray(got), np.asarray(due)
    assert (got.dtype, got.shape) == (due.dtype, due.shape)
    if due.dtype == object:
        assert got.tolist() == due.tolist()
    elif case in ROUNDED:
        assert np.abs(got.astype(int) - due.astype(int)).max() <= 1
    elif due.dtype.kind == "f":
        np.testing.assert_allclose(got, due, rtol=2e-5, atol=1e-4)
    else:
        assert got.tolist() == due.tolist()


@pytest.mark.parametrize("case", CASES)
def test_a_function_gives_tensorflows_value_at_once(case):
    name, values, options = CASES[case]

    due = find(theirs, name)(*map(theirs.constant, values), **options)

    same(case, find(ours, name)(*values, **options).numpy(), due.numpy())


@pytest.mark.parametrize("case", CASES)
def test_a_function_gives_tensorflows_value_in_a_session(case):
    name, values, options = CASES[case]
    due = find(theirs, name)(*map(theirs.constant, values), **options)

    with ours.Graph().as_default(), ours.Session() as session:
        fed = [ours.placeholder(value.dtype, [None] * value.ndim) for value in values]
        tensor = find(ours, name)(*fed, **options)
        got = session.run(tensor, dict(zip(fed, values, strict=True)))

    same(case, got, due.numpy())
    assert tensor.shape.is_compatible_with(np.shape(got))
    assert tensor.dtype.name == due.dtype.name


@pytest.mark.parametrize("case", CASES)
def test_a_function_gives_the_same_by_columns_as_row_by_row(case):
    name, values, options = CASES[case]
    function = find(ours, name)
    rows = tuple(np.stack([value, value[::-1], value]) for value in values)
    dataset = ours.data.Dataset.from_tensor_slices(rows if len(rows) > 1 else rows[0])

    got = list(dataset.map(lambda *parts: function(*parts, **options)).as_numpy_iterator())

    for number, element in enumerate(got):
        same(case, element, function(*(row[number] for row in rows), **options).numpy())


LEGACY = {
    "bilinear": ("resize_bilinear", [4, 5], {}),
    "bilinear up": ("resize_bilinear", [13, 9], {}),
    "bilinear corners": ("resize_bilinear", [13, 9], {"align_corners": True}),
    "nearest": ("resize_nearest_neighbor", [4, 11], {}),
    "nearest corners": ("resize_nearest_neighbor", [13, 5], {"align_corners": True}),
    "area": ("resize_area", [3, 4], {}),
    "bicubic": ("resize_bicubic", [4, 5], {}),
    "bicubic up": ("resize_bicubic", [13, 9], {}),
    "bicubic corners": ("resize_bicubic", [13, 9], {"align_corners": True}),
    "images": ("resize_images", [4, 5], {}),
    "images of the same size": ("resize_images", [6, 8], {}),
}


@pytest.mark.parametrize("case", LEGACY)
def test_resizing_by_tensorflow_1s_names_has_its_rule(case):
    name, size, options = LEGACY[case]
    v1 = theirs.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        due = session.run(getattr(v1.image, name)(v1.constant(BATCH), size, **options))

    same(case, getattr(ours.image, name)(BATCH, size, **options).numpy(), due)


def test_the_left_operand_decides_the_dtype_of_python_numbers():
    for make in (lambda tf, x: x + 1, lambda tf, x: 2 * x, lambda tf, x: x / 2, lambda tf, x: x // 2, lambda tf, x: -x):
        for value in (INTS, INTS.astype(np.int32), FLOATS, BYTES.astype(np.float64)):
            due = make(theirs, theirs.constant(value)).numpy()
            with ours.Graph().as_default(), ours.Session() as session:
                fed = ours.placeholder(value.dtype)
                same("operator", session.run(make(ours, fed), {fed: value}), due)


# --- Arguments

ORDERS = [
    *(f"train.{way}batch{join}" for way in ("", "maybe_", "shuffle_", "maybe_shuffle_") for join in ("", "_join")),
    *(f"train.{kind}input_producer" for kind in ("", "string_", "range_", "slice_")),
    *("train.limit_epochs", "train.match_filenames_once", "train.start_queue_runners"),
    *("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue", "train.Coordinator", "train.QueueRunner"),
    *("WholeFileReader", "TextLineReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader"),
]


def arguments(function):
    return {parameter.name: parameter.default for parameter in inspect.signature(function).parameters.values()}


@pytest.mark.parametrize("name", ORDERS)
def test_arguments_have_tensorflow_1s_order_and_defaults(name):
    due, found = arguments(find(theirs.compat.v1, name)), arguments(find(ours, name))

    assert list(found.items())[: len(due)] == list(due.items())
