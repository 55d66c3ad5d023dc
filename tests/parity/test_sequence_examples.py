"""Parsing and encoding SequenceExamples against a live TensorFlow."""

from __future__ import annotations

import os

import numpy as np
import pytest
import wire
from example_strategies import DTYPES, SHAPES, VALUES, lists
from hypothesis import given, settings
from hypothesis import strategies as st

from wellfed import example as wf
from wellfed.errors import ExampleError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # A line for each refused record otherwise.
pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")
columns_of = pytest.importorskip("tensorflow_columns")
all_plain, all_to_tensorflow = columns_of.all_plain, columns_of.all_to_tensorflow

KEYS = ["a", "b", "c"]
MANY = settings(max_examples=400, deadline=None)
KINDS = st.fixed_dictionaries({key: st.sampled_from([wire.INT64, wire.FLOAT, wire.BYTES]) for key in KEYS})


@st.composite
def steps(draw, flags, kind, count):
    """A step: mostly of `count` values of the kind."""
    form = draw(st.sampled_from(["due"] * 12 + ["any count", "any count", "any kind", "unset"]))
    if form == "unset":
        return b""
    if form == "any kind":
        return draw(lists(flags))
    if form == "any count":
        return draw(lists(flags, kind))
    values = draw(st.lists(VALUES[kind], min_size=count, max_size=count))
    encode = {wire.INT64: wire.ints, wire.FLOAT: wire.floats, wire.BYTES: wire.strings}[kind]
    return wire.feature(kind, encode(*values) if kind == wire.BYTES else encode(*values, packed=draw(st.booleans())))


@st.composite
def sequence_records(draw, kinds, counts):
    """A serialized SequenceExample, and the flags of its unusual forms."""
    flags = set()
    inside = []
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True)):
        drawn = draw(st.lists(steps(flags, kinds[key], counts[key]), max_size=4))
        inside.append(wire.entry(key, b"".join(wire.field(1, step) for step in drawn)))
    context = wire.entry("x", wire.feature(wire.INT64, wire.ints(draw(st.integers(0, 9)))))
    return wire.example(context) + wire.field(2, b"".join(inside)), flags


@st.composite
def sequence_specs(draw, kinds, shapes):
    chosen = {}
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, unique=True)):
        dtype, shape = DTYPES[kinds[key]], shapes[key]
        fixed = wf.FixedLenSequenceFeature(shape, dtype, draw(st.booleans()))
        chosen[key] = draw(st.sampled_from([fixed, fixed, wf.VarLenFeature(dtype), wf.RaggedFeature(dtype)]))
    return chosen


def outcome(parse, data, context, features):
    try:
        return [all_plain(part) for part in parse(data, context, features)]
    except (ExampleError, tf.errors.InvalidArgumentError, ValueError):
        return "error"


def as_sparse(column):
    """What TensorFlow's 3-D SparseTensor holds, from rows of rows; two-dimensional for rows alone."""
    _kind, inner, splits = column
    if inner[0] != "ragged":
        return column
    _, values, inner_splits = inner
    lengths, steps = np.diff(inner_splits), np.diff(splits)
    row = np.repeat(np.arange(len(steps)), steps)
    step = np.arange(len(lengths)) - np.repeat(np.array(splits[:-1], int), steps)
    at = np.arange(int(lengths.sum())) - np.repeat(np.array(inner_splits[:-1], int), lengths)
    indices = np.stack([np.repeat(row, lengths), np.repeat(step, lengths), at], axis=1)
    shape = [len(steps), int(steps.max(initial=0)), int(lengths.max(initial=0))]
    return "sparse", indices.tolist(), values, shape


@MANY
@given(st.data())
def test_parse_sequence_example_gives_what_tensorflow_gives(data):
    kinds = data.draw(KINDS)
    shapes = {key: data.draw(st.sampled_from([shape for shape in SHAPES if 0 not in shape])) for key in KEYS}
    counts = {key: int(np.prod(shape)) for key, shape in shapes.items()}
    drawn = data.draw(st.lists(sequence_records(kinds, counts), min_size=1, max_size=3))
    batch = [record for record, flags in drawn if not flags]  # Other forms of lists: test_examples.
    features = data.draw(sequence_specs(kinds, shapes))
    context = {"x": wf.FixedLenFeature([], np.int64)}
    if not batch:
        return

    found = outcome(wf.parse_sequence_example, batch, context, features)
    due = outcome(tf.io.parse_sequence_example, batch, all_to_tensorflow(context), all_to_tensorflow(features))

    if found != "error":
        for name, feature in features.items():
            if isinstance(feature, wf.VarLenFeature):
                found[1][name] = as_sparse(found[1][name])
    assert found == due


@MANY
@given(st.data())
def test_parse_single_sequence_example_gives_what_tensorflow_gives(data):
    kinds = data.draw(KINDS)
    shapes = {key: data.draw(st.sampled_from([(), (2,)])) for key in KEYS}
    counts = {key: int(np.prod(shape)) for key, shape in shapes.items()}
    record, flags = data.draw(sequence_records(kinds, counts))
    features = data.draw(sequence_specs(kinds, shapes))
    if flags:
        return

    found = outcome(wf.parse_single_sequence_example, record, None, features)
    due = outcome(tf.io.parse_single_sequence_example, record, None, all_to_tensorflow(features))

    if found != "error":
        for name, feature in features.items():
            if isinstance(feature, wf.VarLenFeature):
                indices, values, shape = as_sparse(("ragged", found[1][name], [0, len(found[1][name][2]) - 1]))[1:]
                found[1][name] = "sparse", [index[1:] for index in indices], values, shape[1:]
    assert found == due


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_written_is_protobufs_deterministic_serialization(data):
    kinds = data.draw(KINDS)
    makers = {wire.INT64: ("int64_list", "Int64List"), wire.FLOAT: ("float_list", "FloatList")}
    sequences, due_lists = {}, {}
    for key in KEYS:
        rows = data.draw(st.lists(st.lists(VALUES[kinds[key]], max_size=3), max_size=3))
        sequences[key] = wf.Ragged.from_list(rows, DTYPES[kinds[key]])
        name, maker = makers.get(kinds[key], ("bytes_list", "BytesList"))
        due_steps = [tf.train.Feature(**{name: getattr(tf.train, maker)(value=row)}) for row in rows]
        due_lists[key] = tf.train.FeatureList(feature=due_steps)
    context = tf.train.Features(feature={"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))})
    message = tf.train.SequenceExample(context=context, feature_lists=tf.train.FeatureLists(feature_list=due_lists))
    due = message.SerializeToString(deterministic=True)

    assert wf.encode_sequence_example({"n": 3}, sequences) == due
    assert wf.SequenceExample.FromString(due).SerializeToString() == due
