"""Rows from files that memory does not hold: what is brought in for them, and that they are the same."""

import ctypes
import mmap
import os
import sys

import numpy as np
import pytest

import wellfed as wf
from wellfed import _native
from wellfed.feed import records
from wellfed.io import MappedFile, RecordIndex, Records, disk
from wellfed.io.disk import Disk

ROWS, ROW_BYTES = 2000, 5000
PAGE = mmap.PAGESIZE

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a thread reads, and what is in memory")


@pytest.fixture
def large(tmp_path, monkeypatch):
    """10 MB with its index, which is larger than all memory there is, so far as the feed knows."""
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        for row in range(ROWS):
            writer.write(wf.encode_example({"x": np.full(ROW_BYTES // 4, row, np.float32)}))
    RecordIndex.for_file(path)
    monkeypatch.setattr(disk, "usable_memory", lambda: 1e6)
    return path


def dataset(path):
    return wf.TFRecordDataset([path], features={"x": wf.FixedLenFeature([ROW_BYTES // 4], np.float32)})


def put_by(path):
    """Takes a file out of memory."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pages_in_memory(path):
    pages = -(-path.stat().st_size // PAGE)
    found = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        start = ctypes.addressof(view := ctypes.c_ubyte.from_buffer(mapped))
        assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(len(mapped)), found) == 0
        del view
    return sum(one & 1 for one in found)


def firsts(path, rows):
    batch = next(iter(dataset(path).select(rows).batch(rows.size)))
    return batch["x"][:, 0].astype(int).tolist()


@linux
@pytest.mark.parametrize("order", ["random", "file order"])
def test_rows_bring_no_more_into_memory_than_their_own_pages(large, order):
    put_by(large)
    if pages_in_memory(large):
        pytest.skip("the file system keeps files in memory alone")
    rows = np.random.default_rng(0).permutation(np.arange(0, ROWS, 20)) if order == "random" else np.arange(300, 400)

    assert firsts(large, rows) == rows.tolist()
    # Two or three pages a row; the file's first is read when it is opened.
    assert pages_in_memory(large) <= 3 * len(rows) + 16


@linux
def test_what_lies_between_rows_that_are_near_is_read_with_them(large):
    put_by(large)
    if pages_in_memory(large):
        pytest.skip("the file system keeps files in memory alone")
    rows = np.random.default_rng(0).permutation(np.arange(300, 700, 2))
    firsts(large, rows)
    apart = RecordIndex.for_file(large).offsets[301:700:2].astype(int)  # Of those that were not asked for.

    assert pages_in_memory(large) >= (apart[-1] - apart[0]) // PAGE


@linux
def test_files_that_memory_holds_are_read_around(large, monkeypatch):
    monkeypatch.setattr(disk, "usable_memory", lambda: 1e9)
    put_by(large)
    if pages_in_memory(large):
        pytest.skip("the file system keeps files in memory alone")

    firsts(large, np.array([1000, 50]))
    assert pages_in_memory(large) > 2 * 16


@pytest.mark.parametrize("memory", [0, 1e6, float("inf")])
def test_an_epoch_is_the_same_whatever_memory_there_is(large, memory, monkeypatch):
    monkeypatch.setattr(disk, "usable_memory", lambda: memory)

    rows = np.concatenate([batch["x"][:, 0] for batch in dataset(large).shuffle(seed=3).batch(64)])
    assert rows.astype(int).tolist() != list(range(ROWS))
    assert sorted(rows.astype(int).tolist()) == list(range(ROWS))


def asked(reading, times):
    """How often it asks."""
    calls = []
    for _ in range(times):
        reading.ask(lambda: calls.append(1))
    return len(calls)


@linux
def test_rows_that_are_in_memory_are_soon_not_asked_for(large):
    assert 1 <= asked(Disk(1 << 30), 100) <= 10


@linux
def test_rows_are_asked_for_again_once_the_disk_is_read(large):
    reading = Disk(1 << 30)
    asked(reading, 100)
    assert not asked(reading, 1)
    put_by(large)
    if pages_in_memory(large):
        pytest.skip("the file system keeps files in memory alone")
    MappedFile(large).data[:: PAGE * 64].sum()

    assert asked(reading, 1)


def test_rows_of_files_that_memory_holds_are_never_asked_for(large):
    assert not asked(Disk(1000), 10)


@linux
@pytest.mark.parametrize("count", [10, 100], ids=["a look", "an epoch"])
def test_a_file_that_memory_holds_is_read_in_large_pieces_from_one_row_of_a_hundred_on(large, count, monkeypatch):
    monkeypatch.setattr(disk, "usable_memory", lambda: 1e9)
    told = []
    monkeypatch.setattr(MappedFile, "read_whole", lambda self: told.append(self.path))
    rows = np.random.default_rng(0).permutation(ROWS)[:count]
    for _ in dataset(large).select(rows).batch(5):
        pass

    assert told == ([] if count == 10 else [str(large)])


def shards(path):
    return _native.ShardSet([(MappedFile(path).data, RecordIndex.build(path).offsets[:-1])])


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
@pytest.mark.parametrize("rows", [[], [ROWS - 1], [0, 1, 2, 1999, 5, 6, 0, 0]], ids=["none", "last", "mixed"])
def test_any_rows_may_be_asked_for(large, rows):
    shards(large).ask_for(np.array(rows, np.uint64))


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
@pytest.mark.parametrize("offsets", [[0, 1 << 62], [1 << 63, 8], [2**64 - 1], [9_000_000, 4096]])
def test_rows_of_an_index_that_lies_may_be_asked_for(large, offsets):
    lying = _native.ShardSet([(MappedFile(large).data, np.array(offsets, np.uint64))])

    lying.ask_for(np.arange(len(offsets), dtype=np.uint64))


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
def test_a_row_that_is_not_there_is_not_asked_for(large):
    with pytest.raises(IndexError, match="row 2000 of 2000"):
        shards(large).ask_for(np.array([ROWS], np.uint64))


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
@pytest.mark.parametrize(
    ("starts", "sizes"),
    [([], []), ([5, 5, 0], [10, 10, 0]), ([-1, 1 << 62, 3], [5, 5, -5]), ([9_000_000, 0], [1 << 62, 1])],
    ids=["none", "twice", "outside", "too long"],
)
def test_any_ranges_may_be_asked_for(large, starts, sizes):
    mapped = MappedFile(large)
    mapped.ask_for_ranges(np.array(starts, np.int64), np.array(sizes, np.int64))

    assert mapped.data.tobytes() == large.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
def test_ranges_without_their_sizes_are_refused(large):
    with pytest.raises(ValueError, match="as many sizes as starts"):
        MappedFile(large).ask_for_ranges(np.arange(3), np.arange(2))


@linux
@pytest.mark.parametrize("how", ["take", "one by one"])
def test_records_by_number_bring_no_more_into_memory_than_their_own_pages(large, how):
    records = Records(large)
    rows = np.random.default_rng(0).permutation(np.arange(0, ROWS, 20))
    assert len(records) == ROWS
    put_by(large)
    if pages_in_memory(large):
        pytest.skip("the file system keeps files in memory alone")
    found = records.take(rows).to_list() if how == "take" else [records[row] for row in rows.tolist()]

    assert len(found) == len(rows)
    assert pages_in_memory(large) <= 3 * len(rows) + 16


@pytest.mark.parametrize(("seconds", "kept"), [(0.0, True), (1e9, False)], ids=["long", "short"])
def test_an_index_that_took_a_while_is_kept_before_the_epoch_ends(tmp_path, large, seconds, kept, monkeypatch):
    monkeypatch.setattr(records, "_AT_ONCE_SECONDS", seconds)
    path = tmp_path / "b.tfrecord"
    path.write_bytes(large.read_bytes())
    assert len(dataset(path)) == ROWS  # Walks the file; no epoch follows, at whose end the index would be kept.

    assert (RecordIndex.find(path) is not None) == kept
