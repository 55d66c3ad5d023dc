"""Law 4 for plans without rows by number: a stop anywhere resumes exactly, and reads no more than a buffer again."""

import json
import math
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

import wellfed as wf
from wellfed.errors import StateError
from wellfed.feed import from_generator
from wellfed.feed.jsonable import pack, unpack
from wellfed.feed.reservoir import contents, draws


def numbers(length):
    return wf.from_arrays(np.arange(length))


def even(x):
    return np.asarray(x).sum() % 2 == 0


VERBS = {
    "filter": lambda d: d.filter(even),
    "take_while": lambda d: d.take_while(lambda x: np.asarray(x).sum() < 90),
    "flat_map": lambda d: d.flat_map(lambda x: numbers(int(np.asarray(x).sum()) % 4)),
    "flat_map of lists": lambda d: d.flat_map(lambda x: [np.asarray(x).sum()] * 2),
    "interleave": lambda d: d.interleave(lambda x: numbers(int(np.asarray(x).sum()) % 5).filter(even), 3, 2),
    "shuffled inner": lambda d: d.interleave(lambda x: numbers(int(np.asarray(x).sum()) % 5).shuffle(), 2, 1),
    "unbatch": lambda d: d.batch(3).unbatch(),
    "rebatch": lambda d: d.batch(3).rebatch([2, 1, 4]).unbatch(),
    "scan": lambda d: d.scan(np.int64(0), lambda s, x: (s + np.asarray(x).sum(), s)),
    "unique": lambda d: d.unique(),
    "cache": lambda d: d.cache(),
    "window": lambda d: d.window(3, 2).map(lambda w: np.asarray(w).sum()),
    "wide window": lambda d: d.window(2, 4).map(lambda w: np.asarray(w).sum()),
    "strided window": lambda d: d.window(2, 1, 3, True).map(lambda w: np.asarray(w).sum()),
    "shuffle": lambda d: d.filter(lambda x: True).shuffle(5, seed=3),
    "bucket": lambda d: d.map(lambda x: np.arange(int(np.asarray(x).sum()) % 4)).bucket_by_sequence_length(
        len, [2, 3], [2, 3, 2]
    ),
    "shard": lambda d: d.filter(lambda x: True).shard(2, 1),
    "take": lambda d: d.filter(lambda x: True).take(9),
    "skip": lambda d: d.filter(lambda x: True).skip(2),
    "enumerate": lambda d: (
        d.filter(lambda x: True).enumerate().map(lambda pair: pair[0] * 100 + np.asarray(pair[1]).sum())
    ),
    "repeat": lambda d: d.filter(lambda x: True).repeat(2),
    "map rng": lambda d: d.filter(lambda x: True).map(lambda x, rng: np.asarray(x).sum() + rng.integers(4), rng=True),
    "concatenate": lambda d: d.filter(even).concatenate(numbers(5)),
    "zip": lambda d: d.filter(even).zip(numbers(30).filter(even)).map(lambda pair: np.asarray(pair[0]).sum()),
    "mix": lambda d: d.filter(even).mix(numbers(4).filter(even), weights=[2, 1], stop="last"),
}


def whole(build, epoch):
    return [plain(e) for e in build().epoch(epoch)]


def check_every_stop(build, epoch=0):
    due = whole(build, epoch)
    stopping = build().epoch(epoch)
    for stop in range(len(due) + 1):
        saved = json.loads(json.dumps(stopping.state_dict()))
        resumed = build().epoch(0)
        resumed.load_state_dict(saved)
        assert saved == resumed.state_dict()
        got = [plain(e) for e in resumed]
        assert got == due[stop:], stop
        if stop < len(due):
            next(stopping)
    stopping.close()


@pytest.mark.parametrize("verb", VERBS)
def test_every_stop_of_a_verb_resumes_exactly(verb):
    check_every_stop(lambda: VERBS[verb](numbers(23).shuffle(seed=1)).batch(1), epoch=1)


CHAINABLE = sorted(set(VERBS) - {"bucket"})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CHAINABLE), min_size=2, max_size=4), st.integers(0, 14), st.integers(0, 2))
def test_every_stop_of_a_chain_of_verbs_resumes_exactly(verbs, length, epoch):
    def build():
        dataset = numbers(length).shuffle(seed=1)
        for verb in verbs:
            dataset = VERBS[verb](dataset)
        return dataset.take(40) if not wf_addressable(dataset) else dataset

    check_every_stop(build, epoch)


def wf_addressable(dataset):
    try:
        len(dataset)
    except TypeError:
        return False
    return True


class Counter:
    """Counts the rows that are made of its source. Rows are heavy, so that few are made ahead of the consumer."""

    def __init__(self):
        self.rows, self._lock = 0, threading.Lock()

    def __call__(self, x):
        with self._lock:
            self.rows += 1
        return {"x": x, "weight": np.zeros(4096)}


def rows_made_on_resume(make, stop):
    """How many rows of the source are made before a resumed iterator gives its first element."""
    counter = Counter()

    def build():
        return make(numbers(200_000).map(counter).with_options(threads=1, ram_budget=1 << 20))

    stopping = iter(build())
    for _ in range(stop):
        next(stopping)
    saved = stopping.state_dict()
    due = plain(next(stopping)["x"])
    stopping.close()
    counter.rows = 0
    resumed = iter(build())
    resumed.load_state_dict(saved)
    assert plain(next(resumed)["x"]) == due
    resumed.close()
    return counter.rows


def even_x(element):
    return element["x"] % 2 == 0


AHEAD = 300  # Rows that the engines make ahead of a consumer that took one element.


@pytest.mark.parametrize(
    ("make", "buffer"),
    [
        (lambda d: d.filter(even_x), 1),
        (lambda d: d.filter(even_x).batch(8), 8),
        (lambda d: d.batch(16).unbatch(), 16),
        (lambda d: d.window(50, 10), 8 * 50),
        (lambda d: d.interleave(lambda element: [element] * 10, 8, 2), 8),
        (lambda d: d.filter(even_x).shuffle(50, seed=0), 2 * 50 * (math.log(50) + 8)),
        (lambda d: d.bucket_by_sequence_length(lambda element: element["x"] % 7, [3, 5], [8, 8, 8]), 24 * 3),
    ],
    ids=["filter", "batch", "unbatch", "window", "interleave", "shuffle", "bucket"],
)
def test_a_resume_makes_the_rows_of_a_buffer_again_and_not_the_epoch(make, buffer):
    assert rows_made_on_resume(make, 1) < AHEAD + buffer
    assert rows_made_on_resume(make, 1500) < AHEAD + buffer


class Called:
    """A map function that keeps which elements it was called with."""

    def __init__(self):
        self.numbers, self._lock = [], threading.Lock()

    def __call__(self, x):
        with self._lock:
            self.numbers.append(int(x))
        return x


ONE_FOR_ONE = {
    "map": lambda d, called: d.map(called),
    "map and enumerate": lambda d, called: d.map(called).enumerate().map(lambda pair: pair[1]),
    "map and prefetch": lambda d, called: d.map(called).prefetch(2),
    "map and map": lambda d, called: d.map(called).map(lambda x: x),
}


@pytest.mark.parametrize("verbs", ONE_FOR_ONE)
@pytest.mark.parametrize("stop", [0, 1, 7, 500, 2000, 2995])
def test_a_map_before_a_shuffle_buffer_is_called_again_for_the_elements_that_wait_alone(verbs, stop):
    size, called = 40, Called()

    def build():
        return ONE_FOR_ONE[verbs](numbers(3000).filter(lambda x: True), called).shuffle(size, seed=2)

    stopping = iter(build())
    for _ in range(stop):
        next(stopping)
    saved = json.loads(json.dumps(stopping.state_dict()))
    rest = [plain(e) for e in stopping]
    called.numbers.clear()
    resumed = iter(build())
    resumed.load_state_dict(saved)
    place = stop // 16 * 16  # One is remembered at each 16th element.
    read = min(place + size, 3000) if place else 0

    assert [plain(e) for e in resumed] == rest
    assert len(called.numbers) == len(set(called.numbers))
    assert sum(number < read for number in called.numbers) == (size if place else 0)


def test_a_reservoir_whose_source_has_shrunk_says_so():
    def build(length):
        return numbers(40).filter(lambda x: x < length).shuffle(5, seed=1)

    stopping = iter(build(40))
    for _ in range(33):
        next(stopping)
    resumed = iter(build(33))
    resumed.load_state_dict(stopping.state_dict())

    with pytest.raises(StateError, match="37 elements came before it where the state was saved, here no more than 33"):
        next(resumed)
    stopping.close()


def test_a_map_that_may_lose_elements_is_called_again_for_all_that_are_read_again():
    def build():
        return numbers(200).filter(lambda x: True).map(odd_ones).ignore_errors().shuffle(10, seed=2)

    check_every_stop(build)


def odd_ones(x):
    if x % 2 == 0:
        raise ValueError("even")
    return x


def test_a_shuffle_over_rows_by_number_has_no_buffer_to_make_again():
    assert rows_made_on_resume(lambda d: d.shuffle(20_000, seed=0), 1) < AHEAD
    assert rows_made_on_resume(lambda d: d.shuffle(20_000, seed=0), 1500) < AHEAD


@given(st.integers(0, 300), st.integers(1, 20), st.integers(0, 5))
def test_what_lies_in_the_slots_of_a_reservoir_is_found_by_looking_back(count, size, seed):
    slots = list(range(size))
    for number, slot in enumerate(draws(seed, 0, count, size).tolist()):
        slots[slot] = size + number

    assert contents(seed, count, size).tolist() == slots


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
def test_each_slot_of_a_reservoir_is_drawn_equally_often(size):
    count = 200 * size
    found = np.bincount(draws(7, 0, count, size), minlength=size)
    chi_square = float(((found - 200) ** 2 / 200).sum())

    assert chi_square < size - 1 + 5 * math.sqrt(2 * (size - 1))


class Resumable:
    """A generator that brings its own state."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 10:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


GENERATED = {
    "in batches": lambda d: d.filter(even).batch(2),
    "by itself": lambda d: d,  # Its first elements come before the first place that is remembered.
    "shuffle": lambda d: d.shuffle(4, seed=1).batch(2),  # Which holds the first element for long.
    "unique": lambda d: d.unique().batch(2),  # Which makes the epoch's elements once more.
}


@pytest.mark.parametrize("verbs", GENERATED.values(), ids=GENERATED)
def test_a_generator_with_a_state_of_its_own_resumes(verbs):
    check_every_stop(lambda: verbs(from_generator(Resumable)))


def test_a_generator_without_a_state_is_refused_in_the_middle():
    iterator = iter(from_generator(lambda: iter(range(10))).batch(2))
    next(iterator)

    with pytest.raises(StateError, match="from_generator cannot go on in the middle"):
        iter(from_generator(lambda: iter(range(10))).batch(2)).load_state_dict(iterator.state_dict())
    iterator.close()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_small_values_survive_json(value):
    assert unpack(json.loads(json.dumps(pack(value)))) == value


@pytest.mark.parametrize("value", [np.arange(6.0).reshape(2, 3), np.float32(1.5), np.zeros((0, 2), np.int8)])
def test_arrays_survive_json_with_their_dtype(value):
    found = unpack(json.loads(json.dumps(pack(value))))

    assert (type(found), found.dtype, found.shape, found.tolist()) == (
        type(value),
        value.dtype,
        value.shape,
        value.tolist(),
    )


def test_a_scan_with_a_state_that_json_cannot_hold_replays():
    check_every_stop(lambda: numbers(9).scan({1}, lambda s, x: (s | {int(x)}, len(s))))


def test_a_cache_keeps_the_first_epoch_whichever_is_run_first():
    def build():
        return numbers(20).shuffle(seed=1).cache()

    first = whole(build, 0)

    assert whole(build, 3) == first
    assert [plain(e) for e in build().repeat(2)] == first * 2
