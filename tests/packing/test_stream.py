"""What comes one after another and is not to be shuffled is packed as it comes."""

import itertools
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from packed_folder import columns, contents, numbers

from wellfed.datasets import Scalar, Text, open_dataset
from wellfed.errors import PackError, SourceError
from wellfed.packing import PackOptions, PictureOptions, pack, remake_shard
from wellfed.sources import Items, Spooled

OPTIONS = {"name": "s", "shuffle": False, "shard_size": 3000}


def rows(n=100):
    return [{"number": number, "text": "a" * (number % 50)} for number in range(n)]


def test_the_records_are_those_of_the_sequence_in_its_order(tmp_path):
    report = pack(iter(rows()), tmp_path, **OPTIONS)

    assert numbers(tmp_path) == list(range(100))
    assert report.records == {"train": 100}
    assert report.shards["train"] > 2
    assert max(shard.bytes for shard in open_dataset(tmp_path).manifest.splits["train"]) < 4000


def test_an_item_is_in_the_split_that_a_sequence_puts_it_in(tmp_path):
    split = {"train": 0.7, "test": 0.3}
    pack(iter(rows()), tmp_path / "stream", split=split, **OPTIONS)
    pack(Items(rows()), tmp_path / "items", split=split, **OPTIONS)

    for name in split:
        assert numbers(tmp_path / "stream", name) == numbers(tmp_path / "items", name)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_same_stream_gives_the_same_bytes(tmp_path, workers):
    pack(iter(rows()), tmp_path / "one", **OPTIONS)
    with ThreadPoolExecutor(workers) as executor:
        pack(iter(rows()), tmp_path / "two", executor=executor, **OPTIONS)

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_no_more_is_read_than_is_packed(tmp_path, monkeypatch):
    """The whole stream never lies in the temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spooled = []

    def items():
        for number in range(2000):
            spooled.append(sum(file.stat().st_size for file in tmp_path.glob("wellfed-*")))
            yield {"number": number, "content": bytes(1000)}

    pack(items(), tmp_path / "out", name="s", shuffle=False, shard_size=20_000, workers=1)

    assert max(spooled) < 200_000
    assert len(numbers(tmp_path / "out")) == 2000
    assert not list(tmp_path.glob("wellfed-*"))


def test_what_needs_the_number_of_items_is_spooled(tmp_path):
    report = pack(iter(rows()), tmp_path, name="s", shuffle=False, shards=3)

    assert report.shards == {"train": 3}
    assert numbers(tmp_path) == list(range(100))


def test_types_may_be_given(tmp_path):
    pack(Spooled(iter(rows()), {"number": Scalar(np.int16), "text": Text()}), tmp_path, **OPTIONS)

    assert open_dataset(tmp_path).schema["number"] == Scalar(np.int16)


def test_pictures_are_encoded_as_asked(tmp_path):
    pictures = ({"image": np.full((8, 8, 3), number, np.uint8), "number": number} for number in range(10))
    types = Items([{"image": b"\x89PNG\r\n\x1a\n", "number": 1}]).schema
    pack(Spooled(pictures, types), tmp_path, name="s", shuffle=False, pictures=PictureOptions(encoding="png", resize=4))

    assert columns(tmp_path, "train")["image"].shape == (10, 4, 4, 3)


def late(item):
    return itertools.chain(rows(80), [item], rows(3))


def test_a_later_item_that_does_not_fit_the_first_shards_types_ends_the_pack_with_its_number(tmp_path):
    with pytest.raises(PackError, match=r'item/80: feature "number": expected .*got'):
        pack(late({"number": "many", "text": ""}), tmp_path / "out", **OPTIONS)

    assert not (tmp_path / "out").exists()


def test_a_later_item_that_does_not_fit_is_left_out_when_asked(tmp_path):
    report = pack(late({"number": 1}), tmp_path, on_error="skip", **OPTIONS)

    assert [item.item for item in report.skipped] == ["item/80"]
    assert report.records == {"train": 83}


def failing():
    yield from rows(80)
    raise ZeroDivisionError("in the user's generator")


FAULTS = {
    "nothing": (iter(()), {}, SourceError, "gives no item"),
    "no mapping": (iter([1]), {}, SourceError, "item 0: is a int; a mapping"),
    "the generator's own": (failing(), {}, ZeroDivisionError, "in the user's generator"),
    "an empty split": (iter(rows(2)), {"split": {"a": 0.999, "b": 0.001}}, PackError, "split 'b' would be empty"),
}


@pytest.mark.parametrize(("stream", "options", "error", "message"), FAULTS.values(), ids=FAULTS)
def test_a_stream_that_cannot_be_packed_leaves_nothing(tmp_path, stream, options, error, message):
    with pytest.raises(error, match=message):
        pack(stream, tmp_path / "out", **OPTIONS, **options)

    assert not (tmp_path / "out").exists()


def test_what_a_killed_run_left_is_written_anew(tmp_path):
    staging = tmp_path / "out" / ".wellfed" / "pack"
    pack(iter(rows()), tmp_path / "out", **OPTIONS)
    whole = contents(tmp_path / "out")
    staging.mkdir(parents=True)
    (staging / "00000001.part").write_bytes(b"half")

    pack(iter(rows()), tmp_path / "out", overwrite=True, **OPTIONS)

    assert contents(tmp_path / "out") == whole


def test_a_shard_of_a_stream_is_not_made_again_by_itself(tmp_path):
    pack(iter(rows()), tmp_path, **OPTIONS)

    with pytest.raises(PackError, match="was packed from another source"):
        remake_shard(Items(rows()), tmp_path, PackOptions(**OPTIONS), "train:0")


def test_progress_counts_what_was_read_and_what_is_done(tmp_path):
    seen = []
    pack(iter(rows()), tmp_path, progress=seen.append, **OPTIONS)

    assert (seen[-1].items, seen[-1].total_items) == (100, 100)
    assert all(one.items <= one.total_items for one in seen)
