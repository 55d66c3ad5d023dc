from __future__ import annotations

import io
import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wellfed.datasets import ByteString, ClassLabel, Scalar, Tensor, Text
from wellfed.errors import FileChangedError, SourceError
from wellfed.sources import Numpy

ARRAYS = hnp.arrays(
    st.sampled_from(["u1", "<i2", ">i4", "i8", "f2", "<f4", ">f8", "?"]),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4),
)


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def npz(compressed: bool = False, **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


@given(array=ARRAYS, fortran=st.booleans())
def test_row_i_is_row_i_of_the_array(tmp_path_factory, array, fortran):
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    path.write_bytes(npy(np.asfortranarray(array) if fortran else array))

    source = Numpy(path)

    assert len(source.listing()) == len(array)
    for at, row in enumerate(array):
        item = source.load(at)
        assert np.array_equal(item["x"], row, equal_nan=row.dtype.kind == "f")
        assert item["x"].dtype.isnative
        assert source.schema.encode(item)


@pytest.mark.parametrize("compressed", [False, True], ids=["savez", "savez_compressed"])
def test_the_arrays_of_an_npz_are_features(make_files, compressed):
    content = npz(compressed, image=np.arange(12, dtype=np.uint8).reshape(3, 2, 2), label=np.array([2, 0, 1]))

    source = Numpy(make_files({"set.npz": content}) / "set.npz", label="label")

    assert dict(source.schema) == {
        "image": Tensor((2, 2), np.uint8, encoding="bytes"),
        "label": ClassLabel(num_classes=3),
    }
    assert source.load(2)["image"].tolist() == [[8, 9], [10, 11]]
    assert [source.load(at)["label"] for at in range(3)] == source.listing().labels.tolist() == [2, 0, 1]
    assert source.listing().key(1) == "set.npz/1"


def test_the_arrays_of_an_npz_that_is_not_compressed_are_mapped(make_files):
    source = Numpy(make_files({"set.npz": npz(x=np.zeros(5))}) / "set.npz")
    source.listing()

    values = source._splits[""]["x"].values

    assert not values.flags.owndata
    assert not values.flags.writeable


def test_several_npy_files_are_features_under_the_names_given(make_files):
    root = make_files(
        {"a.npy": npy(np.float32([1, 2])), "b.npy": npy(np.array(["x", "é"])), "c": npy(np.array([b"q", b""]))}
    )

    source = Numpy({"a": root / "a.npy", "b": root / "b.npy", "c": root / "c"})

    assert dict(source.schema) == {"a": Scalar(np.float32), "b": Text(), "c": ByteString()}
    assert [source.load(at) for at in (0, 1)] == [{"a": 1.0, "b": "x", "c": b"q"}, {"a": 2.0, "b": "é", "c": b""}]


@pytest.mark.parametrize(
    "names",
    [("x_train", "y_train", "x_test", "y_test"), ("train_x", "train_y", "test_x", "test_y")],
    ids=["behind", "in front"],
)
def test_names_with_train_and_test_are_splits(make_files, names):
    arrays = dict(zip(names, [np.zeros((3, 2)), np.arange(3), np.ones((1, 2)), np.array([7])], strict=True))

    source = Numpy(make_files({"mnist.npz": npz(**arrays)}) / "mnist.npz", label="y")

    assert list(source.schema) == ["x", "y"]
    assert [source.listing().key(at) for at in (0, 3)] == ["train/0", "test/0"]
    assert [source.listing().split(at) for at in (2, 3)] == ["train", "test"]
    assert source.load(3)["x"].tolist() == [1, 1]


def test_an_array_named_train_alone_is_no_split(make_files):
    source = Numpy(make_files({"a.npz": npz(x_train=np.zeros(2), weight=np.ones(2))}) / "a.npz")

    assert list(source.schema) == ["x_train", "weight"]


def test_a_part_reads_its_own_rows(make_files):
    source = Numpy(make_files({"x.npy": npy(np.arange(9))}) / "x.npy")

    part = pickle.loads(pickle.dumps(source.part(np.array([7, 2]))))

    assert [part.load(at) for at in (0, 1)] == [{"x": 7}, {"x": 2}]


def test_a_row_is_a_copy_that_its_reader_may_write_to(make_files):
    source = Numpy(make_files({"x.npy": npy(np.zeros((2, 3)))}) / "x.npy")

    source.load(0)["x"][:] = 1

    assert source.load(0)["x"].tolist() == [0, 0, 0]


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


BAD = {
    "text": (b"1,2\n", "is no NumPy file but text"),
    "empty": (b"", "is no NumPy file but an empty file"),
    "a cut header": (npy(np.arange(3))[:40], "is a damaged .npy"),
    "a header that is no dict": (npy(np.arange(3)).replace(b"{'descr'", b"['descr'"), "is a damaged .npy"),
    "cut data": (npy(np.arange(3))[:-1], r"holds 23 bytes of data; shape \(3,\) and dtype int64 say 24"),
    "bytes behind": (npy(np.arange(3)) + b"x", "holds 25 bytes of data"),
    "a shape beyond all memory": (
        npy(np.arange(3)).replace(b"(3,), ", b"(3,9999999999999999), ", 1)[:128],
        "holds .* bytes",
    ),
    "a negative shape": (
        npy(np.arange(3)).replace(b"(3,), ", b"(-1,-3),", 1).replace(b"  \n", b"\n"),
        "holds 24 bytes of data",
    ),
    "a single value": (npy(np.array(3)), "holds a single value"),
    "no rows": (npy(np.zeros((0, 3))), "holds no row"),
    "objects": (npy(np.array([Harmful()], object)), "holds Python objects, which are pickles and are not read"),
    "complex numbers": (npy(np.zeros(2, complex)), r"array 'x': shape \(\) and dtype complex128 have no feature type"),
    "structures": (npy(np.zeros(2, [("a", "u1")])), "array 'x': shape .* have no feature type"),
    "lengths": (npz(a=np.zeros(2), b=np.zeros(3)), "holds arrays of different lengths: a has 2 rows, b has 3 rows"),
    "splits of other features": (
        npz(x_train=np.zeros(2), y_test=np.zeros(2)),
        "has 'x' for some splits, but not for all",
    ),
    "splits of other types": (
        npz(x_train=np.zeros(2), x_test=np.arange(2)),
        "array 'x' is .* in one split and .* in another",
    ),
    "objects in an npz": (npz(x=np.array([Harmful()], object)), "holds Python objects"),
    "a cut npz": (npz(x=np.zeros(2))[:-10], "is a damaged .npz"),
    "a damaged npz": (
        npz(True, x=np.arange(1000)).replace(b"PK\x03\x04", b"PK\x03\x05", 1),
        "is no NumPy|is a damaged .npz",
    ),
    "an empty npz": (npz(), "holds no array"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_read_is_refused_and_runs_nothing(make_files, monkeypatch, content, reason):
    root = make_files({"x": content})
    monkeypatch.chdir(root)

    with pytest.raises(SourceError, match=reason):
        Numpy(root / "x").listing()

    assert [path.name for path in root.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("z", "has no array 'z'; it has x, y"),
        ("x", "array 'x' is not one integer a row"),
        ("y", "array 'y' holds the class -1"),
    ],
)
def test_a_label_that_is_no_class_is_refused(make_files, label, reason):
    root = make_files({"a.npz": npz(x=np.zeros((2, 2)), y=np.array([0, -1]))})

    with pytest.raises(SourceError, match=reason):
        Numpy(root / "a.npz", label=label).listing()


@given(at=st.integers(0, 10**6), bit=st.integers(0, 7), compressed=st.booleans())
def test_a_flipped_bit_gives_an_error_or_values_and_never_more(tmp_path_factory, at, bit, compressed):
    content = bytearray(npz(compressed, x=np.arange(8), y=np.zeros((8, 2))))
    content[at % len(content)] ^= 1 << bit
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    path.write_bytes(content)

    try:
        source = Numpy(path)
        [source.load(row) for row in range(len(source.listing()))]
    except SourceError as error:
        assert error.path.startswith(str(path))  # noqa: PT017 -- most flips hit the data, and give other values.


def test_a_file_that_was_replaced_is_noticed(make_files):
    root = make_files({"x.npy": npy(np.arange(3)), "y.npy": npy(np.arange(3))})
    source = Numpy(root / "x.npy")
    source.listing()
    (root / "y.npy").replace(root / "x.npy")

    with pytest.raises(FileChangedError, match="another file took its place"):
        source.load(0)
