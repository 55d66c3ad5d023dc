"""Batches of elements of like length, so that little is padded."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed.cursors import Point
from wellfed.feed.padding import pad
from wellfed.feed.tree import Tree, map_tree, stack

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
    source.resumes(lambda: [[point.as_json() for point, _ in rows] for rows in held])
    while True:
        point = source.here()
        try:
            element = next(source)
        except StopIteration:
            break
        bucket = bisect_right(node.boundaries, int(node.length_of(element)))
        held[bucket].append((point, element))
        if len(held[bucket]) == node.batch_sizes[bucket]:
            full, held[bucket] = held[bucket], []
            yield _padded(node, full, bucket)
    for bucket, rows in enumerate(held):
        held[bucket] = []
        if rows and not node.drop_remainder:
            yield _padded(node, rows, bucket)


def _padded(node: plan.Bucket, rows: list[tuple[Point, Tree]], bucket: int) -> Tree:
    columns = stack([element for _, element in rows])
    shapes = node.padded_shapes
    if node.pad_to_boundary:
        if bucket == len(node.boundaries):
            raise PlanError(
                "bucket_by_sequence_length",
                f"an element is longer than the last boundary, {node.boundaries[-1]}, to which it should be padded",
            )
        longest = node.boundaries[bucket] - 1
        shapes = map_tree(lambda column: [longest, *[None] * (max(row.ndim for row in column) - 1)], columns)
    return pad(columns, shapes, node.padding_values)
