"""TensorFlow Datasets' metadata. The golden folder in tests/data/tfds was written by it; make.py there says how."""

import json
from pathlib import Path

import numpy as np
import pytest

from wellfed.datasets import (
    ByteString,
    ClassLabel,
    Image,
    Manifest,
    Scalar,
    Schema,
    Sequence,
    Shard,
    Tensor,
    Text,
    open_dataset,
)
from wellfed.datasets.folder import LocalFolder
from wellfed.datasets.tfds import read_schema, shard_name, tfds_files
from wellfed.errors import DatasetError
from wellfed.example import parse_example
from wellfed.io import TFRecordReader

ZOO = Path(__file__).parent.parent / "data" / "tfds" / "zoo"

# Sorted by name, as features.json is.
ZOO_SCHEMA = Schema(
    {
        "big": Scalar("uint64"),
        "blob": ByteString(),
        "box": Tensor((4,), "float32"),
        "camera/k": Tensor((2,), "float32"),
        "camera/side": Text(),
        "doubles": Tensor((2,), "float64", "bytes"),
        "flag": Scalar("bool"),
        "frames": Sequence(Image((2, 2, 3)), 2),
        "image": Image((4, 3, 1), encoding_format="png"),
        "label": ClassLabel(("cat", "dog", "élan")),
        "matrix": Tensor((2, 3), "float32"),
        "number": ClassLabel(num_classes=7),
        "objects/at": Sequence(Tensor((2,), "float32")),
        "objects/name": Sequence(ClassLabel(("a", "b"))),
        "photo": Image((None, None, 3)),
        "rows": Tensor((None, 2), "int32"),
        "small": Scalar("int16"),
        "text": Text(),
        "tokens": Sequence(Sequence(Scalar("int64"))),
        "zipped": Tensor((None, None), "uint8", "zlib"),
    }
)


@pytest.fixture(scope="module")
def zoo():
    """Returns the decoded columns of all rows of the golden data set, in the order of their numbers."""
    dataset = open_dataset(ZOO)
    records = [record for split in dataset.splits.values() for file in split.files for record in TFRecordReader(file)]
    columns = dataset.schema.decode(parse_example(records, dataset.schema.features()))
    order = np.argsort(columns["number"])
    return columns, order


def test_a_folder_that_tfds_wrote_is_opened_without_a_manifest():
    dataset = open_dataset(ZOO / "1.2.0")

    assert (dataset.name, dataset.version, dataset.manifest) == ("zoo", "1.2.0", None)
    assert {name: split.records for name, split in dataset.splits.items()} == {"train": 5, "test": 2}
    assert [Path(file).name for file in dataset.splits["train"].files] == ["zoo-train.tfrecord-00000-of-00001"]
    assert all(Path(file).is_file() for split in dataset.splits.values() for file in split.files)


def test_the_folder_of_versions_opens_the_highest(tmp_path):
    for version in ("1.2.0", "1.10.0"):
        folder = tmp_path / version
        folder.mkdir()
        for file in (ZOO / "1.2.0").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())

    assert open_dataset(tmp_path).folder == str(tmp_path / "1.10.0")
    assert open_dataset(tmp_path, version="1.2.0").folder == str(tmp_path / "1.2.0")


def test_every_feature_type_of_the_golden_folder_is_known():
    assert open_dataset(ZOO).schema == ZOO_SCHEMA


EXPECTED = {
    "big": lambda i: 2**63 + i,
    "label": lambda i: i % 3,
    "flag": lambda i: i % 2 == 0,
    "small": lambda i: -i,
    "box": lambda i: np.array([0.0, 0.25, 0.5, 1.0], np.float32),
    "matrix": lambda i: np.arange(6, dtype=np.float32).reshape(2, 3) + i,
    "doubles": lambda i: np.array([i + 0.1, i + 0.2]),
    "image": lambda i: np.full((4, 3, 1), i, np.uint8),
    "photo": lambda i: np.full((i + 1, 2, 3), i, np.uint8),
    "zipped": lambda i: np.full((i, 2), i, np.uint8),
    "camera/k": lambda i: np.array([i, 1], np.float32),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_and_pictures_that_tfds_wrote_are_read_as_they_were(zoo, name):
    columns, order = zoo

    for i, row in enumerate(order):
        np.testing.assert_array_equal(columns[name][row], EXPECTED[name](i))


LISTS = {
    "blob": lambda i: b"\xff\x00" * i,
    "text": lambda i: f"row {i}".encode(),
    "rows": lambda i: np.arange(2 * i).reshape(i, 2).tolist(),
    "tokens": lambda i: [list(range(k)) for k in range(i % 4)],
    "objects/name": lambda i: [k % 2 for k in range(i % 3)],
    "objects/at": lambda i: [[k, i] for k in range(i % 3)],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_tfds_wrote_are_read_as_they_were(zoo, name):
    columns, order = zoo
    found = columns[name].to_list()

    assert [found[row] for row in order] == [LISTS[name](i) for i in range(len(order))]


def test_a_sequence_of_pictures_of_one_size_is_one_array(zoo):
    columns, order = zoo

    np.testing.assert_array_equal(columns["frames"][order][:, 0, 0, 0, 0], np.arange(7))
    assert columns["frames"].shape == (7, 2, 2, 2, 3)


# --- Writing -------------------------------------------------------------------------------------


def manifest_of(schema):
    return Manifest(
        name="zoo", version="1.0.0", schema=schema, splits={"train": (Shard("a", 3, 148, ""), Shard("b", 2, 132, ""))}
    )


def test_the_metadata_written_is_read_back_as_the_same_schema(tmp_path):
    for name, content in tfds_files(manifest_of(ZOO_SCHEMA)).items():
        (tmp_path / name).write_bytes(content)

    assert read_schema(LocalFolder(tmp_path)) == ZOO_SCHEMA


def test_features_json_equals_what_tfds_itself_writes():
    golden = json.loads((ZOO / "1.2.0" / "features.json").read_text())
    written = json.loads(tfds_files(manifest_of(ZOO_SCHEMA))["features.json"])

    # wellfed has no class for boxes, and flattens a sequence of dicts to a dict of sequences: the same in the Example.
    for features in (golden["featuresDict"]["features"], written["featuresDict"]["features"]):
        del features["box"]
        del features["objects"]
        del features["tokens"]  # A Tensor of no dimensions there, a Scalar here: the same.
    assert written == golden


def test_label_files_stand_for_nested_names_too():
    files = tfds_files(manifest_of(ZOO_SCHEMA))

    assert files["label.labels.txt"] == "cat\ndog\nélan\n".encode()
    assert files["objects-name.labels.txt"] == b"a\nb\n"


def test_a_line_end_in_a_class_name_does_not_make_two_of_it(tmp_path):
    schema = Schema({"label": ClassLabel(["new\nline", "b\u2028c"])})
    for name, content in tfds_files(manifest_of(schema)).items():
        (tmp_path / name).write_bytes(content)

    assert read_schema(LocalFolder(tmp_path))["label"].names == ("new\\nline", "b\u2028c")


def test_dataset_info_counts_records_a_shard_and_bytes_without_framing():
    (split,) = json.loads(tfds_files(manifest_of(ZOO_SCHEMA))["dataset_info.json"])["splits"]

    assert split["shardLengths"] == ["3", "2"]
    assert split["numBytes"] == str(148 + 132 - 5 * 16)


def test_pixels_stored_raw_are_a_tensor_for_tfds(tmp_path):
    for name, content in tfds_files(manifest_of(Schema({"x": Image((2, 2, 1), encoding_format="raw")}))).items():
        (tmp_path / name).write_bytes(content)

    assert read_schema(LocalFolder(tmp_path)) == Schema({"x": Tensor((2, 2, 1), "uint8", "bytes")})


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        (Schema({"image": Image(), "label": ClassLabel(), "name": Text()}), ["image", "label"]),
        (Schema({"x": Scalar(), "label": ClassLabel()}), ["x", "label"]),
        (Schema({"x": Scalar(), "y": Scalar(), "label": ClassLabel()}), None),
        (Schema({"a": ClassLabel(), "b": ClassLabel(), "x": Image()}), None),
    ],
)
def test_supervised_keys_are_named_where_they_are_beyond_doubt(schema, keys):
    info = json.loads(tfds_files(manifest_of(schema))["dataset_info.json"])
    found = [item["featureKey"] for item in info.get("supervisedKeys", {}).get("tuple", {}).get("items", [])]

    assert found == (keys or [])


def test_shard_names_have_five_digits_or_more():
    assert shard_name("m", "test", 12, 100_000) == "m-test.tfrecord-000012-of-100000"


def zoo_with(tmp_path, **files):
    for file in (ZOO / "1.2.0").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name, text in files.items():
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


INFO = {"name": "zoo", "fileFormat": "tfrecord"}
AUDIO = {"featuresDict": {"features": {"x": {"pythonClassName": "a.Audio", "audio": {}}}}}
BAD = {
    "no JSON": ({"dataset_info": "{"}, "is no JSON"),
    "another format": ({"dataset_info": json.dumps(INFO | {"fileFormat": "array_record"})}, "array_record shards"),
    "a split without a name": (
        {"dataset_info": json.dumps(INFO | {"splits": [{"shardLengths": ["1"]}]})},
        "is damaged",
    ),
    "a feature that is not known": ({"features": json.dumps(AUDIO)}, 'feature "x": a.Audio is not supported'),
    "a feature of no kind": ({"features": "[]"}, "expected a JSON object"),
}


@pytest.mark.parametrize(("files", "message"), BAD.values(), ids=BAD)
def test_damaged_metadata_says_what_is_wrong(tmp_path, files, message):
    with pytest.raises(DatasetError, match=message):
        open_dataset(zoo_with(tmp_path, **files))


def test_a_missing_features_file_says_which_tfds_writes_it(tmp_path):
    (zoo_with(tmp_path) / "features.json").unlink()

    with pytest.raises(DatasetError, match=r"4\.0 and later write it"):
        open_dataset(tmp_path)


@pytest.mark.parametrize("field", ["filepathTemplate", "name"])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, field):
    info = json.loads((ZOO / "1.2.0" / "dataset_info.json").read_text())
    info["splits"][0][field] = "../x"

    with pytest.raises(DatasetError, match="is no plain file name"):
        open_dataset(zoo_with(tmp_path, dataset_info=json.dumps(info)))


def test_old_metadata_without_templates_uses_the_usual_names(tmp_path):
    info = json.loads((ZOO / "1.2.0" / "dataset_info.json").read_text())
    for split in info["splits"]:
        del split["filepathTemplate"]

    dataset = open_dataset(zoo_with(tmp_path, dataset_info=json.dumps(info)))

    assert Path(dataset.splits["test"].files[0]).name == "zoo-test.tfrecord-00000-of-00001"
