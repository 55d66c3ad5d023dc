"""`map` where elements come one after another: called here, or some elements ahead in processes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from wellfed.errors import StageError
from wellfed.feed import plan
from wellfed.feed.calls import call, name_of
from wellfed.feed.mixing import mix, mix_each
from wellfed.feed.transforms import row_numbers
from wellfed.feed.tree import Tree, dense, row_of, stack
from wellfed.feed.workers import Pools, RemoteFailure, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input, Point
    from wellfed.feed.workers import Worker


def map_here(node: plan.Map, source: Input, context: RunContext, number: int) -> Iterator[Tree]:
    """Calls the function on one element after another."""
    batched = plan.makes_batches(node.source)

    def make(element: Tree, at: int) -> Tree:
        seed = mix(context.seed, number, context.epoch, at)
        if hasattr(node.function, "apply"):
            return _transform(node.function, element, seed, at, batched=batched)
        if node.rng:
            return call("map", node.function, element, np.random.Generator(np.random.Philox(key=seed)), number=at)
        return call("map", node.function, element, number=at)

    source.resumes()
    if not context.ignoring:  # Else only a call shows whether there is an element.
        source.passes()
    return (made for _, made in source.tried(make))


def _transform(transform: plan.Transform, element: Tree, seed: int, at: int, *, batched: bool) -> Tree:
    if batched:
        seeds = mix_each(seed, row_numbers(transform, element))
        return dense(call("map", transform.apply, element, seeds, number=at))
    return row_of(call("map", transform.apply, stack([element]), np.array([seed], np.uint64), number=at), 0)


def _stage_error(node: plan.Map, failure: RemoteFailure, number: int) -> StageError:
    cause = failure.__cause__
    error = StageError(f"map({name_of(node.function)})", number, "", f"{type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error


def map_in_processes(
    node: plan.Map, source: Input, context: RunContext, number: int, workers: Workers, *, pools: Pools
) -> Iterator[Tree]:
    """As `map_here`, with an element in each process; they are given on in the order of the source."""
    ahead: deque[tuple[Point, Worker]] = deque()
    source.resumes(at=lambda: ahead[0][0] if ahead else None)

    failed: Exception | None = None

    def first() -> list[Tree]:
        point, begun = ahead.popleft()
        try:
            return [workers.result(begun)[0]]
        except RemoteFailure as failure:
            source.lost(_stage_error(node, failure, point.taken), point.taken)
            return []

    try:
        while True:
            if len(ahead) == node.processes:  # Before the next element is taken: `ahead` knows of all that is held.
                yield from first()
            point = source.here()
            try:
                element = next(source)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001 -- comes after the elements that are under way.
                failed = error
                break
            seed = mix(context.seed, number, context.epoch, point.taken)
            ahead.append((point, workers.begin([element], [seed] if node.rng else None)))
        while ahead:
            yield from first()
        if failed is not None:
            raise failed
    finally:
        failed = None  # See `attempt`.
        pools.give_back(workers)
