"""Functions given to `map`: traced once into a graph of their own, and run by columns.

    trace(function, spec)   calls the function with tensors; None where it cannot be called so
    Traced.columns          many elements at once: parsing and arithmetic by columns, the rest row by row
    Traced.element          one element, such as a batch

What cannot be traced (it looks at values, or calls what knows no tensors) is called for each element with its values.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.compat.arrays import stack
from wellfed.compat.deferred import rows as by_columns
from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import as_value, eager, leaves, map_tree
from wellfed.compat.deferred.graph import Graph, Operation, Tensor
from wellfed.compat.deferred.rows import Batch, Same
from wellfed.compat.deferred.session import in_order, run_plan
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.compat.fusing import FusedPicture, fused

if TYPE_CHECKING:
    from collections.abc import Callable


class TensorSpec:
    """Dtype and what is known of the shape of one part of an element.

    Attributes:
      shape: What is known of the shape.
      dtype: The dtype.
      name: A name, or None.
    """

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self.shape, self.dtype, self.name = TensorShape(shape), as_dtype(dtype), name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def call(function: Callable[..., Any], element: Any) -> Any:
    """Calls a function as tf.data does: the parts of a tuple are arguments of their own."""
    return function(*element) if isinstance(element, tuple) else function(element)


class _Elementwise:
    """The run of a traced function on one element."""

    def __init__(self, rng: np.random.Generator | None) -> None:
        self._rng = rng or np.random.default_rng()
        self._values: dict[Tensor, Any] = {}

    def generator(self, key: Any, seed: int | None) -> np.random.Generator:
        del key, seed  # One generator for the element: whoever draws first draws first, in every run.
        return self._rng

    def timeout(self) -> None:
        return None

    def begin(self, values: dict[Tensor, Any]) -> dict[Tensor, Any]:
        self._values = values
        return values

    def more(self, tensors: list[Tensor]) -> tuple[Any, ...]:
        plan = in_order([tensor.op for tensor in tensors if tensor not in self._values], frozenset(self._values))
        run_plan(self, plan, self._values)  # type: ignore[arg-type]  # Has what operations ask of a run.
        return tuple(self._values[tensor] for tensor in tensors)

    def state(self, key: Any, make: Callable[[], Any]) -> Any:  # noqa: ARG002 -- the other runs' arguments.
        raise TypeError(f"{key!r} keeps state from run to run, which a function given to map cannot")


class Traced:
    """A function as a graph.

    Attributes:
      outputs: What it gives: a tree of tensors and values.
      spec: The same as `TensorSpec`s.
    """

    def __init__(self, inputs: list[Tensor], outputs: Any) -> None:
        self._inputs = inputs
        self.outputs = map_tree(_tensor_or_value, _without_lists(outputs))
        self.spec = map_tree(_spec_of, self.outputs)
        wanted = [leaf for leaf in leaves(self.outputs) if isinstance(leaf, Tensor)]
        given = frozenset(inputs)
        self._plan = in_order([tensor.op for tensor in wanted if tensor not in given], given)
        self._by_columns = all(map(by_columns.can_run, self._plan))
        self._steps = fused(self._plan, self.outputs) if self._by_columns else []

    def element(self, element: Any, rng: np.random.Generator | None = None) -> Any:
        """Gives what the function gives for one element."""
        run = _Elementwise(rng)
        values = run.begin(dict(zip(self._inputs, map(as_row, leaves(element)), strict=True)))
        run_plan(run, self._plan, values)  # type: ignore[arg-type]  # Has what operations ask of a run.
        return map_tree(lambda leaf: values[leaf] if isinstance(leaf, Tensor) else leaf, self.outputs)

    def columns(self, columns: Any, seeds: Any) -> Any:
        """Gives what the function gives for many elements, as columns."""
        given = leaves(columns)
        batch = Batch(len(given[0]), seeds)
        if not self._by_columns:
            return self._row_by_row(columns, batch)
        values: dict[Tensor, Any] = dict(zip(self._inputs, map(_as_rows, given), strict=True))
        for number, step in enumerate(self._steps):
            inputs = [values[tensor] for tensor in step.inputs]
            if isinstance(step, FusedPicture):
                made: Any = step.run(inputs, batch)
            else:
                made = by_columns.run(step, inputs, batch, number)
            values.update(zip(step.outputs, made, strict=True))
        return map_tree(
            lambda leaf: by_columns.as_column(values[leaf] if isinstance(leaf, Tensor) else Same(leaf), batch.count),
            self.outputs,
        )

    def _row_by_row(self, columns: Any, batch: Batch) -> Any:
        return stacked([self.element(row_of(columns, i), batch.generator(i, 0)) for i in range(batch.count)])


def trace(function: Callable[..., Any], spec: Any) -> Traced | None:
    """Calls a function with tensors, once.

    Args:
      function: Takes an element.
      spec: The element's form: a tree of `TensorSpec`s.

    Returns:
      Its graph; None where the function cannot be called with tensors.
    """
    graph = Graph()
    graph.tracing = True
    inputs: list[Tensor] = []

    def tensor(part: TensorSpec) -> Tensor:
        op = Operation("Placeholder", [], [(part.dtype, part.shape)], lambda _: (), None)
        inputs.append(op.outputs[0])
        return op.outputs[0]

    with graph.as_default():
        try:
            return Traced(inputs, call(function, map_tree(tensor, spec)))
        except Exception:  # noqa: BLE001 -- whatever it is, calling it with values says it better.
            return None


class _Named:
    """A function that errors name as the user's own."""

    def __init__(self, function: MapFunction, call_it: Callable[..., Any]) -> None:
        self._call_it = call_it
        self.__qualname__, self.__code__ = function.__qualname__, function.__code__

    def __call__(self, *arguments: Any) -> Any:
        return self._call_it(*arguments)


class MapFunction:
    """A function given to `map`, as the feed's transform: columns in, columns out.

    Args:
      function: The user's.
      spec: The form of an element; None finds it in the first columns.
    """

    def __init__(self, function: Callable[..., Any], spec: Any) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._tried = spec is not None
        self.traced = trace(function, spec) if spec is not None else None
        self.__qualname__ = getattr(function, "__qualname__", type(function).__name__)
        self.__code__ = getattr(function, "__code__", None)

    def apply(self, columns: Any, seeds: Any) -> Any:
        """Gives the function's elements for those of the columns; `seeds` has one seed an element."""
        traced = self._find(lambda: map_tree(column_spec, columns))
        if len(seeds) == 0:  # After batch(): one batch, which is one element.
            return self._one(traced, columns, None)
        if traced is not None:
            return traced.columns(columns, seeds)
        return stacked([self._call(row_of(columns, i)) for i in range(len(leaves(columns)[0]))])

    def _of_one(self, element: Any, rng: np.random.Generator) -> Any:
        return self._one(self._find(lambda: map_tree(spec_of_value, element)), element, rng)

    def of_each(self) -> _Named:
        """Gives the function of one element's values, for the feed to call: it names the element in errors."""
        return _Named(self, self._call)

    def of_each_batch(self) -> _Named:
        """Gives the function of one batch and a generator, for the feed to call."""
        return _Named(self, self._of_one)

    def _find(self, spec: Callable[[], Any]) -> Traced | None:
        with self._lock:
            if not self._tried:
                self.traced, self._tried = trace(self._function, spec()), True
            return self.traced

    def _one(self, traced: Traced | None, element: Any, rng: Any) -> Any:
        return traced.element(element, rng) if traced is not None else self._call(element)

    def _call(self, element: Any) -> Any:
        result = call(self._function, map_tree(lambda leaf: eager(as_row(leaf)), element))
        return map_tree(_plain_result, _without_lists(result))


# --- Forms ---------------------------------------------------------------------------------------


def row_of(columns: Any, number: int) -> Any:
    """Gives one row of columns."""
    return map_tree(lambda column: column[number], columns)


def as_row(leaf: Any) -> Any:
    """Gives a value of the feed as NumPy has it: strings as `bytes`, or as an array of them."""
    if isinstance(leaf, Bytes):
        return leaf.to_object_array()
    if hasattr(leaf, "as_numpy_iterator"):  # A window, which is a data set.
        return leaf
    return leaf if isinstance(leaf, np.ndarray | np.generic | bytes | Ragged) else as_value(leaf)


def _as_rows(column: Any) -> Any:
    return list(column) if isinstance(column, np.ndarray) and column.dtype.hasobject else column


def column_spec(column: Any) -> TensorSpec:
    """Gives the form of a column's rows."""
    if isinstance(column, Bytes):
        return TensorSpec(column.shape[1:], "string")
    if isinstance(column, Ragged):
        values = column.values
        if isinstance(values, Ragged):
            raise TypeError("rows of rows are given to functions as they are")
        return TensorSpec([None], "string" if isinstance(values, Bytes) else values.dtype)
    if column.dtype.hasobject:  # Rows that do not stack.
        first = np.asarray(column[0])
        return TensorSpec([None] * first.ndim, first.dtype)
    return TensorSpec(column.shape[1:], column.dtype)


def spec_of_value(leaf: Any) -> TensorSpec:
    """Gives the form of a value."""
    value = as_row(leaf)
    if isinstance(value, Ragged):
        raise TypeError("a ragged batch is given to functions as it is")
    return TensorSpec(np.shape(value), "string" if isinstance(value, bytes) else value.dtype)


def stacked(elements: list[Any]) -> Any:
    """Gives the columns of elements."""
    first = elements[0]
    if isinstance(first, dict):
        return {key: stacked([element[key] for element in elements]) for key in first}
    if isinstance(first, tuple):
        return tuple(stacked([element[i] for element in elements]) for i in range(len(first)))
    return by_columns.as_column([as_row(element) for element in elements], len(elements))


def _tensor_or_value(leaf: Any) -> Any:
    if isinstance(leaf, SparseTensor):
        raise TypeError("a sparse tensor cannot leave map: tf.sparse.to_dense(x), or x.values")
    return leaf if isinstance(leaf, Tensor | Ragged) else as_value(leaf)


def _without_lists(tree: Any) -> Any:
    """Gives lists as the arrays they stand for: in tf.data only tuples and dicts hold parts."""
    if isinstance(tree, dict):
        return {key: _without_lists(value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_without_lists(value) for value in tree)
    return stack(tree) if isinstance(tree, list) else tree


def _spec_of(leaf: Any) -> TensorSpec:
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype)
    return TensorSpec(np.shape(leaf), "string" if isinstance(leaf, bytes) else np.asarray(leaf).dtype)


def _plain_result(leaf: Any) -> Any:
    if isinstance(leaf, SparseTensor):
        raise TypeError("a sparse tensor cannot leave map: tf.sparse.to_dense(x), or x.values")
    return leaf if isinstance(leaf, Ragged) else as_value(leaf)
