import itertools

import numpy as np
import pytest
import wire
from hypothesis import given
from hypothesis import strategies as st
from wire import BYTES, FLOAT, INT64, entry, example, feature, floats, ints, strings

from wellfed.errors import EncodeError, MalformedExampleError
from wellfed.example import (
    Bytes,
    BytesList,
    Feature,
    FixedLenFeature,
    FloatList,
    Int64List,
    Ragged,
    RawFeature,
    VarLenFeature,
    decode_example,
    decode_sequence_example,
    encode_example,
    encode_examples,
    encode_sequence_example,
    parse_example,
)


def one(value):
    """The Feature that a value becomes."""
    return encode_example({"x": value})


def is_feature(kind, inside):
    return example(entry("x", feature(kind, inside)))


# --- The kind follows from the value

KINDS = {
    "bool": (True, INT64, ints(1)),
    "int": (-5, INT64, ints(-5)),
    "float": (2.5, FLOAT, floats(2.5)),
    "str": ("é", BYTES, strings("é".encode())),
    "bytes": (b"\0", BYTES, strings(b"\0")),
    "bytearray": (bytearray(b"ab"), BYTES, strings(b"ab")),
    "memoryview": (memoryview(b"ab"), BYTES, strings(b"ab")),
    "ints": ([1, True, 3], INT64, ints(1, 1, 3)),
    "tuple": ((1, 2), INT64, ints(1, 2)),
    "floats": ([1.0, 2.0], FLOAT, floats(1, 2)),
    "ints among floats": ([1, 2.5], FLOAT, floats(1, 2.5)),
    "strings": (["a", b"b"], BYTES, strings(b"a", b"b")),
    "nested": ([[1, 2], [3]], INT64, ints(1, 2, 3)),
    "arrays in a list": ([np.array([1, 2]), np.array([3])], INT64, ints(1, 2, 3)),
    "NumPy scalars in a list": ([np.int32(1), np.int32(2)], INT64, ints(1, 2)),
    "NumPy scalar": (np.uint8(7), INT64, ints(7)),
    "NumPy bool": (np.bool_(True), INT64, ints(1)),
    "uint64": (np.array([2**63 - 1], np.uint64), INT64, ints(2**63 - 1)),
    "float16": (np.array([0.5], np.float16), FLOAT, floats(0.5)),
    "float64 that float32 holds": (np.array([0.5, np.inf]), FLOAT, floats(0.5, np.inf)),
    "two dimensions in C order": (np.array([[1, 2], [3, 4]]).T, INT64, ints(1, 3, 2, 4)),
    "array of text": (np.array(["a", "bc"]), BYTES, strings(b"a", b"bc")),
    "array of objects": (np.array([b"a\0", "b"], object), BYTES, strings(b"a\0", b"b")),
    "Bytes": (Bytes.from_list(["a", "b"]), BYTES, strings(b"a", b"b")),
    "empty array": (np.empty(0, np.int64), INT64, b""),
    "empty Bytes": (Bytes.from_list([]), BYTES, b""),
    "a Feature": (Feature(float_list=FloatList(value=[1])), FLOAT, floats(1)),
    "an empty Feature": (Feature(int64_list=Int64List()), INT64, b""),
    "the largest int": (2**63 - 1, INT64, ints(2**63 - 1)),
    "the smallest int": (-(2**63), INT64, ints(-(2**63))),
}


@pytest.mark.parametrize(("value", "kind", "inside"), KINDS.values(), ids=KINDS)
def test_the_kind_follows_from_the_value(value, kind, inside):
    assert one(value) == is_feature(kind, inside)


@pytest.mark.parametrize("value", [[], (), Feature()], ids=["list", "tuple", "Feature"])
def test_what_tells_no_kind_leaves_it_unset(value):
    record = one(value)

    assert record == example(entry("x", b""))
    assert parse_example([record], {"x": VarLenFeature(np.int64)})["x"].to_list() == [[]]


def test_a_python_float_is_rounded_to_float32():
    assert one(0.1) == is_feature(FLOAT, floats(np.float32(0.1)))


def test_keys_are_sorted_by_their_bytes_whatever_their_order():
    keys = ["b", "a", "ab", "é", "", "Z"]
    due = example(*(entry(key, feature(INT64, ints(1))) for key in ["", "Z", "a", "ab", "b", "é"]))

    assert {encode_example(dict.fromkeys(order, 1)) for order in itertools.permutations(keys)} == {due}


def test_any_mapping_is_taken():
    class Mapping(dict):
        pass

    assert encode_example(Mapping(x=1)) == wire.int_example(x=1)


def test_no_features_make_an_example_of_none():
    assert encode_example({}) == b"\x0a\x00"


# --- What would lose information

LOSSES = {
    "an int beyond int64": (2**63, r"9223372036854775808 is beyond int64; store it as text or bytes"),
    "an int below int64": ([1, -(2**63) - 1], r"-9223372036854775809 is beyond int64"),
    "uint64 beyond int64": (np.array([2**63], np.uint64), r"9223372036854775808 is beyond int64; store \.tobytes\(\)"),
    "float64 that float32 rounds": (np.array([0.5, 0.1]), r"0\.1.* is a number that float32 cannot hold; \.astype"),
    "a float64 scalar": (np.float64(0.1), "float32 cannot hold"),
    "float64 beyond float32": (np.array([1e300]), "float32 cannot hold"),
    "a float beyond float32": (1e300, r"1e\+300 is beyond float32"),
    "floats beyond float32": ([1.0, -1e300], r"-1e\+300 is beyond float32"),
    "a large int among floats": ([2**24 + 1, 0.5], "16777217 is a number that float32 cannot hold"),
    "text that is none": ("\ud800", "text that UTF-8 can hold"),
    "strings among numbers": (["a", 1], "a list holds one kind, got byte strings and integers"),
    "None": (None, "NoneType has no list in an Example; leave the key out"),
    "a mapping": ({"a": 1}, "dict has no list in an Example; flatten it"),
    "a set": ({1}, "set has no list in an Example"),
    "complex": (np.array([1j]), r"complex128 has no list in an Example; store \.tobytes\(\)"),
    "time": (np.array(["2020-01-01"], "M8[D]"), r"datetime64\[D\] has no list"),
    "None in a list": ([1, None], "NoneType has no list"),
    "a range": (range(3), "range has no list in an Example; make it a list"),
    "masked numbers": (np.ma.array([1, 2], mask=[False, True]), r"masked values .*; \.filled\(value\)"),
    "masked among lists": ([np.ma.array([1, 2], mask=[False, True])], "masked values"),
}


@pytest.mark.parametrize(("value", "text"), LOSSES.values(), ids=LOSSES)
def test_what_would_lose_information_is_refused_with_the_way_to_ask_for_it(value, text):
    with pytest.raises(EncodeError, match=text) as caught:
        one(value)

    assert caught.value.feature == "x"


def test_masked_values_of_a_column_are_refused():
    with pytest.raises(EncodeError, match=r'feature "x": masked values'):
        encode_examples({"x": np.ma.array([1, 2], mask=[False, True])})

    assert encode_examples({"x": np.ma.array([1, 2])}).to_list() == encode_examples({"x": [1, 2]}).to_list()


def test_rows_are_no_columns():
    with pytest.raises(TypeError, match="a mapping of names to columns, got list; encode_example takes one row"):
        encode_examples([{"x": 1}])


@pytest.mark.parametrize("features", [5, None, [("x", 1)]])
def test_features_that_are_no_mapping_are_refused(features):
    with pytest.raises(TypeError, match=r'features must be a mapping such as {"x": 1}, got (int|NoneType|list)'):
        encode_example(features)


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(EncodeError, match=r"a name \(str\) is due, got 3"):
        encode_example({3: 1})


# --- Columns


def test_columns_of_every_kind_are_cut_into_rows():
    columns = {
        "scalar": np.arange(2),
        "matrix": np.arange(8, dtype=np.float32).reshape(2, 2, 2),
        "small": np.array([1, 2], np.uint8),
        "string": Bytes.from_list(["a", "b"]),
        "pair": Bytes.from_list(["a", "b", "c", "d"]).reshape(2, 2),
        "ragged": Ragged.from_list([[1, 2], []], np.int64),
        "ragged vectors": Ragged(np.arange(6.0, dtype=np.float32).reshape(3, 2), [0, 1, 3]),
        "ragged strings": Ragged.from_list([["a"], ["b", "c"]], bytes),
        "list of text": ["a", "b"],
        "list of numbers": [1, 2],
        "list of floats": [0.1, 0.2],
        "list of rows": [[1, 2], [3]],
        "list of arrays": [np.array([1.5]), np.array([2.5, 3.5])],
        "array of text": np.array(["a", "b"]),
    }

    records = encode_examples(columns)

    rows = [{key: column[row] for key, column in columns.items()} for row in range(2)]
    assert records.to_list() == [encode_example(row) for row in rows]


def test_pixels_become_byte_strings_through_from_rows():
    images = np.arange(2 * 4, dtype=np.uint8).reshape(2, 2, 2)

    records = encode_examples({"x": Bytes.from_rows(images)})

    np.testing.assert_array_equal(parse_example(records, {"x": RawFeature([2, 2], np.uint8)})["x"], images)


def test_a_picked_or_reversed_column_is_encoded_as_it_reads():
    strings = Bytes.from_list(["a", "b", "c"])

    assert encode_examples({"x": strings[::-1], "y": np.arange(3)[::-1]}).to_list() == [
        encode_example({"x": s, "y": i}) for s, i in [("c", 2), ("b", 1), ("a", 0)]
    ]


def test_framed_records_lie_in_a_stream_that_is_ready_to_be_written():
    records = encode_examples({"x": [1, 2]}, framed=True)

    assert records.to_list() == [encode_example({"x": 1}), encode_example({"x": 2})]
    assert records.starts[0] == 12
    assert len(records.data) == sum(map(len, records)) + 2 * 16


COLUMN_FAULTS = {
    "lengths": ({"x": [1, 2], "y": [1]}, r'feature "y": as many rows as "x" are due \(2\), got 1'),
    "a text": ({"x": "abc"}, "a value for each row is due, got str"),
    "a scalar": ({"x": 3}, "a value for each row is due, got int"),
    "rows of rows": ({"x": Ragged(Ragged.from_list([[1]], np.int64), [0, 1])}, "rows of rows"),
    "kinds": ({"x": [["a"], [1]]}, "a list holds one kind"),
    "loss": ({"x": np.array([0.1])}, "float32 cannot hold"),
    "name": ({1: [1]}, "a name"),
}


@pytest.mark.parametrize(("columns", "text"), COLUMN_FAULTS.values(), ids=COLUMN_FAULTS)
def test_columns_that_do_not_fit_are_refused(columns, text):
    with pytest.raises(EncodeError, match=text):
        encode_examples(columns)


def test_no_rows_make_no_records():
    assert len(encode_examples({"x": np.empty(0, np.int64)})) == 0
    assert len(encode_examples({})) == 0


# --- Round trips

VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.binary(max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=3),
    st.lists(st.binary(max_size=4), min_size=1, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_what_is_encoded_is_decoded_again(values):
    found = decode_example(encode_example(values))

    due = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    assert {
        key: column.tolist() if isinstance(column, np.ndarray) else column.to_list() for key, column in found.items()
    } == due


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_what_is_decoded_is_encoded_again(values):
    record = encode_example(values)

    assert encode_example(decode_example(record)) == record


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=4)), max_size=5))
def test_what_columns_encode_is_parsed_again(rows):
    records = encode_examples({"x": np.array([x for x, _ in rows], np.int64), "s": Bytes.from_list(s for _, s in rows)})

    columns = parse_example(records, {"x": FixedLenFeature([], np.int64), "s": FixedLenFeature([], bytes)})

    assert list(zip(columns["x"].tolist(), columns["s"].to_list(), strict=True)) == rows


def test_decoding_gives_lists_whatever_their_length_and_types_by_their_kind():
    found = decode_example(encode_example({"i": 1, "f": np.empty(0, np.float32), "s": "a", "u": []}))

    assert (found["i"].dtype, found["i"].tolist()) == (np.int64, [1])
    assert (found["f"].dtype, found["f"].tolist()) == (np.float32, [])
    assert found["s"] == Bytes.from_list(["a"])
    assert found["u"] == []


def test_bytes_that_are_no_example_are_refused_by_their_place():
    with pytest.raises(MalformedExampleError, match="byte 0 cannot be read"):
        decode_example(b"\x0a\x05abc")


# --- SequenceExamples


def test_a_sequence_example_is_written_as_by_hand():
    record = encode_sequence_example({"n": 2}, {"s": ["a", "b"], "i": [[1, 2], [3]]})

    steps = {
        "i": wire.field(1, feature(INT64, ints(1, 2))) + wire.field(1, feature(INT64, ints(3))),
        "s": wire.field(1, feature(BYTES, strings(b"a"))) + wire.field(1, feature(BYTES, strings(b"b"))),
    }
    lists = b"".join(entry(key, inside) for key, inside in steps.items())
    assert record == wire.int_example(n=2) + wire.field(2, lists)


def test_steps_may_be_of_any_kind_of_column_and_are_decoded_again():
    sequences = {
        "array": np.arange(6, dtype=np.float32).reshape(3, 2),
        "strings": Bytes.from_list(["a", "b"]),
        "ragged": Ragged.from_list([[1], [], [2, 3]], np.int64),
        "features": [Feature(int64_list=Int64List(value=[1])), Feature(bytes_list=BytesList(value=[b"x"])), Feature()],
        "none": np.empty(0, np.int64),
    }

    context, found = decode_sequence_example(encode_sequence_example({"n": 1}, sequences))

    assert context["n"].tolist() == [1]
    assert [step.tolist() for step in found["array"]] == [[0, 1], [2, 3], [4, 5]]
    assert [step.to_list() for step in found["strings"]] == [[b"a"], [b"b"]]
    assert [step.tolist() for step in found["ragged"]] == [[1], [], [2, 3]]
    assert found["features"][0].tolist() == [1]
    assert found["features"][1:] == [Bytes.from_list([b"x"]), []]
    assert found["none"] == []


def test_a_step_that_would_lose_information_is_refused_by_its_list():
    with pytest.raises(EncodeError, match='feature "s": a list holds one kind'):
        encode_sequence_example({}, {"s": [["a"], [1]]})
