from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wellfed.datasets import ByteString, Scalar, Tensor
from wellfed.errors import FileChangedError, SourceError
from wellfed.sources import FixedBinary

CIFAR = {"label": ("uint8", ()), "image": ("uint8", (3, 32, 32))}

FIELDS = st.lists(
    st.tuples(
        st.sampled_from(["u1", "<i2", ">i2", ">i4", "<i8", ">u8", "<f4", ">f4", "<f8", ">f2", "?"]),
        st.lists(st.integers(1, 3), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=4,
).map(lambda kinds: {f"f{at}": kind for at, kind in enumerate(kinds)})


@given(fields=FIELDS, n=st.integers(1, 5), header=st.binary(max_size=9), seed=st.integers(0, 99))
def test_records_come_back_as_numpy_wrote_them(tmp_path_factory, fields, n, header, seed):
    record = np.dtype([(name, dtype, shape) for name, (dtype, shape) in fields.items()])
    raw = np.random.default_rng(seed).integers(0, 2, n * record.itemsize, np.uint8)
    assume(not (header + raw.tobytes()).startswith(b"\x1f\x8b\x08"))  # Taken for gzip.
    path = tmp_path_factory.mktemp("binary") / "x.bin"
    path.write_bytes(header + raw.tobytes())

    source = FixedBinary(path, fields, header_bytes=len(header))

    assert len(source.listing()) == n
    for at, row in enumerate(raw.view(record)):
        item = source.load(at)
        assert source.schema.encode(item).keys() == source.schema.features().keys()
        for name in fields:
            assert np.array_equal(item[name], row[name], equal_nan=item[name].dtype.kind == "f")
            assert item[name].dtype.isnative


def test_the_types_hold_every_dtype_whole(make_files):
    fields = {
        "a": ("u1", ()),
        "b": (">f8", ()),
        "c": ("<f4", (2,)),
        "d": ("u1", (2, 2)),
        "e": ("S3", ()),
        "f": ("i8", (1,)),
    }

    source = FixedBinary(make_files({"x": bytes(1 + 8 + 8 + 4 + 3 + 8)}) / "x", fields)

    assert dict(source.schema) == {
        "a": Scalar(np.uint8),
        "b": Tensor((), np.float64, encoding="bytes"),
        "c": Tensor((2,), np.float32),
        "d": Tensor((2, 2), np.uint8, encoding="bytes"),
        "e": ByteString(),
        "f": Tensor((1,), np.int64),
    }


def test_a_byte_string_keeps_its_trailing_zeros(make_files):
    source = FixedBinary(make_files({"x": b"ab\0\0\0\0"}) / "x", {"name": ("S3", ())})

    assert [source.load(at) for at in (0, 1)] == [{"name": b"ab\0"}, {"name": b"\0\0\0"}]


def test_several_files_follow_each_other_and_name_their_records(make_files):
    root = make_files({"b.bin": bytes([3, 4]), "a.bin": bytes([1, 2])})

    source = FixedBinary(root / "*.bin", {"x": ("u1", ())}, label="x")

    assert [source.listing().key(at) for at in (0, 3)] == ["a.bin/0", "b.bin/1"]
    assert [source.load(at)["x"] for at in range(4)] == [1, 2, 3, 4]
    assert source.listing().labels.tolist() == [1, 2, 3, 4]


def test_gzip_is_told_by_content(make_files):
    source = FixedBinary(make_files({"x.bin": gzip.compress(b"\x01\x02")}) / "x.bin", {"x": ("u1", ())})

    assert source.load(1) == {"x": 2}


def test_a_part_reads_its_own_records(make_files):
    source = FixedBinary(make_files({"x": bytes(range(9))}) / "x", {"x": ("u1", (3,))})

    part = pickle.loads(pickle.dumps(source.part(np.array([2, 0]))))

    assert [part.load(at)["x"].tolist() for at in (0, 1)] == [[6, 7, 8], [0, 1, 2]]


BAD = {
    "a record cut": (
        bytes(2 * 3073 - 1),
        0,
        "has 6145 bytes, but header_bytes=0 and records of 3073: 3072 bytes are left",
    ),
    "a header too short": (b"abc", 4, "it is shorter than its header"),
    "no records": (b"abcd", 4, "holds no record; one has 3073 bytes"),
    "an empty file": (b"", 0, "holds no record"),
}


@pytest.mark.parametrize(("content", "header", "reason"), BAD.values(), ids=BAD)
def test_a_file_without_whole_records_is_refused(make_files, content, header, reason):
    with pytest.raises(SourceError, match=reason):
        FixedBinary(make_files({"x": content}) / "x", CIFAR, header_bytes=header).listing()


def test_a_file_that_shrank_after_listing_is_refused(make_files):
    root = make_files({"x": bytes(5)})
    source = FixedBinary(root / "x", {"x": ("u1", ())})
    source.listing()
    (root / "x").write_bytes(bytes(3))

    with pytest.raises(SourceError, match="x: ends before record 4, which it held when it was listed"):
        pickle.loads(pickle.dumps(source)).load(4)


def test_a_file_that_was_replaced_is_noticed(make_files):
    root = make_files({"x": bytes(5), "y": bytes(5)})
    source = FixedBinary(root / "x", {"x": ("u1", ())})
    source.listing()
    (root / "y").replace(root / "x")

    with pytest.raises(FileChangedError, match="another file took its place"):
        source.load(4)


@pytest.mark.parametrize(
    ("fields", "options", "reason"),
    [
        ({"x": ("O", ())}, {}, "field 'x' has dtype object"),
        ({"x": ("c8", ())}, {}, "field 'x' has dtype complex64"),
        ({"x": ("S3", (2,))}, {}, r"shape \(2,\) and dtype \|S3 have no feature type"),
        ({}, {}, "a record must have at least one byte"),
        (CIFAR, {"label": "image"}, "label must name a field of a single integer, got 'image'"),
        (CIFAR, {"label": "class"}, "label must name a field of a single integer, got 'class'"),
        (CIFAR, {"header_bytes": -1}, "header_bytes must be at least 0, got -1"),
    ],
)
def test_fields_that_cannot_be_read_are_refused_at_once(make_files, fields, options, reason):
    with pytest.raises(ValueError, match=reason):
        FixedBinary(make_files({"x": b"x"}) / "x", fields, **options)


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        ("no*.bin", r"no\*.bin: matches no file"),
        ("missing.bin", "missing.bin: no such file or folder"),
        ([], "no files are given"),
        (["x.bin", "x.bin"], "is given twice"),
        (".", "is a folder; files are due"),
        ("s3://bucket/x.bin", "is a URL"),
    ],
)
def test_paths_that_name_no_files_are_refused_at_once(make_files, monkeypatch, paths, reason):
    monkeypatch.chdir(make_files({"x.bin": b"x"}))

    with pytest.raises(SourceError, match=reason):
        FixedBinary(paths, CIFAR)


def test_a_file_whose_name_holds_brackets_is_meant_itself(make_files):
    source = FixedBinary(make_files({"x[0].bin": b"\x07"}) / "x[0].bin", {"x": ("u1", ())})

    assert source.load(0) == {"x": 7}
