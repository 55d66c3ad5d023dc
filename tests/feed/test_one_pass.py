"""The first epoch over remote shards without an index: in file order, each byte comes once, rows and index alike."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading

import fsspec
import numpy as np
import pytest
from counted_files import counted

import wellfed as wf
from wellfed.errors import CorruptRecordError, FileChangedError, RemoteError
from wellfed.io import RecordIndex, Records

__all__ = ["counted"]  # A fixture.

SPEC = {"x": wf.FixedLenFeature([], np.int64), "blob": wf.FixedLenFeature([], bytes)}
ROWS, SHARDS, RANGE = 300, 3, 1 << 16
OPTIONS = wf.RemoteOptions(range_bytes=RANGE, read_ahead_bytes=4 * RANGE)
ALL = list(range(SHARDS * ROWS))


def write(place: str, sizes=(9_000,), **options) -> str:
    """Writes shards of 300 rows, whose blobs have these sizes in turn; gives their pattern."""
    rng, size = np.random.default_rng(0), itertools.cycle(sizes)
    for shard in range(SHARDS):
        with wf.TFRecordWriter(f"{place}/s-{shard}.tfrecord", **options) as writer:
            for row in range(ROWS):
                writer.write(wf.encode_example({"x": shard * ROWS + row, "blob": rng.bytes(next(size))}))
    return f"{place}/s-*.tfrecord"


@pytest.fixture
def remote(counted):
    """Three shards of 2.7 MB without an index; nothing counted yet."""
    pattern = write("counted://remote")
    counted.forget()
    return pattern


def order(dataset) -> list[int]:
    return [int(x) for batch in dataset.batch(16) for x in batch["x"]]


def shards(counted) -> dict[str, int]:
    """The shards' names and lengths."""
    return {name.rpartition("/")[2]: file.size for name, file in counted.store.items() if name.endswith(".tfrecord")}


def each_range_once(counted) -> list[tuple[str, int, int]]:
    return [
        (name, start, min(start + RANGE, size))
        for name, size in sorted(shards(counted).items())
        for start in range(0, size, RANGE)
    ]


# --- Requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(9_000,), (0, 70), (RANGE + 5, 3, 0, 2 * RANGE), (RANGE // 3,)])
def test_the_first_epoch_in_order_fetches_each_range_once(counted, sizes, threads):
    dataset = wf.TFRecordDataset(write("counted://remote", sizes), SPEC, remote=OPTIONS)
    counted.forget()

    assert order(dataset.with_options(threads=threads)) == ALL
    assert sorted(counted.named) == each_range_once(counted)
    assert counted.looks == SHARDS


def test_all_requests_of_the_first_epoch_are_ranges_and_three_a_shard(counted, remote):
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).batch(16))
    assert sum(len(batch["x"]) for batch in iterator) == SHARDS * ROWS

    # Its size; is there an index? the index, where it is written (the folder is made for the first of them).
    due = sum(math.ceil(size / RANGE) + 2 for size in shards(counted).values())
    assert SHARDS <= iterator.stats().remote.requests - due <= 2 * SHARDS


def test_the_second_epoch_knows_the_index_and_fetches_each_range_once(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=1, ram_budget=1 << 20)
    assert order(dataset) == ALL
    counted.forget()

    assert order(dataset) == ALL
    assert sorted(counted.named) == each_range_once(counted)
    assert len(dataset) == SHARDS * ROWS
    assert counted.looks == 2 * SHARDS  # Are the files still the same? Asked by the epoch, and by `len`.


def test_a_shuffle_after_an_epoch_in_order_makes_no_index(counted, remote, monkeypatch):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)
    assert order(dataset) == ALL
    monkeypatch.setattr(RecordIndex, "build", None)

    assert sorted(order(dataset.shuffle(seed=0))) == ALL


def test_ranks_that_take_turns_fetch_each_range_once(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)

    assert order(dataset.shard(3, 1)) == ALL[1::3]
    assert sorted(counted.named) == each_range_once(counted)


def test_the_next_shard_is_asked_for_while_the_end_of_one_is_read(counted, remote):
    asked = threading.Event()
    counted.gate = lambda start, end: asked.set() if counted.named[-1][0] == "s-1.tfrecord" else None
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=1, ram_budget=1 << 20))

    assert [int(next(iterator)["x"]) for _ in range(ROWS)] == ALL[:ROWS]
    assert asked.wait(30)
    iterator.close()


def test_a_look_at_the_first_rows_fetches_the_start_of_one_shard(counted, remote):
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=1).take(3))

    assert [int(row["x"]) for row in iterator] == [0, 1, 2]
    assert {name for name, _, _ in counted.named} == {"s-0.tfrecord"}
    assert len(counted.named) <= 3


def test_an_epoch_that_was_given_up_is_begun_again_without_a_pass_more(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=1, ram_budget=1 << 20)
    iterator = iter(dataset)
    assert [int(next(iterator)["x"]) for _ in range(ROWS + 5)] == ALL[: ROWS + 5]
    iterator.close()
    before = len(counted.named)

    assert order(dataset) == ALL
    due = each_range_once(counted)
    assert set(counted.named) == set(due)
    # Where the rows begin that were walked and not read: some of them come again.
    assert len(counted.named) - before <= len(due) + SHARDS


def test_two_iterations_side_by_side_give_the_same(counted, remote):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).batch(7)

    for one, other in zip(iter(dataset), iter(dataset), strict=True):
        assert one["x"].tolist() == other["x"].tolist()
        assert list(one["blob"]) == list(other["blob"])


def test_a_state_is_resumed_where_no_index_is_known(counted, remote):
    first = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).batch(16))
    for _ in range(30):
        next(first)
    second = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).batch(16))
    second.load_state_dict(first.state_dict())

    assert [batch["x"].tolist() for batch in second] == [batch["x"].tolist() for batch in first]


# --- The index -------------------------------------------------------------------------------------


def test_the_index_is_the_one_that_a_pass_of_its_own_makes(counted, remote):
    assert order(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)) == ALL

    for shard in range(SHARDS):
        url = f"counted://remote/s-{shard}.tfrecord"
        assert f"/remote/.wellfed/s-{shard}.tfrecord.index" in counted.store
        found, due = RecordIndex.find(url), RecordIndex.build(url)
        assert found is not None
        assert found.offsets.tolist() == due.offsets.tolist()
        assert (found.stream_bytes, found.compression, found.checked) == (due.stream_bytes, "", False)


def test_an_index_that_is_not_to_be_published_is_kept_on_this_machine(counted, remote, tmp_path):
    options = wf.RemoteOptions(range_bytes=RANGE, index="local")
    assert order(wf.TFRecordDataset(remote, SPEC, remote=options)) == ALL

    assert not [name for name in counted.store if ".wellfed" in name]
    assert len(list((tmp_path / "cache").rglob("*.index"))) == SHARDS


def test_shards_that_were_read_to_their_ends_have_an_index_after_an_epoch_that_broke_off(counted, remote):
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS).with_options(threads=1, ram_budget=1 << 20))
    written = threading.Event()
    pipe_file = counted.pipe_file

    def tell(self, path, value, **options):
        pipe_file(self, path, value, **options)
        written.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "pipe_file", tell)
        for _ in range(ROWS + 50):
            next(iterator)
        assert written.wait(30)
        iterator.close()
    assert RecordIndex.find("counted://remote/s-0.tfrecord") is not None
    assert RecordIndex.find("counted://remote/s-2.tfrecord") is None


def test_some_shards_with_an_index_and_some_without(counted, remote):
    RecordIndex.for_file("counted://remote/s-1.tfrecord")
    counted.forget()

    assert order(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS)) == ALL
    assert set(each_range_once(counted)) <= set(counted.named)
    assert RecordIndex.find("counted://remote/s-2.tfrecord") is not None


@pytest.mark.parametrize("kind", [{"compression_type": "GZIP"}, {"compression_type": "GZIP", "seekable": True}])
def test_compressed_shards_are_indexed_one_after_another(counted, kind):
    dataset = wf.TFRecordDataset(write("counted://remote", **kind), SPEC, remote=OPTIONS)

    assert order(dataset) == ALL
    assert sorted(order(dataset.shuffle(seed=0))) == ALL


def test_files_of_memory_are_read_where_they_lie():
    pattern = write("memory://one-pass")
    try:
        dataset = wf.TFRecordDataset(pattern, SPEC)
        assert order(dataset) == ALL
        assert sorted(order(dataset.shuffle(seed=0))) == ALL
    finally:
        fsspec.filesystem("memory").rm("/one-pass", recursive=True)


def test_an_exact_shuffle_without_an_index_takes_a_pass_more(counted, remote):
    options = wf.RemoteOptions(range_bytes=RANGE, gap_bytes=0)
    assert sorted(order(wf.TFRecordDataset(remote, SPEC, remote=options).shuffle(seed=0))) == ALL

    assert sum(end - start for _, start, end in counted.named) == 2 * sum(shards(counted).values())


def test_an_exact_shuffle_without_an_index_fetches_each_range_once_where_shards_are_kept(counted, remote, tmp_path):
    options = wf.RemoteOptions(range_bytes=RANGE, cache_dir=tmp_path / "shards")
    assert sorted(order(wf.TFRecordDataset(remote, SPEC, remote=options).shuffle(seed=0))) == ALL

    assert sorted(counted.named) == each_range_once(counted)


# --- What is wrong ---------------------------------------------------------------------------------


def harm(counted, shard: int, at: int) -> None:
    name = f"/remote/s-{shard}.tfrecord"
    content = bytearray(counted.store[name].getvalue())
    content[at] ^= 1
    counted.put(name.removeprefix("/remote/"), bytes(content))


@pytest.mark.parametrize(("into", "reason"), [(0, "length CRC32C"), (40, "payload CRC32C")])
def test_rows_before_damage_come_and_its_error_names_the_url_and_the_record(counted, remote, into, reason):
    offset = int(RecordIndex.build("counted://remote/s-1.tfrecord").offsets[50])
    harm(counted, 1, offset + into)
    found = []

    with pytest.raises(CorruptRecordError, match=rf"s-1\.tfrecord: record 50 at byte {offset}: {reason}"):
        found.extend(int(row["x"]) for row in wf.TFRecordDataset(remote, SPEC, remote=OPTIONS))
    assert found == ALL[: ROWS + 50]


def test_damage_is_left_out_where_asked(counted, remote):
    offset = int(RecordIndex.build("counted://remote/s-1.tfrecord").offsets[50])
    harm(counted, 1, offset + 40)

    dataset = wf.TFRecordDataset(remote, SPEC, remote=OPTIONS, on_damage="skip")
    assert order(dataset) == [x for x in ALL if x != ROWS + 50]


def test_a_shard_that_changes_while_it_is_walked_is_told(counted, remote):
    replaced = threading.Event()

    def gate(start, end):
        if start == 3 * RANGE and not replaced.is_set():
            replaced.set()
            size = counted.store["/remote/s-0.tfrecord"].size
            counted.put("s-0.tfrecord", bytes(size))

    counted.gate = gate
    with pytest.raises(FileChangedError, match=r"s-0\.tfrecord.*changed while it was read: its version was"):
        order(wf.TFRecordDataset(remote, SPEC, remote=OPTIONS))


@pytest.mark.parametrize("size", [900, 3 * RANGE // 2])
def test_a_feed_that_lost_the_network_in_the_middle_goes_on_later(counted, size):
    pattern = write("counted://remote", (size,))
    counted.forget()
    options = wf.RemoteOptions(range_bytes=RANGE, read_ahead_bytes=RANGE, attempts=1)
    dataset = wf.TFRecordDataset(pattern, SPEC, remote=options)
    failing = itertools.count()

    def fail(start, end):
        if start % (5 * RANGE) == 0 and next(failing) < 5:
            raise ConnectionResetError("gone")

    counted.gate = fail
    for _ in range(5):
        with contextlib.suppress(RemoteError):
            order(dataset)
    assert next(failing) >= 5
    assert order(dataset) == ALL


def test_records_are_counted_as_far_as_asked(counted, remote):
    records = Records(remote, remote=OPTIONS)

    assert records.count(20) == 20
    assert {name for name, _, _ in counted.named} == {"s-0.tfrecord"}
    assert records.locate(10) == ("counted://remote/s-0.tfrecord", 10)
    assert records.count(SHARDS * ROWS + 7) == SHARDS * ROWS == len(records)
    assert sorted(counted.named) == each_range_once(counted)
