"""Schemas of SequenceExamples: sequences are feature lists, all else is context."""

import json
import pickle

import numpy as np
import pytest

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Schema, Sequence, Tensor, Text
from wellfed.errors import EncodeError, FeatureLengthError
from wellfed.example import decode_sequence_example, encode_sequence_example
from wellfed.image import encode_image

FRAME = encode_image(np.zeros((2, 3, 3), np.uint8))
SCHEMA = Schema(
    {
        "id": Scalar(),
        "title": Text(),
        "tokens": Sequence(Scalar("int32")),
        "boxes": Sequence(Tensor((2,), "float32")),
        "masks": Sequence(Tensor((2,), "uint8", "bytes")),
        "words": Sequence(Sequence(Scalar())),
        "tags": Sequence(ClassLabel(("a", "b"))),
        "frames": Sequence(Image((2, 3, 3))),
        "blobs": Sequence(ByteString()),
        "points": Sequence(Sequence(Tensor((2,), "float32"))),
    },
    records="SequenceExample",
)
ROWS = [
    {
        "id": 1,
        "title": "first",
        "tokens": [5, 6, 7],
        "boxes": [[0.5, 1], [2, 3]],
        "masks": [np.array([1, 2], np.uint8)],
        "words": [[1, 2], [], [3]],
        "tags": ["b", "a"],
        "frames": [FRAME, FRAME],
        "blobs": [b"\0", b""],
        "points": [[[1, 2], [3, 4]], []],
    },
    {
        "id": 2,
        "title": "empty",
        "tokens": [],
        "boxes": [],
        "masks": [],
        "words": [],
        "tags": [],
        "frames": [],
        "blobs": [],
        "points": [],
    },
]


@pytest.fixture
def records():
    """Returns the two rows as records."""
    return [SCHEMA.encode_record(row) for row in ROWS]


def test_sequences_are_feature_lists_and_all_else_is_context(records):
    context, lists = decode_sequence_example(records[0])

    assert sorted(context) == ["id", "title"]
    assert [step.tolist() for step in lists["tokens"]] == [[5], [6], [7]]
    assert [step.tolist() for step in lists["boxes"]] == [[0.5, 1.0], [2.0, 3.0]]
    assert [step.tolist() for step in lists["words"]] == [[1, 2], [], [3]]
    assert [step.to_list() for step in lists["frames"]] == [[FRAME], [FRAME]]


def test_what_is_encoded_is_parsed(records):
    columns = SCHEMA.parse(records)

    assert columns["id"].tolist() == [1, 2]
    assert columns["title"].to_list() == [b"first", b"empty"]
    assert columns["tokens"].to_list() == [[5, 6, 7], []]
    assert columns["boxes"].to_list() == [[[0.5, 1.0], [2.0, 3.0]], []]
    assert columns["masks"].to_list() == [[[1, 2]], []]
    assert columns["words"].to_list() == [[[1, 2], [], [3]], []]
    assert columns["tags"].to_list() == [[1, 0], []]
    assert columns["blobs"].to_list() == [[b"\0", b""], []]
    assert columns["points"].to_list() == [[[[1.0, 2.0], [3.0, 4.0]], []], []]
    assert [len(frames) for frames in columns["frames"]] == [2, 0]


def test_only_the_features_asked_for_are_parsed(records):
    assert list(SCHEMA.parse(records, ["tokens"])) == ["tokens"]


def test_the_same_types_give_the_same_columns_from_both_kinds_of_record(records):
    plain = Schema(dict(SCHEMA))
    ours, theirs = SCHEMA.parse(records), plain.parse([plain.encode_record(row) for row in ROWS])

    for name in SCHEMA:
        if name != "frames":
            assert list(map(str, ours[name])) == list(map(str, theirs[name]))


def test_the_kind_of_record_survives_json_pickle_and_replacing():
    for twin in (
        Schema.from_json(json.loads(json.dumps(SCHEMA.to_json())), "SequenceExample"),
        pickle.loads(pickle.dumps(SCHEMA)),
        SCHEMA.replace({}),
        Schema(SCHEMA),
    ):
        assert twin == SCHEMA
    assert Schema(dict(SCHEMA)) != SCHEMA


def test_parse_example_is_refused_what_it_cannot_read():
    with pytest.raises(ValueError, match=r"use schema\.parse"):
        SCHEMA.features()


def test_sequences_nested_too_deep_for_steps_are_refused():
    with pytest.raises(ValueError, match='feature "x": a SequenceExample holds lists of lists, and none deeper'):
        Schema({"x": Sequence(Sequence(Sequence(Scalar())))}, "SequenceExample")


def test_a_kind_of_record_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match='must be "Example" or "SequenceExample"'):
        Schema({}, "Event")


BAD_STEPS = {
    "two numbers in a step": (Sequence(Scalar()), [[1], [2, 3]], "expected 1 values in each step, got 2"),
    "half an array in a step": (
        Sequence(Tensor((2,), "int64")),
        [[1, 2], [3]],
        "expected 2 values in each step, got 1",
    ),
    "half an array in a list": (
        Sequence(Sequence(Tensor((2,), "int64"))),
        [[1, 2], [3, 4, 5]],
        "expected a multiple of 2 values in each step, got 3",
    ),
}


@pytest.mark.parametrize(("kind", "steps", "message"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_a_step_that_holds_no_whole_entries_is_an_error(kind, steps, message):
    schema = Schema({"x": kind}, "SequenceExample")
    good, bad = (encode_sequence_example({}, {"x": rows}) for rows in (steps[:1], steps))

    with pytest.raises(FeatureLengthError, match=message) as caught:
        schema.parse([good, bad])
    assert caught.value.example_index == 1


def test_a_value_that_does_not_fit_is_refused_as_ever():
    with pytest.raises(EncodeError, match='feature "tokens": expected a list'):
        SCHEMA.encode_record({**ROWS[0], "tokens": 5})
