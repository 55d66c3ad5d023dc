"""From numbers to a sentence: what limits a feed, and what would help.

the consumer hardly waited                 the feed keeps up
most of the time was before element one    opening and indexing
threads at work had no core                Python's interpreter, or other programs
else                                       the step that kept its threads busiest
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, get_args

from wellfed.feed import plan
from wellfed.image import PictureTransform

if TYPE_CHECKING:
    from wellfed.feed.stats import FeedStats, StageStats

WAITED_LITTLE = 0.05  # A consumer that waits for a smaller share of its time is kept fed.
_MOST = 0.5
_USUAL = "more cores, less work in it, or cache() after it"


def name_of(node: plan.Node) -> str:
    """A step as people know it: the verb, and the function that it was given."""
    if isinstance(node, plan.Generator):
        return f"from_generator({_called(node.make)})"
    if isinstance(node, plan.Source):
        return "read"
    verb = plan.name_of(node)
    function = getattr(node, "function", getattr(node, "predicate", None))
    if function is None:
        return verb
    processes = getattr(node, "processes", 0)
    return f"{verb}({_called(function)}, {processes} processes)" if processes else f"{verb}({_called(function)})"


def _called(function: Any) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if name != "<lambda>" or code is None:
        return str(name)
    return f"lambda at {PurePath(code.co_filename).name}:{code.co_firstlineno}"


def helps(node: plan.Node) -> str:
    """What would help where this step is the limit."""
    if isinstance(node, plan.Records):
        least = "smaller records" if node.features is None else "fewer features in the spec"
        return f"faster storage, more cores, or {least}"
    if isinstance(node, plan.Map):
        return _helps_map(node)
    if isinstance(node, plan.Generator):
        return "a faster generator, or files: `wellfed pack` makes them once"
    if isinstance(node, plan.Cache):
        return "more cores, or smaller elements,"
    if isinstance(node, plan.Sequential):
        return "less work in it, having map() and batch() before it, or cache() after it"
    return _USUAL


def _helps_map(node: plan.Map) -> str:
    if isinstance(node.function, get_args(PictureTransform)):
        return "more cores, smaller pictures, or cache() after it"
    if node.processes:
        return "more processes, less work in it, or cache() after it"
    if not hasattr(node.function, "apply"):
        return "a built-in transform, map() after batch() on whole batches, map(processes=), or cache() after it"
    return _USUAL


def sentence(stats: FeedStats) -> str:
    """One sentence: what limits, and what would help."""
    if not stats.seconds:
        return "Nothing was asked for yet."
    if not stats.elements:
        return "No element was delivered."
    waited = stats.waited_seconds / stats.seconds
    rate = f"{stats.elements / stats.seconds:,.0f} elements/s; the consumer waited {waited:.0%} of the time"
    return f"{rate}{_limit(stats, waited)}"


def _limit(stats: FeedStats, waited: float) -> str:
    if stats.first_seconds > _MOST * stats.seconds:
        share = stats.first_seconds / stats.seconds
        return (
            f", and {share:.0%} of it went by before the first element: opening and indexing, which a longer run "
            "or `wellfed index` beforehand makes small."
        )
    if waited < WAITED_LITTLE:
        return _kept_fed(stats)
    if not stats.stages:
        return ": the feed is the limit."
    busiest = max(stats.stages, key=lambda stage: _work(stage) / _time(stage, stats))
    blocked = max(stats.stages, key=lambda stage: _without_core(stage) / _time(stage, stats))
    if _without_core(blocked) / _time(blocked, stats) > _work(busiest) / _time(busiest, stats):
        return (
            f"; {_used(blocked, stats)} and had a core for {_work(blocked) / blocked.seconds:.0%} of that, since "
            "another program or Python's interpreter held them: cores of its own, larger batches, or functions on "
            "whole batches would help."
        )
    return f"; {_used(busiest, stats)}: {busiest.helps} would help."


def _used(stage: StageStats, stats: FeedStats) -> str:
    threads = stage.threads or stats.threads
    share, crew = stage.seconds / _time(stage, stats), "one thread" if threads == 1 else f"{threads} threads"
    return f"{stage.name} used {min(share, 1):.0%} of {crew}"


def _kept_fed(stats: FeedStats) -> str:
    if stats.consumer_seconds is not None:
        handing = 1 - (stats.consumer_seconds + stats.waited_seconds) / stats.seconds
        if handing > _MOST:
            return f"; handing elements over took {handing:.0%}: batch() makes fewer and larger ones."
    return ": the feed keeps up."


def _time(stage: StageStats, stats: FeedStats) -> float:
    """All the time that the threads of a step had. [s]."""
    return stats.seconds * max(stage.threads or stats.threads, 1)


def _work(stage: StageStats) -> float:
    """What a step itself took: some wait for storage or processes, any other step works while it has a core. [s]."""
    waits = stage.name.startswith("read") or stage.name.endswith(" processes)")
    return stage.seconds if waits or not stage.cpu_seconds else stage.cpu_seconds


def _without_core(stage: StageStats) -> float:
    """How long threads were in a step and had no core, waiting by intent left aside. [s]."""
    return stage.seconds - _work(stage)
