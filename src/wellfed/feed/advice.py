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
    return verb if function is None else f"{verb}({_called(function)})"


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
    if isinstance(node, plan.Map) and isinstance(node.function, get_args(PictureTransform)):
        return "more cores, smaller pictures, or cache() after it"
    if isinstance(node, plan.Map) and not hasattr(node.function, "apply"):
        return "a built-in transform, map() after batch() on whole batches, or cache() after it"
    if isinstance(node, plan.Generator):
        return "a faster generator, or files: `wellfed pack` makes them once"
    if isinstance(node, plan.Sequential):
        return "less work in it, having map() and batch() before it, or cache() after it"
    return _USUAL


def sentence(stats: FeedStats) -> str:
    """One sentence: what limits, and what would help."""
    if not stats.seconds:
        return "Nothing was asked for yet."
    waited = stats.waited_seconds / stats.seconds
    rate = f"{stats.elements / stats.seconds:,.0f} elements/s; the consumer waited {waited:.0%} of the time"
    return f"{rate}{_limit(stats, waited)}"


def _limit(stats: FeedStats, waited: float) -> str:
    if waited < WAITED_LITTLE:
        return _kept_fed(stats)
    if stats.first_seconds > _MOST * stats.seconds:
        share = stats.first_seconds / stats.seconds
        return (
            f", and {share:.0%} of it went by before the first element: opening and indexing, which a longer run "
            "or `wellfed index` beforehand makes small."
        )
    if not stats.stages:
        return ": the feed is the limit."
    blocked = _blocked(stats)
    busiest = max(stats.stages, key=lambda stage: _work(stage) / _time(stage, stats))
    if blocked > _work(busiest) / _time(busiest, stats):
        return (
            f"; threads at work had no core for {blocked:.0%} of their time, because Python's interpreter or another "
            "program held it: functions on whole batches, larger batches, or cores of its own would help."
        )
    threads = busiest.threads or stats.threads
    share, crew = busiest.seconds / _time(busiest, stats), "one thread" if threads == 1 else f"{threads} threads"
    return f"; {busiest.name} used {share:.0%} of {crew}: {busiest.helps} would help."


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
    """What a step itself took: reading waits for storage, any other step works only while it has a core. [s]."""
    return stage.cpu_seconds if stage.cpu_seconds and not stage.name.startswith("read") else stage.seconds


def _blocked(stats: FeedStats) -> float:
    """The share of the threads' time in which they were at work and had no core, storage left aside."""
    return sum((stage.seconds - _work(stage)) / _time(stage, stats) for stage in stats.stages)
