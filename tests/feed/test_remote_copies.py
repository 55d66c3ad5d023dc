"""Feeds over shards that lie in the local shard cache: read as files of this machine are, and named by their URLs."""

from __future__ import annotations

import numpy as np
import pytest
from counted_files import counted

import wellfed as wf
from wellfed.errors import CorruptRecordError, FeatureTypeError
from wellfed.io import RecordIndex, Records

__all__ = ["counted"]  # A fixture.

SPEC = {"x": wf.FixedLenFeature([], np.int64), "blob": wf.FixedLenFeature([], bytes), "v": wf.VarLenFeature(np.float32)}
ROWS, SHARDS = 300, 3
ALL = list(range(SHARDS * ROWS))


def write(place: str, **options) -> str:
    rng = np.random.default_rng(0)
    for shard in range(SHARDS):
        with wf.TFRecordWriter(f"{place}/s-{shard}.tfrecord", **options) as writer:
            for row in range(ROWS):
                example = {"x": shard * ROWS + row, "blob": rng.bytes(row), "v": [float(row)] * (row % 4)}
                writer.write(wf.encode_example(example))
    return f"{place}/s-*.tfrecord"


@pytest.fixture(params=[True, False], ids=["indexed", "not indexed"])
def remote(counted, request):
    pattern = write("counted://remote", index=request.param)
    counted.forget()
    return pattern


@pytest.fixture
def options(tmp_path):
    return wf.RemoteOptions(cache_dir=tmp_path / "shards", pause_seconds=0)


@pytest.fixture
def nothing_taken(monkeypatch):
    """After it is called, records that are not read where they lie fail."""

    def taken(self, rows, **options):
        raise AssertionError(f"{len(rows)} records were taken by number")

    return lambda: monkeypatch.setattr(Records, "take", taken)


def order(dataset) -> list[int]:
    return [int(x) for batch in dataset.batch(16) for x in batch["x"]]


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("spec", [SPEC, None], ids=["parsed", "bytes"])
def test_the_second_epoch_asks_for_no_byte_and_gives_what_local_files_give(
    counted, remote, options, tmp_path, shuffled, spec, nothing_taken
):
    here = wf.TFRecordDataset(write(str(tmp_path)), spec)
    there = wf.TFRecordDataset(remote, spec, remote=options)
    if shuffled:
        here, there = here.shuffle(seed=1), there.shuffle(seed=1)
    assert len(list(there.batch(50))) == 18
    counted.forget()
    nothing_taken()

    for one, other in zip(here.batch(50).epoch(1), there.batch(50).epoch(1), strict=True):
        if spec is None:
            assert list(one) == list(other)
            continue
        assert one["x"].tolist() == other["x"].tolist()
        assert list(one["blob"]) == list(other["blob"])
        assert one["v"].values.tolist() == other["v"].values.tolist()
        assert one["v"].row_splits.tolist() == other["v"].row_splits.tolist()
    assert counted.ranges == []
    assert counted.looks == SHARDS  # Are the files still the same?


def test_the_first_epoch_reads_a_shard_from_its_copy_as_soon_as_it_is_there(remote, options, nothing_taken):
    nothing_taken()

    assert order(wf.TFRecordDataset(remote, SPEC, remote=options)) == ALL
    assert sorted(order(wf.TFRecordDataset(remote, SPEC, remote=options).shuffle(seed=0))) == ALL


def test_shards_without_room_come_over_the_network_and_the_others_from_disk(counted, remote, tmp_path):
    size = max(file.size for name, file in counted.store.items() if name.endswith(".tfrecord"))
    options = wf.RemoteOptions(cache_dir=tmp_path / "shards", cache_bytes=2 * size, index="local")
    dataset = wf.TFRecordDataset(remote, SPEC, remote=options)

    for _ in range(2):
        assert order(dataset) == ALL
        assert sorted(order(dataset.shuffle(seed=3))) == ALL
    counted.forget()
    assert order(dataset) == ALL
    assert len({name for name, _, _ in counted.named}) == 1


def copy_of(folder, url: str):
    (facts,) = (path for path in folder.glob("*.json") if f'"{url}"' in path.read_text())
    return facts.with_suffix(".shard")


def flip(path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("shuffled", [True, False])
def test_damage_of_a_copy_is_never_the_users(remote, options, shuffled):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=options)
    dataset = dataset.shuffle(seed=0) if shuffled else dataset
    assert sorted(order(dataset)) == ALL
    # Overwritten in its place, as a disk that fails would: what is mapped changes too.
    copy = copy_of(options.cache_dir, "counted://remote/s-1.tfrecord")
    with copy.open("r+b") as file:
        file.seek(copy.stat().st_size // 2)
        file.write(bytes(100))

    assert sorted(order(dataset)) == ALL
    assert not copy.exists()
    assert sorted(order(dataset)) == ALL


def test_damage_of_the_store_is_named_by_the_url(counted, remote, options):
    offset = int(RecordIndex.build("counted://remote/s-1.tfrecord").offsets[50])
    content = bytearray(counted.store["/remote/s-1.tfrecord"].getvalue())
    content[offset + 40] ^= 1
    counted.put("s-1.tfrecord", bytes(content))
    found = []

    with pytest.raises(
        CorruptRecordError, match=rf"^counted://remote/s-1\.tfrecord: record 50 at byte {offset}: payload CRC32C"
    ):
        found.extend(int(row["x"]) for row in wf.TFRecordDataset(remote, SPEC, remote=options))
    assert found == ALL[: ROWS + 50]


def test_an_example_that_does_not_fit_is_named_by_the_url(remote, options):
    spec = {"x": wf.FixedLenFeature([], np.float32)}

    for _ in range(2):
        with pytest.raises(FeatureTypeError, match=r"counted://remote/s-0\.tfrecord.*record 0"):
            list(wf.TFRecordDataset(remote, spec, remote=options))


def test_a_cache_that_is_removed_while_it_is_read_is_read_to_its_end_and_made_again(remote, options, tmp_path):
    dataset = wf.TFRecordDataset(remote, SPEC, remote=options)
    iterator = iter(dataset)
    first = int(next(iterator)["x"])
    (tmp_path / "shards").rename(tmp_path / "gone")  # At once: threads of the feed are writing into it.

    assert [first, *(int(row["x"]) for row in iterator)] == ALL
    assert sorted(order(dataset.shuffle(seed=1))) == ALL
    assert len(list((tmp_path / "shards").glob("*.shard"))) >= SHARDS - 1


def test_others_that_need_room_do_not_remove_what_a_feed_reads(counted, remote, options, tmp_path):
    size = sum(file.size for name, file in counted.store.items() if name.endswith(".tfrecord"))
    tight = wf.RemoteOptions(cache_dir=tmp_path / "shards", cache_bytes=size)
    iterator = iter(wf.TFRecordDataset(remote, SPEC, remote=tight).shuffle(seed=0).batch(16))
    first = [int(x) for x in next(iterator)["x"]]
    other = Records(counted.put("other", counted.store["/remote/s-0.tfrecord"].getvalue()), remote=tight)

    assert len(other[0]) > 0
    assert other.remote_stats.cache_refusals == 1
    assert sorted([*first, *(int(x) for batch in iterator for x in batch["x"])]) == ALL
