"""How many requests a read takes, which ranges they ask for, and how many are under way."""

from __future__ import annotations

import gzip
import itertools
import math
import threading

import numpy as np
import pytest
from record_files import starts

from wellfed import _native
from wellfed.io import RecordIndex, Records, RemoteOptions, TFRecordReader, TFRecordWriter
from wellfed.io.access import Access
from wellfed.io.remote_shelf import coalesce
from wellfed.io.streams import open_walker

RNG = np.random.default_rng(0)
LARGE = [RNG.bytes(100_000) for _ in range(64)]
SMALL = [RNG.bytes(int(size)) for size in RNG.integers(0, 300, 3000)]
RANGE = 1 << 16


def frames(payloads) -> bytes:
    """By the kernel: plain Python takes seconds for these."""
    sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
    return bytes(_native.frame_records(b"".join(payloads), np.cumsum(sizes) - sizes, sizes))


def ranges_of(size: int, step: int) -> list[tuple[int, int]]:
    return [(at, min(at + step, size)) for at in range(0, size, step)]


@pytest.fixture
def large(counted):
    """A shard of 64 records of 100 KB, indexed; nothing counted yet."""
    url = counted.put("large", frames(LARGE))
    RecordIndex.for_file(url)
    counted.forget()
    return url


# --- A pass in file order --------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1 << 16, 1 << 17, 8 << 20])
@pytest.mark.parametrize("payloads", [SMALL, LARGE, [], [b"x" * 300_000, b"", b"y" * 500_000]])
def test_a_pass_asks_for_each_range_once_and_for_the_size_once(counted, payloads, step):
    content = frames(payloads)
    url = counted.put("x", content)
    reader = TFRecordReader(url, remote=RemoteOptions(range_bytes=step))

    assert list(reader) == payloads
    assert sorted(counted.ranges) == ranges_of(len(content), step)
    assert counted.looks == 1
    assert reader.remote_stats.requests == 1 + math.ceil(len(content) / step)
    assert reader.remote_stats.bytes == len(content)


@pytest.mark.parametrize(
    "compress", [gzip.compress, lambda content: gzip.compress(content[:5000]) + gzip.compress(content[5000:])]
)
def test_a_pass_over_a_compressed_file_asks_for_each_range_once(counted, compress):
    content = compress(frames(SMALL))
    url = counted.put("x", content)

    assert list(TFRecordReader(url, remote=RemoteOptions(range_bytes=RANGE))) == SMALL
    assert sorted(counted.ranges) == ranges_of(len(content), RANGE)
    assert counted.looks == 1


def test_iterating_over_records_by_their_index_is_a_pass_too(counted, large):
    records = Records(large, remote=RemoteOptions(range_bytes=1 << 20))
    assert len(records) == 64
    counted.forget()

    assert list(records) == LARGE
    assert sorted(counted.ranges) == ranges_of(64 * 100_016, 1 << 20)
    assert counted.looks == 0


@pytest.mark.parametrize("step", [1, 3, 10])
def test_steps_of_a_pass_ask_for_each_range_once(counted, large, step):
    records = Records(large, remote=RemoteOptions(range_bytes=1 << 19))
    assert len(records) == 64
    counted.forget()

    found = [records.take(range(at, min(at + step, 64)), in_order=True).to_list() for at in range(0, 64, step)]
    assert list(itertools.chain(*found)) == LARGE
    assert sorted(counted.ranges) == ranges_of(64 * 100_016, 1 << 19)


def test_a_look_at_the_first_record_does_not_fetch_the_file(counted, large):
    reader = TFRecordReader(large, remote=RemoteOptions(range_bytes=1 << 19))
    iterator = iter(reader)

    assert next(iterator) == LARGE[0]
    iterator.close()
    assert len(counted.ranges) <= 2


def test_a_look_at_the_first_record_of_a_compressed_file_does_not_fetch_it(counted):
    url = counted.put("z", gzip.compress(frames(LARGE), 1))
    iterator = iter(TFRecordReader(url, remote=RemoteOptions(range_bytes=1 << 19)))

    assert next(iterator) == LARGE[0]
    # A block of the window is 4 MiB, which is 8 ranges here; one is ahead.
    assert len(counted.ranges) <= 8 + 1 + 1
    iterator.close()


def test_the_start_of_the_next_shard_is_fetched_while_the_end_of_one_is_read(counted, large):
    following = counted.put("next", frames(LARGE))
    records = Records([large, following], remote=RemoteOptions(range_bytes=1 << 20, read_ahead_bytes=1 << 21))
    assert len(records) == 128
    counted.forget()
    asked = threading.Event()
    counted.gate = lambda start, end: asked.set() if ("next", start, end) in counted.named else None

    for row in range(64):
        assert records.take([row], in_order=True)[0] == LARGE[row]
        assert not asked.is_set() or row > 40
    assert asked.wait(30)
    assert list(records) == LARGE * 2
    assert counted.named.count(("next", 0, 1 << 20)) == 1


def walk(url: str, options: RemoteOptions, clock) -> int:
    """Reads all records of a file, by a clock; gives how many there are."""
    walker, _ = open_walker(url, access=Access(options, clock=clock))
    return sum(len(run) for run in iter(walker.next_run, None))


def test_several_ranges_of_a_pass_are_under_way_together_where_they_are_waited_for(counted, large):
    together = threading.Barrier(4, timeout=30)
    counted.gate = lambda start, end: together.wait() if 6 << 18 <= start < 10 << 18 else None

    options = RemoteOptions(range_bytes=1 << 18, read_ahead_bytes=1 << 20)
    assert walk(large, options, itertools.count().__next__) == 64  # Each look at this clock takes a second.
    assert not together.broken


def test_one_range_is_fetched_ahead_where_none_is_waited_for(counted, large):
    walker, _ = open_walker(large, access=Access(RemoteOptions(range_bytes=1 << 18), clock=lambda: 0.0))
    while (run := walker.next_run(1)) is not None:
        read = run.base + int(run.offsets[-1])
        assert len(counted.ranges) <= math.ceil(read / (1 << 18)) + 2


def test_what_is_fetched_ahead_is_bounded_in_bytes(counted, large):
    options = RemoteOptions(range_bytes=1 << 18, read_ahead_bytes=1 << 20)
    read = 0
    for record in TFRecordReader(large, remote=options):
        read += len(record) + 16
        asked = sum(end - start for start, end in list(counted.ranges))
        # The range that the record lies in, the one it may go on in, and what is ahead.
        assert asked <= read + options.read_ahead_bytes + 2 * options.range_bytes


# --- Records by number -----------------------------------------------------------------------------


def test_random_rows_of_100_kb_take_one_request_each(counted, large):
    records = Records(large)
    assert len(records) == 64
    counted.forget()

    for row in (40, 3, 17):
        assert records[row] == LARGE[row]
    assert counted.ranges == [(row * 100_016, (row + 1) * 100_016) for row in (40, 3, 17)]
    counted.forget()
    rows = [1, 60, 10, 33, 21]
    assert records.take(rows).to_list() == [LARGE[row] for row in rows]
    assert sorted(counted.ranges) == [(row * 100_016, (row + 1) * 100_016) for row in sorted(rows)]
    assert counted.looks == 0


def test_neighbouring_rows_come_by_one_request(counted, large):
    records = Records(large)
    assert len(records) == 64
    counted.forget()

    assert records[10:20].to_list() == LARGE[10:20]
    assert records.take([33, 31, 30, 31]).to_list() == [LARGE[row] for row in (33, 31, 30, 31)]
    assert counted.ranges == [(10 * 100_016, 20 * 100_016), (30 * 100_016, 34 * 100_016)]


def test_no_request_asks_for_more_than_a_range(counted, large):
    records = Records(large, remote=RemoteOptions(range_bytes=250_000))
    assert len(records) == 64
    counted.forget()

    assert records[:].to_list() == LARGE
    assert sorted(counted.ranges) == [(at, at + 2 * 100_016) for at in range(0, 64 * 100_016, 2 * 100_016)]


def test_several_rows_are_under_way_together(counted, large):
    records = Records(large)
    assert len(records) == 64
    together = threading.Barrier(8, timeout=30)
    counted.gate = lambda start, end: together.wait()

    rows = list(range(0, 64, 8))
    assert records.take(rows).to_list() == [LARGE[row] for row in rows]


def test_opening_an_indexed_shard_takes_six_requests(counted, large):
    records = Records(large)

    assert len(records) == 64
    assert (counted.looks, len(counted.ranges)) == (1, 4)  # Its size, and four samples; then the index itself.
    assert records.remote_stats.requests == 6


def test_the_samples_of_a_shard_are_asked_for_side_by_side(counted, large):
    together = threading.Barrier(4, timeout=30)
    counted.gate = lambda start, end: together.wait()

    assert RecordIndex.find(large) is not None


@pytest.fixture
def seekable(counted):
    """A seekable GZIP of 64 records, one member each four."""
    with TFRecordWriter("counted://remote/z", "GZIP", seekable=True, member_bytes=400_000, index=True) as writer:
        writer.write_many(LARGE)
    counted.forget()
    return "counted://remote/z"


def test_random_rows_of_a_seekable_gzip_take_one_request_a_member(counted, seekable):
    records = Records(seekable)
    members = len(records.indexes[0].members)
    assert members > 10
    counted.forget()

    assert records[33] == LARGE[33]
    assert len(counted.ranges) == 1
    rows = [0, 20, 33, 50]
    assert records.take(rows).to_list() == [LARGE[row] for row in rows]
    assert len(counted.ranges) == 4  # The member of row 33 is kept.


def test_a_pass_over_a_seekable_gzip_by_its_index_asks_for_each_range_once(counted, seekable):
    records = Records(seekable, remote=RemoteOptions(range_bytes=1 << 20))
    assert len(records) == 64
    size = counted().size("/remote/z")
    counted.forget()

    found = [records.take(range(at, at + 4), in_order=True).to_list() for at in range(0, 64, 4)]
    assert list(itertools.chain(*found)) == LARGE
    assert len(counted.ranges) == math.ceil(size / (1 << 20))


# --- Which ranges belong together ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "most", "due"),
    [
        (0, 1000, [[1, 2], [0], [3]]),
        (10, 1000, [[0, 1, 2], [3]]),
        (1000, 1000, [[0, 1, 2, 3]]),
        (1000, 60, [[1, 2], [0], [3]]),
        (1000, 1, [[1], [2], [0], [3]]),
    ],
)
def test_ranges_are_put_together_by_their_gaps_and_their_reach(gap, most, due):
    starts, ends = np.array([60, 0, 20, 200]), np.array([80, 20, 50, 210])

    assert [group.tolist() for group in coalesce(starts, ends, gap, most)] == due


def test_starts_of_the_support_file_agree_with_the_index(counted, large):
    assert RecordIndex.for_file(large).offsets.tolist() == starts(LARGE)
