"""The stages: what each node does to a unit of rows. Short functions that know nothing of threads or order.

A stage takes its node, the unit, and where the unit's rows stand in the node, and gives the unit on. Verbs that only
choose and order elements have done their work when positions were resolved: their stage gives the unit as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wellfed.columns import Bytes
from wellfed.errors import ExampleError, ImageError, StageError, WellfedError
from wellfed.feed import plan
from wellfed.feed.calls import Cancelled, name_of
from wellfed.feed.mixing import UInt64s, mix, mix_each
from wellfed.feed.order import Batched, Order, Positions
from wellfed.feed.padding import pad, ragged
from wellfed.feed.transforms import row_numbers
from wellfed.feed.tree import Tree, dense, rows_of
from wellfed.feed.unit import Unit
from wellfed.feed.workers import RemoteFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed.workers import Workers


class Memory(Protocol):
    """Where results are put."""

    def take(self, nbytes: int) -> np.ndarray[Any, Any]:
        """So many bytes: uint8, shape (nbytes,)."""


@dataclass
class StageContext:
    """What a stage may need besides its unit.

    Attributes:
      order: The node's own order.
      seed: The node's seed in this run; all randomness of its rows comes from it.
      locate: Says where a row came from, by source and number, for errors.
      cancelled: True once the owner closed; asked between calls of users' functions.
      pool: Memory for results that comes back by itself.
      workers: The processes that call the node's function, where there are any.
      anchor: Takes the node's positions to those that its elements' seeds come from.
    """

    order: Order
    seed: int
    locate: Callable[[int, int], str]
    cancelled: Callable[[], bool] = field(default=lambda: False)
    pool: Memory | None = None
    workers: Workers | None = None
    anchor: Callable[[Positions], Positions] = field(default=lambda positions: positions)


def row_seeds(seed: int, positions: Positions) -> UInt64s:
    """One seed a row from (node's seed, epoch, position): uint64, shape (len(positions),)."""
    epochs = positions.epochs().astype(np.uint64)
    return mix_each(mix_each(seed, epochs), positions.numbers())


def run_same(node: plan.Single, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Order verbs: nothing is left to do."""
    del node, positions, context
    return unit


def run_batch(node: plan.Batches, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Marks where batches begin and end; nothing is copied."""
    del node
    if not isinstance(context.order, Batched):
        raise TypeError(f"a batch needs a Batched order, got {type(context.order).__name__}")
    splits = context.order.splits(positions)
    if unit.splits is not None:  # Batches of batches: the rows are batches from here on.
        first, source = unit.splits[:-1], unit.source
        source = source if isinstance(source, int) else source[first]
        unit = Unit(None, list(unit), unit.rows[first], source)
    unit.as_columns()
    return Unit(unit.columns, None, unit.rows, unit.source, splits)


def run_padded_batch(node: plan.PaddedBatch, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Pads the rows of each batch to one length."""
    marked = run_batch(node, unit, positions, context)
    bounds = marked.splits.tolist() if marked.splits is not None else []
    batches = [
        pad(rows_of(marked.columns, start, stop), node.padded_shapes, node.padding_values)
        for start, stop in pairwise(bounds)
    ]
    return Unit(None, batches, marked.rows, marked.source, marked.splits)


def run_ragged_batch(node: plan.RaggedBatch, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Keeps the rows of each batch as long as they are."""
    marked = run_batch(node, unit, positions, context)
    bounds = marked.splits.tolist() if marked.splits is not None else []
    batches = [ragged(rows_of(marked.columns, start, stop), node.dense) for start, stop in pairwise(bounds)]
    return Unit(None, batches, marked.rows, marked.source, marked.splits)


def run_enumerate(node: plan.Enumerate, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Puts each element's number before it."""
    del context
    numbers = positions.numbers().astype(np.int64) + node.start
    if unit.splits is None:
        return Unit((numbers, unit.as_columns()), None, unit.rows, unit.source)
    return Unit(None, list(zip(numbers, unit, strict=True)), unit.rows, unit.source, unit.splits)


def run_row_ids(node: plan.RowIds, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """Puts where each element came from before it."""
    del node, positions, context
    sources = np.broadcast_to(np.asarray(unit.source, np.int64), len(unit.rows))
    ids = {"source": sources.copy(), "row": unit.rows.astype(np.int64)}
    if unit.splits is None:
        return Unit((ids, unit.as_columns()), None, unit.rows, unit.source)
    bounds = unit.splits.tolist()
    of_batches = [rows_of(ids, start, stop) for start, stop in pairwise(bounds)]
    return Unit(None, list(zip(of_batches, unit, strict=True)), unit.rows, unit.source, unit.splits)


def run_map(node: plan.Map, unit: Unit, positions: Positions, context: StageContext) -> Unit:
    """A built-in transform works on all rows at once; any other function on one element after another."""
    seeds = row_seeds(context.seed, context.anchor(positions))
    if hasattr(node.function, "apply"):
        if unit.splits is None:
            columns = _transform(node, unit.as_columns(), seeds, unit, context)
            return Unit(columns, None, unit.rows, unit.source)
        batches = [_transform_batch(node.function, batch, seeds[i], context) for i, batch in enumerate(unit)]
        return Unit(None, batches, unit.rows, unit.source, unit.splits)
    if context.workers is not None:
        return _map_in_processes(node, unit, seeds, context.workers, context)
    elements = []
    for number, element in enumerate(unit):
        if context.cancelled():
            raise Cancelled
        arguments: tuple[Any, ...] = (element,)
        if node.rng:
            arguments = (element, np.random.Generator(np.random.Philox(key=int(seeds[number]))))
        try:
            elements.append(node.function(*arguments))
        except Exception as error:
            raise _failure(node, unit, number, context, error) from error
    return Unit(None, elements, unit.rows, unit.source, unit.splits)


def _map_in_processes(node: plan.Map, unit: Unit, seeds: UInt64s, workers: Workers, context: StageContext) -> Unit:
    if context.cancelled():
        raise Cancelled
    try:
        elements = workers.call(list(unit), seeds.tolist() if node.rng else None)
    except RemoteFailure as failure:
        error = failure.__cause__
        if not isinstance(error, Exception):
            raise
        raise _failure(node, unit, failure.number, context, error) from error
    return Unit(None, elements, unit.rows, unit.source, unit.splits)


def _transform(node: plan.Map, columns: Tree, seeds: UInt64s, unit: Unit, context: StageContext) -> Tree:
    """Runs a transform on all rows; where one fails, finds which and says where it came from."""
    transform: Any = node.function
    try:
        return _apply(transform, columns, seeds, context)
    except ExampleError as error:
        row = error.example_index
        source = unit.source if isinstance(unit.source, int) else int(unit.source[row])
        path, _, record = context.locate(source, int(unit.rows[row])).rpartition(": record ")
        number = int(record) if path else -1
        raise type(error)(error.reason, error.feature, row, path, number) from None
    except ImageError as error:
        for row in range(len(seeds)):
            try:
                transform.apply(rows_of(columns, row, row + 1), seeds[row : row + 1])
            except ImageError as found:
                source = unit.source if isinstance(unit.source, int) else int(unit.source[row])
                raise ImageError(found.reason, context.locate(source, int(unit.rows[row]))) from error
        raise
    except WellfedError:
        raise
    except Exception:
        for row in range(len(seeds)):
            try:
                transform.apply(rows_of(columns, row, row + 1), seeds[row : row + 1])
            except Exception as error:
                raise _failure(node, unit, row, context, error) from error
        raise


def _transform_batch(transform: Any, batch: Tree, seed: np.uint64, context: StageContext) -> Tree:
    return dense(_apply(transform, batch, mix_each(int(seed), row_numbers(transform, batch)), context))


def _apply(transform: Any, columns: Tree, seeds: UInt64s, context: StageContext) -> Tree:
    """Gives the transform memory that is used again, where it can tell beforehand how much it needs."""
    through = getattr(transform, "apply_through", None)
    if through is not None:  # One that is made of others, and calls back for each.
        return through(columns, seeds, lambda step, given, its: _apply(step, given, its, context))
    known = getattr(transform, "static_output", None)
    named = isinstance(columns, Mapping)
    spec = known({name: _row_spec(column) for name, column in columns.items()}) if known and named else None
    if spec is None or context.pool is None:
        return transform.apply(columns, seeds)
    shape, dtype = spec
    size = len(seeds) * math.prod(shape) * np.dtype(dtype).itemsize
    out = context.pool.take(size).view(dtype).reshape(len(seeds), *shape)
    return transform.apply(columns, seeds, out=out)


def _row_spec(column: Any) -> tuple[tuple[int, ...], Any] | None:
    """Shape and dtype of a row, as transforms are told; None where rows differ."""
    if isinstance(column, Bytes):
        return (), bytes
    if isinstance(column, np.ndarray) and not column.dtype.hasobject:
        return column.shape[1:], column.dtype
    return None


def _failure(node: plan.Map, unit: Unit, number: int, context: StageContext, error: Exception) -> StageError:
    first = number if unit.splits is None else int(unit.splits[number])
    row = int(unit.rows[first])
    source = unit.source if isinstance(unit.source, int) else int(unit.source[first])
    text = str(error) if isinstance(error, WellfedError) else f"{type(error).__name__}: {error}"
    return StageError(f"map({name_of(node.function)})", row, context.locate(source, row), text)


STAGES: dict[type, Callable[[Any, Unit, Positions, StageContext], Unit]] = {
    **dict.fromkeys(
        (
            plan.Shuffle,
            plan.Shard,
            plan.Take,
            plan.Skip,
            plan.Part,
            plan.Repeat,
            plan.Select,
            plan.Sample,
            plan.Cache,
            plan.Prefetch,
        ),
        run_same,
    ),
    plan.Map: run_map,
    plan.Enumerate: run_enumerate,
    plan.RowIds: run_row_ids,
    plan.Batch: run_batch,
    plan.PaddedBatch: run_padded_batch,
    plan.RaggedBatch: run_ragged_batch,
}


def seed_of(node_depth: int, seed: int) -> int:
    """The seed of the node at `node_depth` in a run."""
    return mix(seed, node_depth)
