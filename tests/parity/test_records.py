"""Records against TensorFlow: it reads what wellfed writes, wellfed reads what it writes, byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellfed.io import Records, TFRecordReader, TFRecordWriter, salvage

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "EXPECTED.json").read_text())["files"]
KINDS = [("", False), ("GZIP", False), ("ZLIB", False), ("GZIP", True)]


def read_tf(path, kind: str) -> list[bytes]:
    return list(tf.data.TFRecordDataset(str(path), compression_type=kind).as_numpy_iterator())


def write_tf(path, payloads, kind: str) -> None:
    with tf.io.TFRecordWriter(str(path), kind) as writer:
        for payload in payloads:
            writer.write(payload)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parity")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20), st.sampled_from(KINDS), st.integers(1, 500))
def test_tensorflow_reads_what_is_written(folder, payloads, kind, member_bytes):
    compression, seekable = kind
    path = folder / "ours"
    with TFRecordWriter(path, compression, seekable=seekable, member_bytes=member_bytes, overwrite=True) as writer:
        writer.write_many(payloads)

    assert read_tf(path, compression) == payloads


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20), st.sampled_from(["", "GZIP", "ZLIB"]))
def test_what_tensorflow_writes_is_read(folder, payloads, kind):
    path = folder / "theirs"
    write_tf(path, payloads, kind)

    assert list(TFRecordReader(path)) == list(TFRecordReader(path, kind)) == payloads
    assert Records(path)[:].to_list() == payloads


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20))
def test_the_framing_is_the_same_byte_for_byte(folder, payloads):
    write_tf(folder / "theirs", payloads, "")
    with TFRecordWriter(folder / "ours", overwrite=True) as writer:
        writer.write_many(payloads)

    assert (folder / "ours").read_bytes() == (folder / "theirs").read_bytes()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_large_files_are_the_same_both_ways(folder, kind):
    compression, seekable = kind
    payloads = [bytes([i % 251]) * (i * 37 % 9000) for i in range(3000)]
    with TFRecordWriter(folder / "ours", compression, seekable=seekable, overwrite=True) as writer:
        writer.write_many(payloads)
    write_tf(folder / "theirs", payloads, compression)

    assert read_tf(folder / "ours", compression) == payloads
    assert list(TFRecordReader(folder / "theirs")) == payloads


def test_tensorflow_reads_a_file_that_records_were_added_to(folder):
    write_tf(folder / "grows", [b"theirs"], "")
    with TFRecordWriter(folder / "grows", append=True) as writer:
        writer.write(b"ours")

    assert read_tf(folder / "grows", "") == [b"theirs", b"ours"]


def test_tensorflow_reads_a_salvaged_file(folder):
    salvage(CORPUS / "derived/flip_rec2_length.tfrecord", folder / "clean", overwrite=True)

    assert read_tf(folder / "clean", "") == [
        record for i, record in enumerate(TFRecordReader(CORPUS / "files/pytorch__data/example.tfrecord")) if i != 2
    ]


PLAIN_OR_NOT = {"NONE": "", "GZIP": "GZIP", "ZLIB": "ZLIB", "empty_file": ""}
SOUND = sorted(
    name
    for name, facts in EXPECTED.items()
    if (CORPUS / name).exists() and facts["tf_error"] is None and facts["compression"] in PLAIN_OR_NOT
    if "trunc" not in name  # TensorFlow is silent about these; tests/io/test_corpus.py has the errors.
)


def test_there_are_sound_files():
    assert len(SOUND) > 80


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_file_is_read_alike(name):
    kind = PLAIN_OR_NOT[EXPECTED[name]["compression"]]

    theirs, ours = read_tf(CORPUS / name, kind), list(TFRecordReader(CORPUS / name))

    assert ours == theirs
    assert hashlib.sha256(b"".join(ours)).hexdigest() == EXPECTED[name]["payload_sha256"] or not ours


# What TensorFlow does about these is run here, so that the table in docs/format.md stays true.
@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("trunc_rec2_in_length.tfrecord", "", 2),
        ("trunc_rec2_in_length_crc.tfrecord", "", 2),
        ("trunc_at_007.tfrecord", "", 0),
        ("gz_trunc_no_trailer.tfrecord.gz", "GZIP", 4),
        ("gz_trunc_in_trailer.tfrecord.gz", "GZIP", 4),
    ],
)
def test_tensorflow_is_silent_where_wellfed_raises(name, kind, count):
    assert len(read_tf(CORPUS / "derived" / name, kind)) == count
    with pytest.raises(ValueError, match=r"left|is cut"):
        list(TFRecordReader(CORPUS / "derived" / name))


def test_tensorflow_ignores_a_second_zlib_stream_that_wellfed_reads(folder):
    write_tf(folder / "one", [b"a"], "ZLIB")
    write_tf(folder / "two", [b"b"], "ZLIB")
    (folder / "both").write_bytes((folder / "one").read_bytes() + (folder / "two").read_bytes())

    assert read_tf(folder / "both", "ZLIB") == [b"a"]
    assert list(TFRecordReader(folder / "both")) == [b"a", b"b"]


def test_tensorflow_loses_all_that_follows_an_empty_member_that_wellfed_passes(folder):
    write_tf(folder / "empty", [], "GZIP")
    write_tf(folder / "one", [b"a"], "GZIP")
    (folder / "both").write_bytes((folder / "empty").read_bytes() + (folder / "one").read_bytes())

    assert read_tf(folder / "both", "GZIP") == []
    assert list(TFRecordReader(folder / "both")) == [b"a"]
