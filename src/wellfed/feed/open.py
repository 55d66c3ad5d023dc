"""Where data sets begin: arrays, ranges, TFRecord files, and packed data sets on disk."""

from __future__ import annotations

import builtins
import os

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.dataset import Dataset
from wellfed.feed.readers import SharedReader
from wellfed.feed.tree import Tree, leaves, map_tree

PathLike = str | os.PathLike[str]


def from_arrays(columns: Tree) -> Dataset:
    """A data set whose elements are the rows of columns in memory. Addressable.

    Args:
      columns: An array, `Bytes` or `Ragged`, or a mapping or tuple of such, all of one length. Lists become arrays.
        Kept, not copied, so do not change them while they are read; what is delivered are copies.

    Raises:
      PlanError: There is no column, or their lengths differ.
    """
    columns = map_tree(_as_column, columns)
    lengths = {path: len(column) for path, column in leaves(columns)}
    if not lengths:
        raise PlanError("from_arrays", "at least one column is due, got none")
    first, length = next(iter(lengths.items()))
    for path, other in lengths.items():
        if other != length:
            raise PlanError(
                "from_arrays", f"all columns need one length; {first} has {length} rows and {path} has {other}"
            )
    return _over(plan.Arrays(columns, length))


def _as_column(column: object) -> object:
    if isinstance(column, (Bytes, Ragged)):
        return column
    array = np.asarray(column)
    if not array.ndim:
        raise PlanError("from_arrays", f"a column needs at least 1 dimension, got {column!r}")
    return array


def range(*arguments: int) -> Dataset:  # noqa: A001 -- tf.data's name.
    """The int64 numbers of Python's `range(*arguments)`. Addressable."""
    return _over(plan.Range(builtins.range(*arguments)))


def _over(source: plan.Source) -> Dataset:
    return Dataset(source, SharedReader(source))
