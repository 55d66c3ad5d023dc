"""Packing to S3's protocol: a moto server on loopback, through s3fs."""

import fsspec
import pytest
from packed_folder import numbers
from s3_server import bucket, server
from tiny_source import TinySource

from wellfed.datasets import open_dataset
from wellfed.errors import DatasetError, SourceError
from wellfed.io import RecordIndex
from wellfed.packing import pack

__all__ = ["bucket", "server"]  # Fixtures.

pytestmark = pytest.mark.s3

OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 2}


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
