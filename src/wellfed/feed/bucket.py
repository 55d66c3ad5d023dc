"""Batches of elements of like length, so that little is padded."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Ragged
from wellfed.errors import PlanError
from wellfed.feed.calls import call, failed
from wellfed.feed.cursors import Point
from wellfed.feed.guard import ROW_ERRORS
from wellfed.feed.padding import pad
from wellfed.feed.specs import is_dense, spec_of, stack_as
from wellfed.feed.tree import Tree, leaves, map_tree, nbytes_of_element

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed import plan
    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input


def buckets(node: plan.Bucket, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    """Padded batches: each element waits in the bucket of its length until that is full; the rest comes last.

    An element of a rare length may wait for the whole epoch, so each one that waits is made again by itself on resume.
    """
    del context, number
    held: list[list[tuple[Point, Tree]]] = [[] for _ in node.batch_sizes]
    for bucket, points in enumerate(source.state or []):
        held[bucket] = [(point, source.again(point)) for point in (Point(*saved) for saved in points)]
    waiting = sum(nbytes_of_element(element) for rows in held for _, element in rows)
    source.resumes(lambda: [[point.as_json() for point, _ in rows] for rows in held])
    while True:
        point = source.here()
        try:
            element = next(source)
        except StopIteration:
            break
        try:
            length = _length(node, element, point.taken)
        except ROW_ERRORS as error:
            source.lost(error, point.taken)
            continue
        bucket = bisect_right(node.boundaries, length)
        held[bucket].append((point, element))
        waiting += nbytes_of_element(element)
        if waiting > node.limit_bytes:
            text = f"the elements that wait take more than {node.limit_bytes} bytes; give limit_bytes"
            raise PlanError("bucket_by_sequence_length", text)
        if len(held[bucket]) == node.batch_sizes[bucket]:
            full, held[bucket] = held[bucket], []
            waiting -= sum(nbytes_of_element(element) for _, element in full)
            yield _padded(node, full, bucket)
    for bucket, rows in enumerate(held):
        held[bucket] = []
        if rows and not node.drop_remainder:
            yield _padded(node, rows, bucket)


def _length(node: plan.Bucket, element: Tree, number: int) -> int:
    found = call("bucket_by_sequence_length", node.length_of, element, number=number)
    try:
        return int(found)
    except (TypeError, ValueError):
        what = f"a length is due, got {found!r}"
        raise failed("bucket_by_sequence_length", node.length_of, what, number) from None


def _padded(node: plan.Bucket, rows: list[tuple[Point, Tree]], bucket: int) -> Tree:
    spec = spec_of(node.source)
    columns = stack_as([element for _, element in rows], spec)
    shapes = node.padded_shapes
    if node.pad_to_boundary:
        if bucket == len(node.boundaries):
            raise PlanError(
                "bucket_by_sequence_length",
                f"an element is longer than the last boundary, {node.boundaries[-1]}, to which it should be padded",
            )
        longest = node.boundaries[bucket] - 1
        known = {} if spec is None else dict(leaves(spec))
        fixed = iter([path in known and is_dense(known[path]) for path, _ in leaves(columns)])
        shapes = map_tree(lambda column: _shape_to(longest, column, fixed=next(fixed)), columns)
    return pad(columns, shapes, node.padding_values)


def _shape_to(longest: int, column: Any, *, fixed: bool) -> list[int | None] | None:
    """The shape that rows of a column are padded to: those of one shape, and single values, stay as they are."""
    if fixed:
        return None
    if isinstance(column, Ragged):
        return [longest]
    dimensions = max(np.ndim(row) for row in column)
    return [longest, *[None] * (dimensions - 1)] if dimensions else []
