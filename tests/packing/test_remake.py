"""One shard of a packed data set, made again."""

import pytest
from packed_folder import contents, numbers
from tiny_source import TinySource

from wellfed.datasets import open_dataset
from wellfed.errors import DatasetError, PackError
from wellfed.packing import PackOptions, pack, remake_shard

OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 3, "seed": 2}
SOURCE = TinySource(40, bad=(11,))


@pytest.fixture
def packed(tmp_path):
    """Returns a packed folder."""
    pack(SOURCE, tmp_path, on_error="skip", **OPTIONS)
    return tmp_path


@pytest.mark.parametrize(
    ("shard", "file"),
    [("train:1", "tiny-train.tfrecord-00001-of-00003"), ("test:2", "tiny-test.tfrecord-00002-of-00003")],
)
def test_a_lost_shard_comes_back_with_the_same_bytes(packed, shard, file):
    before = contents(packed)
    (packed / file).unlink()
    (packed / ".wellfed" / f"{file}.index").unlink()

    assert remake_shard(SOURCE, packed, PackOptions(**OPTIONS), shard, on_error="skip").file == file
    assert contents(packed) == before


def test_the_number_alone_is_enough_for_one_split(tmp_path):
    pack(TinySource(9), tmp_path, name="tiny", shards=3)
    before = contents(tmp_path)

    remake_shard(TinySource(9), tmp_path, PackOptions(name="tiny", shards=3), "2")
    assert contents(tmp_path) == before


def test_a_compressed_shard_comes_back_with_the_same_records(tmp_path):
    options = {"name": "tiny", "shards": 2, "compression": "GZIP"}
    pack(TinySource(9), tmp_path, **options)
    before = numbers(tmp_path)
    (tmp_path / "tiny-train.tfrecord-00000-of-00002.gz").unlink()

    remake_shard(TinySource(9), tmp_path, PackOptions(**options), "0")
    assert numbers(tmp_path) == before


@pytest.mark.parametrize("shard", ["train:3", "val:0", "1", "train:x", "train"])
def test_a_shard_that_there_is_not_is_named(packed, shard):
    with pytest.raises(PackError, match=f"such as train:0, got '{shard}'; "):
        remake_shard(SOURCE, packed, PackOptions(**OPTIONS), shard)


def test_other_options_or_another_source_are_noticed(packed):
    before = contents(packed)
    for source, options in ((SOURCE, OPTIONS | {"seed": 3}), (TinySource(41), OPTIONS)):
        with pytest.raises(PackError, match="another source or with other options"):
            remake_shard(source, packed, PackOptions(**options), "train:0")
    assert contents(packed) == before


def test_content_that_has_changed_is_noticed_and_the_old_shard_stays(packed):
    class Changed(TinySource):
        def load(self, index):
            return super().load(index) | {"label": 0}

    before = contents(packed)
    with pytest.raises(PackError, match="came out different"):
        remake_shard(Changed(40, bad=(11,)), packed, PackOptions(**OPTIONS), "train:0", on_error="skip")
    assert contents(packed) == before


def test_a_folder_without_a_data_set_is_an_error(tmp_path):
    with pytest.raises(DatasetError, match="no such folder"):
        remake_shard(SOURCE, tmp_path / "no", PackOptions(**OPTIONS), "train:0")


def test_the_manifest_names_what_was_made(packed):
    shard = remake_shard(SOURCE, packed, PackOptions(**OPTIONS), "train:0", on_error="skip")

    assert shard == open_dataset(packed).manifest.splits["train"][0]
