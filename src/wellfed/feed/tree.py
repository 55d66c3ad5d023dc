"""Trees of columns: an element is a column's row, or a mapping or tuple of elements; so are their columns.

    {"image": array (B, 28, 28), "label": array (B,)}     rows of mappings
    (Bytes (B,), {"x": Ragged (B, None)})                 rows of tuples that hold mappings

A leaf is an `np.ndarray`, a `Bytes`, a `Ragged` or a `Sparse`. Rows that do not stack are an array of objects until
they are batched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse, concat_columns
from wellfed.errors import PlanError
from wellfed.feed.ragged import Steps, ragged_of

Tree = Any
_STRINGS = (bytes, str, memoryview)
_NONE = "an element is None: does a function lack its return? filter(lambda e: e is not None) leaves such out"


def is_leaf(tree: Tree) -> bool:
    """Whether `tree` is a single column."""
    return not isinstance(tree, (Mapping, tuple))


def map_tree(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """`tree` with each leaf replaced by what `function` gives for it."""
    if isinstance(tree, Mapping):
        return {name: map_tree(function, branch) for name, branch in tree.items()}
    if isinstance(tree, tuple):
        branches = (map_tree(function, branch) for branch in tree)
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return function(tree)


def map_trees(function: Callable[[list[Any]], Any], trees: Sequence[Tree]) -> Tree:
    """One tree from several of the same structure: each leaf is what `function` gives for the list of theirs."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {name: map_trees(function, [_branch(tree, name, "") for tree in trees]) for name in first}
    if isinstance(first, tuple):
        branches = (map_trees(function, [_branch(tree, n, "") for tree in trees]) for n in range(len(first)))
        return type(first)(*branches) if hasattr(first, "_fields") else tuple(branches)
    return function(list(trees))


def leaves(tree: Tree, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf with its path, such as `image` or `1.x`."""
    if isinstance(tree, Mapping):
        for name, branch in tree.items():
            yield from leaves(branch, f"{path}.{name}" if path else str(name))
    elif isinstance(tree, tuple):
        for number, branch in enumerate(tree):
            yield from leaves(branch, f"{path}.{number}" if path else str(number))
    else:
        yield path, tree


def length_of(tree: Tree) -> int:
    """How many rows the columns of `tree` have."""
    return len(next(leaves(tree))[1])


def rows_in(tree: Tree, verb: str) -> int:
    """How many rows the columns of an element have.

    Raises:
      PlanError: It has single values, or columns of different length.
    """
    found: dict[str, int] = {}
    for path, column in leaves(tree):
        if isinstance(column, _STRINGS) or not hasattr(column, "__len__") or getattr(column, "ndim", 1) == 0:
            what = f"{path or 'the element'} is a single value, and has no rows: batch() before it makes some"
            raise PlanError(verb, what)
        found[path] = len(column)
    if len(set(found.values())) > 1:
        raise PlanError(verb, f"an element has columns of different length: {found}")
    return next(iter(found.values()))


def row_of(tree: Tree, index: int) -> Tree:
    """Row `index` of each column."""
    return map_tree(lambda column: column[index], tree)


def rows_of(tree: Tree, start: int, stop: int) -> Tree:
    """Rows `start` to `stop` of each column, without copying."""
    return map_tree(lambda column: column[start:stop], tree)


def nbytes_of(tree: Tree) -> int:
    """Bytes that the columns of `tree` hold."""
    return sum(_nbytes(column) for _, column in leaves(tree))


def _nbytes(column: Any) -> int:
    if isinstance(column, Bytes):
        return int(column.sizes.sum()) + 16 * len(column)
    if isinstance(column, Ragged):
        return _nbytes(column.values) + int(column.row_splits.nbytes)
    if isinstance(column, Sparse):
        return _nbytes(column.values) + int(column.indices.nbytes)
    if column.dtype.hasobject:
        return sum(map(_nbytes_of_leaf, column))
    return int(column.nbytes)


def nbytes_of_element(element: Tree) -> int:
    """Bytes that one element holds: a row, or a batch."""
    return sum(_nbytes_of_leaf(leaf) for _, leaf in leaves(element))


def _nbytes_of_leaf(leaf: Any) -> int:
    if isinstance(leaf, (Bytes, Ragged, Sparse)):
        return _nbytes(leaf)
    return len(leaf) if isinstance(leaf, (bytes, str)) else int(np.asarray(leaf).nbytes)


def native(array: Any) -> Any:
    """The array in this machine's order of bytes, the only one that other libraries take; a copy where it is not."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def stack(elements: Sequence[Tree]) -> Tree:
    """The columns whose rows are `elements`; rows that do not stack become an array of objects."""
    return _stack(elements, "")


def _stack(elements: Sequence[Tree], path: str) -> Tree:
    first = elements[0]
    if isinstance(first, Mapping):
        return {name: _stack([_branch(e, name, path) for e in elements], f"{path}.{name}") for name in first}
    if isinstance(first, tuple):
        columns = [_stack([_branch(e, n, path) for e in elements], f"{path}.{n}") for n in range(len(first))]
        return type(first)(*columns) if hasattr(first, "_fields") else tuple(columns)
    if all(isinstance(element, _STRINGS) for element in elements):
        return Bytes.from_list([e.encode() if isinstance(e, str) else bytes(e) for e in elements])
    if isinstance(first, (Bytes, Ragged, Sparse)):
        return _stack_columns(elements)
    arrays = [np.asarray(element) for element in elements]
    if any(a.shape != arrays[0].shape or a.dtype != arrays[0].dtype for a in arrays):
        return _objects(arrays)
    return np.stack(arrays, dtype=arrays[0].dtype)  # Else NumPy turns the bytes of big-endian ones.


def _stack_columns(rows: Sequence[Any]) -> Any:
    """Rows that are columns themselves: strings of one shape, or rows of any length."""
    if isinstance(rows[0], Ragged):
        return ragged_of(rows)
    if all(isinstance(row, Sparse) and row.dense_shape == rows[0].dense_shape for row in rows):
        return Sparse.stack(rows)
    if all(isinstance(row, Bytes) and row.shape == rows[0].shape for row in rows):
        return Bytes.concat([row.reshape(1, *row.shape) for row in rows])
    return _objects(rows)


def _objects(rows: Iterable[Any]) -> Any:
    rows = list(rows)
    column = np.empty(len(rows), np.object_)
    for at, row in enumerate(rows):
        column[at] = row
    return column


def concat_rows(columns: Sequence[Any]) -> Any:
    """Columns end to end, in memory of their own; rows that do not stack become an array of objects."""
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) == len(columns) and any(array.dtype != arrays[0].dtype for array in arrays):
        return _objects(row for column in columns for row in column)
    if len(arrays) == len(columns) and any(array.shape[1:] != arrays[0].shape[1:] for array in arrays):
        return _objects(row for column in columns for row in column)
    if arrays and len(arrays) < len(columns):
        return _objects(row for column in columns for row in column)
    if len({column.dense_shape[1:] for column in columns if isinstance(column, Sparse)}) > 1:
        return _objects(row for column in columns for row in column)
    return concat_columns(columns)


def _branch(element: Tree, name: Any, path: str) -> Tree:
    try:
        return element[name]
    except (KeyError, IndexError, TypeError):
        found = sorted(element) if isinstance(element, Mapping) else type(element).__name__
        where = path.removeprefix(".") or "the element"
        rows = element if isinstance(element, np.ndarray) and element.dtype.hasobject else [element]
        if any(row is None for row in rows):
            raise PlanError("batch", f"{where}: {_NONE}") from None
        raise PlanError("batch", f"{where}: every element needs {name!r} as the first has; found {found}") from None


def dense(tree: Tree) -> Tree:
    """`tree` with every array of objects stacked.

    Raises:
      PlanError: A column's rows have different shapes or dtypes.
    """
    for path, column in leaves(tree):
        if isinstance(column, np.ndarray) and column.dtype.hasobject:
            _check_objects(path or "the element", column)
            found = sorted({_shown(row) for row in column})
            if len(found) > 1:
                shown = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
                raise PlanError(
                    "batch",
                    f"rows of {path or 'the element'} differ, so they are no array: {shown}. Make them alike with "
                    "map(): wf.image.Resize, or where channels differ, wf.image.Decode(channels=3) of pictures that "
                    "wf.open(..., decode=False) left encoded",
                )
    return map_tree(_stacked, tree)


def _check_objects(path: str, column: Any) -> None:
    for row in column:
        if row is None:
            raise PlanError("batch", f"{path}: {_NONE}")
        if not isinstance(row, (np.ndarray, np.generic, Bytes, Ragged, Sparse, bytes, str, int, float, complex)):
            kind = type(row).__name__
            raise PlanError(
                "batch", f"{path}: numbers, strings, arrays, or mappings and tuples of such make columns; got {kind}"
            )


def _shown(row: Any) -> str:
    if isinstance(row, (Bytes, bytes, str)):
        return f"strings {getattr(row, 'shape', ())}"
    if isinstance(row, Sparse):
        return f"sparse {row.dense_shape}"
    array = np.asarray(row)
    return f"{array.dtype} {array.shape}"


def _stacked(column: Any) -> Any:
    if isinstance(column, Steps):
        return column.to_padded()
    if isinstance(column, np.ndarray) and column.dtype.hasobject and len(column):
        return _stack(list(column), "")
    return column
