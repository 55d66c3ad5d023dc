"""The text indexes of DALI and of the tfrecord package."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import frames, starts

from wellfed.errors import IndexFileError
from wellfed.io import RecordIndex, read_text_index, write_text_index

PAYLOADS = [b"", b"pig", b"cow" * 40]
TEXT = "0 16\n16 19\n35 136\n"


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "shard"
    path.write_bytes(frames(PAYLOADS))
    return path


def test_a_line_is_the_offset_and_the_frames_bytes(shard, tmp_path):
    write_text_index(RecordIndex.for_file(shard), tmp_path / "shard.idx")

    assert (tmp_path / "shard.idx").read_text() == TEXT


def test_an_index_of_another_tool_is_read(shard, tmp_path):
    (tmp_path / "shard.tfindex").write_text(TEXT)

    index = read_text_index(shard, tmp_path / "shard.tfindex")

    assert index.offsets.tolist() == starts(PAYLOADS)
    assert index.save()
    assert RecordIndex.find(shard) is not None


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_what_is_written_is_read(tmp_path_factory, payloads):
    folder = tmp_path_factory.mktemp("text")
    (folder / "x").write_bytes(frames(payloads))
    index = RecordIndex.build(folder / "x")

    write_text_index(index, folder / "x.idx")

    assert np.array_equal(read_text_index(folder / "x", folder / "x.idx").offsets, index.offsets)


WRONG = {
    "an index of a file with fewer records": ("0 16\n16 19\n", "line 3: the file goes on to byte 171"),
    "an entry of a truncated record": (TEXT + "171 40\n", "line 4: a record from byte 171 to 171 at most is due"),
    "another order of files": ("0 19\n19 16\n35 136\n", "line 1: .*shard has no record of that size there"),
    "sizes that only add up": ("0 16\n16 155\n", "line 2: .*has no record of that size there"),
    "a hole": ("0 16\n35 136\n", "line 2: a record from byte 16 to 171 at most is due, got 136 bytes at 35"),
    "words": ("0 sixteen\n", "line 1: two numbers are due, got '0 sixteen'"),
    "one column": ("0\n16\n35\n", "line 1: two numbers are due, got '0'"),
    "a negative number": ("-1 16\n", "line 1: two numbers are due"),
    "a number beyond 64 bits": (f"0 {2**70}\n", "line 1: a record from byte 0 to 171 at most is due"),
    "nothing": ("", "line 1: the file goes on to byte 171, the index ends at byte 0"),
    "no text": ("\0\xff\xfe", "line 1: two numbers are due"),
}


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG)
def test_an_index_that_does_not_fit_is_refused(shard, tmp_path, text, reason):
    (tmp_path / "shard.idx").write_text(text, "latin-1")

    with pytest.raises(IndexFileError, match=reason):
        read_text_index(shard, tmp_path / "shard.idx")


def test_a_compressed_file_has_no_text_index(tmp_path):
    (tmp_path / "x").write_bytes(gzip.compress(frames(PAYLOADS)))

    with pytest.raises(IndexFileError, match="a GZIP file has no places that DALI or tfrecord can go to"):
        write_text_index(RecordIndex.for_file(tmp_path / "x"), tmp_path / "x.idx")
    assert not (tmp_path / "x.idx").exists()


def test_an_existing_text_index_is_not_overwritten_unless_told(shard, tmp_path):
    (tmp_path / "shard.idx").write_text("mine")
    index = RecordIndex.for_file(shard)

    with pytest.raises(FileExistsError, match="exists already"):
        write_text_index(index, tmp_path / "shard.idx")
    write_text_index(index, tmp_path / "shard.idx", overwrite=True)
    assert (tmp_path / "shard.idx").read_text() == TEXT


def test_damage_that_was_left_out_is_left_out_of_the_text(tmp_path):
    (tmp_path / "x").write_bytes(frames([b"a"]) + b"noise" + frames([b"b"]))
    write_text_index(RecordIndex.for_file(tmp_path / "x", on_damage="skip"), tmp_path / "x.idx")

    assert (tmp_path / "x.idx").read_text() == "0 17\n22 17\n"
