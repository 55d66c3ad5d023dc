"""Law 4 with another world size: what all processes took is taken, and the rest of the order is shared anew."""

import json

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

import wellfed as wf
from wellfed.adapters.loader import Loader
from wellfed.errors import StateError


def noisy(x, rng):
    return np.asarray(x) * 1000 + rng.integers(1000)


def build(length, world, rank, batch=1, even=None):
    numbers = wf.from_arrays(np.arange(length)).shuffle(seed=3).with_options(threads=1)
    return numbers.shard(world, rank, even=even).map(noisy, rng=True).batch(batch)


def rows(batches):
    return [x for batch in batches for x in plain(batch)]


def in_turn(shares):
    """The order that shares were dealt from."""
    return [share[i] for i in range(max(map(len, shares), default=0)) for share in shares if i < len(share)]


WORLDS = st.sampled_from([1, 2, 3, 4, 8])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.lists(WORLDS, min_size=2, max_size=3), st.integers(1, 4), st.integers(0, 2), st.data())
def test_another_world_size_goes_on_with_exactly_the_rest(length, worlds, batch, epoch, data):
    whole = rows(build(length, 1, 0).epoch(epoch))
    state, given = None, 0
    for world in worlds:
        iterators = [build(length, world, rank, batch).epoch(epoch) for rank in range(world)]
        if state is not None:
            for iterator in iterators:
                iterator.load_state_dict(json.loads(json.dumps(state)))
        resumed_state = iterators[0].state_dict()
        rest = [rows(iterator) for iterator in iterators]
        assert in_turn(rest) == whole[given:]

        steps = data.draw(st.integers(0, min(len(rest[-1]) // batch, 4)))
        stopping = build(length, world, world - 1, batch).epoch(epoch)
        stopping.load_state_dict({**resumed_state, "rank": world - 1})
        for _ in range(steps):
            next(stopping)
        state = stopping.state_dict()
        stopping.close()
        given += world * steps * batch


@pytest.mark.parametrize(("even", "lengths"), [("drop", [15, 15]), ("pad", [16, 16]), (None, [16, 15])])
def test_even_shares_are_even_for_the_rest(even, lengths):
    iterator = build(40, 3, 0, even=even).epoch(0)
    for _ in range(3):
        next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    found = []
    for rank in range(2):
        resumed = build(40, 2, rank, even=even).epoch(0)
        resumed.load_state_dict(saved)
        found.append(len(rows(resumed)))

    assert found == lengths


def test_the_epoch_after_a_resumed_one_is_shared_from_its_start():
    iterator = build(20, 4, 0).epoch(0)
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    dataset = build(20, 2, 1)
    resumed = iter(dataset)
    resumed.load_state_dict(saved)
    rows(resumed)

    assert rows(dataset) == rows(build(20, 2, 1).epoch(1))


def test_ranks_draw_different_random_numbers_and_the_same_for_any_world_size():
    whole = rows(build(24, 1, 0).epoch(0))

    assert in_turn([rows(build(24, 3, rank).epoch(0)) for rank in range(3)]) == whole


@pytest.mark.parametrize(
    "verb",
    [
        lambda d: d.shuffle(seed=1),
        lambda d: d.repeat(2),
        lambda d: d.take(5),
        lambda d: d.enumerate(),
        lambda d: d.filter(lambda x: True),
        lambda d: d.shard(2, 0),
    ],
    ids=["shuffle", "repeat", "take", "enumerate", "filter", "shard"],
)
def test_a_plan_that_reorders_after_the_shard_refuses_another_world_size(verb):
    saved = iter(verb(wf.from_arrays(np.arange(20)).shard(4, 0))).state_dict()

    with pytest.raises(StateError, match="saved elsewhere: the verbs of the data set differ"):
        iter(verb(wf.from_arrays(np.arange(20)).shard(2, 0))).load_state_dict(saved)


def test_rank_and_world_size_from_the_environment_go_on_too(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    iterator = iter(wf.from_arrays(np.arange(10)).shard())
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    resumed = iter(wf.from_arrays(np.arange(10)).shard())
    resumed.load_state_dict(saved)

    assert [plain(x) for x in resumed] == [5, 9]


class Plain(Loader):
    """A loader that moves nothing."""

    def _start(self, element):
        return element


def loader(world, rank):
    return Plain(build(24, world, rank, batch=2), ahead=0)


def taken(loader, count):
    epoch = iter(loader)
    got = rows(next(epoch) for _ in range(count))
    epoch.close()
    return got, json.loads(json.dumps(loader.state_dict()))


@pytest.mark.parametrize("steps", [1, 3], ids=["in the middle", "behind the last batch"])
def test_a_loader_knows_the_end_of_an_epoch_that_was_shared_anew(steps):
    _, state = taken(loader(4, 0), steps)
    later = loader(2, 1)
    later.load_state_dict(state)
    if steps == 1:  # Behind the last batch of the rest, before the loop asked for more.
        _, state = taken(later, 4)
        later = loader(2, 1)
        later.load_state_dict(state)

    assert (later.epoch, len(list(later))) == (1, 6)
