"""The way back: what was packed comes out as files again."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from packed_folder import contents
from tiny_source import TinySource

from wellfed.datasets import ClassLabel, Image, Schema, Text
from wellfed.errors import CorruptRecordError, PackError
from wellfed.image import decode_image, encode_image
from wellfed.packing import export, pack
from wellfed.sources import ClassFolders, Items

ZOO = Path(__file__).parent.parent / "data" / "tfds" / "zoo"


@pytest.fixture
def pictures(tmp_path):
    """Returns class folders of pictures of several formats."""
    for number in range(8):
        pixels = np.full((3, 4, 3), number * 30, np.uint8)
        path = tmp_path / "pictures" / ("cat", "dog")[number % 2] / f"{number}.{('png', 'jpg')[number % 3 == 0]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_image(pixels, "jpeg" if path.suffix == ".jpg" else "png"))
    return tmp_path / "pictures"


def test_class_folders_come_back_with_the_same_names_and_bytes(tmp_path, pictures):
    pack(ClassFolders(pictures), tmp_path / "packed", name="p", split={"train": 0.5, "test": 0.5}, shards=1)
    report = export(tmp_path / "packed", tmp_path / "back")

    back = contents(tmp_path / "back")
    assert {path.split("/", 1)[1]: content for path, content in back.items()} == contents(pictures)
    assert {path.split("/")[0] for path in back} == {"train", "test"}
    assert (report.files, sum(report.records.values())) == (8, 8)
    assert report.bytes == sum(map(len, back.values()))


def test_one_split_alone_may_be_exported(tmp_path, pictures):
    pack(ClassFolders(pictures), tmp_path / "packed", name="p", split={"train": 0.5, "test": 0.5})
    export(tmp_path / "packed", tmp_path / "back", split="test")

    assert [path.name for path in (tmp_path / "back").iterdir()] == ["test"]


def test_pixels_become_png_named_by_their_number(tmp_path):
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    types = Schema({"image": Image((2, 2, 3), encoding_format="raw"), "label": ClassLabel(("a/b", ".."))})
    items = Items([{"image": pixels, "label": 0}, {"image": pixels, "label": 1}], types)
    pack(items, tmp_path / "packed", name="p", shuffle=False)
    export(tmp_path / "packed", tmp_path / "back")

    back = contents(tmp_path / "back")
    assert list(back) == ["train/00000001.png", "train/a/b/00000000.png"]
    np.testing.assert_array_equal(decode_image(back["train/a/b/00000000.png"]), pixels)


def test_names_that_meet_are_told_apart(tmp_path):
    types = Schema({"image": Image(), "filename": Text()})
    values = [{"image": encode_image(np.full((2, 2, 3), n, np.uint8)), "filename": f"{n}/x.png"} for n in range(3)]
    pack(Items(values, types), tmp_path / "packed", name="p")
    export(tmp_path / "packed", tmp_path / "back")

    assert list(contents(tmp_path / "back")) == ["train/x-1.png", "train/x-2.png", "train/x.png"]


def test_csv_holds_classes_by_name_and_lists_as_json(tmp_path):
    export(ZOO, tmp_path / "back", to="csv", features=("number", "label", "text", "tokens", "matrix", "flag"))

    text = (tmp_path / "back" / "test.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    by_number = {int(row["number"]): row for row in rows}
    assert set(by_number) == {5, 6}
    assert by_number[5]["label"] == "élan"
    assert by_number[5]["text"] == "row 5"
    assert json.loads(by_number[5]["tokens"]) == [[]]
    assert json.loads(by_number[6]["matrix"]) == [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]
    assert by_number[6]["flag"] == "True"


def test_parquet_keeps_the_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(ZOO, tmp_path / "back", to="parquet", features=("number", "label", "image", "tokens", "matrix"))

    rows = {row["number"]: row for row in parquet.read_table(tmp_path / "back" / "test.parquet").to_pylist()}
    assert rows[5]["label"] == "élan"
    assert rows[6]["matrix"] == [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]
    np.testing.assert_array_equal(decode_image(rows[5]["image"], channels=1), np.full((4, 3, 1), 5))


@pytest.fixture
def tiny(tmp_path):
    """Returns a packed data set without pictures."""
    pack(TinySource(5), tmp_path / "tiny", name="tiny")
    return tmp_path / "tiny"


REFUSED = {
    "folders without pictures": ({}, r'this data set has none: export it to="csv" or "parquet" \(--to\)'),
    "a feature that there is not": (
        {"to": "csv", "features": ("no",)},
        "has no feature 'no'; it has key, number, label",
    ),
    "a split that there is not": ({"to": "csv", "split": "no"}, "has no split 'no'; it has train"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_exported_is_said_before_anything_is_written(tmp_path, tiny, options, message):
    with pytest.raises(PackError, match=message):
        export(tiny, tmp_path / "back", **options)
    assert not (tmp_path / "back").exists()


def test_bytes_have_no_place_in_csv(tmp_path):
    with pytest.raises(PackError, match="feature 'blob' is bytes, which CSV cannot hold"):
        export(ZOO, tmp_path / "back", to="csv")


def test_a_folder_that_holds_something_is_left_alone(tmp_path, tiny):
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "mine").touch()

    with pytest.raises(PackError, match="is there already"):
        export(tiny, tmp_path / "back", to="csv")
    assert list(contents(tmp_path / "back")) == ["mine"]


@pytest.mark.parametrize("name", [".", "../link", "../empty"])
def test_an_empty_folder_that_is_there_is_filled_and_stays(tmp_path, tiny, monkeypatch, name):
    place = tmp_path / "empty"
    place.mkdir()
    (tmp_path / "link").symlink_to("empty")
    number = place.stat().st_ino
    monkeypatch.chdir(place)
    report = export(tiny, name, to="csv")

    assert (report.folder, report.files) == (name, 1)
    assert [path.name for path in place.iterdir()] == ["train.csv"]
    assert place.stat().st_ino == number


def test_a_broken_link_is_refused_before_anything_is_written(tmp_path, tiny):
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(PackError, match="is a broken link"):
        export(tiny, tmp_path / "link", to="csv")


def test_a_full_disk_is_named_and_leaves_nothing_behind(tmp_path, tiny):
    resource = pytest.importorskip("resource", reason="the limit of files that stands for the disk is POSIX's")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match=str(tmp_path / "back")):
            export(tiny, tmp_path / "back", to="csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_name_with_a_byte_0_is_escaped(tmp_path):
    picture = encode_image(np.zeros((2, 2, 3), np.uint8))
    rows = [{"image": picture, "kind": "c\0", "filename": "a\0.png"}, {"image": picture, "kind": "d", "filename": "b"}]
    pack(Items(rows, label="kind"), tmp_path / "packed", name="n")
    export(tmp_path / "packed", tmp_path / "back")

    assert sorted(contents(tmp_path / "back")) == ["train/c\\0/a\\0.png", "train/d/b"]


def test_a_place_that_cannot_be_made_is_named(tmp_path, tiny):
    (tmp_path / "file").touch()

    with pytest.raises(NotADirectoryError, match=f"'{tmp_path / 'file' / 'back'}'"):
        export(tiny, tmp_path / "file" / "back", to="csv")


def test_damage_leaves_nothing_behind(tmp_path, tiny):
    (shard,) = tiny.glob("*.tfrecord-*")
    content = bytearray(shard.read_bytes())
    content[-6] ^= 1
    shard.write_bytes(content)

    with pytest.raises(CorruptRecordError, match="record 4"):
        export(tiny, tmp_path / "back", to="csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny"]
