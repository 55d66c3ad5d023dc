"""Laws 2 and 3: every order is a partition, and depends on nothing but files, plan, seed and epoch."""

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import BATCHES, ORDER_VERBS, SHUFFLES, build, on_list, plain
from hypothesis import given

import wellfed as wf
from wellfed.errors import PlanError

lengths = st.integers(0, 40)


def flat(elements):
    for element in elements:
        if isinstance(element, tuple):
            yield from flat(element)
        else:
            yield element


@given(lengths, st.lists(st.one_of(ORDER_VERBS, BATCHES), max_size=6))
def test_a_plan_without_shuffle_equals_the_model(length, verbs):
    # Batches of unequal size cannot be stacked into batches of batches.
    verbs = [v for i, v in enumerate(verbs) if v.name != "batch" or not any(u.name == "batch" for u in verbs[:i])]
    expected = list(range(length))
    for verb in verbs:
        expected = on_list(verb, expected)

    assert [plain(e) for e in build(length, verbs)] == expected


@given(lengths, st.lists(ORDER_VERBS, max_size=4), st.lists(SHUFFLES, min_size=1, max_size=2))
def test_a_shuffle_last_gives_the_same_elements_in_another_order(length, verbs, shuffles):
    expected = [plain(e) for e in build(length, verbs)]

    assert sorted(plain(e) for e in build(length, verbs + shuffles)) == sorted(expected)


@given(st.integers(0, 200), st.integers(1, 9), st.integers(0, 3), st.integers(1, 8))
def test_the_shards_of_a_shuffle_partition_its_rows(length, count, epoch, batch):
    shuffled = wf.from_arrays(np.arange(length)).shuffle(seed=3)
    shares = [shuffled.shard(count, index).batch(batch).epoch(epoch) for index in range(count)]

    assert sorted(flat(plain(b) for share in shares for b in share)) == list(range(length))


@given(st.integers(1, 200), st.integers(1, 9))
def test_padded_shards_have_one_length_and_repeat_at_most_one_row_each(length, count):
    shares = [list(wf.from_arrays(np.arange(length)).shard(count, i, even="pad")) for i in range(count)]

    assert len({len(share) for share in shares}) == 1
    assert set(flat(plain(e) for share in shares for e in share)) == set(range(length))
    assert sum(map(len, shares)) - length < count


@given(st.integers(0, 200), st.integers(1, 9))
def test_dropping_shards_omit_at_most_one_row_each(length, count):
    rows = [plain(e) for i in range(count) for e in wf.from_arrays(np.arange(length)).shard(count, i, even="drop")]

    assert len(set(rows)) == len(rows) == length // count * count


@given(st.integers(2, 100), st.lists(st.one_of(ORDER_VERBS, SHUFFLES, BATCHES), max_size=5), st.integers(0, 2))
def test_any_number_of_threads_gives_the_same_order(length, verbs, epoch):
    verbs = [v for i, v in enumerate(verbs) if v.name != "batch" or not any(u.name == "batch" for u in verbs[:i])]
    one, three = build(length, verbs, threads=1), build(length, verbs, threads=3)

    assert [plain(e) for e in one.epoch(epoch)] == [plain(e) for e in three.epoch(epoch)]


def test_each_iteration_is_the_next_epoch_with_an_order_of_its_own():
    dataset = wf.from_arrays(np.arange(50)).shuffle(seed=0)
    first, second = [plain(e) for e in dataset], [plain(e) for e in dataset]

    assert first != second
    assert first == [plain(e) for e in dataset.epoch(0)]
    assert second == [plain(e) for e in dataset.epoch(1)]


def test_a_shuffle_that_does_not_reshuffle_keeps_its_order():
    dataset = wf.from_arrays(np.arange(50)).shuffle(seed=0, reshuffle_each_iteration=False)

    assert [plain(e) for e in dataset] == [plain(e) for e in dataset]


def test_repetitions_of_a_shuffle_have_orders_of_their_own():
    rows = [plain(e) for e in wf.from_arrays(np.arange(50)).shuffle(seed=0).repeat(2)]

    assert rows[:50] != rows[50:]
    assert sorted(rows[:50]) == sorted(rows[50:]) == list(range(50))


def test_two_shuffles_of_one_seed_do_not_undo_each_other():
    once = [plain(e) for e in wf.from_arrays(np.arange(50)).shuffle(seed=0)]
    twice = [plain(e) for e in wf.from_arrays(np.arange(50)).shuffle(seed=0).shuffle(seed=0)]

    assert len({tuple(once), tuple(twice), tuple(range(50))}) == 3


def test_a_data_set_without_a_seed_keeps_the_one_it_drew():
    dataset = wf.from_arrays(np.arange(50)).shuffle()

    assert [plain(e) for e in dataset.epoch(0)] == [plain(e) for e in dataset.epoch(0)]


def test_a_buffer_of_one_element_leaves_the_order():
    assert [plain(e) for e in wf.from_arrays(np.arange(9)).shuffle(1)] == list(range(9))


def test_an_endless_repeat_goes_on():
    endless = iter(wf.from_arrays(np.arange(3)).repeat().batch(2))

    assert [plain(next(endless)) for _ in range(4)] == [(0, 1), (2, 0), (1, 2), (0, 1)]
    endless.close()


def test_an_unseeded_shuffle_under_shard_is_refused():
    dataset = wf.from_arrays(np.arange(9)).shuffle().shard(2, 0)

    with pytest.raises(PlanError, match=r"shuffle: without a seed each process .* give the same seed to all"):
        iter(dataset)


def test_a_shuffle_over_an_endless_repeat_names_the_verb_at_fault():
    with pytest.raises(PlanError, match=r"shuffle: needs a length, and repeat\(\) without a count has none"):
        list(wf.from_arrays(np.arange(9)).repeat().shuffle(seed=0))


def test_the_length_of_an_endless_data_set_is_a_type_error():
    with pytest.raises(TypeError, match="never ends"):
        len(wf.from_arrays(np.arange(9)).repeat())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.shuffle(0), "shuffle: buffer_size must be at least 1 element, got 0"),
        (lambda d: d.batch(0), "batch: batch_size must be at least 1 element, got 0"),
        (lambda d: d.take(-2), "take: count must be at least 0 elements, got -2"),
        (lambda d: d.skip(-1), "skip: count must be at least 0 elements, got -1"),
        (lambda d: d.shard(0, 0), "shard: num_shards must be at least 1, got 0"),
        (lambda d: d.shard(2, 2), r"shard: index must be in \[0, 2\), got 2"),
        (lambda d: d.shard(2), "shard: num_shards and index go together"),
        (lambda d: d.shard(2, 0, even="wrap"), "shard: even must be None"),
        (lambda d: d.map(3), "map: a function or a transform is due, got int"),
    ],
)
def test_a_number_out_of_range_is_named_when_the_verb_is_called(make, message):
    with pytest.raises(PlanError, match=message):
        make(wf.from_arrays(np.arange(3)))


def test_shard_without_numbers_asks_the_environment_when_iteration_starts(monkeypatch):
    dataset = wf.from_arrays(np.arange(5)).shard()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")

    assert [plain(e) for e in dataset] == [1, 3]


def test_half_an_environment_is_refused(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    with pytest.raises(PlanError, match="RANK and WORLD_SIZE must both be whole numbers"):
        iter(wf.from_arrays(np.arange(5)).shard())
