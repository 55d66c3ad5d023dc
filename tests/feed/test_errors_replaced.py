"""Law 5: a row that cannot be made is raised, or replaced, counted and named."""

import threading
from itertools import islice

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

import wellfed as wf
from wellfed import feed
from wellfed.errors import CorruptRecordError, StageError


@pytest.fixture
def damaged(tmp_path):
    """100 records of which 10, 20 and 57 have a damaged payload."""
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        for x in range(100):
            writer.write(wf.encode_example({"x": x}))
    content = bytearray(path.read_bytes())
    offsets = wf.RecordIndex.build(path).offsets
    for record in (10, 20, 57):
        content[int(offsets[record]) + 14] ^= 1
    path.write_bytes(content)
    return path


def dataset(path, **options):
    features = {"x": wf.FixedLenFeature([], np.int64)}
    return wf.TFRecordDataset(path, features).shuffle(seed=1).batch(8).with_options(on_error="replace", **options)


def rows(iterator):
    return [x for batch in iterator for x in batch["x"].tolist()]


def test_another_row_comes_in_the_place_of_a_damaged_one(damaged):
    order = [int(x) for x in wf.from_arrays(np.arange(100)).shuffle(seed=1).epoch(0)]
    got = rows(dataset(damaged).epoch(0))

    assert len(got) == 100
    assert [g for g, x in zip(got, order, strict=True) if x not in (10, 20, 57)] == [
        x for x in order if x not in (10, 20, 57)
    ]
    assert not {10, 20, 57} & set(got)


def test_each_replaced_row_is_named(damaged):
    iterator = dataset(damaged).epoch(0)
    rows(iterator)
    replaced = iterator.stats().replaced

    assert sorted(row.where.rsplit(" ", 1)[1] for row in replaced) == ["10", "20", "57"]
    assert all("payload CRC32C" in row.reason for row in replaced)


@pytest.mark.parametrize("threads", [1, 3])
def test_what_comes_instead_does_not_depend_on_threads(damaged, threads):
    assert rows(dataset(damaged, threads=threads).epoch(2)) == rows(dataset(damaged, threads=2).epoch(2))


def test_a_limit_of_rows_is_kept(damaged):
    with pytest.raises(CorruptRecordError, match="payload CRC32C") as caught:
        rows(dataset(damaged, max_errors=2).epoch(0))

    assert caught.value.__notes__ == ["This is one more than max_errors=2 rows that could not be made."]


def failing(bad):
    def fail(x):
        if int(x) in bad:
            raise ValueError(f"{int(x)} is bad")
        return x

    return fail


def positions(iterator):
    return [row.position for row in iterator.stats().replaced]


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 39), max_size=12),
    st.integers(0, 6),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from(["batch", "padded_batch", "ragged_batch"]),
    st.booleans(),
)
def test_a_limit_is_met_at_the_same_batch_whatever_the_threads(bad, limit, size, threads, verb, stream):
    made = getattr(feed.range(40).map(failing(bad)), verb)(size)
    made = made.filter(lambda batch: True) if stream else made
    iterator = iter(made.with_options(on_error="replace", max_errors=limit, threads=threads))
    met = sorted(bad)[: limit + 1]
    due = met[-1] // size if len(met) > limit else -(-40 // size)
    got = 0
    try:
        for batch in iterator:
            got += 1
            assert positions(iterator) == [x for x in sorted(bad) if x < got * size]
            assert len(batch) == min(size, 40 - (got - 1) * size)
    except StageError as error:
        assert f"{met[-1]} is bad" in str(error)  # noqa: PT017 -- whether it is raised is drawn.

    assert got == due
    assert positions(iterator) == met


def test_rows_that_were_made_ahead_and_never_asked_for_do_not_count():
    reached = threading.Event()

    def fail(x):
        if x >= 5:
            reached.set()
            raise ValueError("this one")
        return x

    iterator = iter(feed.range(100).map(fail).with_options(on_error="replace", max_errors=0, threads=2))
    got = [plain(next(iterator)) for _ in range(3)]
    reached.wait()
    got += [plain(next(iterator)) for _ in range(2)]
    iterator.close()

    assert got == list(range(5))
    assert iterator.stats().replaced == ()


PLANS = {
    "concatenate": lambda d: feed.range(10).concatenate(d).batch(3),
    "zip": lambda d: feed.range(30).zip(d).map(lambda pair: pair[1]).batch(3),
    "mix": lambda d: feed.range(30).mix(d).batch(4),
    "shuffle": lambda d: d.batch(2).shuffle(seed=1),
    "batches of batches": lambda d: d.batch(2).batch(3).map(lambda batch: batch.ravel()),
    "batches joined": lambda d: feed.range(10).batch(2).concatenate(d.batch(3)),
    "beside batches": lambda d: feed.range(60).batch(2).zip(d).map(lambda pair: pair[1]),
    "before batches": lambda d: d.map(lambda x: np.array([x])).concatenate(feed.range(10).batch(1)),
    "enumerate": lambda d: d.batch(3).enumerate().map(lambda pair: pair[1]),
    "stream": lambda d: d.batch(3).filter(lambda batch: True),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("build", PLANS.values(), ids=PLANS)
def test_each_row_counts_with_the_element_that_it_is_in(build, threads):
    bad = {3, 4, 11, 29}
    good = build(feed.range(30).map(lambda x: x + 1000)).epoch(0)  # As below, with each number as it was.
    iterator = build(feed.range(30).map(lambda x: failing(bad)(x) + 1000)).with_options(
        on_error="replace", threads=threads
    )
    iterator, seen = iterator.epoch(0), set()
    for element, meant in zip(iterator, good, strict=True):
        seen |= {int(x) - 1000 for x in np.ravel(meant)} & bad
        assert len(np.ravel(element)) == len(np.ravel(meant))
        assert len(positions(iterator)) == len(seen)

    assert seen == bad


def test_rows_left_out_of_a_stream_count_once_the_element_after_them_came():
    made = feed.range(200).map(failing({1, 90, 199})).with_options(on_error="skip", threads=2)
    iterator = made.filter(lambda x: x != 5).epoch(0)
    counts = [len(iterator.stats().skipped) for _ in islice(iterator, 60)]
    rest = [len(iterator.stats().skipped) for _ in iterator]

    assert counts == [0] + [1] * 59
    assert rest == [1] * 28 + [2] * 108
    assert len(iterator.stats().skipped) == 3


def test_a_function_that_fails_has_its_rows_replaced():
    def odd(x):
        if x % 2 == 0:
            raise ValueError("even")
        return x

    iterator = wf.from_arrays(np.arange(50)).map(odd).batch(10).with_options(on_error="replace").epoch(0)
    got = [int(x) for batch in iterator for x in batch]

    assert len(got) == 50
    assert all(x % 2 for x in got)
    assert [row.position for row in iterator.stats().replaced] == list(range(0, 50, 2))


def test_a_function_that_always_fails_raises():
    def never(x):
        raise ValueError("never")

    with pytest.raises(StageError, match="never"):
        list(wf.from_arrays(np.arange(5)).map(never).with_options(on_error="replace"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "warn"}, 'on_error must be "raise", "replace" or "skip", got \'warn\''),
        ({"max_errors": -1}, "max_errors must be at least 0 rows, got -1"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"ram_budget": 5}, "ram_budget must be at least 1048576 bytes, got 5"),
    ],
)
def test_an_option_out_of_its_range_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        wf.from_arrays(np.arange(5)).with_options(**options)


def test_stats_tell_each_step_and_its_rows():
    iterator = wf.from_arrays(np.arange(1000)).map(abs).batch(10).epoch(0)
    assert sum(len(batch) for batch in iterator) == 1000
    stages = iterator.stats().stages

    assert [(stage.name, stage.rows) for stage in stages] == [("read", 1000), ("map(abs)", 1000), ("batch", 100)]
    assert all(stage.seconds >= 0 for stage in stages)


def test_the_sentence_names_what_limits():
    stats = wf.feed.FeedStats(
        600, 10.0, 6.1, 2, (wf.feed.StageStats("read", 600, 1.0), wf.feed.StageStats("map(decode)", 600, 18.6))
    )

    assert str(stats) == (
        "60 elements/s; the consumer waited 61% of the time; map(decode) used 93% of 2 threads: "
        "more cores, less work in it, or cache() after it would help."
    )


def test_the_sentence_says_when_the_feed_keeps_up():
    assert str(wf.feed.FeedStats(600, 10.0, 0.1, 2)).endswith("the consumer waited 1% of the time: the feed keeps up.")


def test_ranks_draw_apart_after_a_batch_where_rows_are_replaced():
    def drawn(index):
        shared = feed.range(16).shuffle(seed=0).map(failing({3, 4, 11})).shard(2, index).batch(2)
        return [
            int(x) for x in shared.map(lambda _, rng: rng.integers(1 << 40), rng=True).with_options(on_error="replace")
        ]

    assert not set(drawn(0)) & set(drawn(1))
