"""Reading through S3's protocol: as many requests as were promised, and errors that name the URL."""

import math
import multiprocessing

import boto3
import fsspec
import numpy as np
import pytest
from remote_shard import MIB, PAYLOADS, put_shard
from s3_server import bucket, server

import wellfed as wf
from wellfed.errors import FileChangedError, RemoteError
from wellfed.io import RecordIndex, Records, TFRecordReader
from wellfed.io.attempts import passes

__all__ = ["bucket", "server"]  # Fixtures.

pytestmark = pytest.mark.s3


@pytest.fixture
def url(bucket):
    return put_shard(bucket)


@pytest.fixture
def requests(monkeypatch):
    """Every call that s3fs makes, by its name and range."""
    import s3fs

    made = []
    call = s3fs.S3FileSystem._call_s3

    async def counting(self, method, *args, **options):
        made.append((method, options.get("Range")))
        return await call(self, method, *args, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", counting)
    return made


def test_a_pass_takes_no_more_requests_than_8_mib_ranges_and_two(url, requests):
    assert list(TFRecordReader(url)) == PAYLOADS
    size = 100 * 100_016
    assert requests.count(("head_object", None)) == 1
    assert len(requests) == 1 + math.ceil(size / (8 * MIB)) <= size / (8 * MIB) + 2


def test_random_rows_of_100_kb_take_one_request_each(url, requests):
    records = Records(url)
    assert len(records) == 100
    requests.clear()

    for row in (70, 3, 41):
        assert records[row] == PAYLOADS[row]
    assert requests == [("get_object", f"bytes={row * 100_016}-{(row + 1) * 100_016 - 1}") for row in (70, 3, 41)]
    requests.clear()
    assert records.take([5, 60, 30]).to_list() == [PAYLOADS[row] for row in (5, 60, 30)]
    assert records[10:20].to_list() == PAYLOADS[10:20]
    assert len(requests) == 4


def test_a_feed_over_s3_is_shuffled_and_cached(bucket, requests, tmp_path):
    spec = {"x": wf.FixedLenFeature([], np.int64)}
    for shard in range(3):
        with wf.TFRecordWriter(f"{bucket}/s-{shard}.tfrecord") as writer:
            for row in range(50):
                writer.write(wf.encode_example({"x": 50 * shard + row}))
    dataset = wf.TFRecordDataset(f"{bucket}/s-*.tfrecord", spec, remote=wf.RemoteOptions(cache_dir=tmp_path / "shards"))

    assert sorted(int(row["x"]) for row in dataset.shuffle(seed=0)) == list(range(150))
    requests.clear()
    assert [int(row["x"]) for row in dataset] == list(range(150))
    assert {method for method, _ in requests} == {"head_object"}


def _read_in_child(records, dataset, answers):
    answers.put((records[7], records.take([3, 4], in_order=True).to_list(), sum(len(batch) for batch in dataset)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_was_read_before_a_process_began_is_read_in_it(url, method):
    context = multiprocessing.get_context(method)
    records, dataset = Records(url), wf.TFRecordDataset(url).batch(16)
    assert list(records) == PAYLOADS  # fsspec's loop and its connections belong to this process now.
    assert sum(len(batch) for batch in dataset) == 100
    answers = context.SimpleQueue()
    child = context.Process(target=_read_in_child, args=(records, dataset, answers))
    child.start()

    assert answers.get() == (PAYLOADS[7], [PAYLOADS[3], PAYLOADS[4]], 100)
    child.join(60)
    assert child.exitcode == 0
    assert records[8] == PAYLOADS[8]


def test_an_object_that_was_replaced_is_noticed(url):
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    fsspec.filesystem("s3").pipe_file(url, bytes(100 * 100_016))

    with pytest.raises(FileChangedError, match="its version was etag="):
        records[6]


@pytest.mark.parametrize("in_order", [False, True])
def test_a_replaced_object_is_never_mixed_in(bucket, url, in_order):
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    with wf.TFRecordWriter(f"{bucket}/x.tfrecord", overwrite=True) as writer:
        writer.write_many(PAYLOADS[::-1])

    with pytest.raises(FileChangedError, match=f"{url}: .*its version was etag="):
        records.take([6, 7], in_order=in_order)


@pytest.mark.parametrize("name", ["{bucket}/nowhere.tfrecord", "s3://no-such-bucket-here/x.tfrecord"])
def test_what_is_not_there_is_named(bucket, name):
    name = name.format(bucket=bucket)

    with pytest.raises(FileNotFoundError, match=f"{name}: there is no such file or bucket"):
        list(TFRecordReader(name))


def test_what_may_not_be_read_is_named(url, monkeypatch):
    import s3fs

    async def forbidden(self, method, *args, **options):
        raise PermissionError("Forbidden")

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", forbidden)
    with pytest.raises(PermissionError, match=f"{url}: access denied .*Forbidden.*credentials"):
        list(TFRecordReader(url))


@pytest.fixture
def _no_server(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # Nobody listens at the port of "discard".
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    fsspec.filesystem("s3").clear_instance_cache()
    yield
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.usefixtures("_no_server")
def test_a_server_that_is_not_there_is_tried_again_and_named():
    reader = TFRecordReader("s3://bucket/x.tfrecord", remote=wf.RemoteOptions(attempts=2, pause_seconds=0))

    with pytest.raises(
        RemoteError, match=r"s3://bucket/x\.tfrecord: its size could not be read in 2 attempts: .*connect"
    ):
        list(reader)
    assert reader.remote_stats.retries == 1


@pytest.mark.parametrize(
    ("code", "status", "due"), [("SlowDown", 503, True), ("InternalError", 500, True), ("NoSuchKey", 404, False)]
)
def test_the_drivers_own_errors_are_told_apart(code, status, due):
    from botocore.exceptions import ClientError
    from s3fs.errors import translate_boto_error

    response = {"Error": {"Code": code, "Message": "x"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = ClientError(response, "GetObject")

    assert passes(error) == passes(translate_boto_error(error)) == due
    assert boto3.__version__


def test_a_first_epoch_in_order_reads_each_range_once_and_leaves_the_index(bucket, requests):
    spec = {"blob": wf.FixedLenFeature([], bytes)}
    for shard in range(2):
        with wf.TFRecordWriter(f"{bucket}/s-{shard}.tfrecord") as writer:
            for payload in PAYLOADS:
                writer.write(wf.encode_example({"blob": payload}))
    dataset = wf.TFRecordDataset(f"{bucket}/s-*.tfrecord", spec)
    requests.clear()

    assert [row["blob"] for row in iter(dataset)] == PAYLOADS * 2
    ranges = [span for method, span in requests if method == "get_object"]
    assert ranges.count("bytes=0-") == 2  # Is there an index?
    assert len(ranges) - 2 == 2 * math.ceil(100 * 100_040 / (8 * MIB))
    assert [method for method, _ in requests if method != "get_object"] == ["head_object"] * 2 + ["put_object"] * 2
    assert all(RecordIndex.find(f"{bucket}/s-{shard}.tfrecord") for shard in range(2))
