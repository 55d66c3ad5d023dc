"""Features made of several, single examples, and what is written: against a live TensorFlow."""

from __future__ import annotations

import os

import numpy as np
import pytest
from example_strategies import FLOAT, INT64, STRINGS, kinds, records, specs
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wellfed import example as wf
from wellfed.errors import ExampleError
from wellfed.example.features import RowLengths, RowLimits, RowSplits, RowStarts, UniformRowLength, ValueRowIds

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # A line for each refused record otherwise.
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:.* hold a feature more than once"),
]
tf = pytest.importorskip("tensorflow")
columns_of = pytest.importorskip("tensorflow_columns")
all_plain, all_to_tensorflow, plain = columns_of.all_plain, columns_of.all_to_tensorflow, columns_of.plain

SOME = settings(max_examples=150, deadline=None)
MORE = settings(max_examples=400, deadline=None)
ROWS = st.lists(st.lists(st.lists(st.integers(-5, 500), max_size=3), max_size=3), max_size=3)


def lengths_as(partition, lengths):
    """The numbers that a partition's feature holds for rows of these lengths."""
    ends = np.cumsum(np.array(lengths, np.int64))
    match partition:
        case RowLengths():
            return np.array(lengths, np.int64)
        case RowSplits():
            return np.concatenate([[0], ends])
        case RowLimits():
            return ends
        case RowStarts():
            return ends - np.array(lengths, np.int64)
        case ValueRowIds():
            return np.repeat(np.arange(len(lengths)), lengths)
    raise TypeError(partition)


def drop_empty_tail(rows):
    """Without the empty rows at the end, which no value's row id can name."""
    while rows and not rows[-1]:
        rows = rows[:-1]
    return rows


@SOME
@given(
    st.lists(ROWS, min_size=1, max_size=3),
    st.sampled_from([RowLengths, RowSplits, RowLimits, RowStarts, ValueRowIds]),
    st.sampled_from([RowLengths, RowSplits, RowLimits, RowStarts, ValueRowIds]),
)
def test_ragged_partitions_cut_as_tensorflow_cuts(batch, outer, inner):
    feature = wf.RaggedFeature(np.int64, value_key="v", partitions=[outer("o"), inner("i")])
    serialized = []
    for drawn in batch:
        rows = drop_empty_tail(drawn) if outer is ValueRowIds else drawn
        middle = [row for part in rows for row in part]
        if inner is ValueRowIds and middle != drop_empty_tail(middle):
            continue
        values = np.array([value for row in middle for value in row], np.int64)
        outer_numbers = lengths_as(feature.partitions[0], list(map(len, rows)))
        inner_numbers = lengths_as(feature.partitions[1], list(map(len, middle)))
        serialized.append(wf.encode_example({"v": values, "o": outer_numbers, "i": inner_numbers}))

    assume(serialized)
    due = tf.io.parse_example(serialized, {"r": columns_of.to_tensorflow(feature)})

    assert all_plain(wf.parse_example(serialized, {"r": feature})) == all_plain(due)


@SOME
@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(1, 3), st.booleans())
def test_uniform_rows_cut_as_tensorflow_cuts(counts, length, twice):
    partitions = [UniformRowLength(2), UniformRowLength(length)] if twice else [UniformRowLength(length)]
    feature = wf.RaggedFeature(np.float32, partitions=partitions)
    step = 2 * length if twice else length
    serialized = [wf.encode_example({"r": np.arange(step * count, dtype=np.float32)}) for count in counts]

    due = tf.io.parse_example(serialized, {"r": columns_of.to_tensorflow(feature)})

    assert all_plain(wf.parse_example(serialized, {"r": feature})) == all_plain(due)


@SOME
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=4, unique=True), min_size=1, max_size=3
    ),
    st.booleans(),
)
def test_sparse_features_are_merged_as_tensorflow_merges_them(batch, already_sorted):
    feature = wf.SparseFeature(["i", "j"], "v", np.float32, [10, 5], already_sorted)
    serialized = []
    for drawn in batch:
        pairs = np.array(drawn, np.int64).reshape(-1, 2)
        values = np.arange(len(pairs), dtype=np.float32)
        serialized.append(wf.encode_example({"i": pairs[:, 0], "j": pairs[:, 1], "v": values}))

    due = tf.io.parse_example(serialized, {"s": columns_of.to_tensorflow(feature)})

    assert all_plain(wf.parse_example(serialized, {"s": feature})) == all_plain(due)


def single(parse, record, features):
    try:
        columns = parse(record, features)
    except (ExampleError, tf.errors.InvalidArgumentError, ValueError):
        return "error"
    return all_plain(columns)


@MORE
@given(st.data())
def test_parse_single_example_gives_what_tensorflow_gives(data):
    kind_of = data.draw(kinds())
    record = data.draw(records(kind_of).filter(lambda record: not record.flags))
    features = data.draw(specs(kind_of))

    found = single(wf.parse_single_example, record.data, features)
    due = single(tf.io.parse_single_example, record.data, all_to_tensorflow(features))

    if found != "error" and due != "error":
        for name, feature in features.items():
            if isinstance(feature, wf.VarLenFeature):  # One-dimensional, and so of no more use than its values.
                due[name] = due[name][2]
    assert found == due


NUMBERS = {"int64_list": np.array, "float_list": lambda values: np.array(values, np.float32)}
LISTS = st.one_of(
    st.tuples(st.just("int64_list"), st.lists(INT64, max_size=5)),
    st.tuples(st.just("float_list"), st.lists(FLOAT, max_size=5)),
    st.tuples(st.just("bytes_list"), st.lists(STRINGS, max_size=5)),
)
# No name begins with all of another: of such a pair protobuf for C++ writes the shorter first, as any sort does, and
# protobuf for Python (7.36) the longer.
NAMES = st.text(max_size=3).map(lambda name: f"{len(name)}{name}")
MAPPINGS = st.dictionaries(NAMES, LISTS, max_size=5)
TF_LISTS = {"int64_list": "Int64List", "float_list": "FloatList", "bytes_list": "BytesList"}


def build(module, mapping):
    """An Example in the classes of `module`: tf.train's or wellfed's."""
    features = {
        key: module.Feature(**{kind: getattr(module, TF_LISTS[kind])(value=values)})
        for key, (kind, values) in mapping.items()
    }
    return module.Example(features=module.Features(feature=features))


def typed(kind, values):
    match kind:
        case "bytes_list":
            return wf.Bytes.from_list(values)
        case "int64_list":
            return np.array(values, np.int64)
    return np.array(values, np.float32)


@MORE
@given(MAPPINGS)
def test_what_is_written_is_protobufs_deterministic_serialization(mapping):
    due = build(tf.train, mapping).SerializeToString(deterministic=True)

    assert wf.encode_example({key: typed(*value) for key, value in mapping.items()}) == due
    assert build(wf, mapping).SerializeToString() == due
    assert wf.Example.FromString(due).SerializeToString() == due
    assert wf.encode_example(wf.decode_example(due)) == due


@SOME
@given(st.lists(st.tuples(INT64, STRINGS, FLOAT, st.lists(INT64, max_size=3)), max_size=5), st.booleans())
def test_columns_are_written_as_protobuf_writes_each_row(rows, framed):
    columns = {
        "ü": np.array([row[0] for row in rows], np.int64),
        "b": wf.Bytes.from_list([row[1] for row in rows]),
        "a": np.array([row[2] for row in rows], np.float32),
        "zz": wf.Ragged.from_list([row[3] for row in rows], np.int64),
    }
    kind_of = {"ü": "int64_list", "b": "bytes_list", "a": "float_list", "zz": "int64_list"}
    due = []
    for number, string, real, many in rows:
        row = {"ü": [number], "b": [string], "a": [real], "zz": many}
        example = build(tf.train, {key: (kind_of[key], values) for key, values in row.items()})
        due.append(example.SerializeToString(deterministic=True))

    assert wf.encode_examples(columns, framed=framed).to_list() == due


@SOME
@given(MAPPINGS)
def test_text_is_protobufs_text(mapping):
    ours, theirs = build(wf, mapping), build(tf.train, mapping)

    # protobuf shows a map in no certain order, so the lines are compared, not their order.
    assert sorted(str(ours).splitlines()) == sorted(str(theirs).splitlines())
