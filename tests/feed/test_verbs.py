"""Verbs over several sources, draws, splits and padded batches, each against what Python says of lists."""

from collections import Counter
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given

import wellfed as wf
from wellfed.errors import PlanError
from wellfed.feed import from_generator


def numbers(start, stop):
    return wf.from_arrays(np.arange(start, stop))


def ints(dataset, epoch=0):
    return [plain(e) for e in dataset.epoch(epoch)]


# --- Several data sets ---------------------------------------------------------------------------


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.integers(1, 5))
def test_concatenate_gives_all_of_each_in_turn(lengths, batch):
    bounds = np.cumsum([0, *lengths]).tolist()
    first, *others = [numbers(a, b) for a, b in pairwise(bounds)]
    joined = first.concatenate(*others)

    assert ints(joined) == list(range(bounds[-1]))
    assert [x for b in ints(joined.batch(batch)) for x in b] == list(range(bounds[-1]))


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 5))
def test_a_shuffle_over_a_concatenation_mixes_both(first, second, epoch):
    joined = numbers(0, first).concatenate(numbers(first, first + second)).shuffle(seed=1)

    assert sorted(ints(joined, epoch)) == list(range(first + second))


def test_concatenate_keeps_the_batches_of_its_sources():
    joined = numbers(0, 5).batch(2).concatenate(numbers(5, 8).batch(3))

    assert ints(joined) == [(0, 1), (2, 3), (4,), (5, 6, 7)]


def test_shuffled_batches_of_two_sources_stay_whole():
    joined = numbers(0, 50).batch(5).concatenate(numbers(50, 80).batch(3)).shuffle(seed=0)

    assert sorted(ints(joined)) == sorted(ints(numbers(0, 50).batch(5)) + ints(numbers(50, 80).batch(3)))


@given(st.integers(0, 15), st.integers(0, 15))
def test_zip_pairs_elements_and_ends_with_the_shortest(first, second):
    pairs = [(int(a), int(b)) for a, b in numbers(0, first).zip(numbers(100, 100 + second))]

    assert pairs == list(zip(range(first), range(100, 100 + second), strict=False))


def test_zipped_batches_are_tuples_of_batches():
    ((x, y), _) = numbers(0, 4).batch(2).zip(numbers(4, 8).batch(2))

    assert (x.tolist(), y.tolist()) == ([0, 1], [4, 5])


def test_a_data_set_of_trees_zips_and_batches():
    both = wf.from_arrays({"x": np.arange(4)}).zip(wf.from_arrays({"y": np.arange(4)})).batch(4)
    ((a, b),) = both

    assert (a["x"].tolist(), b["y"].tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_a_mix_keeps_its_shares_at_every_point(weights):
    datasets = [wf.from_arrays(np.full(2000, i)) for i in range(len(weights))]
    got = ints(datasets[0].mix(*datasets[1:], weights=weights).take(500))

    for taken in range(1, 501):
        counts = Counter(got[:taken])
        for i, weight in enumerate(weights):
            assert abs(counts[i] - taken * weight / sum(weights)) < len(weights)


def test_a_mix_gives_each_data_set_in_its_own_order():
    got = ints(numbers(0, 10).mix(numbers(100, 110)))

    assert [x for x in got if x < 100] == list(range(10))
    assert [x for x in got if x >= 100] == list(range(100, 110))


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3), st.integers(1, 3))
def test_a_mix_that_stops_first_ends_before_anything_would_start_again(a, b, wa, wb):
    counts = Counter(ints(numbers(0, a).mix(numbers(100, 100 + b), weights=[wa, wb])))
    whole = sum(x < 100 for x in counts) == a or sum(x >= 100 for x in counts) == b

    assert max(counts.values()) == 1
    assert whole


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3), st.integers(1, 3))
def test_a_mix_that_stops_last_gives_each_whole(a, b, wa, wb):
    counts = Counter(ints(numbers(0, a).mix(numbers(100, 100 + b), weights=[wa, wb], stop="last")))

    assert set(counts) == set(range(a)) | set(range(100, 100 + b))
    assert 1 in {counts[a - 1], counts[99 + b]}


@pytest.mark.parametrize("stop", ["first", "last"])
@pytest.mark.parametrize(("weights", "expected"), [([1, 1], [0]), ([3, 1], [0, 1]), ([1, 0], [0, 1, 2, 3])])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_mix_ends_where_an_empty_data_set_is_due(one_by_one, weights, expected, stop):
    empty = numbers(0, 0).filter(lambda x: True) if one_by_one else numbers(0, 0)

    assert ints(numbers(0, 4).mix(empty, weights=weights, stop=stop)) == expected


@pytest.mark.parametrize("verb", [lambda a, b: a.mix(b), lambda a, b: a.concatenate(b).shuffle(seed=1)])
def test_elements_that_are_made_of_batches_come_together_with_others(verb):
    rows, sums = numbers(100, 120), numbers(0, 40).batch(2).map(lambda pair: pair.sum())

    for first, second in ((rows, sums), (sums, rows)):
        got = [x for batch in verb(first, second).batch(5) for x in batch.tolist()]
        assert sorted(got) == [*range(1, 80, 4), *range(100, 120)]


def test_a_data_set_that_starts_again_in_a_mix_is_shuffled_anew():
    small = numbers(0, 20).shuffle(seed=1)
    got = [x for x in ints(small.mix(numbers(100, 160), stop="last")) if x < 100]

    assert sorted(got[:20]) == sorted(got[20:40]) == list(range(20))
    assert got[:20] != got[20:40]


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(PlanError, match="mix: 2 weights are due"):
        numbers(0, 3).mix(numbers(0, 3), weights=weights)


def test_something_else_than_a_data_set_is_refused():
    with pytest.raises(PlanError, match="a data set is due, got list"):
        numbers(0, 3).concatenate([1, 2])


ENDLESS = {
    "a number of times": lambda d: d.repeat(2),
    "for ever": lambda d: d.repeat(),
    "concatenate": lambda d: d.concatenate(numbers(7, 9)),
}


@pytest.mark.parametrize("verb", ENDLESS.values(), ids=ENDLESS)
def test_nothing_comes_after_what_never_ends(verb):
    assert ints(verb(numbers(0, 3).repeat()).take(7)) == [0, 1, 2, 0, 1, 2, 0]


# --- Draws and splits ----------------------------------------------------------------------------


def test_select_gives_rows_by_number():
    assert ints(numbers(10, 20).select([3, 3, 0])) == [13, 13, 10]


@pytest.mark.parametrize("rows", [[-1], [0.5], [[1]]])
def test_rows_that_are_no_numbers_are_refused(rows):
    with pytest.raises(PlanError, match="select: rows must be whole numbers from 0 on"):
        numbers(0, 3).select(rows)


def test_a_row_beyond_the_end_is_named():
    with pytest.raises(PlanError, match="select: there is no row 7: the data set has 3"):
        ints(numbers(0, 3).select([7]))


def test_a_sample_follows_its_weights():
    counts = Counter(ints(numbers(0, 3).sample([1, 0, 3], 4000, seed=0)))

    assert counts[1] == 0
    assert 2800 < counts[2] < 3200  # 3,000 is due, with a deviation of 27.


def test_a_sample_is_another_in_each_epoch():
    drawn = numbers(0, 9).sample([1] * 9, seed=0)

    assert ints(drawn, 0) != ints(drawn, 1)
    assert ints(drawn, 1) == ints(drawn, 1)


def test_balance_makes_labels_equally_likely():
    labels = [0] * 90 + [1] * 10
    counts = Counter(labels[row] for row in ints(numbers(0, 100).balance(labels, 4000, seed=0)))

    assert 1850 < counts[1] < 2150


@given(st.integers(0, 60), st.floats(0, 1), st.integers(0, 5))
def test_a_split_shares_nothing_and_loses_nothing(length, fraction, epoch):
    train, test = numbers(0, length).split(fraction, seed=3)

    assert sorted(ints(train, epoch) + ints(test, epoch)) == list(range(length))
    assert len(ints(train)) == round(length * fraction)


def test_parts_of_a_fixed_order_share_nothing_also_where_they_are_joined_again():
    fixed = numbers(0, 50).shuffle(seed=3, reshuffle_each_iteration=False)
    left, right = numbers(0, 50).split(0.3, seed=3)

    assert sorted(ints(fixed.skip(20).concatenate(fixed.take(20)))) == [*range(50)]
    assert sorted(ints(left.map(lambda row: row).concatenate(right))) == [*range(50)]


def test_a_split_is_the_same_in_each_epoch():
    train, _ = numbers(0, 100).split(0.7, seed=3)

    assert set(ints(train.shuffle(seed=1), 0)) == set(ints(train.shuffle(seed=1), 5))


# --- Elements ------------------------------------------------------------------------------------


def test_enumerate_counts_elements_where_it_stands():
    assert [(int(i), int(x)) for i, x in numbers(5, 8).skip(1).enumerate(start=10)] == [(10, 6), (11, 7)]


def test_row_ids_tell_source_and_row_after_a_shuffle():
    rows = numbers(0, 5).concatenate(numbers(100, 103)).shuffle(seed=2).with_row_ids()
    found = {(int(ids["source"]), int(ids["row"])): int(x) for ids, x in rows}

    assert found == {(0, i): i for i in range(5)} | {(1, i): 100 + i for i in range(3)}


def test_select_columns_keeps_their_order():
    (batch,) = wf.from_arrays({"a": [1], "b": [2], "c": [3]}).select_columns("c", "a").batch(1)

    assert list(batch) == ["c", "a"]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(PlanError, match=r"select_columns: there is no column 'z'; there are \['a'\]"):
        list(wf.from_arrays({"a": [1]}).select_columns("z"))


def test_apply_gives_what_the_function_makes():
    assert ints(numbers(0, 4).apply(lambda d: d.take(2))) == [0, 1]


# --- Padded batches ------------------------------------------------------------------------------


def lengths_of(*lengths):
    return wf.from_arrays(np.array(lengths)).map(lambda n: np.arange(1, int(n) + 1))


def test_padded_batch_fills_rows_up_to_the_longest_of_their_batch():
    first, second = lengths_of(1, 3, 2).padded_batch(2)

    assert first.tolist() == [[1, 0, 0], [1, 2, 3]]
    assert second.tolist() == [[1, 2]]


def test_padded_batch_fills_rows_of_strings_with_empty_ones():
    rows = [np.array([b"a", b"b"], object), np.array([], object)]

    (batch,) = from_generator(lambda: iter(rows)).padded_batch(2)

    assert batch.tolist() == [[b"a", b"b"], [b"", b""]]


def test_padded_batch_takes_shapes_and_values():
    (batch,) = lengths_of(1, 2).padded_batch(2, padded_shapes=[4], padding_values=-1)

    assert batch.tolist() == [[1, -1, -1, -1], [1, 2, -1, -1]]


def test_padded_batch_pads_each_column_of_a_tree_by_its_own():
    ragged = wf.Ragged(np.array([1, 2, 3], np.float32), [0, 1, 3])
    (batch,) = wf.from_arrays({"x": ragged, "y": np.arange(2)}).padded_batch(2, padding_values={"x": 9.0, "y": 0})

    assert batch["x"].tolist() == [[1, 9], [2, 3]]
    assert batch["y"].tolist() == [0, 1]


def test_a_row_longer_than_its_shape_is_named():
    with pytest.raises(PlanError, match=r"padded_batch: the element: a row of shape \(3,\) is longer than \(2,\)"):
        list(lengths_of(1, 3).padded_batch(2, padded_shapes=[2]))


def test_padded_batch_drops_a_remainder_when_told():
    assert len(list(lengths_of(1, 2, 3).padded_batch(2, drop_remainder=True))) == 1


def test_plans_over_several_sources_resume_exactly():
    def dataset():
        return numbers(0, 20).shuffle(seed=1).mix(numbers(100, 107), stop="last").zip(numbers(0, 99)).batch(3)

    whole = [plain(b) for b in dataset().epoch(0)]
    for stop in range(len(whole)):
        iterator = dataset().epoch(0)
        for _ in range(stop):
            next(iterator)
        saved = iterator.state_dict()
        iterator.close()
        resumed = iter(dataset())
        resumed.load_state_dict(saved)

        assert [plain(b) for b in resumed] == whole[stop:]


@pytest.mark.parametrize("reshuffle", [True, False])
def test_take_and_skip_of_a_shuffle_without_a_seed_share_nothing(reshuffle):
    shuffled = wf.from_arrays(np.arange(100)).shuffle(reshuffle_each_iteration=reshuffle)
    train, test = shuffled.take(60).shuffle(), shuffled.skip(60).batch(8)

    assert sorted([int(x) for x in train] + [int(x) for batch in test for x in batch]) == list(range(100))
