from __future__ import annotations

import gzip
import io
import os
import pickle
import shutil
import tarfile

import numpy as np
import pytest

from wellfed.datasets import ClassLabel, Image
from wellfed.errors import SourceError
from wellfed.sources import Cifar, Skipped

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def pixels(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 3072), np.uint8)


def batch(*labels: int, split: str = "training", **more) -> bytes:
    """A batch as Python 2 pickled it: bytes for strings, protocol 2."""
    values = {b"batch_label": f"{split} batch 1 of 5".encode(), b"labels": list(labels), b"data": pixels(len(labels))}
    return pickle.dumps({**values, **more}, 2)


def binary(*labels: tuple[int, ...]) -> bytes:
    return b"".join(bytes(label) + row.tobytes() for label, row in zip(labels, pixels(len(labels)), strict=True))


def tarred(files: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def labels(source) -> list[int]:
    return source.listing().labels.tolist()


def test_the_small_cifar_10_of_the_corpus_is_read(corpus):
    source = Cifar(corpus / "cifar10/cifar-10-batches-py")
    batches = [
        pickle.loads((corpus / f"cifar10/cifar-10-batches-py/{name}").read_bytes())
        for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
    ]

    assert labels(source) == [label for one in batches for label in one[b"labels"]]
    for at, row in enumerate(row for one in batches for row in one[b"data"]):
        assert source.load(at)["image"].tobytes() == row.reshape(3, 32, 32).transpose(1, 2, 0).tobytes()
    assert source.listing().split_ids.tolist() == [0] * 10 + [1] * 2


def test_the_small_cifar_100_of_the_corpus_has_fine_and_coarse_labels(corpus):
    source = Cifar(corpus / "cifar10/cifar-100-python")
    train = pickle.loads((corpus / "cifar10/cifar-100-python/train").read_bytes())

    loaded = [source.load(at) for at in range(5)]

    assert [item["label"] for item in loaded] == train[b"fine_labels"]
    assert [item["coarse_label"] for item in loaded] == train[b"coarse_labels"]
    assert dict(source.schema) == {
        "image": Image((32, 32, 3)),
        "label": ClassLabel(num_classes=100),
        "coarse_label": ClassLabel(num_classes=20),
    }


def test_both_sets_in_one_folder_are_refused(corpus):
    with pytest.raises(SourceError, match="holds files of CIFAR-10 in pickles and of CIFAR-100 in pickles"):
        Cifar(corpus / "cifar10").listing()


def test_class_names_are_those_of_batches_meta(make_files):
    meta = pickle.dumps({b"label_names": [name.encode() for name in NAMES], b"num_vis": 3072}, 2)

    source = Cifar(make_files({"data_batch_1": batch(3), "batches.meta": meta}))

    assert source.schema["label"] == ClassLabel(tuple(NAMES))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_batches_pickled_again_by_python_3_are_read(make_files, protocol):
    values = {"batch_label": "testing batch 1 of 1", "labels": [np.uint8(4)], "data": pixels(1)}

    source = Cifar(make_files({"x": pickle.dumps(values, protocol)}))

    assert (labels(source), source.listing().split(0)) == ([4], "test")


def test_what_a_batch_says_of_itself_goes_before_its_name(make_files):
    source = Cifar(make_files({"data_batch_1": batch(1, split="testing"), "test_batch": batch(2)}))

    assert [(source.listing().split(at), labels(source)[at]) for at in (0, 1)] == [("train", 2), ("test", 1)]


def test_the_tenth_batch_comes_after_the_ninth(make_files):
    source = Cifar(make_files({f"data_batch_{at}": batch(at % 10) for at in (10, 9, 1)}))

    assert labels(source) == [1, 9, 0]


def test_binary_cifar_10_is_told_by_content(make_files):
    files = {
        "data_batch_1.bin": binary((3,), (7,)),
        "test_batch.bin": binary((9,)),
        "batches.meta.txt": "\n".join(NAMES),
    }

    source = Cifar(make_files(files))

    assert labels(source) == [3, 7, 9]
    assert source.schema["label"] == ClassLabel(tuple(NAMES))
    assert source.load(1)["image"].tobytes() == pixels(2)[1].reshape(3, 32, 32).transpose(1, 2, 0).tobytes()


def test_binary_cifar_100_has_the_coarse_label_first(make_files):
    source = Cifar(make_files({"train.bin": binary((19, 99), (0, 42))}))

    assert [{kind: source.load(at)[kind] for kind in ("label", "coarse_label")} for at in (0, 1)] == [
        {"label": 99, "coarse_label": 19},
        {"label": 42, "coarse_label": 0},
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_read_as_its_folder_would_be(make_files, mode):
    files = {"cifar-10-batches-py/data_batch_1": batch(3), "cifar-10-batches-py/test_batch": batch(5, split="testing")}
    root = make_files({"any_name": tarred(files, mode)})

    assert labels(Cifar(root / "any_name")) == [3, 5]


def test_the_folder_may_hold_the_folder_of_the_files(make_files):
    assert labels(Cifar(make_files({"cifar-10-batches-py/data_batch_1": batch(3)}))) == [3]


def test_other_files_are_named(make_files):
    root = make_files(
        {
            "data_batch_1": batch(3),
            "readme.html": "<html>",
            ".hidden": "x",
            "cifar-10-python.tar.gz": gzip.compress(b"x"),
            "notes": pickle.dumps({"a": 1}),
        }
    )

    assert Cifar(root).listing().skipped == [
        Skipped(str(root / ".hidden"), "is hidden"),
        Skipped(str(root / "cifar-10-python.tar.gz"), "is gzip, where its files are due. To read a tar, give its path"),
        Skipped(str(root / "notes"), "is a pickle without pictures or class names"),
        Skipped(str(root / "readme.html"), "is an HTML page, as a failed download leaves"),
    ]


BAD = {
    "nothing": ({}, "holds no batches of CIFAR. data_batch_1"),
    "other files alone": ({"a.txt": "text"}, "holds no batches of CIFAR; of 1 other files, .*a.txt is text"),
    "a hostile pickle": (
        {"data_batch_1": b"cos\nsystem\n(Vtouch pwned\ntR."},
        r"holds no batches of CIFAR",
    ),
    "a hostile pickle of protocol 2": (
        {"data_batch_1": b"\x80\x02cos\nsystem\nX\x05\x00\x00\x00touch\x85R."},
        r"data_batch_1: is a pickle that names os.system; .* Nothing was run",
    ),
    "a pickled list": ({"data_batch_1": pickle.dumps([1])}, "is a pickle of a list; a dict is due"),
    "a cut pickle": ({"data_batch_1": batch(3)[:-100]}, "is a damaged pickle"),
    "a label less": ({"data_batch_1": batch(1, 2, data=pixels(3))}, "holds 3 pictures, but 2 labels"),
    "no labels": (
        {"x": pickle.dumps({b"data": pixels(1), b"batch_label": b"testing"})},
        "holds 1 pictures, but no labels",
    ),
    "pixels of another shape": (
        {"data_batch_1": batch(1, data=np.zeros((1, 784), np.uint8))},
        r"holds data of shape \(1, 784\) and dtype uint8; \(n, 3072\) and uint8 are due",
    ),
    "pixels of another dtype": ({"data_batch_1": batch(1, data=np.zeros((1, 3072)))}, "dtype float64"),
    "rows of two lengths": (
        {"data_batch_1": batch(1, 2, data=[np.zeros(3072, np.uint8), np.zeros(3071, np.uint8)])},
        "holds rows of different lengths",
    ),
    "a label of no class": ({"data_batch_1": batch(1, 10)}, "holds labels from 1 to 10, but has 10 classes"),
    "neither train nor test": ({"x": batch(1, batch_label=b"")}, "says neither train nor test"),
    "a cut binary file": ({"data_batch_1.bin": binary((3,))[:-1]}, "has 3072 bytes, which are no rows of 3073 or 3074"),
    "an empty binary file": ({"test_batch.bin": b""}, "has 0 bytes, which are no rows"),
    "both forms": (
        {"data_batch_1": batch(1), "data_batch_1.bin": binary((1,))},
        "CIFAR-10 in binary and of CIFAR-10 in pic",
    ),
}


@pytest.mark.parametrize(("files", "reason"), BAD.values(), ids=BAD)
def test_files_that_break_the_format_are_refused(make_files, files, reason):
    with pytest.raises(SourceError, match=reason):
        Cifar(make_files(files)).listing()


@pytest.mark.parametrize(
    "content",
    [b"no tar at all", tarred({"data_batch_1": batch(3)}, "w:gz")[:-50], tarred({"a": b"x" * 5000}, "w")[:3000]],
    ids=["text", "a cut gzip", "a cut tar"],
)
def test_a_file_that_is_no_whole_tar_is_refused(make_files, content):
    root = make_files({"cifar.tar.gz": content})

    with pytest.raises(SourceError, match="is no tar that can be read"):
        Cifar(root / "cifar.tar.gz").listing()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "cifar.tar")

    with pytest.raises(SourceError, match=r"cifar.tar: is a pipe or device; a tar is read from a file"):
        Cifar(tmp_path / "cifar.tar")


def test_it_pickles_without_its_pictures_and_gives_parts(corpus):
    source = Cifar(corpus / "cifar10/cifar-10-batches-py")

    part = pickle.loads(pickle.dumps(source.part(np.array([11, 0]))))

    assert len(pickle.dumps(source)) < 5_000
    assert np.array_equal(part.load(0)["image"], source.load(11)["image"])
    assert (part.load(1)["label"], part.listing().split(0)) == (source.load(0)["label"], "test")


def test_a_broken_link_in_the_folder_is_left_out(corpus, tmp_path):
    shutil.copytree(corpus / "cifar10/cifar-10-batches-py", tmp_path / "batches")
    (tmp_path / "batches" / "link").symlink_to("nowhere")

    assert [one.reason for one in Cifar(tmp_path / "batches").listing().skipped] == ["is no regular file"]
