"""Batches as Arrow: the same values, in the batch's memory, for pandas, Polars and DuckDB."""

from __future__ import annotations

import numpy as np
import pytest

import wellfed as wf
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import PlanError

pytestmark = pytest.mark.arrow

NAMES = [b"pig", b"", b"cow\x00", b"\xff"]


@pytest.fixture
def arrow():
    from wellfed.adapters import arrow

    return arrow


def addresses(array):
    return {buffer.address for buffer in array.buffers() if buffer is not None}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64"])
def test_an_array_keeps_its_type_and_its_memory(arrow, dtype):
    column = np.arange(5).astype(dtype)

    found = arrow.to_record_batch({"x": column})["x"]

    assert found.to_numpy().dtype == dtype
    assert found.to_pylist() == column.tolist()
    assert column.ctypes.data in addresses(found)


def test_an_array_of_another_order_of_bytes_arrives_whole(arrow):
    assert arrow.to_record_batch({"x": np.arange(3, dtype=">i4")})["x"].to_pylist() == [0, 1, 2]


def test_bools_arrive_as_bools(arrow):
    assert arrow.to_record_batch({"x": np.array([True, False])})["x"].to_pylist() == [True, False]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 0, 3), (0, 3), (2, 3, 0)])
def test_rows_with_a_shape_are_nested_lists_of_fixed_size_in_the_same_memory(arrow, shape):
    column = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)

    found = arrow.to_record_batch({"x": column})["x"]
    found.validate(full=True)

    assert found.to_pylist() == column.tolist()
    assert not column.size or column.ctypes.data in addresses(found)


def test_an_array_that_is_not_contiguous_arrives_whole(arrow):
    column = np.arange(12).reshape(3, 4)[:, ::-2]

    assert arrow.to_record_batch({"x": column})["x"].to_pylist() == column.tolist()


def test_strings_that_lie_end_to_end_are_not_copied(arrow):
    column = Bytes.from_list([b"before", *NAMES])[1:]

    found = arrow.to_record_batch({"s": column})["s"]
    found.validate(full=True)

    assert found.to_pylist() == NAMES
    assert column.data.ctypes.data in addresses(found)


@pytest.mark.parametrize("rows", [[3, 0, 2], [], [1]])
def test_strings_picked_out_of_order_arrive_in_the_order_given(arrow, rows):
    found = arrow.to_record_batch({"s": Bytes.from_list(NAMES)[np.array(rows, np.int64)]})["s"]
    found.validate(full=True)

    assert found.to_pylist() == [NAMES[row] for row in rows]


def test_several_strings_a_row_are_lists_of_fixed_size(arrow):
    found = arrow.to_record_batch({"s": Bytes.from_list(NAMES).reshape(2, 2)})["s"]

    assert found.to_pylist() == [NAMES[:2], NAMES[2:]]


@pytest.mark.parametrize(
    ("column", "due"),
    [
        (Ragged(np.array([5, 6, 7]), [0, 2, 2, 3]), [[5, 6], [], [7]]),
        (Ragged(Bytes.from_list([b"a", b"b"]), [0, 0, 2]), [[], [b"a", b"b"]]),
        (Ragged(Ragged(np.array([1, 2, 3]), [0, 1, 3]), [0, 2, 2]), [[[1], [2, 3]], []]),
        (Ragged(np.arange(6).reshape(3, 2), [0, 1, 3]), [[[0, 1]], [[2, 3], [4, 5]]]),
    ],
    ids=["numbers", "strings", "nested", "rows"],
)
def test_rows_of_different_length_are_lists(arrow, column, due):
    found = arrow.to_record_batch({"r": column})["r"]
    found.validate(full=True)

    assert found.to_pylist() == due


def test_nested_elements_are_named_by_their_path(arrow):
    assert arrow.to_record_batch((np.arange(2), {"x": np.arange(2)})).schema.names == ["0", "1.x"]
    assert arrow.to_record_batch(np.arange(2)).schema.names == ["value"]


def test_a_row_is_refused_with_what_to_do(arrow):
    with pytest.raises(PlanError, match=r"x is one row \(int64\), not a column: batch\(\) the data set"):
        arrow.to_arrow(wf.from_arrays({"x": np.arange(3)}))


def test_a_sparse_column_is_refused_by_name(arrow):
    with pytest.raises(PlanError, match=r"s is sparse, and Arrow has no such column: select_columns\(\) the others"):
        arrow.to_record_batch({"s": Sparse(np.array([[0, 2]]), np.array([20]), (3, 4))})


@pytest.mark.parametrize("dtype", ["c8", [("a", "i4")]], ids=["complex", "fields"])
def test_a_dtype_that_arrow_has_not_is_refused_by_name(arrow, dtype):
    with pytest.raises(PlanError, match=r"x is .*, and Arrow has no such column: make another of it with map\(\)"):
        arrow.to_record_batch({"x": np.zeros(2, dtype)})


def test_a_stream_has_a_record_batch_for_each_batch(arrow):
    reader = arrow.to_arrow(wf.from_arrays({"x": np.arange(5)}).batch(2))

    assert [batch["x"].to_pylist() for batch in reader] == [[0, 1], [2, 3], [4]]


def test_a_reader_that_is_dropped_leaves_no_thread(arrow):
    reader = arrow.to_arrow(wf.from_arrays({"x": np.arange(100_000)}).batch(2))
    reader.read_next_batch()

    del reader  # conftest.py looks for threads.


def test_an_empty_data_set_is_an_empty_stream(arrow):
    assert arrow.to_arrow(wf.from_arrays({"x": np.arange(0)}).batch(2)).read_all().num_rows == 0


def test_a_batch_of_another_row_shape_is_named(arrow):
    grown = wf.from_arrays({"x": np.arange(4)}).map(lambda e: {"x": np.zeros(1 + e["x"] // 2)}).batch(2)

    with pytest.raises(PlanError, match=r"batch 1 differs from the first one in .*x: fixed_size_list.*\[2\]"):
        arrow.to_arrow(grown).read_all()


@pytest.fixture
def batches():
    columns = {"label": np.arange(6), "image": np.arange(24, dtype=np.float32).reshape(6, 2, 2)}
    return wf.from_arrays({**columns, "name": Bytes.from_list([b"%d" % n for n in range(6)])}).batch(4)


def test_pandas_reads_a_feed(arrow, batches):
    frame = arrow.to_arrow(batches).read_pandas()

    assert frame["label"].tolist() == list(range(6))
    assert frame["name"].tolist() == [b"%d" % n for n in range(6)]
    assert np.array_equal(np.stack(frame["image"][5].tolist()), [[20, 21], [22, 23]])


def test_polars_reads_a_feed(arrow, batches):
    import polars as pl

    frame = pl.DataFrame(arrow.to_arrow(batches))

    assert frame["image"].dtype == pl.Array(pl.Float32, (2, 2))
    assert frame["name"].to_list() == [b"%d" % n for n in range(6)]
    assert frame["label"].sum() == 15


def test_duckdb_queries_a_feed(arrow, batches):
    import duckdb

    with duckdb.connect() as connection:
        found = connection.from_arrow(arrow.to_arrow(batches)).aggregate("sum(label), max(image[2][1])").fetchall()

    assert found == [(15, 22.0)]


def test_what_is_no_data_set_is_refused(arrow):
    with pytest.raises(PlanError, match="to_arrow: a data set is due, got list"):
        arrow.to_arrow([1])
