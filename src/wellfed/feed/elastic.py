"""Going on with another number of processes, where sharing comes after everything that chooses and orders elements.

    order      0 1 2 3 4 5 | 6 7 8 9 10 11        3 processes took 2 elements each: 6 of the order are consumed
    then 2     rank 0: 6 8 10   rank 1: 7 9 11

All processes of a job stand at the same position, so (world size) x (position) x (elements in a batch) elements of the
order were consumed, whoever took them, and the rest is shared anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed.feed import plan

if TYPE_CHECKING:
    from wellfed.feed.context import RunContext

_ELEMENTWISE = (plan.Map, plan.Batch, plan.PaddedBatch, plan.Prefetch, plan.RowIds)


def last_shard(node: plan.Node) -> plan.Shard | None:
    """The plan's only shard, where what stands over it neither chooses nor orders nor numbers elements."""
    if not plan.is_addressable(node) or sum(isinstance(step, plan.Shard) for step in plan.walk(node)) != 1:
        return None
    while isinstance(node, _ELEMENTWISE):
        node = node.source
    return node if isinstance(node, plan.Shard) else None


def sharing(node: plan.Node, context: RunContext) -> tuple[int, int]:
    """(rank, world size) as the plan's last shard has them; the run's own where it names none."""
    shard = last_shard(node)
    if shard is None or shard.num_shards is None or shard.index is None:
        return context.rank, context.world_size
    return shard.index, shard.num_shards


def consumed(node: plan.Node, before: int, world_size: int, position: int) -> int:
    """How many elements of the order all processes took together, at a position of each of them."""
    rows = 1
    while not isinstance(node, plan.Shard):
        rows *= node.batch_size if isinstance(node, (plan.Batch, plan.PaddedBatch)) else 1
        (node,) = plan.below(node)
    return before + world_size * position * rows
