"""A schema's two directions: what is encoded parses and decodes to what was given."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Schema, Sequence, Tensor, Text
from wellfed.errors import EncodeError, ExampleError, ImageError
from wellfed.example import Bytes, Ragged, encode_example, parse_example
from wellfed.image import encode_image

PIXELS = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)

# For each type: two values of a row.
VALUES = {
    "image of known shape": (Image((4, 2, 3)), [PIXELS, PIXELS + 100]),
    "image of 16 bits": (Image((2, 2, 1), "uint16"), [np.full((2, 2, 1), 60000, np.uint16)] * 2),
    "image stored raw": (Image((4, 2, 3), encoding_format="raw"), [PIXELS, PIXELS + 100]),
    "label": (ClassLabel(("cat", "dog")), [1, 0]),
    "label without names": (ClassLabel(num_classes=5), [4, 0]),
    "bool": (Scalar("bool"), [True, False]),
    "int32": (Scalar("int32"), [-(2**31), 2**31 - 1]),
    "uint64": (Scalar("uint64"), [2**64 - 1, 0]),
    "float32": (Scalar("float32"), [0.5, -2.0]),
    "float64 that float32 holds": (Scalar("float64"), [0.5, -2.0]),
    "tensor": (Tensor((2, 2), "int16"), [[[1, 2], [3, 4]], [[-1, -2], [-3, -4]]]),
    "tensor as bytes": (Tensor((2,), "float64", "bytes"), [[0.1, 0.2], [0.3, 0.4]]),
    "tensor as zlib": (Tensor((2, 2), "uint8", "zlib"), [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
    "empty tensor": (Tensor((0, 2), "float32"), [np.zeros((0, 2)), np.zeros((0, 2))]),
    "sequence of known length": (Sequence(Scalar("int64"), 2), [[1, 2], [3, 4]]),
    "sequence of tensors, length known": (Sequence(Tensor((2,), "uint8", "bytes"), 2), [[[1, 2], [3, 4]]] * 2),
}
RAGGED = {
    "tensor, first size not known": (Tensor((None, 2), "int32"), [[[1, 2], [3, 4]], [[5, 6]]]),
    "sequence of labels": (Sequence(ClassLabel(("a", "b"))), [[1, 0, 1], []]),
    "sequence of tensors": (Sequence(Tensor((2,), "float32")), [[[1, 2]], [[3, 4], [5, 6]]]),
    "sequence of sequences": (Sequence(Sequence(Scalar("int64"))), [[[0, 1, 2], [], [3]], []]),
    "three levels": (Sequence(Sequence(Sequence(Scalar("int64")))), [[[[1], []], []], [[[2, 3]]]]),
    "sequence of bytes": (Sequence(ByteString()), [[b"a\0", b""], []]),
    "sequence of texts": (Sequence(Text()), [[b"\xc3\xa9", b"b"], []]),
}
ROWS_OF_OWN_SHAPE = {
    "image of unknown shape": (Image(), [PIXELS, PIXELS[:2]]),
    "last size not known": (Tensor((2, None), "float32"), [np.ones((2, 3)), np.ones((2, 1))]),
    "one size not known, bytes": (Tensor((2, None), "int8", "bytes"), [np.ones((2, 3)), np.ones((2, 0))]),
    "two sizes not known": (Tensor((None, None), "uint16", "zlib"), [np.ones((1, 3)), np.ones((2, 2))]),
}


def round_trip(kind, values):
    schema = Schema({"x": kind, "other": Scalar()})
    records = [encode_example(schema.encode({"x": value, "other": 7})) for value in values]
    return schema.decode(parse_example(records, schema.features()))["x"]


@pytest.mark.parametrize(("kind", "values"), VALUES.values(), ids=VALUES)
def test_what_is_encoded_decodes_to_one_array_of_the_declared_dtype(kind, values):
    column = round_trip(kind, values)

    assert column.dtype == getattr(kind, "dtype", column.dtype)
    np.testing.assert_array_equal(column, values)


@pytest.mark.parametrize(("kind", "values"), RAGGED.values(), ids=RAGGED)
def test_rows_of_different_lengths_decode_to_ragged(kind, values):
    column = round_trip(kind, values)

    assert isinstance(column, Ragged)
    assert column.to_list() == values


@pytest.mark.parametrize(("kind", "values"), ROWS_OF_OWN_SHAPE.values(), ids=ROWS_OF_OWN_SHAPE)
def test_rows_of_different_shapes_decode_to_an_array_of_arrays(kind, values):
    column = round_trip(kind, values)

    assert column.dtype == object
    assert [row.shape for row in column] == [value.shape for value in values]
    for row, value in zip(column, values, strict=True):
        np.testing.assert_array_equal(row, value)


@pytest.mark.parametrize("kind", [Text(), ByteString()])
def test_strings_decode_to_bytes_with_every_byte(kind):
    column = round_trip(kind, [b"a\0", b""])

    assert isinstance(column, Bytes)
    assert column.to_list() == [b"a\0", b""]


def test_an_encoded_picture_is_stored_as_it_came():
    encoded = encode_image(PIXELS, "jpeg")

    assert Schema({"x": Image()}).encode({"x": encoded}) == {"x": encoded}


def test_a_class_may_be_given_by_its_name():
    assert Schema({"x": ClassLabel(("cat", "dog"))}).encode({"x": "dog"}) == {"x": 1}


def test_a_file_name_that_is_no_utf8_keeps_its_bytes():
    assert Schema({"x": Text()}).encode({"x": b"\xff.png".decode("utf-8", "surrogateescape")}) == {"x": b"\xff.png"}


ALL_TYPES = {name: kind for table in (VALUES, RAGGED, ROWS_OF_OWN_SHAPE) for name, (kind, _) in table.items()}


def test_a_schema_survives_json_and_pickle():
    schema = Schema({**ALL_TYPES, "text": Text(), "bytes": ByteString()})

    for twin in (Schema.from_json(json.loads(json.dumps(schema.to_json()))), pickle.loads(pickle.dumps(schema))):
        assert twin == schema
        assert hash(twin) == hash(schema)
        assert list(twin) == list(schema)


REFUSED = {
    "class of no such name": (ClassLabel(("cat",)), "dog", "none of the 1 classes"),
    "class beyond the last": (ClassLabel(num_classes=3), 3, "from 0 to 2, got 3"),
    "negative class": (ClassLabel(), -1, "got -1"),
    "number too large": (Scalar("int8"), 200, "expected int8"),
    "fraction for an integer": (Scalar(), 0.5, "expected int64"),
    "text for a number": (Scalar(), "1", "expected int64"),
    "list for a number": (Scalar(), [1], r"expected shape \(\), got \(1,\)"),
    "float64 that float32 cannot hold": (Scalar("float64"), 0.1, "float32 cannot hold"),
    "number too large for float32": (Tensor((1,), "float64"), [1e300], "float32 cannot hold"),
    "wrong shape": (Tensor((2, 2), "int64"), [1, 2], r"expected shape \(2, 2\), got \(2,\)"),
    "rows of different lengths": (Tensor((2, 2), "int64"), [[1, 2], [3]], "expected int64"),
    "picture of another shape": (Image((2, 2, 1)), PIXELS, r"expected shape \(2, 2, 1\)"),
    "number for text": (Text(), 1, "expected str"),
    "bytes that are no text": (Text(), b"\xff", "no UTF-8"),
    "text for bytes": (ByteString(), "a", "expected bytes"),
    "number for a list": (Sequence(Scalar()), 1, "expected a list"),
    "text for a list": (Sequence(Text()), "ab", "expected a list"),
    "list of another length": (Sequence(Scalar(), 2), [1], "a list of 2, got 1"),
    "number for an inner list": (Sequence(Sequence(Scalar())), [[1], 2], "expected a list"),
}


@pytest.mark.parametrize(("kind", "value", "message"), REFUSED.values(), ids=REFUSED)
def test_a_value_that_does_not_fit_is_refused_with_its_feature(kind, value, message):
    with pytest.raises(EncodeError, match=f'feature "x": .*{message}'):
        Schema({"x": kind}).encode({"x": value})


def test_an_item_must_have_exactly_the_features_of_the_schema():
    schema = Schema({"x": Scalar(), "y": Scalar()})

    with pytest.raises(EncodeError, match='feature "y": is in the schema'):
        schema.encode({"x": 1})
    with pytest.raises(EncodeError, match='feature "z": is not in the schema'):
        schema.encode({"x": 1, "y": 2, "z": 3})


BAD_TYPES = {
    "image of two sizes": (lambda: Image((2, 2)), "height, width, channels"),
    "image of floats": (lambda: Image(dtype="float32"), "uint8 or uint16"),
    "raw image of unknown size": (lambda: Image(encoding_format="raw"), "known shape"),
    "image of unknown format": (lambda: Image(encoding_format="bmp"), "encoding_format"),
    "class twice": (lambda: ClassLabel(("a", "a")), "'a' more than once"),
    "classes miscounted": (lambda: ClassLabel(("a",), 2), "there are 1 names"),
    "complex": (lambda: Scalar("complex64"), "got complex64"),
    "two unknown sizes in numbers": (lambda: Tensor((None, None), "int64"), 'needs encoding="bytes"'),
    "negative size": (lambda: Tensor((-1,), "int64"), "at least 0"),
    "unknown encoding": (lambda: Tensor((1,), "int64", "lz4"), "encoding must be"),
    "sequence of tensors of unknown shape": (lambda: Sequence(Tensor((None,), "int64")), "needs their shape"),
    "empty name": (lambda: Schema({"": Scalar()}), "must not be empty"),
    "two features in one place": (
        lambda: Schema({"x": Tensor((None, None), "int8", "bytes"), "x/shape": Scalar()}),
        'both be stored as "x/shape"',
    ),
    "type that is not known": (lambda: Schema.from_json({"x": {"type": "Audio"}}), "unknown feature type 'Audio'"),
    "field that is not known": (lambda: Schema.from_json({"x": {"type": "Text", "size": 1}}), "cannot be made"),
}


@pytest.mark.parametrize(("make", "message"), BAD_TYPES.values(), ids=BAD_TYPES)
def test_a_type_is_checked_when_it_is_made(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_damaged_picture_names_feature_and_example():
    schema = Schema({"x": Image()})
    good = encode_image(PIXELS)

    with pytest.raises(ImageError, match='feature "x" of example 1'):
        schema.decode({"x": Bytes.from_list([good, good[:40]])})


def test_a_picture_of_another_size_than_declared_is_an_error():
    schema = Schema({"x": Image((4, 4, 3))})

    with pytest.raises(ExampleError, match=r"shape \(4, 4, 3\), got \(4, 2, 3\)"):
        schema.decode({"x": Bytes.from_list([encode_image(PIXELS)])})


DAMAGED = {
    "bytes that are no zlib stream": (Tensor((2,), "int8", "zlib"), b"no", "expected a zlib stream"),
    "too few bytes": (Tensor((2,), "int8", "zlib"), b"x\x9cc\x00\x00\x00\x01\x00\x01", "expected shape"),
    "half a number": (Tensor((None,), "int16", "bytes"), b"abc", "expected whole int16"),
}


@pytest.mark.parametrize(("kind", "stored", "message"), DAMAGED.values(), ids=DAMAGED)
def test_stored_bytes_that_do_not_fit_are_an_error(kind, stored, message):
    with pytest.raises(ExampleError, match=message):
        Schema({"x": kind}).decode({"x": Bytes.from_list([stored])})


def test_a_list_that_holds_no_whole_number_of_entries_is_an_error():
    schema = Schema({"x": Tensor((None, 2), "int64")})

    with pytest.raises(ExampleError, match="a multiple of 2 values, got 3"):
        schema.decode({"x": Ragged(np.arange(5), np.array([0, 2, 5]))})


def test_a_sequence_of_tensors_that_is_cut_inside_one_is_an_error():
    schema = Schema({"x": Sequence(Tensor((2,), "int64"))})

    with pytest.raises(ExampleError, match="a multiple of 2 values, got 3"):
        schema.decode({"x": Ragged(np.arange(5), np.array([0, 2, 5]))})


def test_only_the_features_asked_for_are_parsed_and_decoded():
    schema = Schema({"image": Image(), "label": ClassLabel(num_classes=2)})

    assert list(schema.features(["label"])) == ["label"]
    assert list(schema.decode({"label": np.array([1])}, ["label"])) == ["label"]


@given(
    npst.arrays(
        st.sampled_from(["bool", "int8", "uint16", "int64", "uint64", "float32"]),
        npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    ),
    st.booleans(),
    st.sampled_from(["none", "bytes", "zlib"]),
)
def test_any_array_comes_back_whole_in_any_encoding(array, wide, encoding):
    if wide and array.dtype.kind == "f":
        array = array.astype(np.float64)  # Which float32 holds by how it was made.

    column = round_trip(Tensor(array.shape, array.dtype, encoding), [array, array])

    assert column.dtype == array.dtype
    np.testing.assert_array_equal(column, np.stack([array, array]))
