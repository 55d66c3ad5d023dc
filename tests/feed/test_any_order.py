"""Law 3's exception: with `deterministic=False` nobody waits for a slow element, and laws 2 and 4 hold all the same."""

import json
import threading
from collections import Counter
from itertools import islice

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

from wellfed import feed
from wellfed.adapters.loader import Loader
from wellfed.errors import StageError, StateError
from wellfed.feed import parts

BUDGET = 1 << 20


class Gate:
    """A function that lets some elements wait until it is opened."""

    def __init__(self, *slow):
        self.slow, self.opened = slow, threading.Event()

    def __call__(self, x):
        if int(x) in self.slow:
            self.opened.wait()
        return x


def build(length, function, threads, batch=None, **options):
    """Elements of such a size that each, or each batch, is a unit, and that more units than threads fit the budget."""
    weight = np.zeros(BUDGET // (4 * threads) + 1, np.uint8)
    made = feed.range(length).shuffle(seed=1)
    made = made.map(lambda x: {"x": function(x), "weight": weight}, deterministic=False)
    made = made if batch is None else made.batch(batch)
    return made.with_options(threads=threads, ram_budget=BUDGET, **options)


def take(iterator, count=None):
    return [plain(element["x"]) for element in islice(iterator, count)]


def saved(iterator):
    return json.loads(json.dumps(iterator.state_dict()))


def resumed(dataset, state):
    iterator = iter(dataset)
    iterator.load_state_dict(state)
    return iterator


def order_of(length, batch=None):
    numbers = feed.range(length).shuffle(seed=1)
    return [plain(x) for x in (numbers if batch is None else numbers.batch(batch)).epoch(0)]


def test_later_elements_come_while_the_first_one_is_still_made():
    first, *others = order_of(30)
    gate = Gate(first)
    iterator = iter(build(30, gate, threads=2))
    before = take(iterator, 29)
    gate.opened.set()

    assert sorted(before) == sorted(others)
    assert take(iterator) == [first]


def test_later_batches_come_while_a_part_of_the_first_one_is_still_made(monkeypatch):
    monkeypatch.setattr(parts, "_HEAVY_SECONDS", 0.0)
    monkeypatch.setattr(parts, "_PART_SECONDS", 1e-5)
    first, *others = order_of(40, batch=8)
    gate = Gate(first[5])
    iterator = iter(build(40, gate, threads=3, batch=8))
    before = take(iterator, 4)
    gate.opened.set()

    assert sorted(before) == sorted(others)
    assert take(iterator) == [first]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(0, 12), st.sampled_from([None, 1, 3]), st.data())
def test_each_element_comes_once_and_every_stop_resumes_with_exactly_the_rest(threads, length, batch, data):
    whole = order_of(length, batch)
    slow = data.draw(st.lists(st.integers(0, max(length - 1, 0)), max_size=threads - 1))
    short = [e for e in whole[-1:] if slow and batch and len(e) < batch]  # It is put together last of all.
    held = [e for e in whole if e in short or set(slow) & set(np.atleast_1d(e).tolist())]
    for stop in range(len(whole) + 1):
        gate = Gate(*slow)
        iterator = iter(build(length, gate, threads, batch))
        before = take(iterator, min(stop, len(whole) - len(held)))
        gate.opened.set()
        before += take(iterator, stop - len(before))
        state = saved(iterator)
        rest = Counter(whole) - Counter(before)

        assert len(before) == stop
        assert Counter(take(resumed(build(length, gate, threads, batch), state))) == rest
        in_order = resumed(build(length, gate, threads, batch, deterministic=True), state)
        assert take(in_order) == [e for e in whole if e in rest]
        assert Counter(take(iterator)) == rest


def test_a_second_stop_is_as_exact_as_the_first():
    whole, gate = order_of(30), Gate()
    state, got = saved(iter(build(30, gate, 3))), []
    for number in range(6):
        gate = Gate(whole[number])
        iterator = resumed(build(30, gate, 3), state)
        got += take(iterator, 4)
        state = saved(iterator)
        gate.opened.set()
        iterator.close()

    assert state["position"] + sum(stop - start for start, stop in state["ahead"]) == 24
    assert sorted(got + take(resumed(build(30, Gate(), 3), state))) == list(range(30))


def test_an_element_that_fails_raises_when_it_is_met_and_the_rest_is_still_to_come():
    whole = order_of(30)
    gate = Gate(whole[0])

    def fail(x):
        if x == whole[9]:
            gate.opened.set()  # Whoever meets the error waits for the thread that is in its call.
            raise ValueError("this one")
        return gate(x)

    iterator = iter(build(30, fail, threads=2))
    got = []
    with pytest.raises(StageError, match=f"failed at row {whole[9]}: ValueError: this one"):
        got.extend(plain(element["x"]) for element in iterator)
    rest = take(resumed(build(30, Gate(), threads=2), saved(iterator)))

    assert set(whole[1:9]) <= set(got)
    assert sorted(got + rest) == list(range(30))


def same(x):
    return x


@pytest.mark.parametrize(
    ("asked", "option", "kept"),
    [
        ((None,), None, True),
        ((False,), None, False),
        ((None, False), None, False),
        ((None,), False, False),
        ((True,), False, True),
        ((True, False), False, False),
        ((False,), True, True),
    ],
)
def test_who_gives_the_order_up(asked, option, kept):
    dataset = feed.range(9)
    for wish in asked:
        dataset = dataset.map(same, deterministic=wish)

    assert ("ahead" not in iter(dataset.with_options(deterministic=option)).state_dict()) is kept


def test_a_plan_that_lost_its_rows_keeps_its_order():
    dataset = feed.range(1000).map(same, deterministic=False).filter(lambda x: x % 2 == 0)

    assert [plain(x) for x in dataset.with_options(threads=3, deterministic=False)] == list(range(0, 1000, 2))


def test_another_rank_or_world_size_is_refused_with_the_reason():
    def share(world, rank):
        return iter(feed.range(40).shard(world, rank).map(same, deterministic=False))

    iterator = share(4, 1)
    next(iterator)
    state = saved(iterator)
    iterator.close()

    with pytest.raises(
        StateError, match=r"the rank differ; .*with deterministic=False each rank has to go on with its"
    ):
        share(4, 2).load_state_dict(state)
    with pytest.raises(StateError, match="the world size differ; saved 4, here 1"):
        iter(feed.range(40).shard(1, 0).map(same)).load_state_dict({**state, "rank": 0})


def test_a_state_that_was_saved_in_order_is_good_in_any():
    iterator = iter(build(20, Gate(), 2, deterministic=True))
    before = take(iterator, 7)
    state = saved(iterator)
    iterator.close()

    assert "ahead" not in state
    assert sorted(before + take(resumed(build(20, Gate(), 2), state))) == list(range(20))


@pytest.mark.parametrize("ahead", [[[3, 5]], [[6, 8], [8, 9]], [[9, 12], [6, 7]], [[7, 7]], [[7]], ["ab"], 5])
def test_ranges_that_cannot_be_are_refused(ahead):
    iterator = iter(build(20, Gate(), 2))

    with pytest.raises(StateError, match="ahead must be ranges behind position 5, in order and apart"):
        iterator.load_state_dict({**iterator.state_dict(), "position": 5, "ahead": ahead})


class Plain(Loader):
    """A loader that moves nothing."""

    def _start(self, element):
        return element


def test_a_loader_that_runs_ahead_counts_what_it_delivered():
    whole = order_of(30)
    gate = Gate(whole[0], whole[4])
    loader = Plain(build(30, gate, threads=3), ahead=2)
    epoch = iter(loader)
    before = take(epoch, 10)
    state = json.loads(json.dumps(loader.state_dict()))
    gate.opened.set()
    epoch.close()
    other = Plain(build(30, Gate(), threads=3), ahead=2)
    other.load_state_dict(state)

    assert sorted(before + take(other)) == list(range(30))
    assert sorted(take(other)) == list(range(30))
    assert (other.epoch, other.state_dict()["position"], other.state_dict()["ahead"]) == (2, 0, [])
