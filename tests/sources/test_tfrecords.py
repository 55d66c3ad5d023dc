from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Schema, Sequence, Tensor, Text, open_dataset
from wellfed.errors import SourceError
from wellfed.example import encode_example, encode_sequence_example
from wellfed.io import TFRecordReader, TFRecordWriter
from wellfed.packing import pack
from wellfed.sources import RecordSource, Skipped, TFRecords

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40


@pytest.fixture
def write(tmp_path):
    """Writes items as Examples, and makes the source of the file."""

    def make(items: list[dict], name: str = "x.tfrecord", **options) -> TFRecords:
        with TFRecordWriter(tmp_path / name) as writer:
            for item in items:
                writer.write(item if isinstance(item, bytes) else encode_example(item))
        return TFRecords(tmp_path / name, **options)

    return make


@pytest.fixture
def borrow(corpus, tmp_path):
    """Copies a file of the corpus, beside which an index may be written."""
    return lambda name: shutil.copy(corpus / name, tmp_path)


def items(source) -> list[dict]:
    return [source.load(at) for at in range(len(source.listing()))]


VALUES = {
    "an integer": ([3, -4], Scalar(np.int64)),
    "a float": ([0.5, 1.5], Scalar(np.float32)),
    "texts": (["a", "", "é"], Text()),
    "bytes": ([b"\xff\0", b"a"], ByteString()),
    "pictures": ([PNG, PNG + b"x"], Image()),
    "two integers": ([[1, 2], [3, 4]], Tensor((2,), np.int64)),
    "integers": ([[1, 2], [3]], Tensor((None,), np.int64)),
    "floats": ([[0.5], [0.5, 1.5]], Tensor((None,), np.float32)),
    "two texts": ([["a", "b"], ["c", "d"]], Sequence(Text(), 2)),
    "lists of bytes": ([[b"\xff"], [b"\xfe", b"\xfd"]], Sequence(ByteString())),
}


def plain(value):
    """Arrays as lists, texts as their bytes."""
    if isinstance(value, np.ndarray | list):
        return [plain(inner) for inner in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize(("values", "kind"), VALUES.values(), ids=VALUES)
def test_the_types_are_found_from_all_records(write, values, kind):
    source = write([{"x": value} for value in values])

    assert dict(source.schema) == {"x": kind}
    assert [plain(item["x"]) for item in items(source)] == [plain(value) for value in values]


@pytest.mark.parametrize(("values", "kind"), VALUES.values(), ids=VALUES)
def test_encoding_an_item_again_gives_its_record(write, values, kind):
    source = write([{"x": value} for value in values])

    for at in range(len(values)):
        assert encode_example(source.schema.encode(source.load(at))) == source.record(at)


def test_a_feature_that_some_records_lack_has_no_fixed_length(write):
    source = write([{"x": 1, "y": "a"}, {"x": 2}])

    assert dict(source.schema) == {"x": Scalar(np.int64), "y": Sequence(Text())}
    assert [item["y"] for item in items(source)] == [[b"a"], []]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("files/pwnall__tfrecord/data.tfrecord", 1),
        ("files/pytorch__data/example.tfrecord", 4),
        ("files/google__nucleus/ngs_errors-eval.tfrecord", 10),
        ("files/tensorflow__tfx/data.tfrecord.gz", 100),
        ("files/tensorflow__tfx/penguin-Split-eval/data_tfrecord-00000-of-00001.gz", None),
    ],
)
def test_files_that_others_wrote_are_read_whole(borrow, name, count):
    source = TFRecords(borrow(name))

    loaded = items(source)

    assert count in (None, len(loaded))
    assert all(source.schema.encode(item) for item in loaded)
    assert isinstance(source, RecordSource)


def test_the_schema_can_be_given(write):
    types = {"x": Scalar(np.uint8), "image": Image((2, 2, 3))}

    source = write([{"x": 7, "image": PNG, "more": 1.5}], types=types)

    assert source.schema == Schema(types)
    assert items(source) == [{"x": 7, "image": PNG}]


def test_a_record_that_does_not_fit_the_schema_given_fails_when_it_is_loaded(write):
    source = write([{"x": 7}, {"x": "a"}], types={"x": Scalar(np.int64)})

    assert source.load(0) == {"x": 7}
    with pytest.raises(SourceError, match=r"x.tfrecord/1: x: "):
        source.load(1)


def test_the_class_can_be_named(write):
    source = write([{"label": 2}, {"label": 0}], label="label")

    assert source.schema["label"] == ClassLabel(num_classes=3)
    assert source.listing().labels.tolist() == [2, 0]


def test_records_of_several_files_are_numbered_within_theirs(write, tmp_path):
    write([{"x": 1}, {"x": 2}], "x-00000-of-00002")
    write([{"x": 3}], "x-00001-of-00002")

    source = TFRecords(tmp_path / "x-*-of-*")

    assert [source.listing().key(at) for at in range(3)] == [
        "x-00000-of-00002/0",
        "x-00000-of-00002/1",
        "x-00001-of-00002/0",
    ]
    assert items(source) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert source.listing().sizes.tolist() == [len(source.record(at)) for at in range(3)]


def test_a_part_reads_its_own_records(write):
    source = write([{"x": at} for at in range(10)])

    part = pickle.loads(pickle.dumps(source.part(np.array([7, 2]))))

    assert items(part) == [{"x": 7}, {"x": 2}]


def test_damaged_records_can_be_left_out_and_are_named(borrow):
    source = TFRecords(borrow("derived/flip_rec0_payload.tfrecord"), on_damage="skip")

    (skipped,) = source.listing().skipped
    assert skipped.reason == "bytes [0..124): no intact record stands here"
    assert len(source.listing()) > 0


def test_a_damaged_record_fails_when_it_is_loaded(borrow):
    source = TFRecords(borrow("derived/flip_rec0_payload.tfrecord"), types={"x": ByteString()})

    with pytest.raises(SourceError, match=r"record 0 at byte 0: payload CRC32C .*\(--on-damage skip\) leaves damage"):
        source.load(0)


BAD = {
    "a cut file": ("derived/trunc_rec2_in_payload.tfrecord", "record 2 at byte"),
    "an empty file": ("derived/empty.tfrecord", "holds no record"),
    "no TFRecord": ("photos/good/pillow/hopper.jpg", "this is a JPEG picture, not a TFRecord file"),
    "no Examples": ("files/google__grain/morris_sequence_first_5.tfrecord", "record 0: .*; Examples are due"),
    "another proto": ("files/tensorflow__tensorboard/end_to_end.tfevents", "no feature is found; Examples are due"),
}


@pytest.mark.parametrize(("name", "reason"), BAD.values(), ids=BAD)
def test_a_file_without_whole_examples_is_refused(borrow, name, reason):
    with pytest.raises(SourceError, match=reason):
        TFRecords(borrow(name)).listing()


@pytest.mark.parametrize(
    ("records", "options", "reason"),
    [
        (
            [{"x": 1}, {"x": "a"}],
            {},
            r"feature 'x' is bytes \(first in record 1\) and int64 \(first in record 0\)|int64 .* and bytes",
        ),
        ([{"x": 1}, {"y": 1}], {"label": "x"}, "record 1: .*; the class 'x' is one int64 in each record"),
        ([{"x": -1}], {"label": "x"}, "feature 'x' holds classes from -1 to -1"),
        (
            [{"x": 5}],
            {"label": "x", "types": {"x": ClassLabel(num_classes=3)}},
            "holds classes from 5 to 5; 0 to 2 are due",
        ),
    ],
)
def test_features_that_do_not_fit_are_refused(write, records, options, reason):
    with pytest.raises(SourceError, match=reason):
        write(records, **options).listing()


def test_a_feature_without_a_kind_is_named(write):
    # Features { feature { key: "y" value { } } } behind the x that encode_example writes.
    source = write([encode_example({"x": 1}) + bytes.fromhex("0a070a050a01791200")])

    assert source.listing().skipped == [Skipped("feature y", "has no kind in any record")]


def test_a_pattern_that_matches_nothing_is_refused_at_once(tmp_path):
    with pytest.raises(SourceError, match=r"no\*.tfrecord: cannot be found"):
        TFRecords(tmp_path / "no*.tfrecord")


def test_sequence_examples_are_packed_anew_as_they_are(borrow, tmp_path):
    source = TFRecords(borrow("files/pytorch__data/sequence_example.tfrecord"))
    pack(source, tmp_path / "out", name="sequences", shuffle=False)

    dataset = open_dataset(tmp_path / "out")
    (file,) = dataset.splits["train"].files
    assert list(TFRecordReader(file)) == [source.record(at) for at in range(4)]
    assert dataset.schema.records == "SequenceExample"
    assert dataset.schema["x_byte_seq"] == Sequence(Text())
    assert dataset.schema.parse(list(TFRecordReader(file)))["x_int_seq"][0].tolist() == [list(range(0, 100, 10))] * 3
    assert source.load(0)["x_byte_seq"] == [b"test str"] * 3


def test_lists_of_different_lengths_in_the_steps_of_a_sequence_are_sequences_of_sequences(tmp_path):
    with TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write(encode_sequence_example({"n": 1}, {"a": [[1, 2], [], [3]], "b": [["x"], ["y"], ["z"]]}))
        writer.write(encode_sequence_example({"n": 1}, {"a": [], "b": []}))

    schema = TFRecords(tmp_path / "x.tfrecord").schema

    assert dict(schema) == {"n": Scalar(np.int64), "a": Sequence(Sequence(Scalar(np.int64))), "b": Sequence(Text())}


def test_many_records_at_once_are_those_one_by_one(write):
    source = write([{"x": at} for at in range(5)])

    assert source.records(1, 4).to_list() == [source.record(at) for at in (1, 2, 3)]


def test_records_are_left_to_be_read_one_by_one_where_one_is_damaged(borrow):
    path = Path(borrow("derived/flip_rec2_payload.tfrecord"))
    source = TFRecords(path, types={"x": Scalar()})

    assert source.records(0, 2).to_list() == [source.record(0), source.record(1)]
    assert source.records(0, 3) is None
    with pytest.raises(SourceError, match="record 2 at byte"):
        source.record(2)
