"""A plain model of tf.data's meaning on lists, to hold plans against, and strategies that draw both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np

import wellfed as wf


@dataclass(frozen=True)
class Verb:
    """One verb and its arguments."""

    name: str
    arguments: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def on(self, dataset):
        return getattr(dataset, self.name)(*self.arguments, **dict(self.options))


def double(x):
    return x * 2


def on_list(verb: Verb, elements: list) -> list:
    """What the verb makes of a list; a batch is a tuple. A shuffle leaves the list as it is."""
    match verb.name, verb.arguments:
        case "take", (count,):
            return elements[:count]
        case "skip", (count,):
            return elements[count:]
        case "repeat", (count,):
            return elements * count
        case "shard", (count, index):
            return _shard(elements, count, index, dict(verb.options).get("even"))
        case "batch", (size, drop):
            batches = [tuple(elements[i : i + size]) for i in range(0, len(elements), size)]
            return [b for b in batches if len(b) == size or not drop]
        case "map", (_,):
            return [_double(e) for e in elements]
        case "shuffle" | "prefetch", _:
            return elements
    raise AssertionError(verb)


def _shard(elements: list, count: int, index: int, even: str | None) -> list:
    if even == "drop":
        elements = elements[: len(elements) // count * count]
    elif even == "pad" and elements:
        due = -(-len(elements) // count) * count
        elements = (elements * (due // len(elements) + 1))[:due]
    return elements[index::count]


def _double(element):
    return tuple(_double(e) for e in element) if isinstance(element, tuple) else element * 2


@st.composite
def shards(draw):
    count = draw(st.integers(1, 5))
    even = draw(st.sampled_from([None, "drop", "pad"]))
    return Verb("shard", (count, draw(st.integers(0, count - 1))), (("even", even),))


ORDER_VERBS = st.one_of(
    st.builds(lambda n: Verb("take", (n,)), st.integers(0, 40)),
    st.builds(lambda n: Verb("skip", (n,)), st.integers(0, 20)),
    st.builds(lambda n: Verb("repeat", (n,)), st.integers(0, 3)),
    shards(),
    st.just(Verb("map", (double,))),
    st.just(Verb("prefetch", (2,))),
)
SHUFFLES = st.builds(lambda seed: Verb("shuffle", (), (("seed", seed),)), st.integers(0, 9))
BATCHES = st.builds(lambda n, drop: Verb("batch", (n, drop)), st.integers(1, 7), st.booleans())


def build(length: int, verbs: list[Verb], threads: int = 2):
    """The data set of the numbers below `length` through the verbs."""
    dataset = wf.from_arrays(np.arange(length)).with_options(threads=threads)
    for verb in verbs:
        dataset = verb.on(dataset)
    return dataset


def plain(element):
    """An element as numbers and nested tuples, so that it compares."""
    return tuple(plain(e) for e in element) if np.ndim(element) else int(element)
