from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import struct

import numpy as np
import pytest

from wellfed.datasets import ClassLabel, Image
from wellfed.errors import FileChangedError, SourceError
from wellfed.sources import Mnist, Skipped

# Of the pixels alone: zcat t10k-images-idx3-ubyte.gz | tail -c +17 | sha256sum
PIXELS_SHA256 = "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161"


def images(*shape: int, magic: int = 0x0803, extra: int = 0) -> bytes:
    content = bytes(at % 251 for at in range(int(np.prod(shape)) + extra))
    return struct.pack(">4I", magic, *shape) + content


def labels(*values: int, magic: int = 0x0801, count: int | None = None) -> bytes:
    return struct.pack(">2I", magic, len(values) if count is None else count) + bytes(values)


SMALL = {"train-images-idx3-ubyte": images(3, 2, 4), "train-labels-idx1-ubyte": labels(7, 0, 9)}


@pytest.fixture(scope="module")
def digits_source(digits):
    return Mnist(digits)


def test_the_ten_thousand_test_digits_are_read_whole(digits_source):
    pixels = b"".join(digits_source.load(at)["image"].tobytes() for at in range(10_000))

    assert hashlib.sha256(pixels).hexdigest() == PIXELS_SHA256


def test_the_labels_are_those_of_the_plain_file(digits_source, corpus):
    plain = (corpus / "mnist/t10k-labels-idx1-ubyte").read_bytes()[8:]

    assert bytes(digits_source.listing().labels.tolist()) == plain
    assert bytes(digits_source.load(at)["label"] for at in range(100)) == plain[:100]


def test_t10k_is_the_split_test(digits_source):
    listing = digits_source.listing()

    assert (listing.key(9_999), listing.split(9_999)) == ("test/9999", "test")


def test_the_schema_is_a_picture_and_ten_classes(digits_source):
    assert digits_source.schema["image"] == Image((28, 28, 1))
    assert digits_source.schema["label"] == ClassLabel(tuple("0123456789"))


def test_other_files_in_the_folder_are_named(make_files):
    source = Mnist(make_files({**SMALL, "README": "digits"}))

    assert source.listing().skipped == [Skipped("README", "has no idx file's name")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_gzip_is_told_by_content_and_not_by_name(make_files, pack, suffix):
    source = Mnist(make_files({name + suffix: pack(content) for name, content in SMALL.items()}))

    assert source.load(2)["label"] == 9
    assert source.load(2)["image"].tolist() == [[[16], [17], [18], [19]], [[20], [21], [22], [23]]]


def test_a_file_that_is_there_plain_and_gzipped_is_read_once(make_files, corpus):
    name = "train-labels-idx1-ubyte"
    source = Mnist(make_files({**SMALL, f"{name}.gz": gzip.compress(SMALL[name])}))

    assert len(source.listing()) == 3
    assert source.listing().skipped == [Skipped(f"{name}.gz", f"is {name} once more")]


def test_train_and_test_follow_each_other(make_files):
    test = {name.replace("train", "t10k"): content for name, content in SMALL.items()}

    listing = Mnist(make_files({**SMALL, **test})).listing()

    assert [listing.key(at) for at in (0, 3)] == ["train/0", "test/0"]
    assert listing.split_ids.tolist() == [0, 0, 0, 1, 1, 1]


def test_names_with_a_dot_before_idx_are_known_too(make_files):
    source = Mnist(make_files({name.replace("-idx", ".idx"): content for name, content in SMALL.items()}))

    assert len(source.listing()) == 3


def test_class_names_can_be_given(make_files):
    names = tuple("abcdefghij")

    assert Mnist(make_files(SMALL), names=names).schema["label"] == ClassLabel(names)


def test_the_image_is_a_copy_that_its_reader_may_write_to(make_files):
    source = Mnist(make_files(SMALL))

    source.load(0)["image"][:] = 255

    assert source.load(0)["image"][0, 0, 0] == 0


def test_it_pickles_without_its_data(digits_source):
    digits_source.load(0)

    again = pickle.loads(pickle.dumps(digits_source))

    assert len(pickle.dumps(digits_source)) < 50 * 10_000
    assert np.array_equal(again.load(17)["image"], digits_source.load(17)["image"])


@pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be cut there")
def test_a_file_that_is_cut_after_listing_gives_an_error(make_files):
    root = make_files({**SMALL, "train-images-idx3-ubyte": images(3, 100, 100)})
    source = Mnist(root)
    source.listing()
    os.truncate(root / "train-images-idx3-ubyte", 5_000)

    with pytest.raises(FileChangedError, match="was cut from 30016 to 5000 bytes"):
        source.load(2)


def test_a_file_with_fewer_images_than_listed_gives_an_error(make_files):
    root = make_files(SMALL)
    source = Mnist(root)
    source.listing()
    (root / "train-images-idx3-ubyte").write_bytes(images(1, 2, 4))

    with pytest.raises(SourceError, match="holds 1 images, but held more when it was listed"):
        pickle.loads(pickle.dumps(source)).load(2)


BAD = {
    "no files": ({"a.txt": "x"}, "holds no idx files"),
    "no labels": ({"train-images-idx3-ubyte": images(1, 2, 2)}, "has no labels file beside it"),
    "no images": ({"train-labels-idx1-ubyte": labels(1)}, "has no images file beside it"),
    "magic of labels in images": (
        {**SMALL, "train-images-idx3-ubyte": images(3, 2, 4, magic=0x0801)},
        "begins with 0x00000801; an idx file of 3 dimensions begins with 0x00000803",
    ),
    "magic with the bytes turned": (
        {**SMALL, "train-labels-idx1-ubyte": labels(7, 0, 9, magic=0x01080000)},
        "begins with 0x01080000; an idx file of 1 dimensions begins with 0x00000801",
    ),
    "cut images": (
        {**SMALL, "train-images-idx3-ubyte": images(3, 2, 4)[:-1]},
        r"holds 23 bytes of data; its header \(3, 2, 4\) says 24",
    ),
    "bytes after the images": (
        {**SMALL, "train-images-idx3-ubyte": images(3, 2, 4, extra=1)},
        "holds 25 bytes of data",
    ),
    "a count beyond all memory": (
        {**SMALL, "train-images-idx3-ubyte": struct.pack(">4I", 0x0803, *[2**32 - 1] * 3)},
        r"holds 0 bytes of data; its header .* says 79228162458924105385300197375",
    ),
    "a label less": ({**SMALL, "train-labels-idx1-ubyte": labels(7, 0)}, "holds 2 labels for the 3 images"),
    "a header cut short": ({**SMALL, "train-images-idx3-ubyte": b"\0\0\x08\x03\0"}, "has 5 bytes; an idx header alone"),
    "an empty file": ({**SMALL, "train-labels-idx1-ubyte": b""}, "has 0 bytes; an idx header alone has 8"),
    "a cut gzip": (
        {**SMALL, "train-images-idx3-ubyte": gzip.compress(images(3, 2, 4))[:-9]},
        "is a gzip file cut before its end",
    ),
    "a damaged gzip": (
        {**SMALL, "train-images-idx3-ubyte": gzip.compress(images(3, 2, 4))[:-8] + b"\0" * 8},
        "is a damaged gzip file",
    ),
    "two sets of one split": (
        {**SMALL, **{f"letters-{name}": content for name, content in SMALL.items()}},
        "holds two sets of the split 'train'",
    ),
    "images of two sizes": (
        {**SMALL, "t10k-images-idx3-ubyte": images(1, 5, 5), "t10k-labels-idx1-ubyte": labels(1)},
        r"holds images of different sizes, \[\(2, 4\), \(5, 5\)\]",
    ),
}


@pytest.mark.parametrize(("files", "reason"), BAD.values(), ids=BAD)
def test_files_that_break_the_format_are_refused(make_files, files, reason):
    with pytest.raises(SourceError, match=reason):
        Mnist(make_files(files)).listing()


def test_labels_beyond_the_names_are_refused(make_files):
    with pytest.raises(SourceError, match="holds the label 9, but only 2 class names are given"):
        Mnist(make_files(SMALL), names=("a", "b")).listing()


def test_files_cut_by_hand_whose_header_claims_more_are_refused(corpus):
    with pytest.raises(SourceError, match=r"holds 5 bytes of data; its header \(60000,\) says 60000"):
        Mnist(corpus / "mnist/hf_fashion_5").listing()


def test_files_with_zeros_for_a_magic_number_are_refused(corpus):
    with pytest.raises(SourceError, match=r"begins with 0x00000000; an idx file of . dimensions begins with 0x0000080"):
        Mnist(corpus / "mnist/hf_mnist_badmagic_5").listing()


def test_a_folder_that_is_a_file_is_refused(make_files):
    root = make_files(SMALL)

    with pytest.raises(SourceError, match="is a file; the folder that holds the idx files is due"):
        Mnist(root / "train-images-idx3-ubyte")
