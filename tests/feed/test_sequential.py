"""Verbs without rows by number, each against what itertools says of lists; their errors, threads and resuming."""

import itertools
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import assume, given

import wellfed as wf
from wellfed.errors import PlanError, StageError, StateError
from wellfed.feed import from_generator, list_files


def numbers(length):
    return wf.from_arrays(np.arange(length))


def ints(dataset, epoch=0):
    return [plain(e) for e in dataset.epoch(epoch)]


def even(x):
    return x % 2 == 0


lengths = st.integers(0, 30)


@given(lengths, st.integers(1, 5))
def test_filter_keeps_what_the_predicate_holds_for_and_batches_stay_full(length, batch):
    kept = [x for x in range(length) if x % 2 == 0]

    assert ints(numbers(length).filter(even)) == kept
    assert ints(numbers(length).filter(even).batch(batch)) == [
        tuple(kept[i : i + batch]) for i in range(0, len(kept), batch)
    ]


@given(lengths, st.integers(0, 30))
def test_take_while_ends_at_the_first_that_fails(length, bound):
    assert ints(numbers(length).take_while(lambda x: x < bound)) == list(range(min(length, bound)))


@given(st.lists(st.integers(0, 4), max_size=6))
def test_flat_map_puts_data_sets_end_to_end(sizes):
    expected = [x for size in sizes for x in range(size)]

    assert ints(wf.from_arrays(np.array(sizes, np.int64)).flat_map(lambda n: numbers(int(n)))) == expected


@pytest.mark.parametrize(
    ("cycle", "block", "expected"),
    [
        (1, 1, [10, 11, 12, 20, 30, 31]),
        (2, 1, [10, 20, 11, 12, 30, 31]),
        (2, 2, [10, 11, 20, 12, 30, 31]),
        (3, 1, [10, 20, 30, 11, 31, 12]),
    ],
)
def test_interleave_takes_blocks_in_turn_as_tf_data_does(cycle, block, expected):
    inner = {1: [10, 11, 12], 2: [20], 3: [30, 31]}
    dataset = wf.from_arrays(np.arange(1, 4)).interleave(
        lambda n: wf.from_arrays(np.array(inner[int(n)])), cycle_length=cycle, block_length=block
    )

    assert ints(dataset) == expected


@given(lengths, st.integers(1, 5), st.integers(1, 5))
def test_rebatch_changes_the_size_and_nothing_else(length, first, second):
    expected = [tuple(range(i, min(i + second, length))) for i in range(0, length, second)]

    assert ints(numbers(length).batch(first).rebatch(second)) == expected


@given(lengths, st.integers(1, 5), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_sizes_of_rebatch_take_turns(length, first, sizes, drop):
    expected, start, turn = [], 0, 0
    while start < length:
        size = sizes[turn % len(sizes)]
        if start + size <= length or not drop:
            expected.append(tuple(range(start, min(start + size, length))))
        start, turn = start + size, turn + 1

    assert ints(numbers(length).batch(first).rebatch(sizes, drop)) == expected
    assert ints(numbers(length).batch(first).rebatch(np.array(sizes), drop)) == expected


@pytest.mark.parametrize(
    ("size", "what"),
    [
        (0, r"every size must be at least 1 row, got \[0\]"),
        ([2, 0], r"every size must be at least 1 row, got \[2, 0\]"),
        ([[1]], r"must be a whole number or several, got \[\[1\]\]"),
        (2.5, "must be a whole number or several, got 2.5"),
        ([], r"must be a whole number or several, got \[\]"),
    ],
)
def test_sizes_that_are_none_are_refused(size, what):
    with pytest.raises(PlanError, match=f"rebatch: .*{what}"):
        numbers(4).batch(2).rebatch(size)


@given(lengths)
def test_scan_carries_a_state(length):
    running = numbers(length).scan(0, lambda state, x: (state + x, state + x))

    assert ints(running) == list(itertools.accumulate(range(length)))


@given(st.lists(st.integers(0, 3)))
def test_unique_keeps_first_comers(values):
    assert ints(wf.from_arrays(np.array(values, np.int64)).unique()) == list(dict.fromkeys(values))


def test_unique_says_when_it_holds_too_much():
    with pytest.raises(PlanError, match="unique: the elements seen take more than 100 bytes"):
        ints(numbers(10).unique(limit_bytes=100))


@given(lengths, st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_window_gives_neighbours(length, size, shift, stride, drop):
    span = (size - 1) * stride + 1
    starts = range(0, length, shift)
    windows = [tuple(range(s, min(s + span, length), stride)) for s in starts]
    expected = [w for w in windows if len(w) == size or not drop]

    assert ints(numbers(length).window(size, shift, stride, drop)) == expected


@given(lengths, st.integers(2, 10), st.integers(0, 3))
def test_a_shuffle_after_a_filter_is_a_seeded_reservoir(length, size, epoch):
    shuffled = numbers(length).filter(even).shuffle(size, seed=5)

    assert sorted(ints(shuffled, epoch)) == [x for x in range(length) if x % 2 == 0]
    assert ints(shuffled, epoch) == ints(shuffled, epoch)


def test_a_reservoir_never_gives_an_element_before_it_was_at_hand():
    for place, x in enumerate(ints(numbers(200).filter(lambda x: True).shuffle(10, seed=1))):
        assert x < place + 10


def test_cache_makes_elements_once():
    calls = []

    def count(x):
        calls.append(int(x))
        return x

    dataset = numbers(6).map(count).cache().shuffle(3, seed=0)
    first, second = [int(x) for x in dataset], [int(x) for x in dataset]

    assert sorted(first) == sorted(second) == sorted(calls) == list(range(6))


def test_cache_says_when_it_holds_too_much():
    with pytest.raises(PlanError, match="cache: the elements take more than 20 bytes"):
        ints(numbers(10).cache(limit_bytes=20))


def test_buckets_hold_elements_of_like_length():
    dataset = wf.from_arrays(np.array([1, 5, 2, 6, 1])).map(lambda n: np.arange(int(n)))
    shapes = [b.shape for b in dataset.bucket_by_sequence_length(len, [3], [2, 2])]

    assert shapes == [(2, 2), (2, 6), (1, 1)]


def test_buckets_say_when_too_much_waits():
    made = wf.from_arrays(np.arange(1, 9)).map(lambda n: np.zeros(int(n), np.uint8))

    with pytest.raises(PlanError, match="bucket_by_sequence_length: the elements that wait take more than 20 bytes"):
        list(made.bucket_by_sequence_length(len, [3], [9, 9], limit_bytes=20))
    assert len(list(made.bucket_by_sequence_length(len, [3], [1, 1], limit_bytes=20))) == 8


def test_single_values_and_rows_of_one_shape_stay_as_they_are_where_buckets_pad_to_boundaries():
    ragged = wf.Ragged.from_list([[1], [2, 3]], np.int64)
    rows = wf.from_arrays(
        {"x": ragged, "n": np.arange(2), "s": wf.Bytes.from_list([b"a", b"b"]), "p": np.zeros((2, 3))}
    )
    (batch,) = rows.bucket_by_sequence_length(lambda e: len(e["x"]), [5], [2, 2], pad_to_bucket_boundary=True)

    assert batch["x"].tolist() == [[1, 0, 0, 0], [2, 3, 0, 0]]
    assert (batch["n"].tolist(), batch["s"].to_list(), batch["p"].shape) == ([0, 1], [b"a", b"b"], (2, 3))


def test_buckets_may_pad_to_their_boundary():
    dataset = wf.from_arrays(np.array([1, 2])).map(lambda n: np.arange(int(n)))
    (batch,) = dataset.bucket_by_sequence_length(len, [5], [2, 2], pad_to_bucket_boundary=True)

    assert batch.shape == (2, 4)


@given(lengths, st.integers(1, 4), st.data())
def test_order_verbs_work_on_streams(length, count, data):
    index = data.draw(st.integers(0, count - 1))
    stream = numbers(length).filter(even)
    kept = [x for x in range(length) if x % 2 == 0]

    assert ints(stream.shard(count, index)) == kept[index::count]
    assert ints(stream.skip(2).take(3)) == kept[2:5]
    assert ints(stream.repeat(2)) == kept * 2
    assert ints(stream.concatenate(numbers(2))) == [*kept, 0, 1]
    assert ints(stream.zip(numbers(3)).map(lambda pair: pair[0])) == kept[:3]


def test_an_endless_repeat_of_nothing_ends():
    assert ints(numbers(3).filter(lambda x: False).repeat()) == []


def test_a_mix_of_streams_keeps_its_pattern():
    mixed = numbers(6).filter(even).mix(wf.from_arrays(np.arange(100, 103)))

    assert ints(mixed) == [0, 100, 2, 101, 4, 102]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=3),
    st.sampled_from(["first", "last"]),
)
def test_a_mix_one_by_one_gives_what_one_by_number_does(sources, stop):
    assume(any(weight for _, weight in sources))
    by_number = [wf.from_arrays(np.arange(n) + 100 * which) for which, (n, _) in enumerate(sources)]
    one_by_one = [source.filter(lambda x: True) for source in by_number]
    weights = [weight for _, weight in sources]
    due, found = (first.mix(*others, weights=weights, stop=stop) for first, *others in (by_number, one_by_one))

    assert ints(found) == ints(due)


def test_an_error_in_a_mix_comes_in_its_turn():
    def fail(x):
        if x == 102:
            raise ValueError("this one")
        return x

    short, long = numbers(1).filter(lambda x: True), wf.from_arrays(np.arange(100, 109)).map(fail)
    got = []
    with pytest.raises(StageError, match="this one"):
        got.extend(int(x) for x in short.mix(long, stop="last"))

    assert got == [0, 100, 0, 101, 0]


def test_from_generator_starts_anew_in_each_epoch():
    dataset = from_generator(lambda: iter([{"x": 1}, {"x": 2}])).batch(2)

    assert [b["x"].tolist() for b in dataset] == [b["x"].tolist() for b in dataset] == [[1, 2]]


def test_a_generator_that_raises_names_itself_after_what_it_yielded():
    def broken():
        yield 1
        raise ValueError("pipe closed")

    got = []
    with pytest.raises(StageError, match=r"broken at .* failed at row 1: ValueError: pipe closed"):
        got.extend(int(x) for x in from_generator(broken))

    assert got == [1]


def test_a_predicate_that_raises_names_verb_and_element():
    def check(x):
        if x == 7:
            raise KeyError("seven")
        return True

    got = []
    with pytest.raises(StageError, match=r"filter\(.*check at .*test_sequential.py:\d+\) failed at row 7: KeyError"):
        got.extend(int(x) for x in numbers(10).filter(check))

    assert got == list(range(7))


@pytest.mark.parametrize(
    ("verb", "make"),
    [
        ("select", lambda d: d.select([0])),
        ("sample", lambda d: d.sample([1])),
        ("split", lambda d: d.split(0.5, seed=0)),
        ("with_row_ids", lambda d: d.with_row_ids()),
    ],
)
def test_a_verb_that_needs_rows_says_who_lost_them(verb, make):
    with pytest.raises(PlanError, match=f"{verb}: needs rows by number, which filter lost; put {verb} before it"):
        make(numbers(5).filter(even))


def test_a_shuffle_without_a_buffer_says_who_lost_the_rows():
    with pytest.raises(PlanError, match="shuffle: filter lost the rows: shuffle before it, or give a buffer_size"):
        numbers(5).filter(even).shuffle(seed=0)


def test_a_stream_has_no_length():
    with pytest.raises(TypeError, match="has no length: filter makes any number of elements"):
        len(numbers(5).filter(even))


def test_a_stream_resumes_by_replaying():
    def dataset():
        return numbers(50).shuffle(seed=2).filter(even).shuffle(5, seed=3).batch(3)

    whole = ints(dataset(), 1)
    for stop in range(len(whole)):
        iterator = dataset().epoch(1)
        for _ in range(stop):
            next(iterator)
        saved = iterator.state_dict()
        iterator.close()
        resumed = iter(dataset())
        resumed.load_state_dict(saved)

        assert [plain(b) for b in resumed] == whole[stop:]


def test_a_generator_refuses_to_go_on_in_the_middle():
    iterator = iter(from_generator(lambda: range(5)))
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()

    with pytest.raises(StateError, match="from_generator cannot go on in the middle"):
        iter(from_generator(lambda: range(5))).load_state_dict(saved)


def test_a_break_in_a_stream_leaves_no_thread():
    for x in numbers(100_000).filter(even).batch(4).repeat():
        if x[0] > 50:
            break

    assert [t for t in threading.enumerate() if t.name.startswith("wellfed-feed")] == []


def test_list_files_gives_sorted_paths(tmp_path):
    for name in ("b-2", "a", "b-10"):
        (tmp_path / name).write_bytes(b"")

    assert [p.decode().rsplit("/", 1)[1] for p in list_files(tmp_path / "b-*")] == ["b-2", "b-10"]
