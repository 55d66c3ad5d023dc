"""Rows that are plain arrays of one form: they can lie side by side, and come back as they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.feed.tree import Tree, leaves, stack

if TYPE_CHECKING:
    from wellfed.feed.unit import Unit


def dense_columns(unit: Unit) -> Tree | None:
    """The rows of a unit as plain arrays; None where rows differ, or are other than arrays and NumPy's numbers.

    Returns:
      A tree of arrays, shape (rows, ...) each; those of the unit itself where it has columns.
    """
    if unit.splits is not None or not len(unit):
        return None
    if unit.columns is not None:
        plain = all(type(column) is np.ndarray and not column.dtype.hasobject for _, column in leaves(unit.columns))
        return unit.columns if plain else None
    return _stacked(unit.elements or [])


def _stacked(elements: Sequence[Tree]) -> Tree | None:
    form = form_of(elements[0])
    if form is None or any(form_of(element) != form for element in elements):
        return None
    return stack(elements)


def form_of(element: Tree) -> Any:
    """What elements that stack without loss have in common; None where such an element does not stack so.

    Python's own numbers and arrays without dimensions would come back as NumPy's numbers, so they do not.
    """
    if isinstance(element, Mapping):
        return _joined(("a mapping", *element), [form_of(branch) for branch in element.values()])
    if isinstance(element, tuple):
        return _joined(("a tuple", type(element)), [form_of(branch) for branch in element])
    if isinstance(element, np.generic):
        return None if element.dtype.kind not in "biufcmM" else (element.dtype, ())
    if type(element) is np.ndarray and element.ndim and not element.dtype.hasobject and element.dtype.isnative:
        return element.dtype, element.shape
    return None


def form_of_rows(columns: Tree) -> Any:
    """The form of the rows of columns that `dense_columns` gave, to be compared with that of others."""
    if isinstance(columns, Mapping):
        return "a mapping", *columns, *map(form_of_rows, columns.values())
    if isinstance(columns, tuple):
        return "a tuple", type(columns), *map(form_of_rows, columns)
    return columns.dtype, columns.shape[1:]


def _joined(kind: tuple[Any, ...], forms: list[Any]) -> Any:
    return None if not forms or None in forms else (*kind, *forms)
