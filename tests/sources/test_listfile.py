from __future__ import annotations

import pickle

import numpy as np
import pytest

from wellfed.datasets import ClassLabel, Scalar, Tensor
from wellfed.errors import SourceError
from wellfed.sources import ListFile

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40


@pytest.fixture
def listed(make_files):
    """Writes a list beside the pictures that it names, and makes its source."""

    def make(text: str, pictures=("a.png", "b c.png", "b, c.png"), **options) -> ListFile:
        root = make_files({**dict.fromkeys(pictures, PNG), "list.txt": text})
        return ListFile(root / "list.txt", **options)

    return make


def items(source) -> list[tuple[str, object]]:
    """Path and label of each item."""
    loaded = [source.load(at) for at in range(len(source.listing()))]
    return [(item["filename"], item["label"]) for item in loaded]


def test_real_photos_are_read_from_a_root_elsewhere(corpus, tmp_path):
    (tmp_path / "list.csv").write_text("path,label\nflowers/4287611271_cb2ebb58b2_m.jpg,1\npillow/hopper.png,0\n")

    source = ListFile(tmp_path / "list.csv", root=corpus / "photos/good")

    assert source.load(1) == {
        "image": (corpus / "photos/good/pillow/hopper.png").read_bytes(),
        "label": 0,
        "filename": "pillow/hopper.png",
    }


LISTS = {
    "text": "a.png 0\nb c.png 2\n",
    "text with tabs": "a.png\t0\nb c.png\t2\n",
    "text with quotes": 'a.png 0\n"b c.png" 2\n',
    "many spaces": "a.png    0\n  b c.png   2  \n",
    "CSV": "a.png,0\nb c.png,2\n",
    "CSV with spaces after the comma": "a.png, 0\nb c.png, 2\n",
    "CSV with quotes": '"a.png",0\n"b c.png","2"\n',
    "Windows' line ends": "a.png 0\r\nb c.png 2\r\n",
    "a byte order mark": "\ufeffa.png 0\nb c.png 2\n",
    "empty lines": "\n\na.png 0\n\nb c.png 2",
    "column names": "filename label\na.png 0\nb c.png 2\n",
    "column names in CSV": "Image,class\na.png,0\nb c.png,2\n",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_paths_with_spaces_are_read_in_every_form_of_list(listed, text):
    source = listed(text)

    assert items(source) == [("a.png", 0), ("b c.png", 2)]
    assert source.schema["label"] == ClassLabel(num_classes=3)


def test_a_comma_in_a_path_is_no_separator_where_spaces_are(listed):
    assert items(listed("b, c.png 1\na.png 0\n")) == [("b, c.png", 1), ("a.png", 0)]


def test_a_quoted_comma_in_a_csv_belongs_to_the_path(listed):
    assert items(listed('"b, c.png",1\na.png,0\n')) == [("b, c.png", 1), ("a.png", 0)]


def test_a_picture_named_like_a_column_is_a_picture_where_it_is_there(listed):
    assert items(listed("image 1\na.png 0\n", pictures=("image", "a.png"))) == [("image", 1), ("a.png", 0)]


def test_names_are_sorted_by_code_point(listed):
    source = listed("a.png dog\nb c.png Cat\nb, c.png dog\n", label="name")

    assert source.schema["label"] == ClassLabel(("Cat", "dog"))
    assert source.listing().labels.tolist() == [1, 0, 1]


def test_a_labels_file_orders_the_names(listed, tmp_path):
    (tmp_path / "labels.txt").write_text("dog\nbird\nCat\n")

    source = listed("a.png dog\nb c.png Cat\n", label="name", labels_file=tmp_path / "labels.txt")

    assert items(source) == [("a.png", 0), ("b c.png", 2)]


def test_classes_counted_from_one_are_moved_by_the_offset_asked_for(listed):
    source = listed("a.png 1\nb c.png 2\n", label_offset=1)

    assert items(source) == [("a.png", 0), ("b c.png", 1)]
    assert source.schema["label"] == ClassLabel(num_classes=2)


def test_a_one_hot_label_becomes_the_place_of_its_one(listed):
    source = listed("a.png 0 0 1\nb c.png 1 0 0\n", label="onehot")

    assert items(source) == [("a.png", 2), ("b c.png", 0)]
    assert source.schema["label"] == ClassLabel(num_classes=3)


@pytest.mark.parametrize("text", ["a.png 0 1 1\nb c.png 0 0 0\n", "a.png,0,1,1\nb c.png,0,0,0\n"])
def test_a_multi_hot_label_is_an_array(listed, text):
    source = listed(text, label="multihot")

    assert source.schema["label"] == Tensor((3,), np.int64)
    assert [source.load(at)["label"].tolist() for at in (0, 1)] == [[0, 1, 1], [0, 0, 0]]
    assert source.listing().labels is None


def test_float_labels_are_an_array_or_a_number(listed):
    several = listed("a.png -0.5 1e3\nb c.png 2 .25\n", label="float")

    assert several.schema["label"] == Tensor((2,), np.float32)
    assert several.load(0)["label"].tolist() == [-0.5, 1000.0]
    one = listed("a.png 0.5\nb c.png 7\n", label="float")

    assert one.schema["label"] == Scalar(np.float32)
    assert items(one) == [("a.png", 0.5), ("b c.png", 7.0)]


BAD = {
    "no label": ("a.png 0\nb\n", {}, "line 2 should hold a path and its label, but one is missing"),
    "a name for a number": ("a.png 0\nb.png cat\n", {}, r"line 2 should end with class numbers .* got 'cat'"),
    "a float for a number": ("a.png 1.0\n", {}, r"line 1 should end with class numbers .* got '1.0'"),
    "two labels": ("a.png,1,2\n", {}, "line 1 should hold one label, got 2"),
    "a negative class": ("a.png 0\n", {"label_offset": 1}, r"line 1 gives class 0; the first is 1 \(label_offset\)"),
    "two ones": ("a.png 0 1\nb.png 1 1\n", {"label": "onehot"}, "line 2 should hold a single 1, got 2"),
    "a two among ones": ("a.png 0 2\n", {"label": "multihot"}, "line 1 should hold 0s and 1s, got 0 2"),
    "rows of two lengths": (
        "a.png 0.5 1\nb.png 1\n",
        {"label": "float"},
        "line 2 should hold 2 labels, as the first line has, got 1",
    ),
    "a word among floats": ("a.png,x\n", {"label": "float"}, "line 1 should end with numbers, got 'x'"),
    "twice": ("a.png 0\nb c.png 0\n\na.png 1\n", {}, "line 4 lists a.png again, after line 1"),
    "an open quote": ('a.png,0\n"b.png,0\n', {}, "line 2 is no CSV: unexpected end of data"),
    "an empty list": ("\n", {}, "lists nothing"),
    "another root": (
        "x/a.png 0\ny 1\n",
        {},
        r"none of the 2 pictures it lists is there, such as .*x/a.png. Check root",
    ),
}


@pytest.mark.parametrize(("text", "options", "reason"), BAD.values(), ids=BAD)
def test_a_list_that_cannot_be_read_is_refused_with_the_line(listed, text, options, reason):
    with pytest.raises(SourceError, match=reason):
        listed(text, **options).listing()


def test_a_class_beyond_the_labels_file_is_refused(listed, tmp_path):
    (tmp_path / "labels.txt").write_text("cat\ndog\n")

    with pytest.raises(SourceError, match="line 2 gives class 2, but labels_file names 2"):
        listed("a.png 1\nb c.png 2\n", labels_file=tmp_path / "labels.txt").listing()


def test_a_name_that_the_labels_file_lacks_is_refused(listed, tmp_path):
    (tmp_path / "labels.txt").write_text("cat\n")

    with pytest.raises(SourceError, match="labels a picture 'dog', which labels_file does not name"):
        listed("a.png dog\n", label="name", labels_file=tmp_path / "labels.txt").listing()


def test_an_unknown_kind_of_label_is_refused_at_once(listed):
    with pytest.raises(ValueError, match="label must be one of index, name, onehot, multihot, float, got 'indices'"):
        listed("a.png 0\n", label="indices")


def test_a_single_missing_picture_fails_when_it_is_loaded(listed):
    source = listed("a.png 0\nmissing.png 1\n")

    assert len(source.listing()) == 2
    with pytest.raises(SourceError, match=r"missing.png: is no file, though line 2 of .*list.txt lists it"):
        source.load(1)


def test_a_listed_file_that_is_no_picture_fails_when_it_is_loaded(listed, tmp_path):
    source = listed("a.png 0\nlist.txt 1\n")

    with pytest.raises(SourceError, match=r"list\.txt: is no picture but text"):
        source.load(1)


def test_a_list_that_changed_after_listing_is_noticed(listed, tmp_path):
    source = listed("a.png 0 1\nb c.png 0 1\n", label="multihot")
    source.listing()
    (tmp_path / "list.txt").write_text("b c.png 1 0\na.png 1 0\n")

    with pytest.raises(SourceError, match=r"lists 'b c.png' where it listed 'a.png'"):
        source.load(0)


def test_a_part_reads_its_own_lines(listed):
    source = listed("a.png 0.5\nb c.png 7\n", label="float")

    part = pickle.loads(pickle.dumps(source.part(np.array([1]))))

    assert items(part) == [("b c.png", 7.0)]


def test_class_names_need_not_be_utf8(listed, tmp_path):
    (tmp_path / "names").write_bytes("é\nb\n".encode("latin-1"))

    assert listed("a.png 0\n", labels_file=tmp_path / "names").schema["label"].names == ("\\udce9", "b")


def test_what_is_no_text_is_told(listed):
    with pytest.raises(SourceError, match="is no list but bytes of no known kind; UTF-8 text is due"):
        listed("a.png\0 0\n").listing()


def test_many_pictures_at_once_are_those_one_by_one(listed):
    source = listed("a.png 0\nb c.png 2\nb, c.png 1\n").part(np.array([2, 0]))

    columns = source.load_columns(0, 2)

    assert columns["image"].to_list() == [PNG, PNG]
    assert columns["label"].tolist() == [1, 0]
    assert columns["filename"].to_list() == [b"b, c.png", b"a.png"]


def test_pictures_are_left_to_be_read_one_by_one_where_one_is_missing(listed):
    assert listed("a.png 0\nnone.png 2\n").load_columns(0, 2) is None


def test_a_path_with_nul_is_a_picture_that_is_missing(listed):
    source = listed("a.png 0\n" * 1 + "b c.png 1\n" + "# " + "x" * 1100 + " 0\nb, c.png\0 2\n")

    with pytest.raises(SourceError, match="is no file, though line 4"):
        source.load(3)
