"""A cache over rows by number: what it gives, that each row is made once, and what becomes of rows that fail."""

import json
import os
import tempfile
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from any_elements import TREES, same
from feed_laws import NUMBERS, build, double, plans
from feed_model import plain
from heavy import pid
from hypothesis import given, settings

import wellfed as wf
from wellfed import feed
from wellfed.errors import ExampleError, PlanError, StageError


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    """Where a cache keeps what it keeps: "", or a file that is not there yet."""
    return "" if request.param == "memory" else tmp_path / "cache"


def ints(dataset, epoch=None):
    return [int(x) for x in (iter(dataset) if epoch is None else dataset.epoch(epoch))]


def elements(dataset, epoch=0):
    return [plain(e) for e in dataset.epoch(epoch)]


def made_once(count):
    """A function that counts its calls for each number, and gives ten times the number."""
    lock = threading.Lock()

    def made(x):
        with lock:
            count[int(x)] = count.get(int(x), 0) + 1
        return x * 10

    return made


# --- What it gives ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(NUMBERS, plans(most=2), plans(most=4), st.integers(1, 4), st.booleans())
def test_a_cache_anywhere_in_a_plan_changes_nothing(numbers, before, after, threads, in_file):
    batched = any(step.gives for step in before) and not (before and before[-1].gives is False)
    after = [step for step in after if step.takes in (None, batched)][:1] if batched else after
    expected = list(numbers)
    for step in [*before, *after]:
        expected = step.model(expected)

    with tempfile.TemporaryDirectory() as folder:
        dataset = build(numbers, before, threads).cache(f"{folder}/cache" if in_file else "")
        for step in after:
            dataset = step.on(dataset)

        assert [elements(dataset, epoch) for epoch in range(2)] == [expected] * 2


@settings(max_examples=40)
@given(NUMBERS, st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_any_number_of_threads_gives_the_same(numbers, threads, epoch, in_file):
    def cached(threads, folder):
        dataset = feed.from_arrays(np.array(numbers, np.int64)).with_options(threads=threads)
        kept = dataset.map(double).cache(f"{folder}/cache" if in_file else "")
        return elements(kept.shuffle(seed=1).batch(3), epoch)

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        assert cached(1, one) == cached(threads, other)


def test_rows_stay_addressable(place):
    dataset = feed.range(10).map(lambda x: x * 10).cache(place)

    assert len(dataset) == 10
    assert ints(dataset.select([7, 2, 7])) == [70, 20, 70]
    one, other = dataset.split(0.3, seed=0)
    assert sorted(ints(one) + ints(other)) == list(range(0, 100, 10))
    assert [len(dataset.shard(4, i, even="pad")) for i in range(4)] == [3, 3, 3, 3]


def test_a_shuffle_after_it_is_exact_and_another_in_each_epoch(place):
    dataset = feed.range(100).cache(place).shuffle(seed=3)
    expected = feed.range(100).map(lambda x: x).shuffle(seed=3)  # The shuffle's number in the plan is the same.

    assert [ints(dataset, epoch) for epoch in range(3)] == [ints(expected, epoch) for epoch in range(3)]
    assert ints(dataset, 0) != ints(dataset, 1)


@settings(max_examples=40)
@given(NUMBERS, st.integers(1, 4), st.integers(0, 2), st.booleans(), st.booleans())
def test_every_stop_resumes_from_its_position_alone(numbers, batch, epoch, in_file, made_before):
    with tempfile.TemporaryDirectory() as folder:

        def fresh(name):
            kept = feed.from_arrays(np.array(numbers, np.int64)).cache(f"{folder}/{name}" if in_file else "")
            return kept.shuffle(seed=2).batch(batch)

        whole = elements(fresh("whole"), epoch)
        for stop in range(len(whole) + 1):
            dataset = fresh(stop)
            if made_before:
                list(dataset)
            iterator = dataset.epoch(epoch)
            for _ in range(stop):
                next(iterator)
            saved = json.loads(json.dumps(iterator.state_dict()))
            iterator.close()
            resumed = iter(fresh(f"{stop} again"))
            resumed.load_state_dict(saved)

            assert saved["cursor"] is None
            assert [plain(b) for b in resumed] == whole[stop:]


def test_where_it_is_kept_is_no_part_of_a_state(tmp_path):
    iterator = iter(feed.range(9).cache(tmp_path / "a"))
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    resumed = iter(feed.range(9).cache(tmp_path / "b", limit_bytes=1 << 20))
    resumed.load_state_dict(saved)

    assert [int(x) for x in resumed] == list(range(1, 9))


@given(st.lists(TREES, min_size=1, max_size=4), st.booleans())
def test_any_element_is_given_as_it_was(trees, in_file):
    with tempfile.TemporaryDirectory() as folder:
        dataset = feed.range(len(trees)).map(lambda i: trees[int(i)]).cache(f"{folder}/cache" if in_file else "")
        for _ in range(2):
            for found, due in zip(dataset, trees, strict=True):
                same(found, due)


@pytest.mark.parametrize("threads", [1, 3])
def test_elements_of_different_forms_are_given_as_they_were(place, threads):
    trees = [np.int32(1), {"a": 2}, (np.float64(3), b"x"), np.arange(3), np.int32(4), {"a": 5}] * 9
    kept = feed.range(len(trees)).map(lambda i: trees[int(i)]).cache(place).with_options(threads=threads)
    for _ in range(3):
        for found, due in zip(kept, trees, strict=True):
            same(found, due)


def test_parsed_columns_of_any_length_are_batched_as_without_it(place, tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for n in range(20):
            writer.write(wf.encode_example({"name": f"{n}", "any": list(range(n % 4)), "steps": [n] * (n % 3), "x": n}))
    spec = {
        "name": wf.FixedLenFeature([], bytes),
        "any": wf.VarLenFeature(np.int64),
        "steps": wf.FixedLenSequenceFeature([], np.int64, allow_missing=True),
        "x": wf.FixedLenFeature([], np.int64),
    }
    parsed = wf.TFRecordDataset(tmp_path / "a.tfrecord", spec)
    plan = lambda d: d.shuffle(seed=1).batch(3)  # noqa: E731
    expected = [list(plan(parsed.prefetch()).epoch(epoch)) for epoch in range(3)]
    kept = plan(parsed.cache(place))

    for epoch in range(3):
        for found, due in zip(kept.epoch(epoch), expected[epoch], strict=True):
            same(found, due)


@pytest.mark.parametrize("verb", ["batch", "padded_batch", "ragged_batch"])
@pytest.mark.parametrize("feature", [wf.VarLenFeature(np.int64), wf.FixedLenSequenceFeature([], np.int64, True)])
def test_columns_of_any_length_are_none_of_one_length_where_rows_happen_to_be(feature, verb, place, tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write_many([wf.encode_example({"x": [n, n + 1]}) for n in range(4)])
    rows = wf.TFRecordDataset(tmp_path / "a.tfrecord", {"x": feature})
    (due,) = getattr(rows, verb)(4)

    for _ in range(2):
        (found,) = getattr(rows.cache(place), verb)(4)
        same(found, due)


def test_rows_that_differ_in_shape_are_kept_each_with_its_own(place):
    kept = feed.range(12).map(lambda x: np.full(int(x) % 3 + 1, x)).cache(place).shuffle(seed=0)

    for _ in range(2):
        found = {int(row[0]): len(row) for row in kept}
        assert found == {x: x % 3 + 1 for x in range(12)}


def test_batches_are_kept_whole(place):
    count = {}
    kept = feed.range(10).map(made_once(count)).batch(4).cache(place).shuffle(seed=5)
    expected = sorted([(0, 10, 20, 30), (40, 50, 60, 70), (80, 90)])

    assert sorted(elements(kept, 0)) == sorted(elements(kept, 1)) == expected
    assert set(count.values()) == {1}


def test_rows_keep_their_numbers_and_sources(place):
    def numbered(kept):
        both = feed.range(5).concatenate(kept(feed.range(5).concatenate(feed.range(100, 103))))
        return [(int(i["source"]), int(i["row"]), int(x)) for i, x in both.shuffle(seed=1).with_row_ids()]

    assert numbered(lambda d: d.cache(place)) == numbered(lambda d: d.prefetch())


def test_batches_keep_the_numbers_of_their_rows(place):
    kept = feed.range(10).shuffle(seed=1).batch(4).cache(place).with_row_ids()

    for _ in range(2):
        for ids, batch in kept:
            assert ids["row"].tolist() == batch.tolist()


def test_random_maps_below_are_those_of_epoch_0(place):
    def noisy(dataset):
        return dataset.map(lambda x, rng: int(x) * 1000 + int(rng.integers(1000)), rng=True)

    base = feed.range(20).shuffle(seed=7, reshuffle_each_iteration=True)
    expected = ints(noisy(base), 0)

    assert ints(noisy(base).cache(place), 4) == expected
    assert ints(noisy(base).cache(place), 0) == expected


def test_what_is_kept_does_not_depend_on_the_plan_around_it():
    def noisy(dataset):
        return dataset.map(lambda x, rng: int(rng.integers(1 << 40)), rng=True)

    base = feed.range(20).shuffle(seed=7)
    expected = ints(noisy(base).cache())

    assert ints(base.concatenate(noisy(base).cache()), 3)[20:] == expected


def test_another_seed_makes_what_is_drawn_below_anew():
    kept = feed.range(20).map(lambda x, rng: int(rng.integers(1 << 40)), rng=True).cache()
    one, other = (sorted(ints(kept.shuffle(seed=seed))) for seed in (1, 2))

    assert one != other
    assert sorted(ints(kept.shuffle(seed=1))) == one


def test_another_seed_makes_nothing_anew_where_nothing_is_drawn_below(tmp_path):
    count = {}
    kept = feed.range(20).map(made_once(count)).cache()
    for seed in range(3):
        ints(kept.shuffle(seed=seed))
    ints(kept)

    assert set(count.values()) == {1}


def test_a_shard_after_it_goes_on_in_another_number_of_processes(place, monkeypatch):
    def of(rank, size):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(size))
        return feed.range(24).map(lambda x: x * 10).cache(place).shuffle(seed=4).shard().batch(2)

    expected = elements(of(0, 1))
    taken, states = [], []
    for rank in range(2):
        iterator = iter(of(rank, 2))
        taken += [plain(next(iterator)) for _ in range(2)]
        states.append(iterator.state_dict())
        iterator.close()
    for rank in range(3):
        iterator = iter(of(rank, 3))
        iterator.load_state_dict(states[0])
        taken += [plain(batch) for batch in iterator]

    assert sorted(sum(taken, ())) == sorted(sum(expected, ()))


# --- Each row is made once -------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    "verb",
    [
        lambda d: d,
        lambda d: d.shuffle(seed=0),
        lambda d: d.shuffle(seed=0).batch(7),
        lambda d: d.repeat(3),
        lambda d: d.filter(lambda x: x % 20 == 0),
        lambda d: d.batch(7).unbatch().shuffle(10, seed=0),
        lambda d: d.sample(np.ones(50), 300, seed=1),
        lambda d: d.zip(d).map(lambda pair: pair[0]),
    ],
)
def test_rows_are_made_once_over_all_epochs(verb, threads, place):
    count = {}
    kept = verb(feed.range(50).map(made_once(count)).cache(place).with_options(threads=threads))
    for _ in range(3):
        list(iter(kept))

    # Two threads that want a row at a time may both make it: here where one asks for a row several times.
    twice = {x for x, times in count.items() if times > threads}
    assert count.keys() <= set(range(50))
    assert not twice


@pytest.mark.parametrize("threads", [1, 4])
def test_an_exact_shuffle_calls_the_function_once_a_row(threads, place):
    count = {}
    kept = feed.range(500).map(made_once(count)).cache(place).shuffle(seed=0).batch(16)
    kept = kept.with_options(threads=threads)
    for _ in range(3):
        assert sorted(x for batch in kept for x in batch.tolist()) == list(range(0, 5000, 10))

    assert count == dict.fromkeys(range(500), 1)


def test_several_iterators_share_what_is_kept(place):
    count = {}
    kept = feed.range(60).map(made_once(count)).cache(place).with_options(threads=1)
    one, other = kept.epoch(0), kept.shuffle(seed=1).epoch(0)
    found = [(int(a), int(b)) for a, b in zip(one, other, strict=True)]

    assert [a for a, _ in found] == sorted(b for _, b in found) == list(range(0, 600, 10))
    assert set(count.values()) <= {1, 2}  # Both may want a row at one time.
    before = dict(count)
    ints(kept)
    assert count == before


def test_a_part_that_was_asked_for_is_kept(place):
    count = {}
    kept = feed.range(50).map(made_once(count)).cache(place).with_options(threads=1)

    assert ints(kept.skip(20).take(5)) == [200, 210, 220, 230, 240]
    assert count == dict.fromkeys(range(20, 25), 1)
    assert ints(kept) == list(range(0, 500, 10))
    assert set(count.values()) == {1}


def test_processes_below_make_each_row_once(place):
    kept = feed.range(8).map(pid, processes=2).cache(place)
    first = ints(kept)

    assert os.getpid() not in first
    assert ints(kept) == first  # Of processes that have ended.


def test_stats_tell_what_was_kept(place):
    kept = feed.range(30).map(lambda x: x).cache(place)

    def counts():
        iterator = iter(kept)
        list(iterator)
        return {stage.name.split("(")[0]: (stage.rows, stage.kept) for stage in iterator.stats().stages}

    assert counts() == {"read": (30, 0), "map": (30, 0), "cache": (30, 0)}
    assert counts() == {"read": (0, 0), "map": (0, 0), "cache": (30, 30)}


# --- Memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [lambda d: d, lambda d: d.batch(2), lambda d: d.map(lambda e: {"a": e, "b": 1})])
def test_writing_to_an_element_never_changes_what_is_kept(verb, place):
    kept = verb(wf.from_arrays(np.ones((6, 3)))).cache(place)

    def arrays(element):
        return [x for x in element.values() if isinstance(x, np.ndarray)] if isinstance(element, dict) else [element]

    for _ in range(3):
        for element in kept:
            for array in arrays(element):
                assert (array == 1).all()
                array[:] = -1


def test_writing_to_rows_that_differ_never_changes_what_is_kept():
    kept = feed.range(6).map(lambda x: np.ones(int(x))).map(Objects()).cache()
    for _ in range(3):
        for row in kept:
            assert (row == 1).all()
            row[:] = -1


def test_changing_a_list_never_changes_what_is_kept():
    kept = feed.range(4).map(lambda x: {"list": [[int(x)]], "bytes": bytearray(b"a")}).cache()
    for _ in range(3):
        for x, element in enumerate(kept):
            assert element == {"list": [[x]], "bytes": b"a"}
            element["list"][0].append(-1)
            element["bytes"][0] = 0


class Objects:
    """A transform that gives the rows as they are."""

    def apply(self, columns, seeds):
        return columns


def test_memory_that_is_used_again_never_changes_what_is_kept():
    kept = wf.from_arrays(np.arange(64 * 4096).reshape(64, 4096)).map(Objects()).cache().batch(8)
    first = [batch.copy() for batch in kept]
    for _ in range(3):  # Batches die, and their memory is taken again.
        for found, due in zip(kept, first, strict=True):
            assert (found == due).all()


@pytest.mark.parametrize(("limit", "fits"), [(799, False), (800, True)])
def test_each_element_counts_once_against_the_limit(limit, fits):
    kept = feed.range(100).cache(limit_bytes=limit).repeat(3)
    if fits:
        assert ints(kept) == list(range(100)) * 3
    else:
        with pytest.raises(PlanError, match="cache: the elements take more than 799 bytes; give limit_bytes"):
            ints(kept)


def test_a_part_may_fit_where_the_whole_does_not(place):
    assert ints(feed.range(1000).cache(place, limit_bytes=2000).take(20)) == list(range(20))


def test_files_that_changed_are_read_anew(tmp_path):
    def write(numbers):
        with wf.TFRecordWriter(tmp_path / "a.tfrecord", overwrite=True) as writer:
            writer.write_many(wf.encode_example({"x": x}) for x in numbers)

    write([1, 2, 3])
    features = {"x": wf.FixedLenFeature([], np.int64)}
    kept = wf.TFRecordDataset(tmp_path / "a.tfrecord", features).cache()

    assert [int(e["x"]) for e in kept] == [1, 2, 3]
    write([7, 8])
    assert [int(e["x"]) for e in kept] == [7, 8]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_each_process_goes_on_with_a_cache_of_its_own_after_a_fork(place):
    kept = feed.range(40).map(lambda x: x * 10).cache(place)
    expected = list(range(0, 400, 10))
    assert ints(kept.take(9)) == expected[:9]
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if ints(kept.shard(2, 0)) == expected[::2] else 3)
        except BaseException:  # noqa: BLE001 -- told by the exit code.
            os._exit(4)
    assert ints(kept) == expected
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ints(kept) == expected


# --- Rows that cannot be made ----------------------------------------------------------------------


def fails_at_7(count):
    made = made_once(count)

    def f(x):
        found = made(x)
        if x == 7:
            raise ValueError("seven")
        return found

    return f


def test_an_error_names_its_record_and_comes_again(place, tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write_many([wf.encode_example({"x": 1}), wf.encode_example({"y": 1})])
    kept = wf.TFRecordDataset(tmp_path / "a.tfrecord", {"x": wf.FixedLenFeature([], np.int64)}).cache(place)
    for _ in range(2):
        iterator = iter(kept)
        assert int(next(iterator)["x"]) == 1
        with pytest.raises(ExampleError, match=r"a\.tfrecord") as caught:
            next(iterator)
        assert caught.value.record_index == 1


def test_a_function_that_fails_names_its_row_through_the_cache(place):
    with pytest.raises(StageError, match="seven") as caught:
        ints(feed.range(20).map(fails_at_7({})).cache(place).shuffle(seed=0))

    assert caught.value.row == 7


@pytest.mark.parametrize("batch", [False, True])
def test_a_row_that_is_left_out_is_not_kept_and_is_named_in_each_epoch(place, batch):
    count = {}
    kept = feed.range(20).map(fails_at_7(count)).cache(place).with_options(on_error="skip")
    kept = kept.batch(4) if batch else kept
    for epoch in range(3):
        before = dict(count)
        iterator = iter(kept)
        found = [int(x) for element in iterator for x in np.atleast_1d(element)]
        assert found == [10 * x for x in range(20) if x != 7]
        assert [(lost.row, lost.reason) for lost in iterator.stats().skipped] == [(7, "ValueError: seven")]
        made = {x for x in count if count[x] != before.get(x)}
        assert made == ({7} if epoch else set(range(20)))


def test_a_file_without_the_row_that_failed_raises_its_error_where_errors_count(tmp_path):
    def dataset(count):
        return feed.range(20).map(fails_at_7(count)).cache(tmp_path / "cache")

    assert len(ints(dataset({}).with_options(on_error="skip"))) == 19
    assert (tmp_path / "cache").exists()
    count = {}
    with pytest.raises(StageError, match="seven"):
        ints(dataset(count))
    assert count.keys() == {7}


def test_a_row_that_failed_once_may_be_made_later(tmp_path):
    failing = [True]

    def f(x):
        if x == 3 and failing[0]:
            raise ValueError("not yet")
        return x

    kept = feed.range(6).map(f).cache(tmp_path / "cache").with_options(on_error="skip")
    assert ints(kept) == [0, 1, 2, 4, 5]
    failing[0] = False
    assert [ints(kept) for _ in range(2)] == [[0, 1, 2, 3, 4, 5]] * 2


def test_rows_that_are_replaced_are_replaced_anew_in_each_epoch(place):
    kept = feed.range(20).map(fails_at_7({})).cache(place).with_options(on_error="replace")
    expected = feed.range(20).map(fails_at_7({})).prefetch().with_options(on_error="replace")
    expected._seeds, kept._seeds = {"run": 5}, {"run": 5}
    for epoch in range(3):
        iterator = kept.epoch(epoch)
        assert [int(x) for x in iterator] == ints(expected, epoch)
        assert [row.position for row in iterator.stats().replaced] == [7]


def test_a_batch_with_a_replaced_row_is_not_given_where_errors_count(place):
    kept = feed.range(20).map(fails_at_7({})).batch(5).cache(place)
    assert len(elements(kept.with_options(on_error="replace"))) == 4
    with pytest.raises(StageError, match="seven"):
        elements(kept)


def test_batches_that_are_left_out_are_made_again_alone():
    count = {}
    kept = feed.range(20).map(fails_at_7(count)).cache().batch(5).ignore_errors()

    assert [elements(kept, epoch) for epoch in range(2)] == [
        [(0, 10, 20, 30, 40), (100, 110, 120, 130, 140), (150, 160, 170, 180, 190)]
    ] * 2


def test_no_rows_are_no_rows(place):
    count = {}

    assert ints(feed.range(0).map(made_once(count)).cache(place).shuffle(seed=0)) == []
    assert count == {}


def test_a_cache_over_rows_that_never_end_keeps_what_was_asked_for(place):
    count = {}
    kept = feed.range(3).map(made_once(count)).repeat().cache(place).take(7)

    assert ints(kept) == ints(kept) == [0, 10, 20, 0, 10, 20, 0]
    assert sum(count.values()) == 7
