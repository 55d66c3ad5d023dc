"""Elements: their structure, their memory, and what map makes of them."""

import pickle

import numpy as np
import pytest

import wellfed as wf
from wellfed.errors import PlanError
from wellfed.feed import row_seeds
from wellfed.feed.order import Positions


def test_elements_keep_the_structure_of_their_columns():
    columns = {"x": np.arange(4), "pair": (np.ones((4, 2), np.float32), wf.Bytes.from_list([b"a", b"b", b"c", b"d"]))}
    (first, second) = wf.from_arrays(columns).batch(2)

    assert first["x"].tolist() == [0, 1]
    assert second["pair"][0].shape == (2, 2)
    assert second["pair"][1].to_list() == [b"c", b"d"]


def test_single_elements_are_rows():
    (first, *_) = wf.from_arrays({"x": np.arange(3), "name": wf.Bytes.from_list([b"a\0", b"b", b"c"])})

    assert first == {"x": 0, "name": b"a\0"}


def test_columns_of_different_length_are_refused():
    with pytest.raises(PlanError, match="from_arrays: all columns need one length; x has 3 rows and y has 2"):
        wf.from_arrays({"x": np.arange(3), "y": np.arange(2)})


def test_delivered_arrays_own_their_memory_and_are_writable():
    source = np.arange(6)
    for batch in wf.from_arrays(source).batch(3):
        batch[:] = -1

    assert source.tolist() == [0, 1, 2, 3, 4, 5]


def test_batches_that_are_kept_do_not_change():
    kept = list(wf.from_arrays(np.arange(100_000)).batch(100).with_options(threads=3))

    assert np.concatenate(kept).tolist() == list(range(100_000))


def test_map_may_change_the_structure():
    dataset = wf.from_arrays({"x": np.arange(4), "y": np.arange(4)}).map(lambda e: (e["x"] + e["y"], "text")).batch(4)
    ((sums, texts),) = dataset

    assert sums.tolist() == [0, 2, 4, 6]
    assert texts.to_list() == [b"text"] * 4


def test_map_after_batch_gets_whole_batches():
    sums = [int(s) for s in wf.from_arrays(np.arange(6)).batch(4).map(lambda b: b.sum())]

    assert sums == [6, 9]


def test_batches_of_batches_have_one_dimension_more():
    (outer,) = wf.from_arrays(np.arange(6)).batch(2).batch(3)

    assert outer.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_rows_that_differ_cannot_be_batched_and_the_error_says_how():
    dataset = wf.from_arrays(np.arange(1, 4)).map(lambda n: {"x": np.zeros(int(n))}).batch(3)

    with pytest.raises(
        PlanError, match=r"batch: rows of x differ, so they are no array: float64 \(1,\), float64 \(2,\)"
    ):
        list(dataset)


def test_elements_of_unequal_structure_name_the_key():
    dataset = wf.from_arrays(np.arange(2)).map(lambda n: {"a": n} if n == 0 else {"b": n}).batch(2)

    with pytest.raises(PlanError, match="every element needs 'a' as the first has; found \\['b'\\]"):
        list(dataset)


def test_random_numbers_depend_on_the_position_and_not_on_the_thread():
    def noise(x, rng):
        return rng.random()

    def run(threads):
        return [
            float(x)
            for x in wf.from_arrays(np.arange(64))
            .shuffle(seed=3)
            .map(noise, rng=True)
            .with_options(threads=threads)
            .epoch(1)
        ]

    one = run(1)
    assert one == run(3)
    assert len(set(one)) == 64


def test_row_seeds_differ_between_rows_and_epochs():
    seeds = row_seeds(7, Positions(range(1000), 0)).tolist() + row_seeds(7, Positions(range(1000), 1)).tolist()

    assert len(set(seeds)) == 2000


def test_a_data_set_pickles_as_its_plan():
    dataset = wf.from_arrays(np.arange(10)).shuffle(seed=1).batch(3)
    copy = pickle.loads(pickle.dumps(dataset))

    assert [b.tolist() for b in copy.epoch(0)] == [b.tolist() for b in dataset.epoch(0)]


def test_the_length_is_that_of_the_elements():
    dataset = wf.from_arrays(np.arange(10))

    assert (len(dataset.batch(3)), len(dataset.batch(3, drop_remainder=True)), len(dataset.repeat(2))) == (4, 3, 20)


def test_a_data_set_shows_its_verbs():
    assert repr(wf.from_arrays(np.arange(3)).shuffle().batch(2)) == "<wellfed.Dataset: Arrays -> Shuffle -> Batch>"


def test_stats_count_what_was_delivered():
    iterator = iter(wf.from_arrays(np.arange(10)))
    for _ in range(4):
        next(iterator)
    stats = iterator.stats()
    iterator.close()

    assert stats.elements == 4
    assert 0 <= stats.waited_seconds <= stats.seconds
