"""Packing whole: what stands in the folder afterwards, and what stands in the way before."""

import json
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from packed_folder import columns, contents, numbers
from tiny_source import TinySource

from wellfed import _native
from wellfed.datasets import Image, Scalar, Schema, Sequence, open_dataset
from wellfed.errors import DatasetError, PackError, SourceError
from wellfed.io import MappedFile, RecordIndex, Records, TFRecordReader, disk
from wellfed.packing import PackOptions, PictureOptions, pack, plan_pack
from wellfed.packing.api import local_pool
from wellfed.packing.job import Job
from wellfed.sources import Items, Numpy, TFRecords

SPLIT = {"train": 0.5, "test": 0.5}


def test_every_item_is_packed_once_into_its_split(tmp_path):
    report = pack(TinySource(40), tmp_path / "out", name="tiny", split=SPLIT, shards=3)

    train, test = numbers(tmp_path / "out"), numbers(tmp_path / "out", "test")
    assert sorted(train + test) == list(range(40))
    assert report.records == {"train": len(train), "test": len(test)}
    assert report.shards == {"train": 3, "test": 3}


def test_each_record_holds_its_item(tmp_path):
    pack(TinySource(7), tmp_path, name="tiny")

    found = columns(tmp_path, "train")
    assert [f"item/{n}".encode() for n in found["number"]] == found["key"].to_list()
    assert list(found["label"]) == [n % 3 for n in found["number"]]


def test_the_order_is_shuffled_unless_told_otherwise(tmp_path):
    pack(TinySource(30), tmp_path / "a", name="tiny", shards=2)
    pack(TinySource(30), tmp_path / "b", name="tiny", shards=2, shuffle=False)

    assert numbers(tmp_path / "a") != sorted(numbers(tmp_path / "a"))
    assert numbers(tmp_path / "b") == list(range(30))


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A file of 3,000 rows of 4 KiB, which is larger than all memory there is, so far as packing knows."""
    monkeypatch.setattr(disk, "usable_memory", lambda: 1e6)
    np.save(tmp_path / "x.npy", np.arange(3000, dtype=np.int32)[:, None] * np.ones(1024, np.int32))
    return Numpy(tmp_path / "x.npy")


def test_a_source_larger_than_memory_is_packed_as_any_other(tmp_path, rows, monkeypatch):
    pack(rows, tmp_path / "a", name="rows", split=SPLIT, shards=2, executor=ThreadPoolExecutor(2))
    monkeypatch.undo()
    pack(rows, tmp_path / "b", name="rows", split=SPLIT, shards=2, executor=ThreadPoolExecutor(2))

    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked for nothing")
def test_each_item_of_a_source_larger_than_memory_is_asked_for_once(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(disk, "_PATIENCE", 10**6)
    asked = []
    monkeypatch.setattr(MappedFile, "ask_for_ranges", lambda _, starts, sizes: asked.extend(starts.tolist()))
    pack(rows, tmp_path / "out", name="rows", shards=2, executor=ThreadPoolExecutor(2))

    assert sorted(asked) == list(range(128, 128 + 3000 * 4096, 4096))


class Gone(TinySource):
    """A source whose file is not there any more when it is asked for."""

    def places(self, start, stop):
        raise FileNotFoundError(start, stop)


def test_what_cannot_be_asked_for_is_told_where_it_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "usable_memory", lambda: 1)
    report = pack(Gone(20, bad=(3,)), tmp_path, name="tiny", on_error="skip", executor=ThreadPoolExecutor(2))

    assert report.records == {"train": 19}


def test_the_manifest_counts_measures_and_hashes_each_shard(tmp_path):
    pack(TinySource(9), tmp_path, name="tiny", shards=2)

    shards = open_dataset(tmp_path).manifest.splits["train"]
    assert [shard.records for shard in shards] == [4, 5]
    for shard in shards:
        content = (tmp_path / shard.file).read_bytes()
        assert (shard.bytes, shard.crc32c) == (len(content), f"{_native.crc32c(content):08x}")


def test_every_shard_has_its_index_beside_it(tmp_path):
    pack(TinySource(9), tmp_path, name="tiny", shards=2)

    for file, count in zip(*[open_dataset(tmp_path).splits["train"].files, [4, 5]], strict=True):
        index = RecordIndex.find(file)
        assert index is not None
        assert len(index) == count


def test_nothing_but_the_data_set_is_left(tmp_path):
    pack(TinySource(4), tmp_path / "out", name="tiny")

    assert list(contents(tmp_path)) == [
        "out/.wellfed/manifest.json",
        "out/.wellfed/tiny-train.tfrecord-00000-of-00001.index",
        "out/dataset_info.json",
        "out/features.json",
        "out/tiny-train.tfrecord-00000-of-00001",
    ]
    assert not (tmp_path / "out" / ".wellfed" / "pack").exists()


EXECUTORS = {
    "one thread": lambda: ThreadPoolExecutor(1),
    "four threads": lambda: ThreadPoolExecutor(4),
    "two processes": lambda: ProcessPoolExecutor(2, get_context("forkserver")),
}


@pytest.mark.parametrize("make", EXECUTORS.values(), ids=EXECUTORS)
def test_any_executor_gives_the_same_bytes(tmp_path, make):
    pack(TinySource(50), tmp_path / "a", name="tiny", split=SPLIT, shards=4, seed=5)
    with make() as executor:
        pack(TinySource(50), tmp_path / "b", name="tiny", split=SPLIT, shards=4, seed=5, executor=executor)

    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "GZIP_SEEKABLE"])
def test_compressed_shards_hold_the_same_records(tmp_path, compression):
    pack(TinySource(50), tmp_path / "a", name="tiny", shards=2)
    report = pack(TinySource(50), tmp_path / "b", name="tiny", shards=2, compression=compression)

    assert numbers(tmp_path / "b") == numbers(tmp_path / "a")
    assert report.bytes_out < sum(shard.bytes for shard in open_dataset(tmp_path / "a").manifest.splits["train"])
    # TensorFlow Datasets cannot open compressed shards, so no metadata says that it could.
    assert not (tmp_path / "b" / "dataset_info.json").exists()


def test_seekable_gzip_is_read_at_random(tmp_path):
    pack(TinySource(50), tmp_path, name="tiny", compression="GZIP_SEEKABLE")
    (file,) = open_dataset(tmp_path).splits["train"].files

    assert Records(file)[33] == list(TFRecordReader(file))[33]


def test_the_plain_layout_names_shards_by_its_pattern_and_writes_no_metadata_of_tfds(tmp_path):
    pack(TinySource(9), tmp_path, name="t", shards=2, layout="plain", name_pattern="data_{shard:03d}.tfrecord")

    assert [path.name for path in sorted(tmp_path.iterdir())] == [".wellfed", "data_000.tfrecord", "data_001.tfrecord"]
    assert len(numbers(tmp_path)) == 9


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("data.tfrecord", "two shards would be data.tfrecord"),
        ("{part}.tfrecord", "expected a pattern of"),
        ("{shard", "expected a pattern of"),
        ("a/{shard}", "expected a plain file name, got 'a/0'"),
        (".{shard}", "expected a plain file name"),
    ],
)
def test_a_pattern_that_gives_no_names_is_refused_before_anything_is_written(tmp_path, pattern, message):
    with pytest.raises(PackError, match=message):
        pack(TinySource(9), tmp_path / "out", name="t", shards=2, layout="plain", name_pattern=pattern)

    assert not (tmp_path / "out").exists()


def test_a_list_of_mappings_is_packed_as_it_is(tmp_path):
    pack([{"number": n, "text": f"row {n}"} for n in range(9)], tmp_path, name="rows", shuffle=False)

    assert numbers(tmp_path) == list(range(9))
    assert columns(tmp_path, "train")["text"].to_list() == [f"row {n}".encode() for n in range(9)]


def test_an_iterable_without_a_length_is_spooled_and_shuffled(tmp_path):
    pack(({"number": n} for n in range(30)), tmp_path, name="rows")

    assert sorted(numbers(tmp_path)) == list(range(30))
    assert numbers(tmp_path) != list(range(30))


def test_sequences_are_packed_as_sequence_examples_when_the_schema_says_so(tmp_path):
    types = Schema({"number": Scalar(), "tokens": Sequence(Scalar())}, records="SequenceExample")
    items = [{"number": n, "tokens": list(range(n % 4))} for n in range(12)]
    pack(Items(items, types), tmp_path, name="tokens", shuffle=False, shards=2)

    found = columns(tmp_path, "train")
    assert open_dataset(tmp_path).schema == types
    assert found["tokens"].to_list() == [item["tokens"] for item in items]
    # TensorFlow Datasets reads Examples alone, so no metadata says that it could open this.
    assert not (tmp_path / "dataset_info.json").exists()


def test_tfrecords_are_sharded_anew_as_they_are(tmp_path):
    pack(TinySource(30), tmp_path / "one", name="tiny", shards=3)
    dataset = open_dataset(tmp_path / "one")
    files = dataset.splits["train"].files
    source = TFRecords(files, types=dataset.schema)
    pack(source, tmp_path / "two", name="tiny", shards=2, split={"train": 0.5, "test": 0.5})

    both = open_dataset(tmp_path / "two").splits
    new = [record for split in both.values() for file in split.files for record in TFRecordReader(file)]
    assert sorted(new) == sorted(record for file in files for record in TFRecordReader(file))
    assert open_dataset(tmp_path / "two").schema == dataset.schema


# --- What is there already -----------------------------------------------------------------------


def test_a_data_set_that_is_there_is_not_touched(tmp_path):
    pack(TinySource(9), tmp_path, name="tiny")
    before = contents(tmp_path)

    with pytest.raises(PackError, match=r"holds a data set already: .*--overwrite"):
        pack(TinySource(5), tmp_path, name="tiny")
    assert contents(tmp_path) == before


def test_overwriting_replaces_all_of_the_old_data_set(tmp_path):
    pack(TinySource(9), tmp_path / "out", name="old", split=SPLIT, shards=2)
    pack(TinySource(5), tmp_path / "out", name="new", overwrite=True)
    pack(TinySource(5), tmp_path / "fresh", name="new")

    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("named", ["../mine", "{root}/mine", "folder", "."])
def test_overwriting_removes_nothing_but_shards_whatever_the_old_metadata_names(tmp_path, named):
    out = tmp_path / "out"
    pack(TinySource(9), out, name="old")
    (tmp_path / "mine").write_text("kept")
    (out / "folder").mkdir()
    (out / "folder" / "mine").write_text("kept")
    manifest = json.loads((out / ".wellfed" / "manifest.json").read_text())
    manifest["splits"]["train"][0]["file"] = named.format(root=tmp_path)
    (out / ".wellfed" / "manifest.json").write_text(json.dumps(manifest))

    pack(TinySource(5), out, name="new", overwrite=True)
    assert [path.read_text() for path in (tmp_path / "mine", out / "folder" / "mine")] == ["kept", "kept"]
    assert len(numbers(out)) == 5


def test_overwriting_with_the_same_options_makes_damaged_shards_good(tmp_path):
    pack(TinySource(9), tmp_path, name="tiny")
    before = contents(tmp_path)
    (tmp_path / "tiny-train.tfrecord-00000-of-00001").write_bytes(b"damaged")

    pack(TinySource(9), tmp_path, name="tiny", overwrite=True)
    assert contents(tmp_path) == before


def test_other_peoples_files_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(PackError, match=r"holds no data set, but 'notes\.txt'"):
        pack(TinySource(5), tmp_path, name="tiny", overwrite=True)
    assert list(contents(tmp_path)) == ["notes.txt"]


def test_an_empty_folder_that_is_there_is_used(tmp_path):
    (tmp_path / "out").mkdir()
    pack(TinySource(5), tmp_path / "out", name="tiny")

    assert len(numbers(tmp_path / "out")) == 5


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "out").touch()

    with pytest.raises(PackError, match="is a file"):
        pack(TinySource(5), tmp_path / "out", name="tiny")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_an_error_at_once(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="Permission denied"):
        pack(TinySource(5), tmp_path / "out", name="tiny")
    tmp_path.chmod(0o700)


# --- Versions ------------------------------------------------------------------------------------


def test_a_version_stands_beside_an_older_one_and_is_switched_when_whole(tmp_path):
    pack(TinySource(5), tmp_path, name="tiny", version="1.0.0")
    pack(TinySource(8), tmp_path, name="tiny", version="1.1.0")

    assert len(numbers(tmp_path)) == 8
    assert open_dataset(tmp_path).version == "1.1.0"
    assert open_dataset(tmp_path, version="1.0.0").splits["train"].records == 5


def test_a_version_that_fails_leaves_the_older_one_current(tmp_path):
    pack(TinySource(5), tmp_path, name="tiny", version="1.0.0")
    with pytest.raises(SourceError, match="is broken"):
        pack(TinySource(8, bad=(3,)), tmp_path, name="tiny", version="1.1.0")

    assert open_dataset(tmp_path).version == "1.0.0"
    assert not (tmp_path / "1.1.0").exists()


def test_a_version_beside_a_data_set_without_one_leaves_that_whole(tmp_path):
    pack(TinySource(5), tmp_path, name="tiny")
    pack(TinySource(8), tmp_path, name="tiny", version="1.1.0")

    assert open_dataset(tmp_path).version == "1.1.0"
    assert open_dataset(tmp_path, version="1.0.0").splits["train"].records == 5


def test_packing_without_a_version_where_versions_are_asks_for_one(tmp_path):
    pack(TinySource(5), tmp_path, name="tiny", version="1.0.0")

    with pytest.raises(PackError, match="holds versions of a data set"):
        pack(TinySource(5), tmp_path, name="tiny", overwrite=True)


# --- Bad items -----------------------------------------------------------------------------------


def test_a_bad_item_ends_the_pack_with_its_name_and_leaves_nothing(tmp_path):
    with pytest.raises(SourceError, match="item/3: is broken"):
        pack(TinySource(5, bad=(3,)), tmp_path / "out", name="tiny")

    assert not (tmp_path / "out").exists()


def test_skipped_items_are_counted_and_named(tmp_path):
    report = pack(TinySource(20, bad=(3, 11)), tmp_path, name="tiny", split=SPLIT, on_error="skip")

    assert sorted(item.item for item in report.skipped) == ["item/11", "item/3"]
    assert {item.reason for item in report.skipped} == {"is broken"}
    assert sum(report.records.values()) == 18
    assert open_dataset(tmp_path).manifest.skipped == report.skipped


def test_what_the_listing_skipped_is_in_the_manifest_too(tmp_path):
    skips = (("a/.hidden", "is hidden"), ("a/b.txt", "is no picture"), ("c/", "is empty"))
    report = pack(TinySource(5, skips=skips), tmp_path, name="tiny")

    assert [(item.item, item.reason) for item in report.skipped] == list(skips)
    assert [item.item for item in report.lost] == ["a/b.txt"]


def test_an_error_of_the_users_source_names_the_item(tmp_path):
    with pytest.raises(PackError, match="item/2: ZeroDivisionError: "):
        pack(Dividing(5), tmp_path, name="tiny")


class Dividing(TinySource):
    def load(self, index):
        item = super().load(index)
        return item | {"number": 1 // (int(item["number"]) - 2)}


def test_an_item_that_does_not_fit_the_schema_names_itself_and_the_feature(tmp_path):
    with pytest.raises(PackError, match='item/0: feature "label": expected a class from 0 to 2, got 9'):
        pack(Mislabelled(1), tmp_path, name="tiny")


class Mislabelled(TinySource):
    def load(self, index):
        return super().load(index) | {"label": 9}


def test_only_many_pictures_that_are_decoded_are_work_for_processes(tmp_path):
    def kind(count, workers, **pictures):
        items = Items([{"image": b"\x89PNG\r\n\x1a\n"}] * count, Schema({"image": Image()}))
        job = Job.plan(items, PackOptions(name="d", shards=2, pictures=PictureOptions(**pictures)))
        pool = local_pool(job, workers)
        pool.close()
        return pool.processes

    assert kind(2000, 2, check=True)
    assert not kind(1999, 2, check=True)
    assert not kind(2000, 1, check=True)
    assert not kind(2000, 2)


# --- Plan, progress ------------------------------------------------------------------------------


def test_a_plan_writes_nothing_and_says_what_would_be(tmp_path):
    plan = plan_pack(TinySource(30), tmp_path / "out", PackOptions(name="tiny", split=SPLIT, shards=2))
    pack(TinySource(30), tmp_path / "out", name="tiny", split=SPLIT, shards=2)

    dataset = open_dataset(tmp_path / "out")
    assert {name: split.items for name, split in plan.splits.items()} == {
        n: s.records for n, s in dataset.splits.items()
    }
    assert plan.splits["train"].shards == [shard.file for shard in dataset.manifest.splits["train"]]
    assert sum(plan.splits["train"].classes.values()) == plan.splits["train"].items


def test_progress_ends_at_all_items_and_never_goes_back(tmp_path):
    told = []
    pack(TinySource(200), tmp_path, name="tiny", shards=5, progress=told.append)

    assert (told[-1].items, told[-1].shards, told[-1].bytes_in) == (200, 5, 20_000)
    assert [now.items for now in told] == sorted(now.items for now in told)


def test_an_error_in_the_progress_callback_ends_the_pack(tmp_path):
    with pytest.raises(RuntimeError, match="from the callback"):
        pack(TinySource(5), tmp_path / "out", name="tiny", progress=fail)


def fail(_):
    raise RuntimeError("from the callback")


# --- Behind a URL --------------------------------------------------------------------------------


def test_packing_to_a_url_gives_the_same_files(tmp_path):
    url = f"memory://{tmp_path.name}/packed"
    pack(TinySource(20), url, name="tiny", split=SPLIT, shards=2)
    pack(TinySource(20), tmp_path / "here", name="tiny", split=SPLIT, shards=2)

    remote = open_dataset(url)
    assert remote.manifest == open_dataset(tmp_path / "here").manifest
    assert numbers(url, "test") == numbers(tmp_path / "here", "test")
    assert all(RecordIndex.find(file) for file in remote.splits["train"].files)


def test_a_failed_pack_to_a_url_is_no_data_set(tmp_path):
    url = f"memory://{tmp_path.name}/failed"
    with pytest.raises(SourceError, match="is broken"):
        pack(TinySource(20, bad=(0,)), url, name="tiny")

    with pytest.raises(DatasetError, match="no such folder"):
        open_dataset(url)


def test_the_manifest_holds_no_time_place_or_machine(tmp_path):
    pack(TinySource(5), tmp_path / "a" / "b", name="tiny")

    text = (tmp_path / "a" / "b" / ".wellfed" / "manifest.json").read_text()
    assert str(tmp_path) not in text
    assert set(json.loads(text)["options"]) == set(PackOptions(name="tiny").to_json())
