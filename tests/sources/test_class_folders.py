from __future__ import annotations

import gzip
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from wellfed.datasets import ClassLabel
from wellfed.errors import SourceError
from wellfed.sources import ClassFolders, Skipped, Source

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40


def keys(source) -> list[str]:
    listing = source.listing()
    return [listing.key(at) for at in range(len(listing))]


@pytest.fixture
def photos(corpus, tmp_path):
    """Two classes of real photos, one with a name that says nothing, and what else lies in such folders."""
    for folder, name, given in [
        ("flower", "4287611271_cb2ebb58b2_m.jpg", "good/flowers/4287611271_cb2ebb58b2_m.jpg"),
        ("flower", "no_suffix", "good/pillow/flower.webp"),
        ("person", "wrong.txt", "good/pillow/hopper.jpg"),
        ("person", "hopper.png", "good/pillow/hopper.png"),
    ]:
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(corpus / "photos" / given, tmp_path / folder / name)
    return tmp_path


def test_it_is_a_source(photos):
    assert isinstance(ClassFolders(photos), Source)


def test_an_item_holds_the_bytes_of_its_file_unchanged(photos):
    source = ClassFolders(photos)

    assert source.load(0) == {
        "image": (photos / "flower/4287611271_cb2ebb58b2_m.jpg").read_bytes(),
        "label": 0,
        "filename": "flower/4287611271_cb2ebb58b2_m.jpg",
    }


def test_pictures_are_known_by_content_whatever_their_name(photos):
    assert keys(ClassFolders(photos)) == [
        "flower/4287611271_cb2ebb58b2_m.jpg",
        "flower/no_suffix",
        "person/hopper.png",
        "person/wrong.txt",
    ]


def test_every_kind_of_picture_in_the_corpus_is_taken_for_one(corpus):
    folders = corpus / "photos"

    files = {path.relative_to(folders).as_posix() for path in folders.rglob("*") if path.is_file()}

    assert len(files) > 20
    assert set(keys(ClassFolders(folders))) == files


def test_a_picture_inside_gzip_is_a_picture(make_files, corpus):
    wrapped = gzip.compress((corpus / "photos/good/pillow/hopper.jpg").read_bytes())

    source = ClassFolders(make_files({"cat/1.jpg": wrapped}))

    assert source.load(0)["image"] == wrapped


def test_sizes_are_those_of_the_files(photos):
    source = ClassFolders(photos)

    assert source.listing().sizes.tolist() == [(photos / key).stat().st_size for key in keys(source)]


def test_classes_are_sorted_by_code_point_and_become_labels(make_files):
    root = make_files({f"{name}/1.png": PNG for name in ("b", "a", "Z", "é", "10", "9")})

    source = ClassFolders(root)

    assert source.schema["label"] == ClassLabel(("10", "9", "Z", "a", "b", "é"))
    assert source.listing().labels.tolist() == [0, 1, 2, 3, 4, 5]


SKIPPED = {
    "a hidden file": ("cat/.DS_Store", b"\0\0\0\1Bud1", Skipped("cat/.DS_Store", "is hidden")),
    "a hidden folder": (".ipynb_checkpoints/1.png", PNG, Skipped(".ipynb_checkpoints", "is hidden")),
    "a text": ("cat/notes.jpg", b"remember the milk", Skipped("cat/notes.jpg", "is no picture but text")),
    "a text that begins like a BMP": (
        "cat/b.bmp",
        b"BM" + b" is a text",
        Skipped("cat/b.bmp", "is no picture but text"),
    ),
    "an empty file": ("cat/2.png", b"", Skipped("cat/2.png", "is no picture but an empty file")),
    "a gzipped text": ("cat/2.jpg", gzip.compress(b"text"), Skipped("cat/2.jpg", "is no picture but GZIP")),
    "a git-lfs pointer": (
        "cat/2.jpg",
        b"version https://git-lfs.github.com/spec/v1\noid",
        Skipped("cat/2.jpg", "is no picture but a git-lfs pointer (`git lfs pull` fetches the file itself)"),
    ),
    "a picture outside the class folders": ("2.png", PNG, Skipped("2.png", "is a picture outside the class folders")),
    "a class folder without pictures": ("dog/readme", b"none yet", Skipped("dog/", "holds no picture")),
}


@pytest.mark.parametrize(("path", "content", "skipped"), SKIPPED.values(), ids=SKIPPED)
def test_what_is_no_picture_in_a_class_folder_is_skipped_and_named(make_files, path, content, skipped):
    source = ClassFolders(make_files({"cat/1.png": PNG, path: content}))

    assert keys(source) == ["cat/1.png"]
    assert skipped in source.listing().skipped
    assert source.schema["label"] == ClassLabel(("cat",))


def test_an_empty_folder_is_no_class_and_is_named(make_files):
    root = make_files({"cat/1.png": PNG})
    (root / "dog").mkdir()

    source = ClassFolders(root)

    assert source.listing().skipped == [Skipped("dog/", "is empty")]


@pytest.mark.skipif(os.name == "nt", reason="makes a named pipe")
def test_a_named_pipe_does_not_stop_the_walk(make_files):
    root = make_files({"cat/1.png": PNG})
    os.mkfifo(root / "cat/pipe")

    assert ClassFolders(root).listing().skipped == [Skipped("cat/pipe", "is no regular file")]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_but_never_round_in_a_circle(make_files):
    root = make_files({"cat/1.png": PNG})
    (root / "dog").symlink_to(root / "cat")
    (root / "cat/up").symlink_to(root)
    (root / "cat/gone.png").symlink_to(root / "nowhere")

    source = ClassFolders(root)

    assert keys(source) == ["cat/1.png", "dog/1.png"]
    assert Skipped("cat/up", "is a link to a folder that holds it") in source.listing().skipped
    assert Skipped("cat/gone.png", "is a broken link") in source.listing().skipped


@pytest.mark.skipif(os.name != "posix", reason="file names are text elsewhere")
def test_a_file_name_that_is_no_utf8_is_read_and_printed(make_files):
    root = make_files({"cat/1.png": PNG})
    (root / "cat/1.png").rename(root / "cat/\udcff.png")

    item = ClassFolders(root).load(0)

    assert item["image"] == PNG
    assert item["filename"] == "cat/\\udcff.png"


def test_deeper_folders_belong_to_the_first_one(make_files):
    source = ClassFolders(make_files({"cat/1.png": PNG, "cat/young/2.png": PNG}))

    assert source.schema["label"] == ClassLabel(("cat",))


def test_nested_names_are_the_whole_path(make_files):
    source = ClassFolders(make_files({"a/cat/1.png": PNG, "a/dog/2.png": PNG, "b/3.png": PNG}), nested=True)

    assert source.schema["label"] == ClassLabel(("a/cat", "a/dog", "b"))


def test_folders_named_like_splits_give_the_splits(make_files):
    root = make_files({"train/cat/1.png": PNG, "train/dog/2.png": PNG, "test/cat/3.png": PNG})

    listing = ClassFolders(root).listing()

    assert [(listing.key(at), listing.split(at)) for at in range(3)] == [
        ("test/cat/3.png", "test"),
        ("train/cat/1.png", "train"),
        ("train/dog/2.png", "train"),
    ]
    assert listing.labels.tolist() == [0, 0, 1]


def test_a_class_named_like_a_split_is_a_class_where_it_holds_pictures(make_files):
    source = ClassFolders(make_files({"test/1.png": PNG, "train/2.png": PNG}))

    assert source.schema["label"] == ClassLabel(("test", "train"))
    assert source.listing().split(0) is None


def test_split_folders_can_be_taken_for_classes_by_asking(make_files):
    source = ClassFolders(make_files({"train/cat/1.png": PNG, "test/cat/3.png": PNG}), given_splits=False)

    assert source.schema["label"] == ClassLabel(("test", "train"))


def test_any_folders_can_be_taken_for_splits_by_asking(make_files):
    source = ClassFolders(make_files({"fold0/cat/1.png": PNG, "fold1/cat/3.png": PNG}), given_splits=True)

    assert source.listing().split_names == ("fold0", "fold1")


def test_a_labels_file_orders_the_classes(make_files):
    root = make_files({"in/cat/1.png": PNG, "in/dog/2.png": PNG, "labels.txt": "dog\nbird\n\ncat\n"})

    source = ClassFolders(root / "in", labels_file=root / "labels.txt")

    assert source.schema["label"] == ClassLabel(("dog", "bird", "cat"))
    assert [source.load(at)["label"] for at in range(2)] == [2, 0]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ("cat\n", "has 1 class folders that .*labels.txt does not name, the first 'dog'"),
        ("cat\ndog\ncat\n", "line 3 names 'cat' again, after line 1"),
        ("\n\n", "names no class"),
    ],
)
def test_a_labels_file_that_does_not_fit_is_refused(make_files, labels, reason):
    root = make_files({"in/cat/1.png": PNG, "in/dog/2.png": PNG, "labels.txt": labels})

    with pytest.raises(SourceError, match=reason):
        ClassFolders(root / "in", labels_file=root / "labels.txt").listing()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "is empty; pictures in class folders are due"),
        ({"cat/a.txt": b"text"}, r"holds no picture \(2 skipped, the first: cat/a.txt is no picture but text\)"),
        ({"1.png": PNG, "2.png": PNG}, "holds 2 pictures, none of them in a class folder"),
    ],
)
def test_a_folder_without_a_picture_in_a_class_is_refused_with_what_was_found(make_files, files, reason):
    with pytest.raises(SourceError, match=reason):
        ClassFolders(make_files(files)).listing()


@pytest.mark.parametrize(
    ("root", "reason"),
    [("missing", "no such file or folder"), ("file.png", "is a file"), ("s3://bucket/photos", "is a URL")],
)
def test_a_root_that_is_no_folder_is_refused_at_once(make_files, monkeypatch, root, reason):
    monkeypatch.chdir(make_files({"file.png": PNG}))

    with pytest.raises(SourceError, match=reason):
        ClassFolders(root)


def test_a_file_that_vanished_after_listing_is_named(photos):
    source = ClassFolders(photos)
    source.listing()
    (photos / "person/hopper.png").unlink()

    with pytest.raises(SourceError, match=r"person/hopper.png: was there when it was listed and is gone"):
        source.load(2)


def test_a_file_of_another_size_than_listed_is_refused(photos):
    source = ClassFolders(photos)
    source.listing()
    (photos / "person/hopper.png").write_bytes(PNG)

    with pytest.raises(SourceError, match="has 48 bytes, but had 30605 when it was listed"):
        source.load(2)


def test_a_pickled_source_reads_what_was_listed_and_nothing_newer(photos, monkeypatch):
    monkeypatch.chdir(photos)
    source = ClassFolders(".")
    found = keys(source)
    pickled = pickle.dumps(source)
    (photos / "person/another.png").write_bytes(PNG)
    monkeypatch.chdir("/")

    again = pickle.loads(pickled)

    assert keys(again) == found
    assert again.load(3) == source.load(3)


def test_a_part_loads_the_rows_it_was_made_of_under_the_whole_schema(photos):
    source = ClassFolders(photos)

    part = pickle.loads(pickle.dumps(source.part(np.array([3, 0]))))

    assert [part.load(0), part.load(1)] == [source.load(3), source.load(0)]
    assert part.schema == source.schema


def test_a_folder_that_cannot_be_read_is_named(photos, monkeypatch):
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("person"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)

    with pytest.raises(SourceError, match=r"person: cannot be read: Permission denied"):
        ClassFolders(photos).listing()


def test_folders_are_in_the_order_of_their_names(make_files):
    root = make_files({f"top/{name}/x.png": PNG for name in ("a-b", "a", "a.b", "B", "é")})

    assert keys(ClassFolders(root)) == [f"top/{name}/x.png" for name in ("B", "a", "a-b", "a.b", "é")]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_is_an_item_and_fails_as_one(photos):
    (photos / "person" / "unreadable.jpg").symlink_to("/proc/self/mem")
    source = ClassFolders(photos)
    at = list(source.listing().keys).index("person/unreadable.jpg")

    with pytest.raises(SourceError, match=r"unreadable\.jpg: cannot be read: Input/output error"):
        source.load(at)
