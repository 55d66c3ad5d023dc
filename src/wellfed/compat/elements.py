"""The form of elements: what TensorFlow's users give, what the feed keeps, and `TensorSpec`s of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.compat.deferred.eager import as_value, map_tree
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.tracing import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable


def without_lists(tree: Any) -> Any:
    """Gives lists as arrays: in tf.data only tuples and dicts hold parts."""
    if isinstance(tree, dict):
        return {key: without_lists(value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(without_lists(value) for value in tree)
    return as_value(tree) if isinstance(tree, list) else tree


def is_text(value: Any) -> bool:
    """Says whether a value is a string, or an array of them."""
    return isinstance(value, bytes) or (isinstance(value, np.ndarray) and value.dtype.hasobject)


def value_of(leaf: Any) -> Any:
    """Gives NumPy's form of a value; columns of their own kind stay."""
    return leaf if isinstance(leaf, Ragged | Bytes) else as_value(leaf)


def column_of(leaf: Any) -> Any:
    """Gives a value as a column of the feed."""
    value = value_of(leaf)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return Bytes.from_list(value.reshape(-1).tolist()).reshape(*value.shape)
    return value if isinstance(value, Bytes | Ragged) else np.asarray(value)


def spec_of_rows(column: Any) -> TensorSpec:
    """Gives the form of a column's rows."""
    if isinstance(column, Ragged):
        values = column.values
        return TensorSpec([None], "string" if isinstance(values, Bytes) else getattr(values, "dtype", "float32"))
    return TensorSpec(column.shape[1:], "string" if isinstance(column, Bytes) else column.dtype)


def signature(types: Any, shapes: Any) -> Any:
    """Gives a tree of `TensorSpec`s of trees of dtypes and shapes."""
    if isinstance(types, dict):
        return {key: signature(kind, None if shapes is None else shapes[key]) for key, kind in types.items()}
    if isinstance(types, tuple | list):
        given = [None] * len(types) if shapes is None else shapes
        return tuple(signature(kind, shape) for kind, shape in zip(types, given, strict=True))
    return TensorSpec(shapes, types)


def typed(element: Any, spec: Any) -> Any:
    """Gives a generator's element in the dtypes that were promised."""
    if spec is None:
        return map_tree(as_value, without_lists(element))
    if isinstance(spec, dict):
        return {key: typed(element[key], part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        return tuple(typed(value, part) for value, part in zip(element, spec, strict=True))
    value = as_value(element, spec.dtype)
    if not spec.shape.is_compatible_with(np.shape(value)):
        raise TypeError(f"generator yielded an element of shape {np.shape(value)} where {spec.shape} was promised")
    return value


def mapped(spec: Any, change: Callable[[TensorSpec], Any]) -> Any:
    """Gives a form with each part changed; None where it is not known."""
    return None if spec is None else map_tree(change, spec)


def shape_tree(shapes: Any) -> Any:
    """Gives a tree of shapes as the feed has them: tuples of sizes, None for one that is not fixed."""
    if isinstance(shapes, dict):
        return {key: shape_tree(value) for key, value in shapes.items()}
    if isinstance(shapes, tuple) and any(isinstance(part, tuple | list | dict | TensorShape) for part in shapes):
        return tuple(shape_tree(part) for part in shapes)
    return tuple(TensorShape(shapes).as_list())
