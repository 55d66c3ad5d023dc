"""Law 4: after any k elements, save and restore; the rest is the same as without a stop."""

import json

import hypothesis.strategies as st
import pytest
from feed_model import BATCHES, ORDER_VERBS, SHUFFLES, build, plain
from hypothesis import given, settings

from wellfed.errors import StateError


def rest_of(iterator):
    return [plain(e) for e in iterator]


@settings(max_examples=30)
@given(
    st.integers(0, 25),
    st.lists(st.one_of(ORDER_VERBS, SHUFFLES), max_size=3),
    st.one_of(st.none(), BATCHES),
    st.integers(0, 2),
)
def test_every_stop_resumes_exactly(length, verbs, batch, epoch):
    verbs = verbs + ([batch] if batch else [])
    whole = rest_of(build(length, verbs).epoch(epoch))

    for stop in range(len(whole) + 1):
        iterator = build(length, verbs).epoch(epoch)
        for _ in range(stop):
            next(iterator)
        saved = json.loads(json.dumps(iterator.state_dict()))
        iterator.close()
        resumed = iter(build(length, verbs))
        resumed.load_state_dict(saved)

        assert rest_of(resumed) == whole[stop:]


def test_a_second_resume_is_as_exact_as_the_first():
    dataset = build(40, []).shuffle(seed=1).batch(3)
    whole = rest_of(dataset.epoch(0))
    got = []
    state = dataset.epoch(0).state_dict()
    for _ in range(4):
        iterator = build(40, []).shuffle(seed=1).batch(3).epoch(0)
        iterator.load_state_dict(state)
        got += [plain(next(iterator)) for _ in range(3)]
        state = iterator.state_dict()
        iterator.close()

    assert got == whole[:12]


def test_loading_into_a_running_iterator_starts_over_from_the_state():
    iterator = iter(build(40, []).batch(3))
    next(iterator)
    saved = iterator.state_dict()
    for _ in range(5):
        next(iterator)
    iterator.load_state_dict(saved)

    assert plain(next(iterator)) == (3, 4, 5)
    iterator.close()


def test_an_unseeded_shuffle_resumes_with_the_seed_it_drew():
    iterator = iter(build(40, []).shuffle().batch(3))
    for _ in range(4):
        next(iterator)
    saved = iterator.state_dict()
    rest = rest_of(iterator)
    resumed = iter(build(40, []).shuffle().batch(3))
    resumed.load_state_dict(saved)

    assert rest_of(resumed) == rest


def test_the_epoch_after_a_resumed_one_is_the_next():
    dataset = build(20, []).shuffle(seed=4)
    iterator = dataset.epoch(5)
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    fresh = build(20, []).shuffle(seed=4)
    resumed = iter(fresh)
    resumed.load_state_dict(saved)
    rest_of(resumed)

    assert rest_of(fresh) == rest_of(dataset.epoch(6))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: build(20, []).shuffle(seed=2).batch(4), "the verbs of the data set differ"),
        (lambda: build(20, []).shuffle(seed=1).batch(5), "the verbs of the data set differ"),
        (lambda: build(21, []).shuffle(seed=1).batch(4), "the files .* differ"),
    ],
)
def test_a_state_of_another_data_set_is_refused(other, what):
    saved = iter(build(20, []).shuffle(seed=1).batch(4)).state_dict()

    with pytest.raises(StateError, match=what):
        iter(other()).load_state_dict(saved)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"version": 99}, "has version 99, and this wellfed reads version 1"),
        ({"position": -1}, "position must be a whole number of at least 0, got -1"),
        ({"epoch": "x"}, "epoch must be a whole number of at least 0, got 'x'"),
    ],
)
def test_a_state_that_was_tampered_with_is_refused(change, what):
    iterator = iter(build(20, []))

    with pytest.raises(StateError, match=what):
        iterator.load_state_dict(iterator.state_dict() | change)


def test_a_mapping_that_is_no_state_is_refused():
    with pytest.raises(StateError, match="this is no state of a wellfed iterator: it lacks version"):
        iter(build(20, [])).load_state_dict({})
