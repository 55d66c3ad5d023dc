import pickle
import sys
import threading

import numpy as np
import pytest
import wire
from wire import BYTES, FLOAT, INT64, entry, example, feature, floats, int_example, ints, strings

from wellfed import errors
from wellfed.example import (
    Bytes,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Ragged,
    RawFeature,
    VarLenFeature,
    compile_features,
    encode_example,
    encode_examples,
    parse_example,
    parse_single_example,
)

X = {"x": FixedLenFeature([], np.int64)}


def parse_x(spec, *values):
    """Parses one example per value, each with the feature "x"."""
    return parse_example([encode_example({"x": value}) for value in values], {"x": spec})["x"]


# --- What comes back


def test_fixed_scalars_become_an_array_of_their_dtype():
    column = parse_x(FixedLenFeature([], np.float32), 1.5, -2.0)

    assert (column.dtype, column.shape, column.tolist()) == (np.float32, (2,), [1.5, -2.0])


def test_fixed_values_take_the_shape_in_c_order():
    column = parse_x(FixedLenFeature([2, 2], np.int64), [1, 2, 3, 4], [5, 6, 7, 8])

    assert column.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_fixed_strings_become_bytes_of_that_shape():
    column = parse_x(FixedLenFeature([2], bytes), ["a", "b\0"], ["", "d"])

    assert (column.shape, column.to_list()) == ((2, 2), [[b"a", b"b\0"], [b"", b"d"]])


def test_a_raw_feature_reads_an_array_from_its_bytes():
    images = np.arange(2 * 6, dtype=np.uint16).reshape(2, 2, 3)

    column = parse_x(RawFeature([2, 3], np.uint16), images[0].tobytes(), images[1].tobytes())

    assert column.dtype == np.uint16
    np.testing.assert_array_equal(column, images)


def test_a_raw_feature_of_another_byte_order_keeps_that_order():
    column = parse_x(RawFeature([], ">i4"), np.array(258, ">i4").tobytes())

    assert column.tolist() == [258]


def test_values_of_any_number_become_ragged():
    column = parse_x(VarLenFeature(np.int64), [1, 2], [], [3])

    assert column == Ragged(np.array([1, 2, 3]), [0, 2, 2, 3])


def test_sequences_are_padded_on_the_right_with_their_default():
    column = parse_x(
        FixedLenSequenceFeature([2], np.float32, allow_missing=True, default_value=-1), [1.0, 2.0], [], [3.0] * 4
    )

    assert column.tolist() == [[[1, 2], [-1, -1]], [[-1, -1], [-1, -1]], [[3, 3], [3, 3]]]


def test_columns_come_in_the_order_of_the_features_and_keep_only_those():
    columns = parse_example([int_example(a=1, b=2, c=3)], {"c": X["x"], "a": X["x"]})

    assert list(columns) == ["c", "a"]


def test_an_empty_batch_gives_empty_columns_of_the_right_shape():
    columns = parse_example(
        [],
        {
            "a": FixedLenFeature([3], np.int64),
            "b": FixedLenFeature([2], bytes),
            "c": VarLenFeature(bytes),
            "d": FixedLenSequenceFeature([2], np.int64, allow_missing=True),
        },
    )

    assert [columns[key].shape for key in ("a", "b", "d")] == [(0, 3), (0, 2), (0, 0, 2)]
    assert len(columns["c"]) == 0


# --- Memory


def test_arrays_own_their_memory_and_are_writable():
    columns = parse_example([int_example(x=1, y=2)], {**X, "y": VarLenFeature(np.int64)})

    for array in (columns["x"], columns["y"].values, columns["y"].row_splits):
        assert array.flags.writeable
        array[0] = 7
    assert parse_example([int_example(x=1)], X)["x"].tolist() == [1]


def test_strings_lie_in_the_one_buffer_that_was_given():
    records = encode_examples({"x": ["first", "second"]})

    column = parse_example(records, {"x": FixedLenFeature([], bytes)})["x"]

    assert column.data is records.data
    assert column.to_list() == [b"first", b"second"]


def test_strings_of_separate_records_are_copies():
    record = bytearray(encode_example({"x": "abc"}))
    column = parse_example([bytes(record)], {"x": FixedLenFeature([], bytes)})["x"]

    assert column.to_list() == [b"abc"]
    assert len(column.data) == 3


def test_a_default_string_among_strings_in_the_buffer_makes_all_of_them_copies():
    records = Bytes.from_list([encode_example({"x": "a"}), encode_example({})])

    column = parse_example(records, {"x": FixedLenFeature([], bytes, "default")})["x"]

    assert column.to_list() == [b"a", b"default"]
    assert column.data is not records.data


def test_slices_and_picks_of_records_are_parsed():
    records = encode_examples({"x": np.arange(6)})

    assert parse_example(records[1:6:2], X)["x"].tolist() == [1, 3, 5]
    assert parse_example(records[[4, 0]], X)["x"].tolist() == [4, 0]


def test_dense_columns_are_written_where_out_says():
    parser = compile_features({**X, "y": FixedLenFeature([2], np.float32)})
    out = np.zeros((3, 2), np.float32)

    columns = parser.parse([encode_example({"x": 1, "y": [2.0, 3.0]})], out={"y": out[1:2]})

    assert columns["y"].base is out
    assert out.tolist() == [[0, 0], [2, 3], [0, 0]]


@pytest.mark.parametrize(
    "out",
    [np.zeros((1, 3), np.float32), np.zeros((1, 2), np.float64), np.zeros((1, 4), np.float32)[:, ::2]],
    ids=["shape", "dtype", "layout"],
)
def test_an_out_array_that_does_not_fit_is_refused(out):
    parser = compile_features({"y": FixedLenFeature([2], np.float32)})

    with pytest.raises(ValueError, match=r'out: feature "y" needs a writable C-contiguous array of shape \(1, 2\)'):
        parser.parse([encode_example({"y": [2.0, 3.0]})], out={"y": out})


def test_presence_is_marked_where_it_is_asked_for():
    parser = compile_features({"x": FixedLenFeature([], np.int64, 0), "y": VarLenFeature(np.int64)})
    present = {"x": np.zeros(3, bool), "y": np.zeros(3, bool)}

    parser.parse([int_example(x=1, y=1), int_example(y=1), example(entry("x", b""))], present=present)

    assert present["x"].tolist() == [True, False, False]
    assert present["y"].tolist() == [True, True, False]


# --- What is missing or wrong

DEFAULTS = {
    "key absent": (example(), [5]),
    "kind unset": (example(entry("x", b"")), [5]),
    "nothing at all": (b"", [5]),
    "present": (int_example(x=7), [7]),
}


@pytest.mark.parametrize(("record", "due"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_fills_what_is_absent_or_unset(record, due):
    assert parse_example([record], {"x": FixedLenFeature([], np.int64, 5)})["x"].tolist() == due


def test_an_empty_list_is_no_reason_for_a_default():
    record = example(entry("x", feature(INT64, b"")))

    with pytest.raises(errors.FeatureLengthError, match=r"expected 1 values \(shape \(\)\), got 0"):
        parse_example([record], {"x": FixedLenFeature([], np.int64, 5)})


def test_a_default_of_zero_and_one_of_minus_zero_are_two_specifications():
    found = [
        np.signbit(parse_example([b""], {"x": FixedLenFeature([], np.float32, value)})["x"][0])
        for value in (0.0, -0.0, 0.0)
    ]

    assert found == [False, True, False]


def test_a_shape_of_no_elements_takes_an_empty_list_and_still_needs_the_key():
    spec = {"x": FixedLenFeature([0], np.int64)}

    assert parse_example([example(entry("x", feature(INT64, b"")))], spec)["x"].shape == (1, 0)
    with pytest.raises(errors.FeatureMissingError, match='feature "x"'):
        parse_example([example()], spec)


FAULTS = {
    "missing": (
        FixedLenFeature([2], np.int64),
        example(),
        errors.FeatureMissingError,
        r'feature "x": int64_list of 2 values \(shape \(2,\)\) is due, but the key is absent or its kind unset',
    ),
    "kind": (
        FixedLenFeature([], np.int64),
        example(entry("x", feature(FLOAT, floats(1)))),
        errors.FeatureTypeError,
        r'feature "x": expected int64_list, got float_list \(example 1 of the batch\)',
    ),
    "kind of any number": (
        VarLenFeature(bytes),
        int_example(x=1),
        errors.FeatureTypeError,
        'feature "x": expected bytes_list, got int64_list',
    ),
    "count": (
        FixedLenFeature([2, 2], np.float32),
        example(entry("x", feature(FLOAT, floats(1, 2, 3)))),
        errors.FeatureLengthError,
        r'feature "x": expected 4 values \(shape \(2, 2\)\), got 3',
    ),
    "bytes of a raw feature": (
        RawFeature([2], np.uint16),
        example(entry("x", feature(BYTES, strings(b"abc")))),
        errors.FeatureLengthError,
        r"expected 4 bytes \(shape \(2,\) of uint16\), got 3",
    ),
    "strings of a raw feature": (
        RawFeature([1], np.uint8),
        example(entry("x", feature(BYTES, strings(b"a", b"b")))),
        errors.FeatureLengthError,
        "expected 1 string, got 2",
    ),
    "stride": (
        FixedLenSequenceFeature([2], np.int64, allow_missing=True),
        example(entry("x", feature(INT64, ints(1, 2, 3)))),
        errors.FeatureLengthError,
        'feature "x": expected a multiple of 2 values, got 3',
    ),
    "no example": (
        FixedLenFeature([], np.int64),
        b"\x0a\x05abc",
        errors.MalformedExampleError,
        r"no Example: byte 0 cannot be read \(example 1 of the batch\)",
    ),
}


@pytest.mark.parametrize(("spec", "record", "error", "text"), FAULTS.values(), ids=FAULTS)
def test_an_error_names_feature_example_found_and_due(spec, record, error, text):
    with pytest.raises(error, match=text) as caught:
        parse_example([fitting(spec), record], {"x": spec})

    assert caught.value.example_index == 1
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def fitting(spec):
    """An example that the specification reads."""
    if isinstance(spec, VarLenFeature):
        return example()
    values = np.ones(spec.shape, spec.dtype)
    return encode_example({"x": values.tobytes() if isinstance(spec, RawFeature) else values})


def test_the_parser_gives_the_same_error_with_file_and_record():
    parser = compile_features(X)
    raw, failure = parser.native.parse_list([example()], [np.zeros(8, np.uint8)])

    assert raw is None
    error = parser.error(failure, "a.tfrecord", 41)
    assert str(error).endswith("(a.tfrecord: record 41)")
    assert (error.path, error.record_index) == ("a.tfrecord", 41)


# --- Specifications


def test_no_features_are_refused():
    with pytest.raises(ValueError, match="at least one feature"):
        parse_example([b""], {})


def test_a_sequence_of_an_example_must_allow_missing():
    with pytest.raises(ValueError, match="needs allow_missing=True"):
        parse_example([b""], {"x": FixedLenSequenceFeature([], np.int64)})


@pytest.mark.parametrize("feature", [3, [np.int64]], ids=["number", "list"])
def test_what_is_no_feature_is_refused_by_name(feature):
    with pytest.raises(ValueError, match='feature "x": a feature such as'):
        parse_example([b""], {"x": feature})


def test_one_record_where_many_are_due_is_refused():
    with pytest.raises(TypeError, match="sequence of records, got one"):
        parse_example(b"", X)
    with pytest.raises(TypeError, match=r"one record \(bytes\), got list"):
        parse_single_example([b""], X)


def test_records_that_are_no_bytes_are_refused():
    with pytest.raises(TypeError, match="bytes-like"):
        parse_example(["text"], X)


def test_records_beyond_their_buffer_are_refused():
    with pytest.raises(ValueError, match="record 0 must lie inside the 3 bytes"):
        parse_example(Bytes(b"abc", [2], [2]), X)


def test_a_compiled_parser_is_kept_and_pickles():
    parser = compile_features(X)

    assert compile_features(dict(X)) is parser
    assert pickle.loads(pickle.dumps(parser)) is parser


# --- Single examples

SINGLE = {
    "scalar": (FixedLenFeature([], np.int64), 3, np.int64(3)),
    "vector": (FixedLenFeature([2], np.int64), [3, 4], [3, 4]),
    "string": (FixedLenFeature([], bytes), b"a\0", b"a\0"),
    "any number": (VarLenFeature(np.int64), [3, 4], [3, 4]),
    "padded": (FixedLenSequenceFeature([1], np.int64, allow_missing=True), [3, 4], [[3], [4]]),
    "raw": (RawFeature([2], np.uint8), b"\3\4", [3, 4]),
}


@pytest.mark.parametrize(("spec", "value", "due"), SINGLE.values(), ids=SINGLE)
def test_a_single_example_has_no_batch_dimension(spec, value, due):
    found = parse_single_example(encode_example({"x": value}), {"x": spec})["x"]

    assert type(found) is type(due) if not isinstance(due, list) else found.tolist() == due
    assert found == due if isinstance(due, bytes) else np.array_equal(found, due)


# --- The GIL


def test_another_thread_runs_while_a_batch_is_parsed():
    record = int_example(x=1)
    many = Bytes(record, np.zeros(1_000_000), np.full(1_000_000, len(record)))
    parser = compile_features(X)
    go, ran = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (go.wait(60), ran.set()))
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # No thread is made to give way, so another one runs only where the call lets go.
    try:
        go.set()
        parser.parse(many)
        assert ran.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_two_threads_share_a_parser():
    records = encode_examples({"x": np.arange(5000)})
    parser = compile_features(X)
    found = []
    threads = [threading.Thread(target=lambda: found.append(parser.parse(records)["x"].sum())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [np.arange(5000).sum()] * 4


@pytest.mark.filterwarnings("ignore:.* hold a feature more than once")
def test_unusual_records_change_nothing_for_those_around_them():
    usual = [int_example(x=i, y=i) for i in range(20)]
    split = wire.int_example(x=1, y=2) + wire.int_example(x=3)
    records = [*usual[:10], split, *usual[10:]]

    columns = parse_example(records, {**X, "y": VarLenFeature(np.int64)})

    assert columns["x"].tolist() == [*range(10), 3, *range(10, 20)]
    assert columns["y"].to_list() == [[i] for i in [*range(10), 2, *range(10, 20)]]


# --- Features that come more than once


def test_a_feature_that_comes_twice_is_counted_and_warned_of():
    twice = encode_example({"i": 1, "other": 2}) + encode_example({"i": 3})
    features = {"i": FixedLenFeature([], np.int64)}

    with pytest.warns(UserWarning, match="2 of 3 examples hold a feature more than once: the last one counts"):
        columns = parse_example([twice, encode_example({"i": 4}), twice], features)

    assert columns["i"].tolist() == [3, 4, 3]


def test_a_repeated_feature_that_no_specification_names_is_nobodys_loss():
    record = encode_example({"i": 1, "other": 2}) + encode_example({"other": 3})

    assert parse_example([record], {"i": FixedLenFeature([], np.int64)})["i"].tolist() == [1]


def test_records_without_a_length_and_features_that_are_no_mapping_are_named():
    with pytest.raises(TypeError, match="a sequence of records, such as a list of them, got generator"):
        parse_example((record for record in [encode_example({"x": 1})]), X)
    with pytest.raises(TypeError, match=r"features must be a mapping such as .*, got list"):
        parse_example([], ["x"])
    with pytest.raises(TypeError, match=r"a feature's name must be a str, got b'x'"):
        parse_example([], {b"x": X["x"]})
