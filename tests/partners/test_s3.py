"""Packing to S3's protocol: a moto server on loopback, through s3fs."""

import re

import fsspec
import pytest
from packed_folder import numbers
from tiny_source import TinySource

from wellfed.datasets import open_dataset
from wellfed.errors import DatasetError, SourceError
from wellfed.io import RecordIndex
from wellfed.packing import pack

pytestmark = pytest.mark.s3

OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 2}


@pytest.fixture(scope="module")
def server():
    """Starts a server, and gives s3fs its address."""
    moto_server = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    running = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "x")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        yield
    running.stop()


@pytest.fixture
def bucket(server, request):
    """Returns the URL of an empty bucket."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60]
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}"


def keys(bucket):
    """Returns the names of all objects."""
    system = fsspec.filesystem("s3")
    system.invalidate_cache()
    return sorted(system.find(bucket))


def test_packing_to_s3_gives_the_same_data_set(bucket, tmp_path):
    pack(TinySource(40), f"{bucket}/d", **OPTIONS)
    pack(TinySource(40), tmp_path / "here", **OPTIONS)

    assert open_dataset(f"{bucket}/d").manifest == open_dataset(tmp_path / "here").manifest
    assert numbers(f"{bucket}/d") == numbers(tmp_path / "here")
    assert all(RecordIndex.find(file) for file in open_dataset(f"{bucket}/d").splits["test"].files)
    assert not [name for name in keys(bucket) if "/pack/" in name]


def test_a_pack_to_s3_that_failed_goes_on(bucket, tmp_path):
    options = {"name": "tiny", "shards": 4, "shuffle": False, "workers": 1}
    with pytest.raises(SourceError, match="is broken"):
        pack(TinySource(40, bad=(39,)), f"{bucket}/d", **options)
    with pytest.raises(DatasetError, match="is not whole yet"):
        open_dataset(f"{bucket}/d")

    report = pack(TinySource(40), f"{bucket}/d", **options)
    assert report.resumed_shards >= 1
    assert numbers(f"{bucket}/d") == list(range(40))


def test_overwriting_on_s3_leaves_nothing_of_the_old_data_set(bucket):
    pack(TinySource(40), f"{bucket}/d", **OPTIONS)
    pack(TinySource(9), f"{bucket}/d", name="new", overwrite=True)

    assert numbers(f"{bucket}/d") != []
    assert not [name for name in keys(bucket) if "tiny" in name]
