"""Parsing and encoding Examples, case by case against a live TensorFlow, and against protobuf's own reading."""

from __future__ import annotations

import collections
import os

import numpy as np
import pytest
from example_strategies import kinds, records, specs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wellfed import example as wf
from wellfed.errors import ExampleError

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # A line for each refused record otherwise.
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:.* hold a feature more than once"),
]
tf = pytest.importorskip("tensorflow")
DecodeError = pytest.importorskip("google.protobuf.message").DecodeError
columns_of = pytest.importorskip("tensorflow_columns")
all_plain, all_to_tensorflow, plain = columns_of.all_plain, columns_of.all_to_tensorflow, columns_of.plain

# Forms that TensorFlow's parser reads otherwise than protobuf does. There, wellfed reads what protobuf reads.
DIFFERENCES = {
    "chunks": "TensorFlow reads the first chunk of a list, or fails on a packed one after others; protobuf joins them",
    "two lists": "TensorFlow reads the first list of a Feature; protobuf merges those of the last kind",
    "unknown in feature": "TensorFlow takes the first field of a Feature for its list",
    "unknown in list": "TensorFlow takes the first field of a list for its values",
    "value first": "TensorFlow wants the key first in a map entry",
    "no value": "TensorFlow wants a value in a map entry; protobuf reads an empty Feature",
    "no key": 'TensorFlow wants a key in a map entry; protobuf reads the key ""',
    "two values": "TensorFlow wants one value in a map entry; protobuf merges them",
    "in features": "TensorFlow wants nothing but map entries in Features",
    "group": "TensorFlow knows no groups",
    "duplicate": "of entries with one key TensorFlow passes over those whose kind is unset; protobuf's last one counts",
}
RECORDS, SPECS, DRAWS = 4, 4, 320  # Records and specifications in each draw: 5,120 cases of one record.
CASES = settings(
    max_examples=DRAWS, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def ours(parse, data, features):
    """What wellfed makes of it, or "error"."""
    try:
        columns = parse(data, features)
    except ExampleError:
        return "error"
    var = {name for name, feature in features.items() if isinstance(feature, wf.VarLenFeature)}
    return {name: plain(column.to_sparse() if name in var else column) for name, column in columns.items()}


def theirs(data, features):
    """What TensorFlow makes of it, or "error"."""
    try:
        columns = tf.io.parse_example(data, all_to_tensorflow(features))
    except (tf.errors.InvalidArgumentError, ValueError):
        return "error"
    return all_plain(columns)


def by_protobuf(data):
    """The same records written again by protobuf, in the form that all parsers agree on; or None."""
    try:
        examples = [tf.train.Example.FromString(record) for record in data]
    except DecodeError:
        return None
    for example in examples:
        example.DiscardUnknownFields()
    return [example.SerializeToString(deterministic=True) for example in examples]


def kills_tensorflow(features, flags):
    """Whether TensorFlow 2.21 may write beyond the end of its own memory on such records.

    It gives room for as many floats as the shape holds, and then reads floats that are not packed without a limit: the
    process dies, now or later. (A packed list of a wrong length is an error, as it should be.)
    """
    fixed = any(
        isinstance(feature, wf.FixedLenFeature) and feature.dtype == np.float32 for feature in features.values()
    )
    return fixed and "unpacked floats" in flags


def check(features, batch):
    """One case: both libraries give the same values, or both an error, or the difference stands in the table."""
    serialized = [record.data for record in batch]
    flags = set().union(*(record.flags for record in batch))
    found = ours(wf.parse_example, serialized, features)
    if not kills_tensorflow(features, flags):
        due = theirs(serialized, features)
        if found == due:
            return
        assert flags & set(DIFFERENCES), f"a difference that stands in no table: {found} and {due}"
    again = by_protobuf(serialized)
    assert found == ("error" if again is None else theirs(again, features))


def test_parse_example_gives_what_tensorflow_gives():
    drawn = collections.Counter()

    @CASES
    @given(st.data())
    def compare(data):
        kind_of = data.draw(kinds())
        batch = data.draw(st.lists(records(kind_of), min_size=RECORDS, max_size=RECORDS))
        for features in data.draw(st.lists(specs(kind_of), min_size=SPECS, max_size=SPECS)):
            for record in batch:
                check(features, [record])
                drawn.update(record.flags | {"all"})
            check(features, [record for record in batch if "cut" not in record.flags])

    compare()

    assert drawn["all"] >= 5000
    assert drawn.keys() >= DIFFERENCES.keys() | {"unset", "unpacked floats", "unknown field", "split", "cut"}


@settings(CASES, max_examples=100)
@given(st.data())
def test_a_batch_in_one_buffer_gives_what_a_list_gives(data):
    kind_of = data.draw(kinds())
    features = data.draw(specs(kind_of))
    serialized = [record.data for record in data.draw(st.lists(records(kind_of), max_size=3))]

    buffer = wf.Bytes.from_list(serialized)
    assert ours(wf.parse_example, buffer, features) == ours(wf.parse_example, serialized, features)
