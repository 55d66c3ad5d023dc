"""Which data set a folder holds, and what is said where it holds none."""

import json

import pytest

from wellfed.datasets import Manifest, Scalar, Schema, Shard, open_dataset
from wellfed.datasets.folder import open_folder
from wellfed.datasets.manifest import MANIFEST, pointer_to_json
from wellfed.errors import DatasetError

SCHEMA = Schema({"x": Scalar()})


def write(folder, version="1.0.0", **extra):
    manifest = Manifest(name="d", version=version, schema=SCHEMA, splits={"train": (Shard("a", 3, 9, ""),)})
    text = json.dumps(json.loads(manifest.to_json()) | extra)
    open_folder(folder).write(MANIFEST, text.encode())


def test_a_packed_folder_opens_with_what_its_manifest_says(tmp_path):
    write(tmp_path)

    dataset = open_dataset(tmp_path)

    assert (dataset.name, dataset.version, dataset.schema) == ("d", "1.0.0", SCHEMA)
    assert dataset.splits["train"].files == [str(tmp_path / "a")]
    assert dataset.splits["train"].record_counts == [3]


def test_versions_open_by_the_pointer_or_by_name(tmp_path):
    write(tmp_path / "1.0.0")
    write(tmp_path / "1.1.0", "1.1.0")
    (tmp_path / ".wellfed").mkdir()
    (tmp_path / MANIFEST).write_text(pointer_to_json("1.0.0"))

    assert open_dataset(tmp_path).version == "1.0.0"
    assert open_dataset(tmp_path, version="1.1.0").version == "1.1.0"
    assert open_dataset(tmp_path / "1.1.0").version == "1.1.0"


def test_a_data_set_packed_before_there_were_versions_opens_by_its_own(tmp_path):
    write(tmp_path, current="1.1.0")
    write(tmp_path / "1.1.0", "1.1.0")

    assert open_dataset(tmp_path).version == "1.1.0"
    assert open_dataset(tmp_path, version="1.0.0").folder == str(tmp_path)


def test_a_data_set_behind_a_url_opens_with_urls():
    write("memory://test_open_dataset/d")

    dataset = open_dataset("memory://test_open_dataset/d/")

    assert dataset.splits["train"].files == ["memory://test_open_dataset/d/a"]


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(DatasetError, match="no such folder, or it is empty"):
        open_dataset(tmp_path / "no")


def test_a_folder_of_bare_files_says_how_to_open_them(tmp_path):
    (tmp_path / "a.tfrecord").touch()

    with pytest.raises(DatasetError, match="by a pattern"):
        open_dataset(tmp_path)


def test_a_pack_that_has_not_ended_is_no_data_set(tmp_path):
    (tmp_path / ".wellfed" / "pack").mkdir(parents=True)
    (tmp_path / ".wellfed" / "pack" / "plan.json").touch()
    (tmp_path / "dataset_info.json").write_text("{}")

    with pytest.raises(DatasetError, match="is not whole yet"):
        open_dataset(tmp_path)


def test_a_version_that_is_not_there_names_those_that_are(tmp_path):
    write(tmp_path / "1.0.0")

    with pytest.raises(DatasetError, match=r"has no version 2\.0\.0; it has 1\.0\.0"):
        open_dataset(tmp_path, version="2.0.0")
