"""The state of an iteration: a few integers, and fingerprints of what they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from wellfed.errors import StateError
from wellfed.feed import plan
from wellfed.feed.elastic import last_shard

VERSION = 1
_SHARING = ("rank", "world_size")
PLACE = ("position", "cursor", "ahead")  # Where an iteration stands; the last one only where it keeps no order.


def fingerprint(node: plan.Node) -> str:
    """16 hex digits that change when the plan does: its verbs, their numbers, and the names of its functions."""
    shared = last_shard(node)
    return hashlib.sha256("\n".join(_describe(step, shared) for step in plan.walk(node)).encode()).hexdigest()[:16]


def _describe(step: plan.Node, shared: plan.Shard | None) -> str:
    if step is shared and shared is not None:  # Which share of how many is told by rank and world size.
        return f"Shard/1({shared.even})"
    if isinstance(step, plan.Records):  # Where files lie is no part of the plan: data sets are moved.
        return f"Records({_text(step.features)})"
    if isinstance(step, plan.Arrays):
        return "Arrays"
    told = [f.name for f in fields(step) if f.repr and f.name not in ("source", "sources")]
    values = [f"{name}={_text(getattr(step, name))}" for name in told]
    return f"{type(step).__name__}/{len(plan.below(step))}({', '.join(values)})"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return str({str(name): _text(branch) for name, branch in value.items()})
    if is_dataclass(value) and not isinstance(value, type):
        return repr(value)
    if callable(value) or hasattr(value, "apply"):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    return repr(value)


def check(state: Mapping[str, Any], expected: Mapping[str, Any], *, elastic: bool) -> None:
    """Proves that a saved state belongs to this plan, these files and this way of sharing them.

    Args:
      state: The saved one.
      expected: One of the iteration that is to go on.
      elastic: Whether another rank and world size are welcome.

    Raises:
      StateError: It does not; says what differs.
    """
    if not isinstance(state, Mapping):
        raise StateError(f"this is no state of a wellfed iterator: a mapping is due, got {type(state).__name__}")
    missing = [name for name in expected if name not in state and name != "ahead"]
    if missing:
        raise StateError(f"this is no state of a wellfed iterator: it lacks {', '.join(missing)}")
    if state["version"] != VERSION:
        raise StateError(f"the state has version {state['version']}, and this wellfed reads version {VERSION}")
    what = {
        "plan": "the verbs of the data set",
        "files": "the files (their order, sizes or contents)",
        "rank": "the rank",
        "world_size": "the world size",
    }
    for name, text in what.items():
        if state[name] != expected[name] and not (elastic and name in _SHARING):
            alone = name in _SHARING and "ahead" in state
            raise StateError(
                f"the state was saved elsewhere: {text} differ; saved {state[name]!r}, here {expected[name]!r}"
                + ("; with deterministic=False each rank has to go on with its own" if alone else "")
            )
    for name in ("epoch", "position", "seed", "consumed", "rank", "world_size"):
        if not isinstance(state[name], int) or state[name] < 0:
            raise StateError(f"{name} must be a whole number of at least 0, got {state[name]!r}")
    _check_ahead(state["position"], state.get("ahead", []))


def _check_ahead(position: int, ahead: Any) -> None:
    try:
        bounds = [position, *chain.from_iterable((start, stop) for start, stop in ahead)]
        apart = all(before < after for before, after in pairwise(bounds))
    except (TypeError, ValueError):
        apart = False
    if not apart:
        raise StateError(f"ahead must be ranges behind position {position}, in order and apart, got {ahead!r}")
