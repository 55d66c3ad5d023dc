"""S3's protocol on loopback: a moto server, and buckets in it."""

import re

import fsspec
import pytest


@pytest.fixture(scope="module")
def server():
    """Starts a server, and gives s3fs its address."""
    moto_server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    s3fs.S3FileSystem.clear_instance_cache()  # One made for another server may be kept there.
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
