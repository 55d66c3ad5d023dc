"""Rows of different length: made one array by padded_batch, kept as they are by ragged_batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.ragged import ragged_of
from wellfed.feed.tree import dense

if TYPE_CHECKING:
    from wellfed.feed.tree import Tree


def pad(batch: Tree, shapes: Tree, values: Tree, path: str = "") -> Tree:
    """The columns of one batch, each padded on the right to one shape.

    Args:
      batch: A tree of columns of B rows.
      shapes: A tree of the same structure with a row's shape in each leaf, None for a dimension that the longest row
        decides; or None for all.
      values: A tree of what fills the places left over, or one value for all; None: 0 or b"".
      path: Where `batch` stands in the element, for errors.
    """
    if isinstance(batch, Mapping):
        return {
            name: pad(branch, _under(shapes, name, path), _under(values, name, path), f"{path}.{name}")
            for name, branch in batch.items()
        }
    if isinstance(batch, tuple):
        return tuple(
            pad(branch, _under(shapes, n, path), _under(values, n, path), f"{path}.{n}")
            for n, branch in enumerate(batch)
        )
    where = path.removeprefix(".") or "the element"
    try:
        return _pad_column(batch, shapes, values, where)
    except (TypeError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError("padded_batch", f"{where}: its padded_shapes or padding_values do not fit: {error}") from error


def _under(tree: Tree, name: Any, path: str) -> Tree:
    if tree is None or not isinstance(tree, (Mapping, tuple)):
        return tree
    try:
        return tree[name]
    except (KeyError, IndexError):
        where = path.removeprefix(".") or "the element"
        raise PlanError("padded_batch", f"padded_shapes and padding_values need {name!r} of {where}") from None


def _pad_column(column: Any, shape: Sequence[int | None] | None, value: Any, path: str) -> Any:
    if isinstance(column, Ragged):
        due = None if shape is None else list(shape)
        _check_lengths(column, due or [], path)
        return column.to_padded(value, due)
    if isinstance(column, (Bytes, Sparse)):
        return column
    rows = [np.asarray(row) for row in column]
    rank = max((row.ndim for row in rows), default=column.ndim - 1)
    due = [None] * rank if shape is None else list(shape)
    if any(row.ndim != len(due) for row in rows):
        found = sorted({row.ndim for row in rows})
        raise PlanError("padded_batch", f"{path}: rows of {len(due)} dimensions are due, got {found}")
    sizes = [max((row.shape[d] for row in rows), default=0) if most is None else most for d, most in enumerate(due)]
    dtype = rows[0].dtype if rows else column.dtype
    nothing: Any = b"" if dtype.hasobject else 0
    out: Any = np.full((len(rows), *sizes), nothing if value is None else value, dtype)
    for number, row in enumerate(rows):
        if any(size > most for size, most in zip(row.shape, sizes, strict=True)):
            raise PlanError("padded_batch", f"{path}: a row of shape {row.shape} is longer than {tuple(sizes)}")
        out[(number, *(slice(0, size) for size in row.shape))] = row
    return out


def _check_lengths(column: Any, shape: Sequence[int | None], path: str) -> None:
    """Refuses rows that `to_padded` would cut."""
    for most in shape:
        if not isinstance(column, Ragged):
            return
        longest = int(column.lengths.max(initial=0))
        if most is not None and longest > most:
            raise PlanError("padded_batch", f"{path}: a row of {longest} values is longer than {most}")
        column = column.values


def finished(node: plan.Batches | plan.Rebatch, columns: Tree) -> Tree:
    """The columns of one batch as its node wants them."""
    if isinstance(node, plan.PaddedBatch):
        return pad(columns, node.padded_shapes, node.padding_values)
    if isinstance(node, plan.RaggedBatch):
        return ragged(columns, node.dense)
    return dense(columns)


def ragged(batch: Tree, known: Collection[str], path: str = "") -> Tree:
    """The columns of one batch, each whose rows have dimensions as `Ragged` by the first of them.

    Args:
      batch: A tree of columns of B rows.
      known: Paths of the columns that stay arrays.
      path: Where `batch` stands in the element.
    """
    if isinstance(batch, Mapping):
        return {name: ragged(branch, known, f"{path}.{name}" if path else str(name)) for name, branch in batch.items()}
    if isinstance(batch, tuple):
        return tuple(ragged(branch, known, f"{path}.{n}" if path else str(n)) for n, branch in enumerate(batch))
    if path in known:
        return dense(batch)
    try:
        return _ragged_column(batch)
    except ValueError as error:
        what = path or "the element"
        raise PlanError("ragged_batch", f"{what}: rows may differ in their first dimension only: {error}") from error


def _ragged_column(column: Any) -> Any:
    if isinstance(column, Ragged):
        return Ragged(column.values, column.row_splits)  # Also where a plain batch would pad it.
    if isinstance(column, Sparse):
        return column
    if isinstance(column, np.ndarray) and column.dtype.hasobject and np.ndim(column[0]):
        return ragged_of(list(column))
    if len(column.shape) == 1:
        return dense(column)
    flat = column.reshape(-1, *column.shape[2:])
    return Ragged.from_lengths(flat, np.full(len(column), column.shape[1]))
