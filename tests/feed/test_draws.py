"""Elements of several data sets that are drawn, or named by another; and batches of rows of any length."""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wellfed as wf
from wellfed import feed
from wellfed.errors import PlanError


def ints(dataset, epoch=0):
    return [int(x) for x in dataset.epoch(epoch)]


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 3))
def test_a_sample_that_goes_on_gives_each_data_set_whole_and_in_its_order(a, b, seed):
    got = ints(wf.sample_from_datasets([feed.range(a), feed.range(100, 100 + b)], [3, 1], seed))

    assert [x for x in got if x < 100] == list(range(a))
    assert [x for x in got if x >= 100] == list(range(100, 100 + b))


def test_draws_follow_their_weights():
    sources = [feed.range(1).repeat(), feed.range(1, 2).repeat(), feed.range(2, 3).repeat()]
    counts = Counter(ints(wf.sample_from_datasets(sources, [1, 0, 3], seed=0).take(4000)))

    assert counts[1] == 0
    assert 2800 < counts[2] < 3200  # 3,000 is due, with a deviation of 27.


def test_a_sample_that_stops_ends_where_a_drawn_data_set_has_ended():
    sources = [feed.range(3), feed.range(100, 1000)]
    got = ints(wf.sample_from_datasets(sources, [1, 1], seed=0, stop_on_empty_dataset=True))
    longer = ints(wf.sample_from_datasets(sources, [1, 1], seed=0))

    assert got == longer[: len(got)]
    assert [x for x in got if x < 100] == [0, 1, 2]
    assert len(got) < 100


def test_draws_are_the_same_in_each_epoch_unless_told_otherwise():
    sources = [feed.range(50), feed.range(100, 150)]
    same = wf.sample_from_datasets(sources, seed=1)
    anew = wf.sample_from_datasets(sources, seed=1, rerandomize_each_iteration=True)

    assert ints(same, 0) == ints(same, 1)
    assert ints(anew, 0) != ints(anew, 1)


def test_a_sample_of_one_data_set_is_that_one():
    only = feed.range(5)

    assert wf.sample_from_datasets([only]) is only


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(PlanError, match="sample_from_datasets: 2 weights are due"):
        wf.sample_from_datasets([feed.range(1), feed.range(1)], weights)


def test_choices_name_the_data_set_and_end_the_whole():
    sources = [feed.range(3), feed.range(10, 13)]
    choices = wf.from_arrays(np.array([1, 1, 0, 1, 0]))

    assert ints(wf.choose_from_datasets(sources, choices)) == [10, 11, 0, 12, 1]


def test_a_named_data_set_that_has_ended_ends_all_or_is_passed_over():
    sources = [feed.range(1), feed.range(10, 13)]
    choices = feed.range(2).repeat(3)

    assert ints(wf.choose_from_datasets(sources, choices)) == [0, 10]
    assert ints(wf.choose_from_datasets(sources, choices, stop_on_empty_dataset=False)) == [0, 10, 11, 12]


@pytest.mark.parametrize(
    ("choice", "message"),
    [(2, r"a choice must be in \[0, 2\), got 2"), (-1, "got -1"), (0.5, "choices must be whole numbers, got float64")],
)
def test_a_choice_that_is_none_is_named(choice, message):
    with pytest.raises(PlanError, match=message):
        ints(wf.choose_from_datasets([feed.range(3), feed.range(3)], wf.from_arrays(np.array([choice]))))


def test_no_data_set_is_refused():
    with pytest.raises(PlanError, match="sample_from_datasets: at least one data set is due"):
        wf.sample_from_datasets([])


@pytest.mark.parametrize("which", ["sample_from_datasets", "choose_from_datasets"])
def test_a_verb_that_lost_the_rows_is_named_as_the_user_wrote_it(which):
    sources = [feed.range(3), feed.range(3)]
    made = wf.sample_from_datasets(sources) if which[0] == "s" else wf.choose_from_datasets(sources, feed.range(2))

    with pytest.raises(PlanError, match=f"select: needs rows by number, which {which} lost"):
        made.select([0])


# --- Ragged batches ---------------------------------------------------------------------------------


def rows_of(*lengths):
    return wf.from_arrays(np.array(lengths)).map(lambda n: {"x": np.arange(int(n)), "n": n})


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 4), st.booleans())
def test_a_ragged_batch_keeps_rows_as_long_as_they_are(lengths, size, drop):
    groups = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    groups = [g for g in groups if len(g) == size or not drop]
    found = list(rows_of(*lengths).ragged_batch(size, drop))

    assert [b["x"].to_list() for b in found] == [[list(range(n)) for n in g] for g in groups]
    assert [b["n"].tolist() for b in found] == groups


def test_rows_of_one_length_are_ragged_all_the_same_where_the_plan_cannot_tell():
    (batch,) = rows_of(2, 2).ragged_batch(2)

    assert isinstance(batch["x"], wf.Ragged)


def test_rows_of_a_known_shape_stay_an_array():
    (batch,) = wf.from_arrays({"a": np.zeros((2, 3)), "r": wf.Ragged.from_list([[1], [2]], np.int64)}).ragged_batch(2)

    assert batch["a"].shape == (2, 3)
    assert batch["r"].to_list() == [[1], [2]]


def test_later_dimensions_stay_and_must_agree():
    items = wf.from_arrays(np.array([1, 2])).map(lambda n: np.zeros((int(n), 3)))
    (batch,) = items.ragged_batch(2)
    other = wf.from_arrays(np.array([1, 2])).map(lambda n: np.zeros((int(n), int(n))))

    assert (batch.values.shape, batch.lengths.tolist()) == ((3, 3), [1, 2])
    with pytest.raises(PlanError, match="ragged_batch: the element: rows may differ in their first dimension only"):
        list(other.ragged_batch(2))


def test_strings_of_any_number_are_ragged_after_a_filter_too():
    column = wf.Ragged.from_list([[b"a"], [], [b"b", b"c"]], bytes)
    made = wf.from_arrays({"s": column, "n": np.arange(3)}).filter(lambda e: e["n"] != 1)

    assert [b["s"].to_list() for b in made.batch(2)] == [[[b"a"], [b"b", b"c"]]]
    assert [b["s"].to_list() for b in made.ragged_batch(2)] == [[[b"a"], [b"b", b"c"]]]


def test_numpy_elements_have_strings_as_objects():
    made = wf.from_arrays({"s": wf.Bytes.from_list([b"a\0", b"b"]), "n": np.arange(2)})

    assert list(made.as_numpy_iterator()) == [{"s": b"a\0", "n": 0}, {"s": b"b", "n": 1}]
    (batch,) = made.batch(2).as_numpy_iterator()
    assert batch["s"].dtype == object
    assert batch["s"].tolist() == [b"a\0", b"b"]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda d: d, 10),
        (lambda d: d.batch(3), 4),
        (lambda d: d.repeat(), feed.INFINITE_CARDINALITY),
        (lambda d: d.filter(bool), feed.UNKNOWN_CARDINALITY),
    ],
)
def test_cardinality_is_told_as_tf_data_tells_it(make, expected):
    assert make(feed.range(10)).cardinality() == expected


def test_map_takes_tf_datas_arguments():
    assert ints(feed.range(3).map(lambda x: x + 1, 4, deterministic=False)) == [1, 2, 3]
    assert ints(feed.range(3).map(lambda x: x + 1, num_parallel_calls=-1)) == [1, 2, 3]
    with pytest.raises(PlanError, match="map: num_parallel_calls must be at least 1, got 0"):
        feed.range(3).map(lambda x: x, num_parallel_calls=0)


def test_windows_of_rows_of_any_length_are_ragged_or_padded_as_batches_are():
    records = wf.from_arrays(
        wf.Bytes.from_list([wf.encode_example({"a": np.arange(n), "b": np.arange(n)}) for n in (2, 1, 3)])
    )
    spec = {
        "a": wf.VarLenFeature(np.int64),
        "b": wf.FixedLenSequenceFeature([], np.int64, allow_missing=True, default_value=9),
    }
    first, _ = records.parse(spec).window(2)

    assert first["a"].to_list() == [[0, 1], [0]]
    assert first["b"].tolist() == [[0, 1], [0, 9]]
