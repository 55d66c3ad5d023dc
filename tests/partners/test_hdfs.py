"""Packing to and reading through Hadoop's file system: a NameNode and a DataNode on loopback, through hdfs-native."""

import contextlib
import math
import multiprocessing
import subprocess
import sys

import fsspec
import pytest
from hdfs_server import hadoop, hdfs_folder
from packed_folder import numbers
from remote_shard import MIB, PAYLOADS, put_shard
from tiny_source import TinySource

import wellfed as wf
from wellfed.datasets import open_dataset
from wellfed.errors import DatasetError, FileChangedError, RemoteError, SourceError
from wellfed.io import RecordIndex, Records, TFRecordReader
from wellfed.io.access import Access
from wellfed.packing import pack

__all__ = ["hadoop", "hdfs_folder"]  # Fixtures.

pytestmark = pytest.mark.hdfs

OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 2}
SPEC = {"blob": wf.FixedLenFeature([], bytes)}


@pytest.fixture
def url(hdfs_folder):
    return put_shard(hdfs_folder)


@pytest.fixture
def shards(hdfs_folder):
    """The URLs of two shards of Examples without an index."""
    found = [f"{hdfs_folder}/s-{number}.tfrecord" for number in range(2)]
    for shard in found:
        with wf.TFRecordWriter(shard) as writer:
            for payload in PAYLOADS:
                writer.write(wf.encode_example({"blob": payload}))
    return found


@pytest.fixture
def requests(monkeypatch):
    """Every question about a file, and every range of one, that hdfs-native is asked for."""
    from hdfs_native.fsspec import HdfsFileSystem

    made = []
    info, cat_file = HdfsFileSystem.info, HdfsFileSystem.cat_file

    def counting_info(self, path, **options):
        made.append("info")
        return info(self, path, **options)

    def counting_cat_file(self, path, start=None, end=None, **options):
        made.append((start, end))
        return cat_file(self, path, start, end, **options)

    monkeypatch.setattr(HdfsFileSystem, "info", counting_info)
    monkeypatch.setattr(HdfsFileSystem, "cat_file", counting_cat_file)
    return made


@pytest.fixture
def without_datanode(hadoop):
    """Called, ends the DataNode; it comes back after the test."""
    ended = []

    def end():
        hadoop.kill_datanode()
        ended.append(True)

    yield end
    if ended:
        hadoop.start_datanode()


@pytest.fixture
def visitor(monkeypatch):
    """Called, has the next client be another user than the one that owns what is there."""
    system = fsspec.get_filesystem_class("hdfs")

    def become():
        monkeypatch.setenv("HADOOP_USER_NAME", "visitor")
        system.clear_instance_cache()

    yield become
    system.clear_instance_cache()


def names(folder):
    """What stands under a folder, folders too."""
    system, root = fsspec.core.url_to_fs(folder)
    return sorted(name[len(root) + 1 :] for name in system.find(root, withdirs=True) if name != root)


# --- Writing --------------------------------------------------------------------------------------


def test_packing_to_hdfs_gives_the_same_data_set(hdfs_folder, tmp_path):
    pack(TinySource(40), f"{hdfs_folder}/d", **OPTIONS)
    pack(TinySource(40), tmp_path / "here", **OPTIONS)

    assert open_dataset(f"{hdfs_folder}/d").manifest == open_dataset(tmp_path / "here").manifest
    assert numbers(f"{hdfs_folder}/d") == numbers(tmp_path / "here")
    assert all(RecordIndex.find(file) for file in open_dataset(f"{hdfs_folder}/d").splits["test"].files)
    here = {str(path.relative_to(tmp_path)).replace("here", "d", 1) for path in (tmp_path / "here").rglob("*")}
    assert set(names(hdfs_folder)) == {"d", *here}


def test_a_pack_to_hdfs_that_failed_goes_on(hdfs_folder):
    options = {"name": "tiny", "shards": 4, "shuffle": False, "workers": 1}
    with pytest.raises(SourceError, match="is broken"):
        pack(TinySource(40, bad=(39,)), f"{hdfs_folder}/d", **options)
    with pytest.raises(DatasetError, match="is not whole yet"):
        open_dataset(f"{hdfs_folder}/d")

    report = pack(TinySource(40), f"{hdfs_folder}/d", **options)
    assert report.resumed_shards >= 1
    assert numbers(f"{hdfs_folder}/d") == list(range(40))


def test_overwriting_on_hdfs_leaves_nothing_of_the_old_data_set(hdfs_folder):
    pack(TinySource(40), f"{hdfs_folder}/d", **OPTIONS)
    pack(TinySource(9), f"{hdfs_folder}/d", name="new", overwrite=True)

    assert numbers(f"{hdfs_folder}/d") != []
    assert not [name for name in names(hdfs_folder) if "tiny" in name]


def test_an_existing_file_is_not_overwritten_unless_told(url):
    with pytest.raises(FileExistsError, match=f"{url} exists already"):
        wf.TFRecordWriter(url)
    with wf.TFRecordWriter(url, overwrite=True) as writer:
        writer.write(b"new")

    assert list(TFRecordReader(url)) == [b"new"]


def test_of_two_writers_of_one_name_the_second_is_refused(hdfs_folder):
    name = f"{hdfs_folder}/x.tfrecord"
    first, second = wf.TFRecordWriter(name), wf.TFRecordWriter(name)
    first.write(b"first")
    first.close()
    second.write(b"second")

    with pytest.raises(FileExistsError, match=f"{name} exists already"):
        second.close()
    assert list(TFRecordReader(name)) == [b"first"]
    assert names(hdfs_folder) == ["x.tfrecord"]


def test_a_writer_that_fails_leaves_nothing(hdfs_folder):
    def fail():
        with wf.TFRecordWriter(f"{hdfs_folder}/x.tfrecord") as writer:
            writer.write_many(PAYLOADS)
            raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        fail()
    assert names(hdfs_folder) == []


def test_what_may_not_be_written_is_named(url, visitor):
    visitor()

    with pytest.raises(PermissionError, match=f"{url}: may not be written .*Permission denied: user=visitor"):
        wf.TFRecordWriter(url, overwrite=True)


# --- Reading --------------------------------------------------------------------------------------


def test_a_pass_takes_no_more_requests_than_8_mib_ranges_and_one_for_the_size(url, requests):
    reader = TFRecordReader(url)
    assert list(reader) == PAYLOADS
    assert requests.count("info") == 1
    assert len(requests) - 1 == reader.remote_stats.requests - 1 == math.ceil(100 * 100_016 / (8 * MIB))


def test_random_rows_of_100_kb_take_one_request_each(url, requests):
    records = Records(url)
    assert len(records) == 100
    requests.clear()

    for row in (70, 3, 41):
        assert records[row] == PAYLOADS[row]
    assert requests == [(row * 100_016, (row + 1) * 100_016) for row in (70, 3, 41)]
    requests.clear()
    assert records.take([5, 60, 30]).to_list() == [PAYLOADS[row] for row in (5, 60, 30)]
    assert records[10:20].to_list() == PAYLOADS[10:20]
    assert len(requests) == 4


def test_a_first_epoch_in_order_reads_each_range_once_and_leaves_the_index(shards, hdfs_folder, requests):
    dataset = wf.TFRecordDataset(f"{hdfs_folder}/s-*.tfrecord", SPEC)
    requests.clear()

    assert [row["blob"] for row in iter(dataset)] == PAYLOADS * 2
    ranges = [span for span in requests if span not in ("info", (0, None))]  # Is there an index?
    assert len(ranges) == 2 * math.ceil(100 * 100_040 / (8 * MIB))
    assert [name for name in names(hdfs_folder) if name.endswith(".index")] == [
        f".wellfed/s-{number}.tfrecord.index" for number in range(2)
    ]
    assert all(RecordIndex.find(shard) for shard in shards)


def test_a_shuffled_epoch_has_every_row_once(shards):
    rows = [row["blob"] for row in wf.TFRecordDataset(shards, SPEC).shuffle(seed=0)]

    assert rows != PAYLOADS * 2
    assert sorted(rows) == sorted(PAYLOADS * 2)


def test_shards_are_kept_on_disk(url, requests, tmp_path):
    dataset = wf.TFRecordDataset(url, remote=wf.RemoteOptions(cache_dir=tmp_path / "shards"))
    assert sorted(iter(dataset.shuffle(seed=0))) == sorted(PAYLOADS)
    requests.clear()

    assert sorted(iter(dataset.shuffle(seed=1))) == sorted(PAYLOADS)
    assert set(requests) == {"info"}


def test_a_data_set_is_opened_by_the_url_of_its_folder(hdfs_folder):
    pack(TinySource(40), f"{hdfs_folder}/d", **OPTIONS)
    train, test = (wf.open(f"{hdfs_folder}/d", split=split).shuffle(seed=0) for split in ("train", "test"))

    assert sorted(int(row["number"]) for split in (train, test) for row in split) == list(range(40))


def test_a_pattern_finds_shards_and_spells_them_with_their_host(shards, hdfs_folder):
    assert wf.io.expand_patterns(f"{hdfs_folder}/s-[0-9].tfrecord") == shards


@pytest.mark.parametrize("name", ["s-?.tfrecord", "s#1.tfrecord"])
def test_a_name_that_the_client_would_cut_is_refused(hdfs_folder, name):
    with pytest.raises(OSError, match="hdfs-native reads no further"):
        wf.open(f"{hdfs_folder}/{name}", features=SPEC)


@pytest.mark.parametrize("name", ["nowhere.tfrecord", "no-such-folder/x.tfrecord"])
def test_what_is_not_there_is_named_without_the_servers_stack(url, name):
    name = f"{url.rpartition('/')[0]}/{name}"

    with pytest.raises(FileNotFoundError, match=f"^{name}: there is no such file or bucket [^@]*$") as caught:
        list(TFRecordReader(name))
    assert "org.apache" not in str(caught.value)


def test_a_pattern_without_a_match_is_named(hdfs_folder):
    with pytest.raises(FileNotFoundError, match=f"no file matches {hdfs_folder}/"):
        wf.open(f"{hdfs_folder}/*.tfrecord", features=SPEC)


def test_a_folder_that_is_not_there_is_named(hdfs_folder):
    with pytest.raises(DatasetError, match=f"{hdfs_folder}/nowhere: only the folder .* this is no folder"):
        wf.open(f"{hdfs_folder}/nowhere", split="train")


def test_a_folder_in_a_files_place_is_named(url):
    folder = url.rpartition("/")[0]

    with pytest.raises(IsADirectoryError, match=f"{folder} is a folder: name the files in it"):
        list(TFRecordReader(folder))


def test_a_url_that_names_no_host_is_an_error_with_the_url():
    with pytest.raises(RemoteError, match=r"^hdfs:///x.tfrecord: .*No fs.defaultFS setting"):
        list(TFRecordReader("hdfs:///x.tfrecord"))


def test_a_file_that_was_replaced_by_one_as_long_is_noticed(url):
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    system, name = fsspec.core.url_to_fs(url)
    system.pipe_file(name, bytes(100 * 100_016))

    with pytest.raises(FileChangedError, match="its version was modification_time="):
        records[6]


def test_what_may_not_be_read_is_named(url, visitor):
    system, name = fsspec.core.url_to_fs(url)
    system.client.set_permission(name, 0o600)
    visitor()

    with pytest.raises(PermissionError, match=f"{url}: access denied .*Permission denied: user=visitor") as caught:
        list(TFRecordReader(url))
    assert "org.apache.hadoop.hdfs.server" not in str(caught.value)


def test_a_datanode_that_is_gone_is_asked_again_and_named(url, without_datanode):
    reader = TFRecordReader(url, remote=wf.RemoteOptions(attempts=3, pause_seconds=0))
    without_datanode()

    with pytest.raises(RemoteError, match=rf"{url}: bytes .* could not be read in 3 attempts: .*All DataNodes failed"):
        list(reader)
    assert reader.remote_stats.retries == 2


def test_a_namenode_that_is_not_there_is_named(monkeypatch):
    # As a user's configuration file would have it; by itself the client tries for three minutes.
    monkeypatch.setitem(fsspec.config.conf, "hdfs", {"dfs.client.failover.max.attempts": "1"})

    # Nobody listens at the port of "discard".
    with pytest.raises(RemoteError, match=r"^hdfs://127.0.0.1:9/x: its size could not be read .*Connection refused"):
        list(TFRecordReader("hdfs://127.0.0.1:9/x"))


def test_a_datanode_that_comes_back_is_read_from(url, hadoop):
    with contextlib.closing(Access(sleep=lambda _: hadoop.start_datanode())) as access:
        file = access.remote(url)
        hadoop.kill_datanode()

        assert bytes(file.read(12, 100_012)) == PAYLOADS[0]
        assert access.stats().retries == 1


def _read_in_child(records, answers):
    answers.put((records[7], records.take([3, 4], in_order=True).to_list()))


def test_what_was_read_before_a_process_began_is_read_in_it(url):
    context = multiprocessing.get_context("spawn")
    records = Records(url)
    assert list(records) == PAYLOADS
    answers = context.SimpleQueue()
    child = context.Process(target=_read_in_child, args=(records, answers))
    child.start()

    assert answers.get() == (PAYLOADS[7], [PAYLOADS[3], PAYLOADS[4]])
    child.join(60)
    assert child.exitcode == 0


# A process of its own: what the client leaves in this one may keep a fork of it for ever.
FORK = """
import os, sys
from wellfed.io import Records

records = Records(sys.argv[1])
assert len(list(records)) == 100
if os.fork() == 0:
    try:
        records[7]
    except OSError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_fork_is_refused_where_the_client_would_wait_for_ever(url):
    told = subprocess.run([sys.executable, "-c", FORK, url], capture_output=True, text=True, timeout=60, check=True)

    assert "hdfs-native does not work in a fork of a process that used it" in told.stdout
