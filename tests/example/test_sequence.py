import pickle

import numpy as np
import pytest
from wire import FLOAT, INT64, entry, feature, field, floats, ints

from wellfed import errors
from wellfed.example import (
    Bytes,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    VarLenFeature,
    compile_sequence_features,
    encode_sequence_example,
    parse_sequence_example,
    parse_single_sequence_example,
)
from wellfed.example.features import RowLengths, UniformRowLength

RECORDS = [
    encode_sequence_example({"n": 1}, {"x": [[1, 2], [3, 4]], "s": ["a", "b", "c"], "v": [[1], [], [2, 3]]}),
    encode_sequence_example({"n": 2}, {"x": [[5, 6]], "s": [], "v": [[4]]}),
]
FIXED = FixedLenSequenceFeature([2], np.int64)


def test_steps_of_one_shape_are_padded_to_the_longest_with_their_lengths():
    context, lists, lengths = parse_sequence_example(RECORDS, {"n": FixedLenFeature([], np.int64)}, {"x": FIXED})

    assert context["n"].tolist() == [1, 2]
    assert lists["x"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert lengths["x"].tolist() == [2, 1]


def test_steps_of_strings_are_padded_with_empty_ones():
    _, lists, lengths = parse_sequence_example(RECORDS, None, {"s": FixedLenSequenceFeature([], bytes)})

    assert lists["s"].to_list() == [[b"a", b"b", b"c"], [b"", b"", b""]]
    assert lengths["s"].tolist() == [3, 0]


def test_a_default_does_not_pad_a_feature_list_as_in_tensorflow():
    feature = FixedLenSequenceFeature([2], np.int64, default_value=9)

    assert parse_sequence_example(RECORDS, None, {"x": feature})[1]["x"][1].tolist() == [[5, 6], [0, 0]]


def test_steps_of_any_number_of_values_are_rows_of_rows():
    _, lists, lengths = parse_sequence_example(RECORDS, None, {"v": VarLenFeature(np.int64)})

    assert lists["v"].to_list() == [[[1], [], [2, 3]], [[4]]]
    assert lengths == {}


def test_raw_steps_are_arrays():
    frames = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    record = encode_sequence_example({}, {"frame": Bytes.from_rows(frames)})

    _, lists, lengths = parse_sequence_example([record], None, {"frame": RawFeature([2, 2], np.uint8)})

    np.testing.assert_array_equal(lists["frame"][0], frames)
    assert lengths["frame"].tolist() == [3]


def test_a_list_that_may_be_missing_is_one_of_no_steps():
    optional = FixedLenSequenceFeature([], np.float32, allow_missing=True)

    _, lists, lengths = parse_sequence_example(RECORDS, None, {"y": optional, "z": VarLenFeature(bytes)})

    assert lists["y"].shape == (2, 0)
    assert lengths["y"].tolist() == [0, 0]
    assert lists["z"].to_list() == [[], []]


def test_partitions_cut_each_step():
    record = encode_sequence_example({}, {"v": [[1, 2, 3], [4]], "p": [[2, 1], [1]]})
    feature = RaggedFeature(np.int64, value_key="v", partitions=[RowLengths("p")])

    _, lists, _ = parse_sequence_example([record, encode_sequence_example({}, {})], None, {"r": feature})

    assert lists["r"].to_list() == [[[[1, 2], [3]], [[4]]], []]


def test_a_partition_that_does_not_fit_names_example_and_step():
    good = encode_sequence_example({}, {"r": [[1, 2]]})
    bad = encode_sequence_example({}, {"r": [[1, 2], [1, 2, 3]]})

    with pytest.raises(errors.FeatureLengthError, match="step 1: expected a multiple of 2 values") as caught:
        parse_sequence_example([good, bad], None, {"r": RaggedFeature(np.int64, partitions=[UniformRowLength(2)])})

    assert caught.value.example_index == 1


def test_a_partition_of_another_number_of_steps_is_an_error():
    record = encode_sequence_example({}, {"v": [[1], [2]], "p": [[1]]})
    feature = RaggedFeature(np.int64, value_key="v", partitions=[RowLengths("p")])

    with pytest.raises(errors.FeatureLengthError, match='as many steps in "p" as in "v", got 1'):
        parse_sequence_example([record], None, {"r": feature})


def test_a_single_sequence_example_has_no_batch_dimension():
    context, lists = parse_single_sequence_example(
        RECORDS[0],
        {"n": FixedLenFeature([], np.int64)},
        {"x": FIXED, "v": VarLenFeature(np.int64), "s": FixedLenSequenceFeature([], bytes)},
    )

    assert context["n"] == 1
    assert lists["x"].tolist() == [[1, 2], [3, 4]]
    assert lists["v"].to_list() == [[1], [], [2, 3]]
    assert lists["s"].to_list() == [b"a", b"b", b"c"]


def sequence(*steps):
    return field(2, entry("x", b"".join(field(1, step) for step in steps)))


FAULTS = {
    "missing": (b"", errors.FeatureMissingError, 'feature "x": a feature list is due, but the key is absent'),
    "count": (
        sequence(feature(INT64, ints(1, 2)), feature(INT64, ints(1))),
        errors.FeatureLengthError,
        "step 1: expected 2 values",
    ),
    "empty step": (sequence(b""), errors.FeatureLengthError, r"step 0: expected 2 values \(shape \(2,\)\), got 0"),
    "kind": (
        sequence(feature(FLOAT, floats(1, 2))),
        errors.FeatureTypeError,
        "step 0: expected int64_list, got float_list",
    ),
    "bytes": (b"\x12\x05abc", errors.MalformedExampleError, "no SequenceExample: byte 0 cannot be read"),
}


@pytest.mark.parametrize(("record", "error", "text"), FAULTS.values(), ids=FAULTS)
def test_an_error_names_feature_list_step_and_example(record, error, text):
    with pytest.raises(error, match=text) as caught:
        parse_sequence_example([RECORDS[0], record], None, {"x": FIXED})

    assert caught.value.example_index == 1


@pytest.mark.parametrize("feature", [FixedLenFeature([], np.int64), SparseFeature("i", "v", np.int64, 3), 3], ids=repr)
def test_what_a_feature_list_cannot_be_is_refused(feature):
    with pytest.raises(ValueError, match='feature list "x": FixedLenSequenceFeature, RawFeature'):
        parse_sequence_example(RECORDS, None, {"x": feature})


def test_no_features_are_refused():
    with pytest.raises(ValueError, match="must name at least one feature"):
        parse_sequence_example(RECORDS)


def test_one_key_read_in_two_ways_is_refused():
    features = {"v": VarLenFeature(np.int64), "r": RaggedFeature(np.float32, value_key="v")}

    with pytest.raises(ValueError, match='key "v" is read in two ways'):
        parse_sequence_example(RECORDS, None, features)


def test_one_record_where_many_are_due_is_refused():
    with pytest.raises(TypeError, match="sequence of records, got one"):
        parse_sequence_example(RECORDS[0], None, {"x": FIXED})
    with pytest.raises(TypeError, match=r"one record \(bytes\), got list"):
        parse_single_sequence_example(RECORDS, None, {"x": FIXED})


def test_a_batch_in_one_buffer_gives_what_a_list_gives():
    features = {"x": FIXED, "s": VarLenFeature(bytes)}
    context = {"n": FixedLenFeature([], np.int64)}

    _, in_list, _ = parse_sequence_example(RECORDS, context, features)
    _, in_buffer, _ = parse_sequence_example(Bytes.from_list(RECORDS), context, features)

    np.testing.assert_array_equal(in_list["x"], in_buffer["x"])
    assert in_list["s"] == in_buffer["s"]


def test_a_compiled_parser_is_kept_and_pickles():
    parser = compile_sequence_features(None, {"x": FIXED})

    assert compile_sequence_features(None, {"x": FIXED}) is parser
    assert pickle.loads(pickle.dumps(parser)) is parser
