"""Laws 2 to 5 where a cache, errors, any order, repeats and shards come together, against what Python says of lists."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import assume, given, settings

from wellfed import feed
from wellfed.adapters.loader import Loader
from wellfed.errors import StageError

LENGTH = 23
BAD = {3, 4, 11, 22}
ROWS = [x for x in range(LENGTH) if x not in BAD]


def fails(x):
    if int(x) in BAD:
        raise ValueError(f"{x} is bad")
    return x


def odd(x):
    return x % 2 == 1


@dataclass(frozen=True)
class Verb:
    """A verb and its argument; `bad` and `cache` are the map that fails and a cache."""

    name: str
    argument: Any = None

    def on(self, dataset, file):
        match self.name:
            case "bad":
                return dataset.map(fails, deterministic=self.argument)
            case "cache":
                return dataset.cache(file if self.argument else "")
            case "shuffle":
                return dataset.shuffle(50, seed=self.argument)
            case "shard":
                return dataset.shard(*self.argument)
            case "filter":
                return dataset.filter(odd)
        return getattr(dataset, self.name)(self.argument)

    def model(self, elements):
        match self.name:
            case "take":
                return elements[: self.argument]
            case "skip":
                return elements[self.argument :]
            case "repeat":
                return elements * self.argument
            case "shard":
                count, index = self.argument
                return elements[index::count]
            case "filter":
                return [x for x in elements if odd(x)]
            case "batch" | "padded_batch":
                return [tuple(elements[i : i + self.argument]) for i in range(0, len(elements), self.argument)]
        return elements


CACHE = st.builds(Verb, st.just("cache"), st.booleans())
BATCH = st.builds(Verb, st.sampled_from(["batch", "padded_batch"]), st.integers(1, 5))
SOME = st.one_of(
    CACHE,
    CACHE,
    st.builds(Verb, st.just("take"), st.integers(0, 30)),
    st.builds(Verb, st.just("skip"), st.integers(0, 5)),
    st.builds(Verb, st.just("repeat"), st.integers(0, 2)),
    st.builds(lambda n, i: Verb("shard", (n, i % n)), st.integers(1, 3), st.integers(0, 2)),
    st.just(Verb("filter")),
)
SHUFFLE = st.builds(Verb, st.just("shuffle"), st.integers(0, 3))


@st.composite
def plans(draw, some=SOME):
    """A plan with a map that fails, at most one batch, and no more than one cache in a file."""
    before, middle, after = (draw(st.lists(some, max_size=2)) for _ in range(3))
    bad = Verb("bad", draw(st.sampled_from([None, False])))
    batch = draw(st.lists(BATCH, max_size=1))
    after = [verb for verb in after if not (batch and verb.name == "filter")]
    found, in_file = [], False
    for verb in [*before, bad, *middle, *batch, *after]:
        found.append(Verb("cache", False) if verb.name == "cache" and verb.argument and in_file else verb)
        in_file = in_file or (verb.name == "cache" and verb.argument)
    return found


def build(verbs, folder, **options):
    dataset = feed.range(LENGTH)
    for verb in verbs:
        dataset = verb.on(dataset, str(Path(folder) / "kept"))
    return dataset.with_options(**options)


def without_bad(verbs, elements):
    """What comes where bad rows are left out: by the first verb from `bad` on that does not go by rows' numbers."""
    made, by_number = False, True
    for verb in verbs:
        made = made or verb.name == "bad"
        by_number = by_number and verb.name not in ("filter", "batch", "padded_batch")
        if made and not by_number:
            elements = [x for x in elements if x not in BAD]
            made = False
        elements = verb.model(elements)
    return [x for x in elements if x not in BAD] if made else elements


def rest_of(dataset, state):
    iterator = iter(dataset)
    iterator.load_state_dict(state)
    return [plain(x) for x in iterator]


THREADS, ORDER = st.integers(1, 4), st.sampled_from([None, True, False])


@settings(max_examples=60)
@given(plans(), THREADS, ORDER, st.integers(1, 3), st.data())
def test_rows_that_are_left_out_are_as_if_they_were_not_there(verbs, threads, order, epochs, data):
    expected = without_bad(verbs, list(range(LENGTH)))
    with tempfile.TemporaryDirectory() as folder:
        dataset = build(verbs, folder, threads=threads, deterministic=order, on_error="skip")
        for epoch in range(epochs):
            stop = data.draw(st.integers(0, len(expected)))
            iterator = dataset.epoch(epoch)
            first = [plain(next(iterator)) for _ in range(stop)]
            state = json.loads(json.dumps(iterator.state_dict()))
            assert first + [plain(x) for x in iterator] == expected
            assert rest_of(dataset, state) == expected[stop:]


@settings(max_examples=60)
@given(plans(st.one_of(SOME, SHUFFLE)), THREADS, ORDER, st.data())
def test_with_rows_replaced_every_stop_resumes_with_exactly_the_rest(verbs, threads, order, data):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        verbs = [Verb("shuffle", 7), *verbs]  # A seed, on which depends what comes instead.
        try:
            whole = [plain(x) for x in build(verbs, other, threads=1, deterministic=True, on_error="replace").epoch(1)]
        except StageError:
            assume(False)  # All that is left is bad, or a map comes after the rows were lost.
        dataset = build(verbs, folder, threads=threads, deterministic=order, on_error="replace")
        stop = data.draw(st.integers(0, len(whole)))
        iterator = dataset.epoch(1)
        first = [plain(next(iterator)) for _ in range(stop)]
        state = json.loads(json.dumps(iterator.state_dict()))
        rest = [plain(x) for x in iterator]

        assert Counter(first + rest) == Counter(whole)
        assert Counter(rest_of(dataset, state)) == Counter(rest)
        assert not {x for e in whole for x in np.ravel(e).tolist()} & BAD


@settings(max_examples=40)
@given(plans(), THREADS, ORDER, st.sampled_from(["skip", "replace"]))
def test_what_other_options_kept_hides_no_error(verbs, threads, order, first):
    whole = list(range(LENGTH))
    for verb in verbs:
        whole = verb.model(whole)
    with tempfile.TemporaryDirectory() as folder:
        dataset = build(verbs, folder, threads=threads, deterministic=order)
        with contextlib.suppress(StageError):
            list(iter(dataset.with_options(on_error=first)))
        with contextlib.suppress(StageError):
            assert [plain(x) for x in iter(dataset)] == whole


IN = {"memory": "", "file": "kept"}


@pytest.mark.parametrize("order", [None, False])
@pytest.mark.parametrize("place", IN.values(), ids=IN)
@pytest.mark.parametrize("cached_first", [False, True], ids=["batch().cache()", "cache().batch()"])
def test_each_replaced_row_is_named_in_each_epoch_whoever_made_it(cached_first, place, order, tmp_path):
    file = str(tmp_path / place) if place else ""
    rows = feed.range(LENGTH).map(fails, deterministic=order)
    made = rows.cache(file).batch(4) if cached_first else rows.batch(4).cache(file)
    dataset = made.with_options(on_error="replace", threads=3)
    left = dataset.epoch(0)
    next(left)
    left.close()  # What was made ahead stays with the cache.
    for again in (dataset, dataset, made.with_options(on_error="replace")):
        iterator = iter(again)
        assert sum(map(len, iterator)) == LENGTH
        assert [row.position for row in iterator.stats().replaced] == sorted(BAD)


def test_another_program_that_reads_the_file_names_them_too(tmp_path):
    def build():
        return feed.range(LENGTH).map(fails).batch(4).cache(tmp_path / "kept").with_options(on_error="replace")

    list(build())
    iterator = iter(build())
    list(iterator)

    assert [row.position for row in iterator.stats().replaced] == sorted(BAD)
    assert all("is bad" in row.reason for row in iterator.stats().replaced)
    with pytest.raises(StageError, match=r"cache failed at row 11: replaced when it was kept: .*11 is bad"):
        list(build().with_options(max_errors=2))


@pytest.mark.parametrize("place", IN.values(), ids=IN)
@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 3), (3, 1)])
def test_a_shard_after_a_cache_is_shared_anew_by_another_number(before, after, place, tmp_path):
    kept = feed.range(LENGTH).map(fails).cache(str(tmp_path / place) if place else "").shuffle(seed=1)

    def share(count, index):
        return iter(kept.shard(count, index).batch(2).with_options(on_error="replace", threads=2))

    got, states = [], []
    for index in range(before):
        iterator = iter(share(before, index))
        got += next(iterator).tolist()
        states.append(iterator.state_dict())
        iterator.close()
    rest = []
    for index in range(after):
        iterator = share(after, index)
        iterator.load_state_dict(states[0])
        rest += [x for batch in iterator for x in batch.tolist()]

    assert len(got + rest) == LENGTH
    assert not Counter(ROWS) - Counter(got + rest)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", IN.values(), ids=IN)
def test_two_iterators_at_a_time_and_a_forked_child_give_the_same(stream, place, tmp_path):
    source = feed.range(200).filter(lambda x: True) if stream else feed.range(200)
    kept = source.map(lambda x: x * 2).cache(str(tmp_path / place) if place else "").batch(7).with_options(threads=2)
    expected = [tuple(range(2 * i, min(2 * i + 14, 400), 2)) for i in range(0, 200, 7)]
    one, two = iter(kept), iter(kept)
    pairs = [(plain(a), plain(b)) for a, b in zip_longest(one, two)]
    child = os.fork()
    if child == 0:
        try:
            os._exit([plain(x) for x in iter(kept)] != expected)
        finally:
            os._exit(2)

    assert pairs == [(each, each) for each in expected]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [plain(x) for x in iter(kept)] == expected


class Plain(Loader):
    """A loader that moves nothing."""

    def _start(self, element):
        return element


def test_a_loader_goes_through_a_cache_under_repeat_and_makes_each_row_once():
    made = []
    dataset = feed.range(30).map(lambda x: made.append(int(x)) or x).cache().shuffle(seed=2).repeat(2).batch(7)
    loader = Plain(dataset.with_options(threads=3, deterministic=False), ahead=2)
    epochs = [[x for batch in loader for x in batch.tolist()] for _ in range(2)]

    assert [Counter(epoch) for epoch in epochs] == [Counter(dict.fromkeys(range(30), 2))] * 2
    assert set(made) == set(range(30))
