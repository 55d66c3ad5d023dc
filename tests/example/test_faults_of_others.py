"""What other readers and writers of Examples do wrong, each as a test that holds here."""

import numpy as np
import pytest
import wire
from wire import FLOAT, INT64, entry, example, feature, floats, ints

from wellfed.errors import EncodeError, FeatureLengthError, FeatureMissingError
from wellfed.example import (
    BytesList,
    FixedLenFeature,
    VarLenFeature,
    decode_example,
    encode_example,
    parse_example,
    parse_single_example,
)


def test_a_feature_without_a_kind_is_read_as_absent():
    record = example(entry("x", b""), entry("y", feature(INT64, ints(1))))

    assert parse_single_example(record, {"x": VarLenFeature(bytes)})["x"].to_list() == []
    assert decode_example(record)["x"] == []


def test_byte_strings_of_different_length_keep_their_trailing_nul_bytes():
    strings = [b"a\0\0", b"\0", b"longer\0"]

    column = parse_example([encode_example({"x": strings})], {"x": VarLenFeature(bytes)})["x"]

    assert column.to_list() == [strings]


def test_the_shape_follows_from_the_specification_never_from_the_values():
    records = [encode_example({"x": "a"}), encode_example({"x": ["a", "b"]})]

    assert [len(decode_example(record)["x"]) for record in records] == [1, 2]
    assert [type(row) for row in parse_example(records, {"x": VarLenFeature(bytes)})["x"]] == [
        type(decode_example(records[0])["x"])
    ] * 2


def test_an_absent_feature_takes_its_default_or_is_named():
    assert parse_single_example(b"", {"x": FixedLenFeature([], np.int64, 7)})["x"] == 7
    with pytest.raises(FeatureMissingError, match=r'feature "x": .* default_value= fills it'):
        parse_single_example(b"", {"x": FixedLenFeature([], np.int64)})


def test_a_negative_integer_keeps_its_sign():
    assert parse_single_example(encode_example({"x": -1}), {"x": FixedLenFeature([], np.int64)})["x"] == -1


def test_a_str_is_text_not_a_list_of_characters():
    assert decode_example(encode_example({"x": "abc"}))["x"].to_list() == [b"abc"]
    with pytest.raises(TypeError, match="a list is due, got str"):
        BytesList(value="abc")


def test_every_chunk_of_a_list_is_read():
    record = example(entry("x", feature(INT64, ints(1, 2) + ints(3, 4) + ints(5, packed=False))))

    assert parse_single_example(record, {"x": VarLenFeature(np.int64)})["x"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("count", [1, 4, 400])
@pytest.mark.parametrize("shape", [(0,), (2,)])
def test_more_loose_floats_than_the_shape_holds_are_an_error_and_write_nothing_beyond(shape, count):
    record = example(entry("x", feature(FLOAT, floats(*range(count), packed=False))))

    with pytest.raises(FeatureLengthError, match=f"got {count}"):
        parse_example([record] * 3, {"x": FixedLenFeature(shape, np.float32)})


def test_a_double_is_not_rounded_without_a_word():
    with pytest.raises(EncodeError, match=r"\.astype\(np\.float32\) rounds it"):
        encode_example({"x": np.array([0.1])})


def test_two_examples_end_to_end_are_one_whose_later_features_count():
    record = wire.int_example(x=1, y=2) + wire.int_example(x=3)

    assert {key: column.tolist() for key, column in decode_example(record).items()} == {"x": [3], "y": [2]}
