"""The manifest: JSON both ways, and what a damaged one gives."""

import json

import pytest

from wellfed.datasets import ClassLabel, Image, Manifest, Schema, Shard, SkippedItem
from wellfed.errors import DatasetError

MANIFEST = Manifest(
    name="zoo",
    version="1.0.0",
    schema=Schema({"image": Image(), "label": ClassLabel(("cat", "élan"))}),
    splits={"train": (Shard("a", 3, 100, "00ff"), Shard("b", 2, 80, "11ee")), "test": ()},
    compression="GZIP",
    seed=7,
    options={"split": {"train": 1.0}, "shards": None},
    listing="abcd",
    skipped=(SkippedItem("x/\udcff.png", "is hidden"), SkippedItem("y", "is cut", "train")),
)


def test_a_manifest_survives_json():
    assert Manifest.from_json(MANIFEST.to_json(), "m") == MANIFEST


def test_a_manifest_is_json_that_other_tools_read():
    values = json.loads(MANIFEST.to_json().encode())

    assert values["splits"]["train"][1] == {"file": "b", "records": 2, "bytes": 80, "crc32c": "11ee"}
    assert values["skipped"][1] == {"item": "y", "reason": "is cut", "split": "train"}


def test_an_empty_data_set_has_a_manifest_too():
    empty = Manifest(name="none", version="1.0.0", schema=Schema({}), splits={})

    assert Manifest.from_json(empty.to_json(), "m") == empty


def changed(**fields):
    return json.dumps(json.loads(MANIFEST.to_json()) | fields)


SHARD = {"file": "a", "records": 1, "bytes": 1, "crc32c": "00000000"}
DAMAGE = {
    "nothing": ("", "is no JSON"),
    "half of it": (MANIFEST.to_json()[:200], "is no JSON"),
    "a list": ("[]", "expected a JSON object, got list"),
    "something else": ('{"a": 1}', "is no manifest of wellfed"),
    "a later version": (changed(format_version=2), "has format version 2, this wellfed reads 1"),
    "no name": (changed(name=None, schema=None), "is damaged"),
    "a shard of other fields": (changed(splits={"train": [{"file": "a"}]}), "is damaged"),
    "a shard elsewhere": (changed(splits={"train": [SHARD | {"file": "../a"}]}), "'../a' is no plain file name"),
    "a split elsewhere": (changed(splits={"../a": []}), "'../a' is no plain file name"),
    "a hidden shard": (changed(splits={"train": [SHARD | {"file": ".wellfed"}]}), "'.wellfed' is no plain"),
    "a schema of other types": (changed(schema={"x": {"type": "?"}}), "is damaged"),
}


@pytest.mark.parametrize(("text", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest_says_what_is_wrong_and_where(text, message):
    with pytest.raises(DatasetError, match=f"out/manifest.json: .*{message}"):
        Manifest.from_json(text, "out/manifest.json")
