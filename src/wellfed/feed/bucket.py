"""Batches of elements of like length, so that little is padded."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed.padding import pad
from wellfed.feed.tree import Tree, map_tree, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed import plan
    from wellfed.feed.context import RunContext


def buckets(node: plan.Bucket, source: Iterator[Tree], context: RunContext, number: int) -> Iterator[Tree]:
    """Padded batches: each element waits in the bucket of its length until that is full; the rest comes last."""
    del context, number
    held: list[list[Tree]] = [[] for _ in node.batch_sizes]
    for element in source:
        length = int(node.length_of(element))
        bucket = bisect_right(node.boundaries, length)
        held[bucket].append(element)
        if len(held[bucket]) == node.batch_sizes[bucket]:
            yield _padded(node, held[bucket], bucket)
            held[bucket] = []
    for bucket, rows in enumerate(held):
        if rows and not node.drop_remainder:
            yield _padded(node, rows, bucket)


def _padded(node: plan.Bucket, rows: list[Tree], bucket: int) -> Tree:
    columns = stack(rows)
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
