"""Records: a sequence over one file or many."""

from __future__ import annotations

import gzip
import os
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import frame, frames

from wellfed.columns import Bytes
from wellfed.errors import CompressionError, CorruptRecordError, FileChangedError, TruncatedRecordError
from wellfed.io import Records, TFRecordWriter, shelf

PAYLOADS = [b"%d" % i * (i % 7) for i in range(100)]


@pytest.fixture
def three(tmp_path):
    """The records in three files: plain, empty, GZIP, and the rest as seekable GZIP."""
    (tmp_path / "part-0").write_bytes(frames(PAYLOADS[:30]))
    (tmp_path / "part-1").write_bytes(b"")
    (tmp_path / "part-2").write_bytes(gzip.compress(frames(PAYLOADS[30:60])))
    with TFRecordWriter(tmp_path / "part-3", "GZIP", seekable=True, member_bytes=100) as writer:
        writer.write_many(PAYLOADS[60:])
    return Records(tmp_path / "part-*")


def test_many_files_are_one_sequence(three):
    assert len(three) == 100
    assert list(three) == PAYLOADS
    assert [three[i] for i in range(100)] == PAYLOADS
    assert three[np.int64(-1)] == three[-1] == PAYLOADS[-1]


@pytest.mark.parametrize("key", [slice(None), slice(10, 70, 7), slice(None, None, -1), slice(5, 5), slice(-3, None)])
def test_a_slice_is_bytes_of_those_records(three, key):
    assert isinstance(three[key], Bytes)
    assert three[key].to_list() == PAYLOADS[key]


def test_take_keeps_order_and_repeats(three):
    rows = [99, 0, 35, 35, -1, 61, 29, 30]

    assert three.take(rows).to_list() == [PAYLOADS[row] for row in rows]
    assert three[rows].to_list() == [PAYLOADS[row] for row in rows]
    assert three.take([]).to_list() == []


def test_a_mask_takes_where_it_is_true(three):
    mask = np.arange(100) % 3 == 0

    assert three[mask].to_list() == PAYLOADS[::3]


def test_a_mask_of_another_length_is_refused(three):
    with pytest.raises(IndexError, match=r"a mask of 100 values is due, got shape \(99,\)"):
        three[np.ones(99, bool)]


@pytest.mark.parametrize("rows", [[1.5], 1, "a", None, [True, False], [[1, 2]]], ids=repr)
def test_rows_that_are_no_list_of_integers_are_refused(three, rows):
    with pytest.raises(TypeError, match="records are asked for by a list or an array of integers, got"):
        three.take(rows)


@pytest.mark.parametrize("row", [100, -101, 2**40])
def test_a_record_that_is_not_there_is_an_index_error(three, row):
    with pytest.raises(IndexError, match=f"record {row} is not among the 100 records"):
        three[row]
    with pytest.raises(IndexError, match=f"record {row} is not among the 100 records"):
        three.take([0, row])
    with pytest.raises(IndexError, match=f"record {row}"):
        three.locate(row)


def test_locate_names_file_and_number(three):
    assert [Path(three.locate(row)[0]).name for row in (0, 29, 30, 60)] == ["part-0"] * 2 + ["part-2", "part-3"]
    assert [three.locate(row)[1] for row in (0, 29, 30, -1)] == [0, 29, 0, 39]


def test_records_of_one_plain_file_are_views_of_it(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(frames(PAYLOADS))
    records = Records(path)

    batch = records[10:20]

    assert len(batch.data) == path.stat().st_size
    assert not batch.data.flags.writeable
    del records
    path.unlink()
    assert batch.to_list() == PAYLOADS[10:20]


def test_records_pickle_and_open_again(three):
    len(three)

    again = pickle.loads(pickle.dumps(three))

    assert again[:].to_list() == PAYLOADS
    assert len(pickle.dumps(three)) < 1000


def test_reading_a_damaged_record_names_it_and_leaves_the_others(tmp_path):
    content = bytearray(frames([b"a", b"b", b"c"]))
    content[17 + 12] ^= 1
    (tmp_path / "x").write_bytes(content)
    records = Records(tmp_path / "x")

    for read in (lambda: records[1], lambda: records[:], lambda: records.take([2, 1])):
        with pytest.raises(CorruptRecordError, match="record 1 at byte 17: payload CRC32C"):
            read()
    assert [records[0], records[2]] == [b"a", b"c"]
    assert Records(tmp_path / "x", check_crc=False)[1] == b"c"


def test_skipping_leaves_damage_out_before_numbers_are_given(tmp_path):
    content = bytearray(frames([b"a", b"b", b"c"]))
    content[17 + 12] ^= 1
    (tmp_path / "x").write_bytes(content)
    records = Records(tmp_path / "x", on_damage="skip")

    assert records[:].to_list() == [b"a", b"c"]
    assert [(one.start, one.end, one.record_index) for one in records.damage] == [(17, 34, 1)]


def test_a_damaged_file_is_refused_when_it_is_indexed(tmp_path):
    (tmp_path / "x").write_bytes(frames([b"a", b"b"])[:-2])

    with pytest.raises(TruncatedRecordError, match="record 1 at byte 17"):
        len(Records(tmp_path / "x"))


def test_a_record_in_front_of_a_gap_is_read(tmp_path):
    (tmp_path / "x").write_bytes(frame(b"a") + b"noise" + frame(b"b"))
    records = Records(tmp_path / "x", on_damage="skip")

    assert [records[0], records[1], records[:].to_list()] == [b"a", b"b", [b"a", b"b"]]


def test_a_file_that_was_rewritten_after_its_index_was_opened_is_noticed(tmp_path):
    (tmp_path / "x").write_bytes(frames([b"abcdef"] * 3))
    records = Records(tmp_path / "x")
    indexes = records.indexes
    (tmp_path / "x").write_bytes(frames([b"other"] * 9))

    assert len(indexes[0]) == 3
    with pytest.raises(FileChangedError, match="the file has 189 bytes, 66 when it was indexed"):
        records[0]


def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(frames([bytes(10_000)] * 100))
    records = Records(path)
    assert records[0] == bytes(10_000)
    os.truncate(path, 8192)

    with pytest.raises(FileChangedError, match="was cut from 1001600 to 8192 bytes"):
        records[99]


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress], ids=["GZIP", "ZLIB"])
def test_a_member_too_long_to_read_at_random_is_refused(tmp_path, monkeypatch, compress):
    (tmp_path / "x").write_bytes(compress(frames(PAYLOADS)))
    monkeypatch.setattr(shelf, "MEMBER_LIMIT_BYTES", 500)
    records = Records(tmp_path / "x")

    assert records[3] == PAYLOADS[3]
    with pytest.raises(CompressionError, match="too far to read it at random"):
        records[99]
    assert list(records) == PAYLOADS


def test_inflated_members_are_kept_within_a_budget(tmp_path, monkeypatch):
    with TFRecordWriter(tmp_path / "x", "GZIP", seekable=True, member_bytes=1000) as writer:
        writer.write_many([bytes(984)] * 50)
    monkeypatch.setattr(shelf, "_KEPT_BYTES", 5000)
    records = Records(tmp_path / "x")

    assert len(records[:]) == 50
    assert sum(len(block) for block in records._shelves[0]._kept.values()) <= 5000


def test_neighbours_in_a_member_are_inflated_once(tmp_path, monkeypatch):
    with TFRecordWriter(tmp_path / "x", "GZIP", seekable=True, member_bytes=1000) as writer:
        writer.write_many([bytes(84)] * 50)
    records, opened = Records(tmp_path / "x"), []
    inflate = shelf.InflateStream
    monkeypatch.setattr(shelf, "InflateStream", lambda *args: opened.append(args) or inflate(*args))

    for row in range(10):
        records[row]

    assert len(opened) == 1


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file matches .*train-\*"):
        Records(tmp_path / "train-*")
    with pytest.raises(FileNotFoundError, match="gone"):
        len(Records(tmp_path / "gone"))


@settings(max_examples=40)
@given(data=st.data())
def test_any_files_in_any_compression_read_by_any_rows(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("records")
    compress = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}
    everything: list[bytes] = []
    for shard in range(data.draw(st.integers(1, 4))):
        payloads = data.draw(st.lists(st.binary(max_size=40), max_size=8))
        kind = data.draw(st.sampled_from(list(compress)))
        (folder / f"x-{shard}").write_bytes(compress[kind](frames(payloads)))
        everything += payloads
    records = Records(folder / "x-*")
    rows = data.draw(
        st.lists(st.integers(-len(everything), len(everything) - 1), max_size=20) if everything else st.just([])
    )

    assert len(records) == len(everything)
    assert records.take(rows).to_list() == [everything[row] for row in rows]
    assert list(records) == everything
