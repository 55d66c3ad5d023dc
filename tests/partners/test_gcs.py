"""Packing to and reading through Google Cloud Storage's protocol: a server on loopback, through gcsfs."""

import math
import multiprocessing

import fsspec
import pytest
from gcs_server import gcs, gcs_bucket
from packed_folder import numbers
from remote_shard import MIB, PAYLOADS, put_shard
from tiny_source import TinySource

import wellfed as wf
from wellfed.datasets import open_dataset
from wellfed.errors import FileChangedError, RemoteError
from wellfed.io import RecordIndex, Records, TFRecordReader
from wellfed.packing import pack

__all__ = ["gcs", "gcs_bucket"]  # Fixtures.

# aiohttp's advice to gcsfs, from 1 MiB on.
pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("ignore:Sending a large body directly")]

AT_ONCE = wf.RemoteOptions(pause_seconds=0)


@pytest.fixture
def url(gcs_bucket):
    return put_shard(gcs_bucket)


@pytest.fixture
def requests(monkeypatch):
    """Every call that gcsfs makes, by its method and range; refused with a status as often as is told."""
    from gcsfs.core import GCSFileSystem
    from gcsfs.retry import HttpError

    made, refusals = [], []
    call = GCSFileSystem._call

    async def counting(self, method, path, *args, headers=None, **options):
        made.append((method, (headers or {}).get("Range")))
        if refusals:
            raise HttpError({"code": refusals.pop(0), "message": "Backend Error"})
        return await call(self, method, path, *args, headers=headers, **options)

    monkeypatch.setattr(GCSFileSystem, "_call", counting)
    counting.made, counting.refusals = made, refusals
    return counting


def test_packing_to_gcs_gives_the_same_data_set(gcs_bucket, tmp_path):
    options = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 2}
    pack(TinySource(40), f"{gcs_bucket}/d", **options)
    pack(TinySource(40), tmp_path / "here", **options)

    assert open_dataset(f"{gcs_bucket}/d").manifest == open_dataset(tmp_path / "here").manifest
    assert numbers(f"{gcs_bucket}/d") == numbers(tmp_path / "here")
    assert all(RecordIndex.find(file) for file in open_dataset(f"{gcs_bucket}/d").splits["test"].files)


def test_a_pass_takes_no_more_requests_than_8_mib_ranges_and_two_for_the_size(url, requests):
    reader = TFRecordReader(url)
    assert list(reader) == PAYLOADS
    ranges = [span for _, span in requests.made if span]
    assert len(ranges) == math.ceil(100 * 100_016 / (8 * MIB))
    assert reader.remote_stats.requests == len(ranges) + 1  # gcsfs makes two or three of the one for the size.


def test_random_rows_of_100_kb_take_one_request_each(url, requests):
    records = Records(url)
    assert len(records) == 100
    requests.made.clear()

    for row in (70, 3, 41):
        assert records[row] == PAYLOADS[row]
    assert requests.made == [("GET", f"bytes={row * 100_016}-{(row + 1) * 100_016 - 1}") for row in (70, 3, 41)]


def test_a_first_epoch_in_order_reads_each_range_once_and_leaves_the_index(gcs_bucket, requests):
    spec = {"blob": wf.FixedLenFeature([], bytes)}
    for shard in range(2):
        with wf.TFRecordWriter(f"{gcs_bucket}/s-{shard}.tfrecord") as writer:
            for payload in PAYLOADS:
                writer.write(wf.encode_example({"blob": payload}))
    dataset = wf.TFRecordDataset(f"{gcs_bucket}/s-*.tfrecord", spec)
    requests.made.clear()

    assert [row["blob"] for row in iter(dataset)] == PAYLOADS * 2
    ranges = [span for _, span in requests.made if span and span != "bytes=0-"]
    assert len(ranges) == 2 * math.ceil(100 * 100_040 / (8 * MIB))
    assert all(RecordIndex.find(f"{gcs_bucket}/s-{shard}.tfrecord") for shard in range(2))
    assert len(list(dataset.shuffle(seed=0))) == 200


def test_shards_are_kept_on_disk(url, requests, tmp_path):
    dataset = wf.TFRecordDataset(url, remote=wf.RemoteOptions(cache_dir=tmp_path / "shards"))
    assert sorted(iter(dataset.shuffle(seed=0))) == sorted(PAYLOADS)
    requests.made.clear()

    assert sorted(iter(dataset.shuffle(seed=1))) == sorted(PAYLOADS)
    assert [span for _, span in requests.made if span] == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_status_that_passes_is_tried_again(url, requests, status):
    requests.refusals[:] = [status] * 2
    reader = TFRecordReader(url, remote=AT_ONCE)

    assert list(reader) == PAYLOADS
    assert reader.remote_stats.retries >= 1


def test_a_server_that_never_recovers_is_named(url, requests):
    requests.refusals[:] = [503] * 100

    with pytest.raises(RemoteError, match=rf"{url}: its size could not be read in 5 attempts: .*Backend Error"):
        list(TFRecordReader(url, remote=AT_ONCE))


@pytest.mark.parametrize("status", [401, 403])
def test_what_may_not_be_read_is_named(url, requests, status):
    requests.refusals[:] = [status] * 10

    with pytest.raises(PermissionError, match=f"{url}: access denied .*credentials"):
        list(TFRecordReader(url, remote=AT_ONCE))


@pytest.mark.parametrize("name", ["{bucket}/nowhere.tfrecord", "gs://no-such-bucket-here/x.tfrecord"])
def test_what_is_not_there_is_named(gcs_bucket, name):
    name = name.format(bucket=gcs_bucket)

    with pytest.raises(FileNotFoundError, match=f"{name}: there is no such file or bucket"):
        list(TFRecordReader(name))


def test_an_object_that_was_replaced_is_noticed(url):
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    fsspec.filesystem("gs").pipe_file(url, bytes(100 * 100_016))

    with pytest.raises(FileChangedError, match="its version was"):
        records[6]


def test_a_replaced_object_is_never_mixed_in(gcs_bucket, url):
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    with wf.TFRecordWriter(f"{gcs_bucket}/x.tfrecord", overwrite=True) as writer:
        writer.write_many(PAYLOADS[::-1])

    with pytest.raises(FileChangedError, match=f"{url}: .*its version was .*generation="):
        records[6]


def _read_in_child(records, answers):
    answers.put((records[7], records.take([3, 4], in_order=True).to_list()))


@pytest.mark.parametrize("method", ["fork"])
def test_what_was_read_before_a_process_began_is_read_in_it(url, method):
    context = multiprocessing.get_context(method)
    records = Records(url)
    assert list(records) == PAYLOADS  # fsspec's loop and its connections belong to this process now.
    answers = context.SimpleQueue()
    child = context.Process(target=_read_in_child, args=(records, answers))
    child.start()

    assert answers.get() == (PAYLOADS[7], [PAYLOADS[3], PAYLOADS[4]])
    child.join(60)
    assert child.exitcode == 0
