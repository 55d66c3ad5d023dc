"""Steps of plans with what tf.data means by each on a list, and plans of random steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np

from wellfed import feed

OTHER = 5  # The length of data sets that are put beside the one at hand.


@dataclass(frozen=True)
class Step:
    """One step of a plan.

    Attributes:
      name: For people.
      on: The step on a data set.
      model: The same on a list, in which a batch is a tuple.
      takes: Whether it takes batches; None: either.
      gives: Whether it gives batches; None: as before it.
      exact: Whether the order is the model's; else the elements are the same in some order.
    """

    name: str
    on: Callable[[Any], Any]
    model: Callable[[list], list]
    takes: bool | None = None
    gives: bool | None = None
    exact: bool = True

    def __repr__(self) -> str:
        return self.name


def third(x):
    return x % 3 != 1


def below_40(x):
    return x < 40


def few(x):
    return feed.range(int(x) % 3)


def running(state, x):
    return state + x, state + x


def fails_at_fives(x):
    if x % 5 == 4:
        raise ValueError(f"{x}")
    return x + 1


def numbered(pair):
    return pair[0] * 3 + pair[1]


def double(x):
    return x * 2


def plus(pair):
    return pair[0] + pair[1]


def _doubled(e):
    return tuple(_doubled(x) for x in e) if isinstance(e, tuple) else e * 2


def _batches(elements, size, drop=False):
    found = [tuple(elements[i : i + size]) for i in range(0, len(elements), size)]
    return [b for b in found if len(b) == size or not drop]


def _flat(batches):
    return [x for batch in batches for x in batch]


def _while(elements):
    found = []
    for x in elements:
        if not below_40(x):
            break
        found.append(x)
    return found


def _summed(elements):
    found, state = [], 0
    for x in elements:
        state += x
        found.append(state)
    return found


def _windows(elements, size, shift):
    return [tuple(elements[i : i + size]) for i in range(0, len(elements), shift)]


def _interleaved(lists, cycle, block):
    waiting, open_, found = list(lists), [None] * cycle, []
    turn = 0
    while waiting or any(x is not None for x in open_):
        if open_[turn] is None and waiting:
            open_[turn] = list(waiting.pop(0))
        if open_[turn] is not None:
            taken, open_[turn] = open_[turn][:block], open_[turn][block:]
            found += taken
            if len(taken) < block:
                open_[turn] = None  # It is filled when its turn comes again.
        turn = (turn + 1) % cycle
    return found


def _chosen(elements, choices):
    sources = [list(elements), list(range(100, 100 + OTHER))]
    return [sources[which].pop(0) for which in choices if sources[which]]


def _alternating(elements):
    others, found = list(range(100, 100 + OTHER)), []
    for i, x in enumerate(elements):
        found.append(x)
        if i == len(others):
            break
        found.append(others[i])
    return found


def _on_error(elements):
    return [x + 1 for x in elements if x % 5 != 4]


def _skips(d):
    return d.map(fails_at_fives).ignore_errors()


def _choose(d):
    choices = feed.range(2).repeat(20)
    return feed.choose_from_datasets([d, feed.range(100, 100 + OTHER)], choices, stop_on_empty_dataset=False)


_ADDRESSABLE = st.one_of(
    st.builds(lambda n: Step(f"take({n})", lambda d: d.take(n), lambda e: e[:n]), st.integers(0, 40)),
    st.builds(lambda n: Step(f"skip({n})", lambda d: d.skip(n), lambda e: e[n:]), st.integers(0, 10)),
    st.builds(lambda n: Step(f"repeat({n})", lambda d: d.repeat(n), lambda e: e * n), st.integers(0, 2)),
    st.builds(
        lambda n, i: Step(f"shard({n}, {i % n})", lambda d: d.shard(n, i % n), lambda e: e[i % n :: n]),
        st.integers(1, 3),
        st.integers(0, 2),
    ),
    st.just(Step("map", lambda d: d.map(double), lambda e: [_doubled(x) for x in e])),
    st.just(Step("prefetch", lambda d: d.prefetch(2), lambda e: e)),
    st.just(Step("cache", lambda d: d.cache(), lambda e: e)),
    st.builds(
        lambda n, drop: Step(
            f"batch({n}, {drop})", lambda d: d.batch(n, drop), lambda e: _batches(e, n, drop), False, True
        ),
        st.integers(1, 7),
        st.booleans(),
    ),
    st.builds(
        lambda n: Step(f"padded_batch({n})", lambda d: d.padded_batch(n), lambda e: _batches(e, n), False, True),
        st.integers(1, 7),
    ),
    st.builds(
        lambda n: Step(f"ragged_batch({n})", lambda d: d.ragged_batch(n), lambda e: _batches(e, n), False, True),
        st.integers(1, 7),
    ),
    st.just(
        Step(
            "enumerate",
            lambda d: d.enumerate(2).map(numbered),
            lambda e: [(i + 2) * 3 + x for i, x in enumerate(e)],
            False,
        )
    ),
    st.just(
        Step(
            "zip",
            lambda d: d.zip(feed.range(9)).map(plus),
            lambda e: [x + i for i, x in enumerate(e[:9])],
            False,
        )
    ),
    st.just(Step("concatenate", lambda d: d.concatenate(feed.range(OTHER)), lambda e: [*e, *range(OTHER)], False)),
    st.just(Step("mix", lambda d: d.mix(feed.range(100, 100 + OTHER)), _alternating, False)),
)
_SEQUENTIAL = st.one_of(
    st.just(Step("filter", lambda d: d.filter(third), lambda e: [x for x in e if third(x)], False)),
    st.just(Step("take_while", lambda d: d.take_while(below_40), _while, False)),
    st.just(Step("flat_map", lambda d: d.flat_map(few), lambda e: [y for x in e for y in range(x % 3)], False)),
    st.builds(
        lambda c, b: Step(
            f"interleave({c}, {b})",
            lambda d: d.interleave(few, c, b),
            lambda e: _interleaved([range(x % 3) for x in e], c, b),
            False,
        ),
        st.integers(1, 3),
        st.integers(1, 2),
    ),
    st.just(Step("scan", lambda d: d.scan(0, running), _summed, False)),
    st.just(Step("unique", lambda d: d.unique(), lambda e: list(dict.fromkeys(e)), False)),
    st.just(Step("ignore_errors", _skips, _on_error, False)),
    st.just(Step("choose_from_datasets", _choose, lambda e: _chosen(e, [0, 1] * 20), False)),
    st.builds(
        lambda n, s: Step(f"window({n}, {s})", lambda d: d.window(n, s), lambda e: _windows(e, n, s), False, True),
        st.integers(1, 4),
        st.integers(1, 4),
    ),
    st.just(Step("unbatch", lambda d: d.unbatch(), _flat, True, False)),
    st.builds(
        lambda n: Step(f"rebatch({n})", lambda d: d.rebatch(n), lambda e: _batches(_flat(e), n), True, True),
        st.integers(1, 6),
    ),
)
SHUFFLES = st.one_of(
    st.builds(
        lambda seed, n: Step(f"shuffle({n}, {seed})", lambda d: d.shuffle(n, seed=seed), lambda e: e, exact=False),
        st.integers(0, 3),
        st.integers(2, 9),
    ),
    st.just(
        Step(
            "sample_from_datasets",
            lambda d: feed.sample_from_datasets([d, feed.range(100, 100 + OTHER)], [2, 1], seed=1),
            lambda e: [*e, *range(100, 100 + OTHER)],
            False,
            exact=False,
        )
    ),
)


@st.composite
def plans(draw, steps=None, most=6):
    """Up to `most` steps that fit each other."""
    found, batched = [], False
    for step in draw(st.lists(st.one_of(_ADDRESSABLE, _SEQUENTIAL) if steps is None else steps, max_size=most)):
        if step.takes in (None, batched):
            found.append(step)
            batched = batched if step.gives is None else step.gives
    return found


EVERY_STEP = st.one_of(_ADDRESSABLE, _SEQUENTIAL, SHUFFLES)


NUMBERS = st.lists(st.integers(0, 60), max_size=25)


def build(numbers, steps, threads=2):
    """The data set of the numbers through the steps."""
    dataset = feed.from_arrays(np.array(numbers, np.int64)).with_options(threads=threads)
    for step in steps:
        dataset = step.on(dataset)
    return dataset
