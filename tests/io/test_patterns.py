"""Which files a name stands for."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from wellfed.errors import DatasetError
from wellfed.io import expand_patterns
from wellfed.io.patterns import ShardName, number_key


@pytest.fixture
def folder(tmp_path):
    def made(*names: str):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"")
        return tmp_path

    return made


def names(paths) -> list[str]:
    return [Path(path).name for path in paths]


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("mnist-train.tfrecord-00000-of-00001", ("mnist-train.tfrecord-", 0, 1, "")),
        ("train-00007-of-01024", ("train-", 7, 1024, "")),
        ("coco_train.record-00003-of-00100", ("coco_train.record-", 3, 100, "")),
        ("name_train_00982-of-01024.tfrecord", ("name_train_", 982, 1024, ".tfrecord")),
        ("x.tfrecord-00000-of-00010.gz", ("x.tfrecord-", 0, 10, ".gz")),
        ("part-00003-of-00010.tfrecord", ("part-", 3, 10, ".tfrecord")),
        ("data_tfrecord-00011-of-00012.gz", ("data_tfrecord-", 11, 12, ".gz")),
        ("events-5-of-8", ("events-", 5, 8, "")),
        ("a-1-of-2/b-00003-of-00004", ("a-1-of-2/b-", 3, 4, "")),
        ("s3://bucket/a-00000-of-00002", ("s3://bucket/a-", 0, 2, "")),
    ],
)
def test_every_convention_is_taken_apart(path, parts):
    assert ShardName.parse(path) == ShardName(*parts)


@pytest.mark.parametrize(
    "path", ["data_00001.tfrecord", "part-r-00003.gz", "train.tfrecord", "x-of-3", "a-1-of-2/plain"]
)
def test_names_without_a_count_are_no_counted_shards(path):
    assert ShardName.parse(path) is None


def test_a_pattern_is_sorted_by_number(folder):
    root = folder(*(f"data_{i}.tfrecord" for i in (10, 9, 1, 100, 2)))

    assert names(expand_patterns(root / "data_*.tfrecord")) == [f"data_{i}.tfrecord" for i in (1, 2, 9, 10, 100)]


def test_number_keys_compare_whatever_stands_first():
    assert sorted(["b1", "10", "a", "2", "a10", "a9"], key=number_key) == ["2", "10", "a", "a9", "a10", "b1"]


def test_several_names_keep_their_order(folder):
    root = folder("b", "a-1", "a-0")

    assert names(expand_patterns([root / "b", str(root / "a-*")])) == ["b", "a-0", "a-1"]


def test_hidden_files_and_folders_are_not_picked_up(folder):
    root = folder("a", ".a.123.partial", ".wellfed/a.index")

    assert names(expand_patterns(root / "*")) == ["a"]
    assert names(expand_patterns(root / "**")) == ["a"]


def test_a_pattern_that_matches_nothing_is_an_error(folder):
    with pytest.raises(FileNotFoundError, match=r"no file matches .*nothing-\*"):
        expand_patterns(folder("a") / "nothing-*")
    with pytest.raises(FileNotFoundError, match="no file was named"):
        expand_patterns([])


@pytest.mark.parametrize("name", ["", ["a", ""]], ids=["alone", "among others"])
def test_an_empty_name_is_an_error(name):
    with pytest.raises(FileNotFoundError, match="a name is empty: a file or a pattern is due"):
        expand_patterns(name)


def test_a_folder_is_an_error_that_says_how_its_files_are_named(folder):
    root = folder("data/a.tfrecord")

    with pytest.raises(IsADirectoryError, match=r"data/ is a folder: .*, such as .*data/\*.tfrecord; "):
        expand_patterns(f"{root / 'data'}/")


@pytest.mark.parametrize("name", [None, 5, b"a", ["a", 5]], ids=repr)
def test_a_name_that_is_no_path_is_an_error(name):
    with pytest.raises(TypeError, match=r"a path must be a str or a pathlib.Path, got (None|5|b'a')"):
        expand_patterns(name)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    root = folder("a[1]", "a1", "b@3")

    assert names(expand_patterns([root / "a[1]", root / "b@3"])) == ["a[1]", "b@3"]


def test_a_spec_names_every_shard(folder):
    root = folder()

    assert names(expand_patterns(root / "train@3")) == [f"train-0000{i}-of-00003" for i in range(3)]
    assert names(expand_patterns(root / "x.tfrecord@1")) == ["x.tfrecord-00000-of-00001"]


def test_a_set_with_a_hole_is_an_error_that_names_what_is_missing(folder):
    root = folder("t-00000-of-00004", "t-00002-of-00004")

    with pytest.raises(DatasetError, match="2 files match, but shards are missing: t-00001-of-00004, t-00003-of-00004"):
        expand_patterns(root / "t-*")


def test_a_pattern_that_asks_for_a_part_of_a_set_is_content_with_it(folder):
    root = folder("t-00000-of-00020", "t-00001-of-00020")

    assert len(expand_patterns(root / "t-0000[01]-of-*")) == 2


def test_two_sets_in_one_folder_are_checked_apart(folder):
    root = folder("train-0-of-2", "train-1-of-2", "test-0-of-1")
    assert names(expand_patterns(root / "*")) == ["test-0-of-1", "train-0-of-2", "train-1-of-2"]
    (root / "train-0-of-2").unlink()

    with pytest.raises(DatasetError, match="train-0-of-2"):
        expand_patterns(root / "*")
    assert names(expand_patterns(root / "test-*")) == ["test-0-of-1"]


def test_many_missing_shards_are_not_all_listed(folder):
    with pytest.raises(DatasetError, match=r"1 files match, but shards are missing: (t-\d+-of-00100, ){3}\.\.\."):
        expand_patterns(folder("t-00000-of-00100") / "t-*")


def test_an_absurd_count_is_refused_quickly(folder):
    with pytest.raises(DatasetError, match="shards are missing"):
        expand_patterns(folder("t-00000-of-99999999999") / "t-*")


def test_an_absurd_count_of_a_spec_is_refused_quickly():
    with pytest.raises(DatasetError, match="t@99999999999: asks for 99,999,999,999 shards; 1,000,000 at most"):
        expand_patterns("t@99999999999")


def test_a_pattern_over_folders(folder):
    root = folder("a/x-0", "b/x-0", "b/c/x-1")

    assert [Path(p).relative_to(root).as_posix() for p in expand_patterns(root / "*/x-*")] == ["a/x-0", "b/x-0"]
    assert len(expand_patterns(root / "**/x-*")) == 3


def test_folders_are_no_files(folder):
    root = folder("x-0", "x-1/inner")

    assert names(expand_patterns(root / "x-*")) == ["x-0"]


def test_file_urls_are_paths(folder):
    root = folder("a-0", "a-1")

    assert names(expand_patterns(f"file://{root}/a-*")) == ["a-0", "a-1"]


def test_patterns_of_other_file_systems():
    memory = fsspec.filesystem("memory")
    for name in ("t-00001-of-00002", "t-00000-of-00002", ".wellfed/t.index"):
        memory.pipe_file(f"/patterns/{name}", b"")

    assert expand_patterns("memory://patterns/t-*") == [f"memory://patterns/t-0000{i}-of-00002" for i in range(2)]
    memory.rm_file("/patterns/t-00000-of-00002")
    with pytest.raises(DatasetError, match="shards are missing: t-00000-of-00002"):
        expand_patterns("memory://patterns/t-*")
    with pytest.raises(FileNotFoundError, match=r"no file matches memory://patterns/x\*"):
        expand_patterns("memory://patterns/x*")
