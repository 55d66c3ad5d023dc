"""Feeds over files behind URLs: the same elements as from a disk, by few requests."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import pickle
import threading

import numpy as np
import pytest
from counted_files import counted
from tiny_source import TinySource

import wellfed as wf
from wellfed.errors import DatasetError, RemoteError
from wellfed.packing import pack

__all__ = ["counted"]  # A fixture.

SPEC = {"x": wf.FixedLenFeature([], np.int64), "blob": wf.FixedLenFeature([], bytes)}
ROWS, SHARDS, RANGE = 400, 3, 1 << 20


def write(place: str, **options) -> str:
    """Writes shards of 400 rows of 20 KB; gives their pattern."""
    rng = np.random.default_rng(0)
    for shard in range(SHARDS):
        with wf.TFRecordWriter(f"{place}/s-{shard}.tfrecord", **options) as writer:
            for row in range(ROWS):
                writer.write(wf.encode_example({"x": shard * ROWS + row, "blob": rng.bytes(20_000)}))
    return f"{place}/s-*.tfrecord"


@pytest.fixture
def remote(counted):
    pattern = write("counted://remote", index=True)
    counted.forget()
    return pattern


OPTIONS = wf.RemoteOptions(range_bytes=RANGE, read_ahead_bytes=4 * RANGE)


def order(dataset) -> list[int]:
    return [int(x) for batch in dataset.batch(16) for x in batch["x"]]


def sizes(counted) -> list[int]:
    return [file.size for name, file in counted.store.items() if name.endswith(".tfrecord")]


def test_a_remote_feed_gives_what_a_local_one_gives(remote, tmp_path):
    here = wf.TFRecordDataset(write(str(tmp_path)), SPEC)
    there = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)

    for one, other in zip(here.shuffle(seed=1).batch(50), there.shuffle(seed=1).batch(50), strict=True):
        assert one["x"].tolist() == other["x"].tolist()
        assert list(one["blob"]) == list(other["blob"])
    assert order(there) == list(range(SHARDS * ROWS))


def test_an_epoch_in_file_order_takes_no_more_requests_than_ranges_and_two_a_shard(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=3, ram_budget=1 << 21)
    assert order(dataset) == list(range(SHARDS * ROWS))
    counted.forget()

    assert order(dataset) == list(range(SHARDS * ROWS))
    due = sum(math.ceil(size / RANGE) for size in sizes(counted))
    assert len(counted.named) == len(set(counted.named)) == due
    assert counted.looks == SHARDS  # Are the files still the same?


def test_shuffled_rows_take_one_request_each_at_most(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=wf.RemoteOptions(gap_bytes=0)).shuffle(seed=0)
    assert len(dataset) == SHARDS * ROWS
    counted.forget()

    assert sorted(order(dataset)) == list(range(SHARDS * ROWS))
    assert len(counted.ranges) <= SHARDS * ROWS
    assert sum(end - start for start, end in counted.ranges) == sum(sizes(counted))


def test_stats_tell_requests_and_retries(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=wf.RemoteOptions(pause_seconds=0))
    order(dataset)
    before = iter(dataset).stats().remote
    iterator = iter(dataset.batch(16))
    next(iterator)
    counted.failures = [TimeoutError(), TimeoutError()]
    for _ in iterator:
        pass

    after = iterator.stats().remote
    assert after.retries - before.retries <= 2
    assert after.requests > before.requests
    assert after.bytes >= sum(sizes(counted))


def test_an_error_of_the_network_reaches_the_consumer_with_the_url_and_the_range(counted, remote):
    dataset = wf.TFRecordDataset(
        remote, SPEC, remote=wf.RemoteOptions(range_bytes=RANGE, read_ahead_bytes=RANGE, attempts=2, pause_seconds=0)
    )
    order(dataset)

    def fail(start, end):
        raise ConnectionResetError("gone")

    counted.gate = fail
    with pytest.raises(
        RemoteError, match=rf"counted://remote/s-0.tfrecord: bytes \[0\.\.{RANGE}\) .* 2 attempts: .*gone"
    ):
        order(dataset)
    counted.gate = None
    assert order(dataset) == list(range(SHARDS * ROWS))  # The same data set goes on once the network does.


def take_rest(iterator) -> threading.Thread:
    """Takes what is left, in a thread: the feed goes on while the test does something else."""

    def take():
        with contextlib.suppress(RemoteError):
            list(iterator)

    taker = threading.Thread(target=take)
    taker.start()
    return taker


def test_a_feed_is_closed_at_once_while_it_pauses_between_attempts(counted, remote):
    options = wf.RemoteOptions(gap_bytes=0, pause_seconds=600, longest_pause_seconds=600)
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=options).shuffle(seed=0))
    next(iterator)
    failed = threading.Event()

    def fail(start, end):
        failed.set()
        raise TimeoutError

    counted.gate = fail
    taker = take_rest(iterator)
    assert failed.wait(30)
    iterator.close()
    taker.join(30)  # Not 600: a tenth of a second, where the machine has nothing else to do.
    assert not taker.is_alive()


def test_a_feed_is_closed_at_once_while_a_request_hangs(counted, remote):
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=wf.RemoteOptions(gap_bytes=0)).shuffle(seed=0))
    next(iterator)
    asked, answer = threading.Event(), threading.Event()

    def hang(start, end):
        asked.set()
        answer.wait(60)

    counted.gate = hang
    taker = take_rest(iterator)
    assert asked.wait(30)
    iterator.close()
    taker.join(30)
    assert not taker.is_alive()
    assert not answer.is_set()  # The request is under way still.
    answer.set()


def test_a_file_that_changed_between_epochs_is_read_anew(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC)
    order(dataset)
    with wf.TFRecordWriter("counted://remote/s-1.tfrecord", overwrite=True) as writer:
        writer.write(wf.encode_example({"x": -1, "blob": b""}))

    assert order(dataset) == [*range(ROWS), -1, *range(2 * ROWS, 3 * ROWS)]


def test_an_epoch_from_disk_asks_only_whether_the_files_are_the_same(counted, remote, tmp_path):
    options = wf.RemoteOptions(cache_dir=tmp_path / "shards")
    dataset = wf.TFRecordDataset(remote, SPEC, remote=options)
    assert order(dataset) == list(range(SHARDS * ROWS))
    counted.forget()

    assert sorted(order(dataset.shuffle(seed=0))) == list(range(SHARDS * ROWS))
    assert (counted.ranges, counted.looks) == ([], SHARDS)
    again = iter(wf.TFRecordDataset(remote, SPEC, remote=options))
    assert [int(row["x"]) for row in again] == list(range(SHARDS * ROWS))
    assert counted.ranges == []
    assert again.stats().remote.cache_hits == SHARDS


def test_a_state_saved_here_is_resumed_over_the_network(counted, remote, tmp_path):
    here = wf.TFRecordDataset(write(str(tmp_path)), SPEC).shuffle(seed=3).batch(16)
    there = wf.TFRecordDataset(remote, SPEC).shuffle(seed=3).batch(16)
    first = iter(here)
    for _ in range(5):
        next(first)
    second = iter(there)
    second.load_state_dict(first.state_dict())

    assert [batch["x"].tolist() for batch in second] == [batch["x"].tolist() for batch in first]


def _epoch_in_child(dataset, answers):
    answers.put(order(dataset))


def test_a_remote_feed_forks_and_pickles(remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)
    assert order(dataset) == list(range(SHARDS * ROWS))
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_epoch_in_child, args=(dataset, answers))
    child.start()

    assert answers.get() == list(range(SHARDS * ROWS))
    child.join(30)
    assert child.exitcode == 0
    assert order(pickle.loads(pickle.dumps(dataset))) == list(range(SHARDS * ROWS))


@pytest.mark.parametrize("kind", [{"compression_type": "GZIP"}, {"compression_type": "GZIP", "seekable": True}])
def test_compressed_remote_shards_are_fed_in_any_order(counted, kind):
    dataset = wf.TFRecordDataset(write("counted://remote", **kind), SPEC, remote=OPTIONS)

    assert order(dataset) == list(range(SHARDS * ROWS))
    assert sorted(order(dataset.shuffle(seed=2))) == list(range(SHARDS * ROWS))


# --- Packed data sets ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["", "/1.0.0"])
def test_a_packed_data_set_is_opened_by_its_url(counted, version):
    pack(TinySource(40), "counted://remote/d", name="tiny", split={"train": 0.7, "test": 0.3}, seed=0)
    train = wf.open("counted://remote/d", split="train")
    test = wf.open("counted://remote/d/", split="test", remote=OPTIONS)

    assert len(train) + len(test) == 40
    assert len(list(train.batch(4))) == math.ceil(len(train) / 4)
    with pytest.raises(DatasetError, match=r"which split\? This data set has 'train', 'test'"):
        wf.open("counted://remote/d")


def test_a_url_of_a_file_is_opened_as_a_file(remote):
    assert len(wf.open("counted://remote/s-0.tfrecord", features=SPEC)) == ROWS
    assert len(wf.open(remote, features=SPEC)) == ROWS * SHARDS
    with pytest.raises(DatasetError, match="only the folder of a data set has splits"):
        wf.open(remote, split="train")


def test_a_url_of_a_folder_without_a_data_set_says_so(counted, remote):
    with pytest.raises(
        DatasetError, match=r"counted://remote: holds no data set.*Open bare TFRecord files by a pattern"
    ):
        wf.open("counted://remote", split="train")


def test_a_url_where_nothing_is_says_so(counted):
    with pytest.raises(FileNotFoundError, match=r"counted://nowhere/x\.tfrecord: there is no such file or bucket"):
        len(wf.open("counted://nowhere/x.tfrecord"))


@pytest.mark.parametrize("step", [1 << 16, 1 << 18])
def test_threads_whose_units_are_many_ranges_apart_ask_for_each_range_once(counted, remote, step):
    options = wf.RemoteOptions(range_bytes=step)
    dataset = wf.TFRecordDataset(remote, SPEC, remote=options).with_options(threads=4)
    assert order(dataset) == list(range(SHARDS * ROWS))
    counted.forget()

    for _ in range(3):
        assert order(dataset) == list(range(SHARDS * ROWS))
    due = sum(math.ceil(size / step) for size in sizes(counted))
    assert len(counted.named) == 3 * due
