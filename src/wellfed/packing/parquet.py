"""Writing Parquet; the one file of this room that imports pyarrow."""

from __future__ import annotations

import importlib
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ClassLabel
from wellfed.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from wellfed.datasets import FeatureType, Schema

_GROUP_ROWS = 4096


def write_parquet(path: Path, schema: Schema, rows: Iterator[Mapping[str, Any]]) -> int:
    """Writes rows as a Parquet file, classes by name; returns how many they were.

    Raises:
      MissingExtraError: pyarrow is not installed.
    """
    try:
        pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError("export to parquet", "pyarrow", "pyarrow") from error
    count, writer = 0, None
    try:
        while group := list(islice(rows, _GROUP_ROWS)):
            columns = {name: [_plain(kind, row[name]) for row in group] for name, kind in schema.items()}
            table = pyarrow.table(columns) if writer is None else pyarrow.table(columns, schema=writer.schema)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            count += len(group)
        if writer is None:
            parquet.write_table(pyarrow.table({name: pyarrow.array([]) for name in schema}), path)
    finally:
        if writer is not None:
            writer.close()
    return count


def _plain(kind: FeatureType, value: Any) -> Any:
    if isinstance(kind, ClassLabel) and 0 <= int(value) < len(kind.names):
        return kind.names[int(value)]
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim != 1 else value
