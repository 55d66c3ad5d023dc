from __future__ import annotations

import datetime
import gc
import importlib
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Sequence, Tensor, Text
from wellfed.errors import MissingExtraError, SourceError
from wellfed.sources import Parquet, parquetspool

pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "wellfed[pyarrow]"')
pq = pytest.importorskip("pyarrow.parquet")

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40


@pytest.fixture
def write(tmp_path):
    """Writes a Parquet file of few rows a row group, and makes its source."""

    def make(table: dict, name: str = "x.parquet", **options) -> Parquet:
        pq.write_table(pa.table(table), tmp_path / name, row_group_size=3)
        return Parquet(tmp_path / name, **options)

    return make


def items(source) -> list[dict]:
    return [source.load(at) for at in range(len(source.listing()))]


COLUMNS = {
    "int64": (pa.array([1, -2]), Scalar(np.int64)),
    "uint8": (pa.array([1, 255], pa.uint8()), Scalar(np.uint8)),
    "bool": (pa.array([True, False]), Scalar(np.bool_)),
    "float32": (pa.array([0.5, -1.5], pa.float32()), Scalar(np.float32)),
    "float64": (pa.array([0.1, 1e300]), Tensor((), np.float64, encoding="bytes")),
    "text": (pa.array(["a", "é"]), Text()),
    "large text": (pa.array(["a", "é"], pa.large_string()), Text()),
    "dictionary": (pa.array(["a", "b"]).dictionary_encode(), Text()),
    "bytes": (pa.array([b"a\0", b""]), ByteString()),
    "pictures": (pa.array([PNG, PNG + b"x"]), Image()),
    "lists of texts": (pa.array([["a"], []]), Sequence(Text())),
    "lists of lists": (pa.array([[[1], []], []]), Sequence(Sequence(Scalar(np.int64)))),
}


@pytest.mark.parametrize(("column", "kind"), COLUMNS.values(), ids=COLUMNS)
def test_a_column_keeps_its_type_and_its_values(write, column, kind):
    source = write({"x": column})

    assert dict(source.schema) == {"x": kind}
    assert [item["x"] for item in items(source)] == column.to_pylist()
    assert all(source.schema.encode(item) for item in items(source))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[1, 2], []]), Tensor((None,), np.int64)),
        (pa.array([[0.1, 2], []]), Tensor((None,), np.float64, encoding="bytes")),
        (pa.array([[1], [2, 3]], pa.list_(pa.uint8())), Tensor((None,), np.uint8, encoding="bytes")),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)), Tensor((2,), np.float32)),
    ],
)
def test_a_list_of_numbers_is_an_array(write, column, kind):
    source = write({"x": column})

    assert dict(source.schema) == {"x": kind}
    assert [item["x"].tolist() for item in items(source)] == column.to_pylist()
    assert items(source)[1]["x"].dtype == kind.dtype


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        ([datetime.date(1970, 1, 3)], pa.date32(), 2),
        ([datetime.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms"), 1000),
        ([datetime.time(0, 1)], pa.time32("ms"), 60_000),
        ([datetime.timedelta(seconds=2)], pa.duration("us"), 2_000_000),
    ],
)
def test_times_become_the_integers_that_parquet_holds(write, values, kind, stored):
    source = write({"x": pa.array(values, kind)})

    assert (dict(source.schema), items(source)) == ({"x": Scalar(np.int64)}, [{"x": stored}])


def test_pictures_in_structs_of_bytes_and_path_are_pictures(write):
    source = write({"image": pa.array([{"bytes": PNG, "path": "a.png"}])})

    assert (dict(source.schema), items(source)) == ({"image": Image()}, [{"image": PNG}])


@pytest.mark.parametrize("batch_bytes", [1, 64 << 20], ids=["a batch a file", "a batch in all"])
def test_rows_of_all_row_groups_and_files_can_be_read_in_any_order(write, tmp_path, batch_bytes, monkeypatch):
    monkeypatch.setattr(parquetspool, "_BATCH_BYTES", batch_bytes)
    write({"x": range(10)}, "a.parquet")
    write({"x": range(10, 17)}, "b.parquet")

    source = Parquet(tmp_path / "*.parquet")

    assert [source.load(at)["x"] for at in (16, 3, 0, 9, 10)] == [16, 3, 0, 9, 10]
    assert list(source.part(np.array([16, 3, 0, 9, 10])).load_columns(0, 5)["x"]) == [16, 3, 0, 9, 10]
    assert [source.listing().key(at) for at in (0, 16)] == ["a.parquet/0", "b.parquet/6"]


def test_columns_are_kept_in_the_order_asked_for(write):
    source = write({"a": [1], "b": [2], "c": [3]}, columns=["c", "a"])

    assert list(items(source)[0].items()) == [("c", 3), ("a", 1)]


@pytest.mark.parametrize(
    "names", [pa.array(["dog", "Cat", "dog"]), pa.array(["dog", "Cat", "dog"]).dictionary_encode()]
)
def test_named_classes_are_sorted_by_code_point(write, names):
    source = write({"kind": names}, label="kind")

    assert source.schema["kind"] == ClassLabel(("Cat", "dog"))
    assert source.listing().labels.tolist() == [item["kind"] for item in items(source)] == [1, 0, 1]


def test_numbered_classes_keep_their_numbers(write):
    source = write({"kind": [5, 0]}, label="kind")

    assert source.schema["kind"] == ClassLabel(num_classes=6)
    assert source.listing().labels.tolist() == [5, 0]


def test_a_missing_float_is_nan(write):
    assert math.isnan(write({"x": pa.array([None, 0.5], pa.float32())}).load(0)["x"])


@pytest.mark.parametrize(
    "column", [pa.array([1, None]), pa.array(["a", None]), pa.array([b"a", None]), pa.array([[1], None])]
)
def test_a_row_with_another_missing_value_fails_when_it_is_loaded(write, column):
    source = write({"x": column})

    source.load(0)
    with pytest.raises(SourceError, match=r"x.parquet: row 1: column 'x' has no value. Fill it"):
        source.load(1)


def test_a_list_with_a_missing_integer_fails_when_it_is_loaded(write):
    source = write({"x": pa.array([[1, None]])})

    with pytest.raises(SourceError, match="row 0: column 'x' has a list with missing values"):
        source.load(0)


def test_bytes_that_are_no_picture_among_pictures_fail_when_they_are_loaded(write):
    source = write({"x": pa.array([PNG, b"<html>"])})

    with pytest.raises(SourceError, match="row 1: column 'x' is no picture but an HTML page"):
        source.load(1)


def test_a_pickled_copy_reads_the_same_rows_in_another_process(write, tmp_path):
    source = write({"x": range(10)}).part(np.array([7, 2]))
    (tmp_path / "source").write_bytes(pickle.dumps(source))
    program = f"import pickle; s = pickle.load(open({str(tmp_path / 'source')!r}, 'rb')); print(s.load(0), s.load(1))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "{'x': 7} {'x': 2}\n"
    assert source.load(1) == {"x": 2}  # The copy's end took nothing away.


def test_the_file_in_the_temporary_folder_goes_with_the_source(write, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    source = write({"x": range(10)})

    assert list((tmp_path / "temporary").iterdir()) == []
    source.load(3)
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    del source
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_copy_whose_file_is_not_there_makes_its_own(write, monkeypatch):
    source = write({"x": range(10)})
    source.load(0)
    copy = pickle.loads(pickle.dumps(source))
    Path(source.kept._file.path).unlink()

    assert copy.load(4) == {"x": 4}


def test_the_listing_takes_32_bytes_a_row(write):
    source = write({"x": range(10_000)}, label="x")

    assert len(pickle.dumps(source.listing())) < 33 * 10_000


BAD = {
    "text": (b"a,b\n", "is no Parquet but text"),
    "empty": (b"", "is no Parquet but an empty file"),
    "cut": (b"PAR1" + bytes(100), "is a damaged Parquet file"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_parquet_is_refused(make_files, content, reason):
    with pytest.raises(SourceError, match=reason):
        Parquet(make_files({"x.parquet": content}) / "x.parquet").listing()


@pytest.mark.parametrize(
    ("columns", "options", "reason"),
    [
        ({"a": [1], "b": [2]}, {"columns": ["c"]}, "has no column 'c'; it has a, b"),
        ({"a": [1]}, {"label": "c"}, "has no column 'c'"),
        ({"a": pa.array([], pa.int64())}, {}, "holds no row"),
        ({"a": pa.array([{"x": 1}])}, {}, "column 'a' is struct<x: int64>, which has no place here"),
        ({"a": pa.array([None])}, {}, "column 'a' is null, which has no place here"),
        ({"a": [0.5]}, {"label": "a"}, "column 'a' is .*; a class is a name or a whole number"),
        ({"a": [-1]}, {"label": "a"}, "column 'a' holds the class -1"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(write, columns, options, reason):
    with pytest.raises(SourceError, match=reason):
        write(columns, **options).listing()


def test_files_of_different_columns_are_refused(write, tmp_path):
    write({"x": [1]}, "a.parquet")
    write({"x": [0.5]}, "b.parquet")

    with pytest.raises(SourceError, match=r"b.parquet: has other columns or types than .*a.parquet"):
        Parquet(tmp_path / "*.parquet").listing()


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch, make_files):
    def fail(name: str):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", fail)

    with pytest.raises(
        MissingExtraError, match=r'wellfed.sources.Parquet needs pyarrow: pip install "wellfed\[pyarrow\]"'
    ):
        Parquet(make_files({"x.parquet": b"PAR1"}) / "x.parquet")


@pytest.mark.parametrize("values", [["b", None, "a"], [1, None, 0]])
def test_a_row_without_a_class_fails_by_itself(write, values):
    source = write({"a": values}, label="a")

    assert source.schema["a"].num_classes == 2
    assert [source.load(0)["a"], source.load(2)["a"]] == [1, 0]
    with pytest.raises(SourceError, match="row 1: column 'a' has no value; a class is due"):
        source.load(1)
