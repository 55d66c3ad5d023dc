"""Apache Arrow from batches; pandas, Polars and DuckDB read it from there. The one file of this room for pyarrow.

array (B,)            the column's own type         the batch's memory (bool: bits, a copy)
array (B, 28, 28)     fixed_size_list, nested       the batch's memory
Bytes (B,)            large_binary                  the batch's memory where the strings lie end to end, else a copy
Ragged (B, None)      large_list                    the batch's memory
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.adapters.loader import check_dataset
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import MissingExtraError, PlanError
from wellfed.feed.tree import leaves, native

try:
    import pyarrow as pa
except ImportError as error:
    raise MissingExtraError("wellfed.adapters.arrow", "pyarrow", "pyarrow") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed import Dataset
    from wellfed.feed.tree import Tree

__all__ = ["to_arrow", "to_record_batch"]


def to_arrow(dataset: Dataset) -> pa.RecordBatchReader:
    """The next epoch of a batched data set as a stream of record batches, one for each batch.

    `pandas`: `to_arrow(ds).read_pandas()`. Polars: `pl.DataFrame(to_arrow(ds))`. DuckDB: `duckdb.from_arrow(reader)`,
    or the reader's variable by name in SQL.

    Args:
      dataset: A data set whose elements are batches. The first one is made at once: it decides the schema.

    Returns:
      A reader that can be read once. What it gives shares the batches' memory where Arrow can; see `to_record_batch`.
      The feed's threads end with the last batch, or when the reader is dropped.

    Raises:
      PlanError: `dataset` is none; an element is a row, not a batch; or, while reading, a batch has other columns or
        other row shapes than the first.
    """
    batches = _record_batches(check_dataset("to_arrow", dataset))
    first = next(batches, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(pa.schema([]), [])
    return pa.RecordBatchReader.from_batches(first.schema, _alike(first, batches))


def to_record_batch(batch: Tree) -> pa.RecordBatch:
    """One batch as one record batch.

    Args:
      batch: A mapping or tuple of columns, or a column. Nested ones are named by their path, such as `1.x`; a column
        by itself is named `value`.

    Returns:
      A record batch over the columns' own memory, which it keeps alive, so do not write to them afterwards. Copied are:
      bool arrays (Arrow packs bits), arrays that are not contiguous or have another order of bytes, and strings that do
      not lie end to end.

    Raises:
      PlanError: A leaf is a single row, holds rows of different shapes, or has a dtype that Arrow has not.

    Source: Arrow columnar format 1.5, "Physical Memory Layout".
    """
    names, arrays = [], []
    for path, column in leaves(batch):
        names.append(path or "value")
        arrays.append(_array(column, names[-1]))
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _record_batches(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    with iter(dataset) as batches:
        for batch in batches:
            yield to_record_batch(batch)


def _alike(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    for number, batch in enumerate(others, start=1):
        if batch.schema != first.schema:
            found = [field for field in batch.schema if field not in list(first.schema)]
            raise PlanError(
                "to_arrow",
                f"batch {number} differs from the first one in {', '.join(map(str, found)) or 'its columns'}; a stream "
                "has one schema: give padded_batch its padded_shapes, or use to_record_batch for each batch",
            )
        yield batch


def _array(column: Any, path: str) -> pa.Array:
    if isinstance(column, Ragged):
        return pa.LargeListArray.from_arrays(pa.array(column.row_splits), _array(column.values, path))
    if isinstance(column, Bytes):
        return _shaped(_binary(column.reshape(-1)), column.shape)
    if isinstance(column, Sparse):
        raise PlanError("to_arrow", f"{path} is sparse, and Arrow has no such column: select_columns() the others")
    if not isinstance(column, np.ndarray) or not column.ndim:
        raise PlanError("to_arrow", f"{path} is one row ({type(column).__name__}), not a column: batch() the data set")
    if column.dtype.hasobject:
        raise PlanError(
            "to_arrow", f"rows of {path} differ in shape, so they are no column: make them alike with map()"
        )
    try:
        values = pa.array(native(column).reshape(-1))
    except pa.ArrowNotImplementedError:
        what = f"{path} is {column.dtype}, and Arrow has no such column: make another of it with map(), or leave it out"
        raise PlanError("to_arrow", what) from None
    return _shaped(values, column.shape)


def _shaped(values: pa.Array, shape: tuple[int, ...]) -> pa.Array:
    """`values` in lists of fixed sizes, so that the whole has `shape`."""
    for depth in range(len(shape) - 1, 0, -1):
        kind = pa.list_(values.type, shape[depth])
        # Not FixedSizeListArray.from_arrays: it divides by the size, which may be 0.
        values = pa.Array.from_buffers(kind, int(np.prod(shape[:depth])), [None], children=[values])
    return values


def _binary(column: Bytes) -> pa.Array:
    if not np.array_equal(column.starts[1:], column.starts[:-1] + column.sizes[:-1]):
        column = column.compact()
    ends = column.starts[-1:] + column.sizes[-1:]
    offsets = np.concatenate([column.starts, ends if len(ends) else [0]]).astype(np.int64, copy=False)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
