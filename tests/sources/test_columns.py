"""Items by column are the items one by one."""

import os
from pathlib import Path

import numpy as np
import pytest

from wellfed.columns import Bytes
from wellfed.image import encode_image
from wellfed.sources import Cifar, ClassFolders, Mnist, Numpy


def class_folders(tmp_path, corpus):
    for number in range(7):
        path = tmp_path / "digits" / f"class {number % 3}" / f"é{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_image(np.full((number + 1, 2, 3), number, np.uint8)))
    return ClassFolders(tmp_path / "digits")


def numpy_files(tmp_path, corpus):
    arrays = {f"{name}_{split}": rows for split in ("train", "test") for name, rows in two_arrays(split).items()}
    np.savez(tmp_path / "set.npz", **arrays)
    return Numpy(tmp_path / "set.npz", label="y")


def two_arrays(split):
    n = 5 if split == "train" else 3
    return {"x": np.arange(n * 4, dtype=">f4").reshape(n, 2, 2), "y": np.arange(n) % 3}


SOURCES = {
    "class folders": class_folders,
    "mnist": lambda tmp_path, corpus: Mnist(corpus.parent.parent.parent / "examples" / "data"),
    "cifar-10": lambda tmp_path, corpus: Cifar(corpus / "cifar10" / "cifar-10-batches-py"),
    "cifar-100": lambda tmp_path, corpus: Cifar(corpus / "cifar10" / "cifar-100-python"),
    "numpy": numpy_files,
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_columns_hold_what_each_item_holds(tmp_path, corpus, make):
    whole = make(tmp_path, corpus)
    rows = np.random.default_rng(2).permutation(len(whole.listing()))[:20]
    source = whole.part(rows)
    start, stop = 1, len(rows) - 1

    columns = source.load_columns(start, stop)

    assert columns.keys() == source.schema.keys()
    for at in range(start, stop):
        item = source.load(at)
        for name, column in columns.items():
            found = column[at - start]
            if isinstance(column, Bytes):
                assert found == (item[name].encode() if isinstance(item[name], str) else item[name])
            else:
                np.testing.assert_array_equal(found, item[name])
                assert np.asarray(found).dtype.isnative


def test_pictures_that_are_gone_or_changed_are_left_to_be_loaded_one_by_one(tmp_path):
    source = class_folders(tmp_path, None)
    source.listing()
    path = next((tmp_path / "digits").rglob("*.png"))
    content = path.read_bytes()
    path.write_bytes(content + b"more")
    assert source.load_columns(0, 7) is None

    path.unlink()
    assert source.load_columns(0, 7) is None


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
def test_file_names_that_are_no_utf8_are_left_to_be_loaded_one_by_one(tmp_path):
    source = class_folders(tmp_path, None)
    name = Path(os.fsdecode(b"\xff.png"))
    path = next((tmp_path / "digits").rglob("*.png"))
    try:
        path.rename(path.with_name(str(name)))
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")

    assert source.load_columns(0, 7) is None
    assert len([source.load(at) for at in range(7)]) == 7
