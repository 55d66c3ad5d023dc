"""summary: facts about files."""

from __future__ import annotations

import gzip
import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import frames

from wellfed import _native
from wellfed.errors import CompressionError, FileChangedError
from wellfed.io import MappedFile, TFRecordReader
from wellfed.summary import files as summary
from wellfed.summary.files import verify, verify_file


@pytest.fixture
def write(tmp_path):
    def written(content: bytes, name: str = "x.tfrecord"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return written


def framed(count: int, size: int) -> bytearray:
    starts_ = np.zeros(count, np.int64)
    return bytearray(_native.frame_records(bytes(range(256)) * (size // 256 + 1), starts_, starts_ + size))


def test_a_sound_file_has_nothing_to_report(write):
    path = write(frames([b"one", b"", b"three"]))

    report = verify_file(path)

    assert report.ok
    assert (report.path, report.compression, report.bytes, report.stream_bytes) == (str(path), "", 56, 56)
    assert (report.records, report.payload_bytes, report.damage) == (3, 8, ())
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_compressed_file_has_two_sizes(write):
    plain = frames([bytes(1000)] * 10)

    report = verify_file(write(gzip.compress(plain)))

    assert (report.compression, report.bytes, report.stream_bytes) == ("GZIP", len(gzip.compress(plain)), len(plain))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("part_bytes", [1 << 20, 3_000_000, 32 << 20])
def test_damage_in_a_large_file_is_found_in_order_by_any_number_of_threads(write, monkeypatch, threads, part_bytes):
    monkeypatch.setattr(summary, "_PART_BYTES", part_bytes)
    content = framed(9000, 1500)  # Several runs of 4 MiB.
    bad = [0, 1, 2763, 2764, 5000, 8999]
    for record in bad:
        content[record * 1516 + 700] ^= 1
    content[3000 * 1516 + 3] ^= 1  # A length.

    report = verify_file(write(bytes(content)), threads=threads)

    lost = sorted([*bad, 3000])
    assert [(one.start, one.end) for one in report.damage] == [(r * 1516, r * 1516 + 1516) for r in lost]
    assert [one.record_index for one in report.damage] == [record - i for i, record in enumerate(lost)]
    assert (report.records, report.payload_bytes) == (8993, 8993 * 1500)
    assert report.damage[4].reason.startswith("length CRC32C is")


def test_progress_adds_up_to_the_stream(write, monkeypatch):
    monkeypatch.setattr(summary, "_PART_BYTES", 1 << 20)
    content = framed(9000, 1500)
    done = []

    verify_file(write(bytes(content)), progress=done.append)

    assert sum(done) == len(content)
    assert len(done) > 1


def test_records_longer_than_parts_are_checked_once_and_in_order(write, monkeypatch):
    monkeypatch.setattr(summary, "_PART_BYTES", 1000)
    monkeypatch.setattr(summary, "_SEARCH_BYTES", 100)
    content = framed(50, 3500) + framed(100, 10) + framed(3, 99_000)
    content[10 * 3516 + 40] ^= 1
    done = []

    report = verify_file(write(bytes(content)), progress=done.append)

    assert (report.records, report.payload_bytes) == (152, 49 * 3500 + 100 * 10 + 3 * 99_000)
    assert [(one.start, one.end, one.record_index) for one in report.damage] == [(35_160, 38_676, 10)]
    assert report.stream_bytes == len(content)
    assert sum(done) == len(content) - 3516


def test_no_thread_is_left(write, monkeypatch):
    monkeypatch.setattr(summary, "_PART_BYTES", 100)
    before = threading.active_count()
    verify_file(write(bytes(framed(100, 10))))

    assert threading.active_count() == before


def test_many_files_are_checked_in_order(write, tmp_path):
    for number in (10, 9, 1):
        write(frames([b"x"] * number), f"shard-{number}")

    assert [report.records for report in verify(tmp_path / "shard-*")] == [1, 9, 10]


def test_a_pattern_that_matches_nothing_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        verify(tmp_path / "none-*")


def test_the_wrong_compression_is_refused(write):
    with pytest.raises(CompressionError, match="the content is plain TFRecord"):
        verify_file(write(frames([b"x"])), "GZIP")


def test_a_file_that_is_cut_while_it_is_checked_is_an_error(write, monkeypatch):
    monkeypatch.setattr(summary, "_PART_BYTES", 1 << 20)
    path = write(bytes(framed(9000, 1500)))

    with pytest.raises(FileChangedError, match="was cut"):
        verify_file(path, progress=lambda count: os.truncate(path, 10_000))


@settings(max_examples=300)
@given(data=st.data())
def test_two_threads_report_what_one_reader_skips(tmp_path_factory, data):
    record = st.one_of(st.binary(max_size=30), st.lists(st.binary(max_size=9), max_size=3).map(frames))
    payloads = data.draw(st.lists(record, max_size=12))  # Some hold records themselves, into which a part may be cut.
    content = bytearray(frames(payloads))
    for at in data.draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=4)) if content else []:
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.integers(0, 20))
    path = tmp_path_factory.mktemp("verify") / "x"
    path.write_bytes(content[: len(content) - cut])
    reader = TFRecordReader(path, "", on_damage="skip")
    records = list(reader)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "_PART_BYTES", data.draw(st.integers(1, 100)))
        patch.setattr(summary, "_SEARCH_BYTES", data.draw(st.integers(1, 100)))
        report = verify_file(path, "")

    assert report.records == len(records)
    assert report.payload_bytes == sum(map(len, records))
    assert list(report.damage) == reader.damage
    assert report.stream_bytes == report.bytes == path.stat().st_size


def test_a_file_that_stays_mapped_is_reported_as_any_other(tmp_path):
    path = tmp_path / "a.tfrecord"
    content = bytearray(frames([bytes([n % 256]) * 100 for n in range(300)]))
    content[5000] ^= 1
    path.write_bytes(content)
    mapped = MappedFile(path)

    assert [verify_file(path, mapped=mapped) for _ in range(2)] == [verify_file(path)] * 2
