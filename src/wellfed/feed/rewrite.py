"""The same elements by fewer steps. A plan is rewritten whenever it is run, so what comes out never depends on it.

map(Decode("image")) -> map(RandomResizedCrop("image", 224)) -> map(Normalize("image"))
becomes one map of one pass over each picture, straight into the rows of the result
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast, get_args

from wellfed.feed import plan
from wellfed.image import PictureTransform, fuse

_FUSIBLE = get_args(PictureTransform)


def rewrite(node: plan.Node) -> plan.Node:
    """The plan with neighbouring transforms of one column made one. Sources stay the objects that they are."""
    if isinstance(node, plan.Source):
        return node
    if isinstance(node, plan.Many):
        return replace(node, sources=tuple(map(rewrite, node.sources)))
    transform = _picture(node)
    if not isinstance(node, plan.Map) or transform is None:
        return replace(node, source=rewrite(node.source))
    steps, source = [transform], node.source
    while isinstance(source, plan.Map) and (below := _picture(source)) and below.column == transform.column:
        steps.append(below)
        source = source.source
    return replace(node, source=rewrite(source), function=fuse(steps[::-1]))


def leave_errors_out(node: plan.Node) -> plan.Node:
    """The plan with `ignore_errors` over all that stands before its first batches."""
    if not plan.has_batches(node):
        return plan.IgnoreErrors(node, by_option=True)
    if isinstance(node, plan.Batches) and not plan.has_batches(node.source):
        return replace(node, source=plan.IgnoreErrors(node.source, by_option=True))
    if isinstance(node, plan.Many):
        return replace(node, sources=tuple(map(leave_errors_out, node.sources)))
    (source,) = plan.below(node)
    changed: Any = {"source": leave_errors_out(source)}
    return replace(node, **changed)


def _picture(node: plan.Node) -> PictureTransform | None:
    if isinstance(node, plan.Map) and isinstance(node.function, _FUSIBLE) and not node.rng:
        return cast("PictureTransform", node.function)
    return None
