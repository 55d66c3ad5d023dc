"""RecordIndex and GrowingIndex: the same offsets by every way of finding them."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import frame, frames, starts

from wellfed.errors import CorruptRecordError, FileChangedError, NotTFRecordError, TruncatedRecordError
from wellfed.io import GrowingIndex, MappedFile, RecordIndex, TFRecordWriter

PAYLOADS = [b"", b"pig", b"cow" * 40, bytes(100), b"ant"]


@pytest.fixture
def write(tmp_path):
    def written(content: bytes, name: str = "x.tfrecord"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written


def sidecar(path):
    return path.parent / ".wellfed" / f"{path.name}.index"


# --- RecordIndex ----------------------------------------------------------------------------------


def test_an_index_has_each_header_and_then_the_end(write):
    index = RecordIndex.for_file(write(frames(PAYLOADS)))

    assert index.offsets.dtype == np.uint64
    assert index.offsets.tolist() == starts(PAYLOADS)
    assert (len(index), index.compression, index.stream_bytes) == (5, "", len(frames(PAYLOADS)))
    assert index.gaps.shape == index.members.shape == (0, 2)


@pytest.mark.parametrize("payloads", [[], [b""], [b"only one"]])
def test_files_of_no_and_of_one_record_have_an_index(write, payloads):
    path = write(frames(payloads))

    for _ in ("built", "opened"):
        assert RecordIndex.for_file(path).offsets.tolist() == starts(payloads)


def test_the_second_time_the_index_is_mapped_and_not_built(write, monkeypatch):
    path = write(frames(PAYLOADS))
    built = RecordIndex.for_file(path)
    monkeypatch.setattr(RecordIndex, "build", None)

    found = RecordIndex.for_file(path)

    assert np.array_equal(found.offsets, built.offsets)
    assert not found.offsets.flags.writeable


def test_an_index_of_a_compressed_file_is_of_the_uncompressed_stream(write):
    path = write(gzip.compress(frames(PAYLOADS[:2])) + gzip.compress(frames(PAYLOADS[2:])))

    for _ in ("built", "opened"):
        index = RecordIndex.for_file(path)
        assert index.offsets.tolist() == starts(PAYLOADS)
        assert index.members[:, 1].tolist() == [0, starts(PAYLOADS)[2]]
        assert (index.compression, index.stream_bytes) == ("GZIP", len(frames(PAYLOADS)))


def test_a_truncated_last_record_is_an_error_and_no_entry(write):
    with pytest.raises(TruncatedRecordError, match="record 4 at byte 287: a record of 19 bytes is due, only 18 left"):
        RecordIndex.for_file(write(frames(PAYLOADS)[:-1]))


def test_no_sidecar_is_written_for_a_file_that_is_refused(write):
    path = write(frames(PAYLOADS)[:-1])
    with pytest.raises(TruncatedRecordError, match="record 4"):
        RecordIndex.for_file(path)

    assert not sidecar(path).exists()


def test_damage_that_is_skipped_becomes_a_gap_that_the_sidecar_keeps(write):
    path = write(frames(PAYLOADS[:2]) + b"noise" + frames(PAYLOADS[2:]) + b"tail")

    for _ in ("built", "opened"):
        index = RecordIndex.for_file(path, on_damage="skip")
        assert index.gaps.tolist() == [[35, 40], [311, 315]]
        assert index.offsets.tolist() == [0, 16, 40, 176, 292, 311]
        assert index.ends_of(np.arange(5)).tolist() == [16, 35, 176, 292, 311]
        assert [(one.start, one.record_index) for one in index.damage()] == [(35, 2), (311, 5)]


def test_a_sidecar_with_gaps_is_refused_where_damage_is_not_skipped(write):
    path = write(frame(b"one") + b"noise" + frame(b"two"))
    RecordIndex.for_file(path, on_damage="skip")

    with pytest.raises(CorruptRecordError, match=r"record 1 at byte 19: bytes \[19..24\) hold no intact record"):
        RecordIndex.for_file(path)


def cut_between_records() -> bytes:
    """A GZIP stream that ends, without an end, where its second record does."""
    stream = zlib.compressobj(wbits=31)
    return stream.compress(frames([b"one", b"two"])) + stream.flush(zlib.Z_FULL_FLUSH)


def with_a_wrong_sum() -> bytes:
    content = bytearray(gzip.compress(frames([b"one", b"two"])))
    content[-8] ^= 1  # Of the CRC-32.
    return bytes(content)


STREAMS = {"cut": cut_between_records, "of another sum": with_a_wrong_sum}


@pytest.mark.parametrize("content", STREAMS.values(), ids=STREAMS)
def test_damage_of_a_stream_behind_its_last_record_is_kept_too(write, content):
    path = write(content())

    for _ in ("built", "opened"):
        index = RecordIndex.for_file(path, on_damage="skip")
        assert [(one.start, one.end, one.record_index) for one in index.damage()] == [(38, 38, 2)]
        assert index.ends_of(np.arange(2)).tolist() == [19, 38]
    with pytest.raises(CorruptRecordError, match="record 2 at byte 38: the compressed stream is damaged here"):
        RecordIndex.for_file(path)


def test_payloads_are_checked_once_when_asked_for(write, monkeypatch):
    content = bytearray(frames([b"one", b"two"]))
    content[13] ^= 1
    path = write(bytes(content))
    assert len(RecordIndex.for_file(path)) == 2  # Headers alone tell nothing.

    with pytest.raises(CorruptRecordError, match="record 0 at byte 0: payload CRC32C"):
        RecordIndex.for_file(path, check=True)
    checked = RecordIndex.for_file(path, check=True, on_damage="skip")
    monkeypatch.setattr(RecordIndex, "build", None)

    assert (checked.checked, checked.offsets.tolist(), checked.gaps.tolist()) == (True, [19, 38], [[0, 19]])
    assert RecordIndex.for_file(path, check=True, on_damage="skip").gaps.tolist() == [[0, 19]]


def test_an_index_pickles_by_its_sidecar_or_by_its_content(write):
    path = write(frames(PAYLOADS))
    for index in (RecordIndex.build(path), RecordIndex.for_file(path), RecordIndex.for_file(path)):
        again = pickle.loads(pickle.dumps(index))
        assert np.array_equal(again.offsets, index.offsets)
    assert len(pickle.dumps(RecordIndex.for_file(path))) < 500


def test_a_pickled_index_is_built_again_where_its_sidecar_did_not_come_along(write):
    path = write(frames(PAYLOADS) + b"noise")
    RecordIndex.for_file(path, on_damage="skip")
    pickled = pickle.dumps(RecordIndex.for_file(path, on_damage="skip"))
    sidecar(path).unlink()

    assert pickle.loads(pickled).gaps.tolist() == [[306, 311]]


def test_a_file_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        RecordIndex.for_file(tmp_path / "nowhere")


def test_another_compression_than_the_sidecars_is_refused_by_the_content(write):
    path = write(gzip.compress(frames(PAYLOADS)))
    RecordIndex.for_file(path)

    with pytest.raises(ValueError, match="compression_type='' was given, but the content is GZIP"):
        RecordIndex.for_file(path, "")


def test_the_writer_can_write_the_index_along(tmp_path, monkeypatch):
    path = tmp_path / "x"
    for kind, seekable in (("", False), ("GZIP", False), ("ZLIB", False), ("GZIP", True)):
        with TFRecordWriter(path, kind, seekable=seekable, member_bytes=50, overwrite=True, index=True) as writer:
            writer.write_many(PAYLOADS)
        built = RecordIndex.build(path, check=True)
        found = RecordIndex.find(path)

        assert found is not None
        for name in ("offsets", "gaps", "members", "compression", "checked", "stream_bytes"):
            assert np.array_equal(getattr(found, name), getattr(built, name)), name


@given(st.lists(st.binary(max_size=90), max_size=30))
def test_the_offsets_are_the_sums_of_the_frames(tmp_path_factory, payloads):
    path = tmp_path_factory.mktemp("index") / "x"
    path.write_bytes(frames(payloads))

    for check in (False, True):
        assert RecordIndex.build(path, check=check).offsets.tolist() == starts(payloads)


# --- GrowingIndex ---------------------------------------------------------------------------------


@pytest.fixture
def many(write):
    return write(frames([b"x" * (i % 50) for i in range(10_000)]))


def test_a_growing_index_walks_only_as_far_as_asked(many):
    growing = GrowingIndex(MappedFile(many))

    assert len(growing.offsets) == 1
    known = growing.ensure(1)
    assert 1 <= known < 5000
    assert growing.ensure(6000) >= 6000
    assert not growing.complete
    assert growing.ensure(10**9) == 10_000
    assert growing.complete
    assert np.array_equal(growing.offsets, RecordIndex.build(many).offsets)


def test_views_of_a_growing_index_stay_what_they_are(many):
    growing = GrowingIndex(MappedFile(many))
    growing.ensure(100)
    early, copy = growing.offsets, growing.offsets.copy()
    growing.finish()

    assert np.array_equal(early, copy)


def test_a_growing_index_that_is_saved_is_found(many):
    assert RecordIndex.find(many) is None
    assert GrowingIndex(MappedFile(many)).save()

    found = RecordIndex.find(many)
    assert found is not None
    assert np.array_equal(found.offsets, RecordIndex.build(many).offsets)


def test_a_growing_index_keeps_what_it_knew_before_the_damage(write):
    path = write(frames([b"x"] * 3000) + b"noise" + frames([b"y"] * 10))
    growing = GrowingIndex(MappedFile(path))
    assert growing.ensure(2000) >= 2000

    for _ in range(2):
        with pytest.raises(CorruptRecordError, match="record 3000 at byte 51000: length CRC32C"):
            growing.ensure(3001)
    assert growing.ensure(3000) == 3000
    assert not growing.complete


def test_a_growing_index_can_leave_damage_out(write):
    path = write(frames([b"x"] * 3000) + b"noise" + frames([b"y"] * 10))
    growing = GrowingIndex(MappedFile(path), on_damage="skip")

    index = growing.finish()

    assert len(index) == 3010
    assert index.gaps.tolist() == [[51000, 51005]]
    assert [(one.start, one.end) for one in growing.damage] == [(51000, 51005)]


def test_a_growing_index_of_something_else_says_what_it_is(write):
    with pytest.raises(NotTFRecordError, match="a PNG picture"):
        GrowingIndex(MappedFile(write(b"\x89PNG\r\n\x1a\n" + bytes(60)))).ensure(1)


def test_a_growing_index_notices_that_its_file_was_cut(many):
    growing = GrowingIndex(MappedFile(many))
    growing.ensure(1)
    os.truncate(many, 8192)

    with pytest.raises(FileChangedError, match="was cut"):
        growing.finish()


def test_threads_that_ask_at_the_same_time_get_the_same_offsets(many):
    growing = GrowingIndex(MappedFile(many))
    expected = RecordIndex.build(many).offsets
    start, wrong = threading.Barrier(8), []

    def ask(step: int) -> None:
        start.wait()
        for count in range(step, 10_000, 97 * step):
            known = growing.ensure(count)
            if known < count or not np.array_equal(growing.offsets[:count], expected[:count]):
                wrong.append(count)

    threads = [threading.Thread(target=ask, args=(step,)) for step in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


def test_room_for_an_index_does_not_follow_what_a_files_first_records_promise(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frames([b""] * 1500))
    os.truncate(path, 1 << 40)  # A hole: a file that takes no room, and would hold 2^36 such records.

    assert GrowingIndex(MappedFile(path)).ensure(1500) >= 1500


@pytest.fixture
def dense(tmp_path):
    """12 MB of records: some blocks of pages, most of which hold a header."""
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for n in range(6000):
            writer.write(bytes([n % 256]) * (n % 4000))
    return path


def test_pages_that_were_asked_for_change_nothing_in_a_walk(dense):
    index = GrowingIndex(MappedFile(dense))
    index.ask_ahead()
    index.ensure(10)
    index.ask_ahead()
    with ThreadPoolExecutor(2) as executor:
        found = index.finish(executor, helpers=2)

    assert found.offsets.tolist() == RecordIndex.build(dense).offsets.tolist()


def test_threads_that_help_a_walk_end_where_it_fails(dense):
    content = bytearray(dense.read_bytes())
    content[5_000_000:5_010_000] = bytes(10_000)
    dense.write_bytes(content)
    executor = ThreadPoolExecutor(2)

    with pytest.raises(CorruptRecordError, match="record 3146 "):
        GrowingIndex(MappedFile(dense)).finish(executor, helpers=2)
    executor.shutdown()  # Comes back, as nothing keeps its threads.


def test_threads_that_help_a_walk_over_a_file_that_was_cut_live(dense):
    growing = GrowingIndex(MappedFile(dense))
    growing.ensure(1)
    os.truncate(dense, 8192)

    with ThreadPoolExecutor(2) as executor, pytest.raises(FileChangedError, match="was cut"):
        growing.finish(executor, helpers=2)
