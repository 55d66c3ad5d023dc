"""Many items at once are stored as they are one by one, whatever the source: same bytes, or left to be read singly."""

from __future__ import annotations

import importlib
import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from wellfed.datasets import Schema
from wellfed.example import encode_example, encode_examples
from wellfed.sources import (
    Cifar,
    ClassFolders,
    ColumnSource,
    Csv,
    FixedBinary,
    ListFile,
    MappedSource,
    Mnist,
    Numpy,
    Parquet,
    Spooled,
    Tar,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40
FIELDS = {"s": ("S3", ()), "b": ("?", (2,)), "big": (">i2", ()), "f": ("<f8", (2,)), "label": ("u1", ())}


def csv_source(folder):
    text = 'id,name,x,flag,kind\n7,"a ""b"", c",0.5,true,p\n-1,"two\nlines\r\nand\rmore",,FALSE,q\n0,é,1e3,True,p\n'
    (folder / "a.csv").write_text(text, newline="")
    (folder / "b.csv").write_text("id,name,x,flag,kind\n5,last,2,false,q", newline="")
    return Csv(folder / "*.csv", label="kind")


def binary_source(folder):
    (folder / "a.bin").write_bytes(b"HH" + np.random.default_rng(0).bytes(24 * 5))
    (folder / "b.bin").write_bytes(b"HH" + b"a\0\0" + bytes(21))
    return FixedBinary(folder / "*.bin", FIELDS, header_bytes=2, label="label")


def numpy_source(folder):
    arrays = {"x_train": np.arange(12, dtype=">f4").reshape(4, 3), "x_test": np.ones((2, 3), ">f4")}
    np.savez(folder / "x.npz", **arrays, y_train=np.array([0, 1, 1, 0]), y_test=np.array([1, 0]))
    return Numpy(folder / "x.npz", label="y")


def parquet_source(folder):
    pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "wellfed[pyarrow]"')
    table = {
        "i": pa.array([1, -2, 3, 4], pa.int16()),
        "f": [0.5, None, float("inf"), 1.0],
        "d": pa.array([1.5, 2.5, 3.5, 4.5], pa.float32()),
        "b": [True, False, True, True],
        "t": pa.array(["a", "é", "", "a"]).dictionary_encode(),
        "bytes": [b"a\0", b"", b"\xff", b"b"],
        "image": [PNG, PNG + b"2", PNG, PNG],
        "list": [[1, 2], [], [3], [4]],
        "lists": [[["x"], []], [], [["y"]], []],
        "kind": ["p", "q", "p", "q"],
    }
    importlib.import_module("pyarrow.parquet").write_table(pa.table(table), folder / "x.parquet", row_group_size=2)
    return Parquet(folder / "x.parquet", label="kind")


def tar_source(folder):
    array = io.BytesIO()
    np.save(array, np.arange(3))
    for name, number in (("a.tar", 3), ("b.tar", 2)):
        with tarfile.open(folder / name, "w") as tar:
            for at in range(number):
                content = {"png": PNG + bytes([at]), "cls": b"%d" % at, "txt": b"\xc3\xa9", "npy": array.getvalue()}
                for ending, value in content.items():
                    member = tarfile.TarInfo(f"{at}.{ending}")
                    member.size = len(value)
                    tar.addfile(member, io.BytesIO(value))
    return Tar(folder / "*.tar")


def folders_source(folder):
    for name in ("cat/1.png", "cat/2.png", "dög/3.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PNG + name.encode())
    return ClassFolders(folder)


def list_source(folder):
    source = folders_source(folder)
    lines = [f"{source.listing().key(at)} {at}\n" for at in range(len(source.listing()))]
    (folder / "list.txt").write_text("".join(lines), encoding="utf-8")
    return ListFile(folder / "list.txt")


def npy_source(folder):
    np.save(folder / "x.npy", np.arange(60, dtype=np.int32).reshape(20, 3))
    np.save(folder / "y.npy", np.arange(20) % 3)
    return Numpy({"x": folder / "x.npy", "y": folder / "y.npy"}, label="y")


def spooled_source(folder):
    return Spooled({"n": n, "text": "t" * n} for n in range(20))


OWN = [csv_source, binary_source, numpy_source, parquet_source, tar_source, folders_source, list_source]


@pytest.mark.parametrize("make", OWN, ids=lambda make: make.__name__.removesuffix("_source"))
def test_many_items_are_stored_as_they_are_one_by_one(tmp_path, make):
    check(make(tmp_path))


def test_many_digits_are_stored_as_they_are_one_by_one(digits):
    check(Mnist(digits))


@pytest.mark.parametrize("name", ["cifar-10-batches-py", "cifar-100-python"])
def test_many_pictures_of_cifar_are_stored_as_they_are_one_by_one(corpus, name):
    check(Cifar(corpus / "cifar10" / name))


MAPPED = {
    csv_source: 0,
    binary_source: 0,
    npy_source: 128,
    tar_source: 0,
    spooled_source: 0,
}  # And their headers' bytes.


@pytest.mark.parametrize("make", MAPPED, ids=lambda make: make.__name__.removesuffix("_source"))
def test_the_places_of_items_hold_all_that_they_are_made_of(tmp_path, make):
    source = make(tmp_path)
    assert isinstance(source, MappedSource)
    part = source.part(np.array([3, 0]))
    expected = stored(part)
    travelled = pickle.dumps(part)  # Without the files that are open.
    needed = {}
    for file, starts, sizes in part.places(0, 2):
        ranges = needed.setdefault(file.path, [(0, MAPPED[make])])  # A header, which is read once.
        ranges += zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    for path, ranges in needed.items():
        content = Path(path).read_bytes()
        rest = bytearray(len(content))
        for start, stop in ranges:
            rest[start:stop] = content[start:stop]
        assert rest != content
        Path(path).write_bytes(rest)

    assert stored(pickle.loads(travelled)) == expected


def test_the_places_of_cells_of_parquet_hold_their_values(tmp_path):
    source = parquet_source(tmp_path)
    part = source.part(np.array([3, 0]))
    found = [
        file.data[start : start + size].tobytes()
        for file, starts, sizes in part.places(0, 2)
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    ]

    for cell in (b"\1\0", b"\4\0", np.float32(1.5).tobytes(), np.float32(4.5).tobytes(), PNG, b"a\0", b"p", b"q"):
        assert cell in found
    assert np.int16(-2).tobytes() not in found


def test_arrays_whose_rows_do_not_lie_in_one_piece_have_no_places(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(12).reshape(4, 3)))

    assert not list(Numpy(tmp_path / "x.npy").places(0, 4))


def stored(source):
    schema = Schema(source.schema)
    return [encode_example(schema.encode(source.load(at))) for at in range(len(source.listing()))]


def check(source):
    assert isinstance(source, ColumnSource)
    rows = np.random.default_rng(1).permutation(len(source.listing()))[:50]
    part, schema = source.part(rows), Schema(source.schema)
    for start, stop in ((0, len(rows)), (1, len(rows) - 1)):
        columns = part.load_columns(start, stop)
        assert columns is not None
        together = encode_examples(schema.encode_columns(columns)).to_list()
        assert together == [encode_example(schema.encode(part.load(at))) for at in range(start, stop)]
