"""Packing on real clusters of this machine: Dask with two worker processes, and Ray."""

import os
import sys
from pathlib import Path

import killed_pack
import pytest
from packed_folder import contents
from tiny_source import TinySource

from wellfed.errors import SourceError
from wellfed.packing import dask_executor, pack, ray_executor

pytestmark = pytest.mark.clusters

OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 4}


@pytest.fixture(scope="module", autouse=True)
def _workers_find_the_tests():
    """Gives the workers the path of this process."""
    with pytest.MonkeyPatch.context() as patch:
        support = str(Path(killed_pack.__file__).parent)
        patch.setenv("PYTHONPATH", os.pathsep.join([support, *sys.path]))
        yield


@pytest.fixture
def cluster():
    """Returns a Dask cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


def test_dask_gives_the_same_bytes(tmp_path, cluster):
    pack(TinySource(60), tmp_path / "here", **OPTIONS)
    with dask_executor(cluster.scheduler_address) as executor:
        pack(TinySource(60), tmp_path / "there", executor=executor, **OPTIONS)

    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_a_killed_dask_worker_changes_nothing(tmp_path, cluster):
    pack(TinySource(60), tmp_path / "here", **OPTIONS)
    killing = killed_pack.KillsItsProcess(60, marker=str(tmp_path / "marker"))
    with dask_executor(cluster.scheduler_address) as executor:
        pack(killing, tmp_path / "there", executor=executor, **OPTIONS)

    assert (tmp_path / "marker").exists()
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_the_error_of_an_item_comes_back_from_dask(tmp_path, cluster):
    with dask_executor(cluster.scheduler_address) as executor, pytest.raises(SourceError, match="item/7: is broken"):
        pack(TinySource(60, bad=(7,)), tmp_path / "there", executor=executor, **OPTIONS)


# Ray 2.30 leaves its logs open, and its servers running.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <(_io.FileIO name='/tmp/ray/|function Popen.__del__)")
def test_ray_gives_the_same_bytes(tmp_path):
    pytest.importorskip("ray")
    pack(TinySource(60), tmp_path / "here", **OPTIONS)
    with ray_executor("local") as executor:
        pack(TinySource(60), tmp_path / "there", executor=executor, **OPTIONS)
        with pytest.raises(SourceError, match="item/7: is broken"):
            pack(TinySource(60, bad=(7,)), tmp_path / "bad", executor=executor, **OPTIONS)

    assert contents(tmp_path / "there") == contents(tmp_path / "here")
