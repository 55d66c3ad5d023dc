"""Law 5: a row that cannot be made is left out, counted and named; later rows move up, and batches stay full."""

import logging
import re
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

import wellfed as wf
from wellfed import feed
from wellfed.errors import CorruptRecordError, PlanError, StageError

BAD = (10, 20, 57)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """100 records of which 10, 20 and 57 have a damaged payload."""
    path = tmp_path_factory.mktemp("damaged") / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_many(wf.encode_example({"x": x}) for x in range(100))
    content = bytearray(path.read_bytes())
    offsets = wf.RecordIndex.build(path).offsets
    for record in BAD:
        content[int(offsets[record]) + 14] ^= 1
    path.write_bytes(content)
    return path


def dataset(path, **options):
    features = {"x": wf.FixedLenFeature([], np.int64)}
    return wf.TFRecordDataset(path, features).shuffle(seed=1).batch(8).with_options(on_error="skip", **options)


def batches(iterator):
    return [batch["x"].tolist() for batch in iterator]


def fails_at(*bad):
    def check(x):
        if int(x) in bad:
            raise ValueError(f"{int(x)} is bad")
        return x

    return check


def test_damaged_rows_are_left_out_and_batches_stay_full(damaged):
    order = [int(x) for x in feed.range(100).shuffle(seed=1).epoch(0) if x not in BAD]

    assert batches(dataset(damaged).epoch(0)) == [order[i : i + 8] for i in range(0, 97, 8)]


def test_each_row_that_was_left_out_is_named_with_file_record_and_row(damaged):
    iterator = dataset(damaged).epoch(0)
    batches(iterator)
    skipped = iterator.stats().skipped
    order = [int(x) for x in feed.range(100).shuffle(seed=1).epoch(0)]

    assert [row.row for row in skipped] == [x for x in order if x in BAD]
    assert [row.position for row in skipped] == [place for place, x in enumerate(order) if x in BAD]
    assert all(row.where == f"{damaged}: record {row.row}" for row in skipped)
    assert all("payload CRC32C" in row.reason for row in skipped)


@given(st.sets(st.integers(0, 39)), st.integers(1, 9), st.integers(1, 3), st.integers(0, 2))
@settings(max_examples=40)
def test_what_is_left_does_not_depend_on_threads(bad, size, threads, epoch):
    def run(threads):
        made = feed.range(40).shuffle(seed=3).map(fails_at(*bad)).batch(size)
        iterator = made.with_options(on_error="skip", threads=threads).epoch(epoch)
        return [plain(b) for b in iterator], iterator.stats().skipped

    order = [int(x) for x in feed.range(40).shuffle(seed=3).epoch(epoch) if x not in bad]
    expected = [tuple(order[i : i + size]) for i in range(0, len(order), size)]

    assert run(threads) == run(1)
    assert run(1)[0] == expected
    assert {row.row for row in run(1)[1]} == bad


@pytest.mark.parametrize("threads", [1, 3])
def test_the_row_that_is_one_too_many_raises_behind_all_before_it(threads):
    made = feed.range(100).map(fails_at(10, 40, 41)).with_options(on_error="skip", max_errors=2, threads=threads)
    got = []

    with pytest.raises(StageError, match="41 is bad") as caught:
        got.extend(int(x) for x in made)

    assert got == [x for x in range(41) if x not in (10, 40)]
    assert caught.value.__notes__ == ["This is one more than max_errors=2 rows that could not be made."]


@given(st.sets(st.integers(0, 29)), st.integers(1, 5), st.integers(0, 30))
@settings(max_examples=40)
def test_it_resumes_anywhere(bad, size, stop):
    def fresh():
        return feed.range(30).map(fails_at(*bad)).batch(size).with_options(on_error="skip")

    whole = [plain(b) for b in fresh().epoch(0)]
    iterator = fresh().epoch(0)
    for _ in range(min(stop, len(whole))):
        next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    resumed = iter(fresh())
    resumed.load_state_dict(saved)

    assert [plain(b) for b in resumed] == whole[stop:]


def test_the_shards_of_what_is_left_share_nothing(damaged):
    features = {"x": wf.FixedLenFeature([], np.int64)}
    shuffled = wf.TFRecordDataset(damaged, features).shuffle(seed=1)
    shares = [
        [x for b in shuffled.shard(3, i).batch(4).with_options(on_error="skip").epoch(0) for x in b["x"].tolist()]
        for i in range(3)
    ]

    assert sorted(x for share in shares for x in share) == [x for x in range(100) if x not in BAD]


def test_a_data_set_that_leaves_rows_out_has_no_length():
    made = feed.range(10).with_options(on_error="skip")

    assert made.cardinality() == feed.UNKNOWN_CARDINALITY
    with pytest.raises(
        TypeError, match=r'this data set has no length: with_options\(on_error="skip"\) makes any number'
    ):
        len(made)


@pytest.mark.parametrize("ways", [{}, {"block": 4}], ids=["shuffle", "block"])
def test_a_shuffle_of_batches_is_refused_in_the_words_of_the_user(ways):
    made = feed.range(10).batch(2).shuffle(seed=0, **ways).with_options(on_error="skip")

    due = 'shuffle: needs rows by number, which with_options(on_error="skip") lost; put shuffle before batch'
    with pytest.raises(PlanError, match=re.escape(f'{due}, or give on_error="replace"')):
        list(iter(made))


def test_a_verb_that_lost_the_rows_is_still_named():
    made = feed.range(10).batch(2).ignore_errors().with_options(on_error="skip")

    with pytest.raises(PlanError, match="shuffle: ignore_errors lost the rows"):
        made.shuffle(seed=0)


def test_a_state_is_that_of_the_same_plan_with_ignore_errors():
    saved = feed.range(10).batch(2).with_options(on_error="skip").epoch(0).state_dict()
    resumed = feed.range(10).ignore_errors().batch(2).epoch(0)
    resumed.load_state_dict(saved)

    assert next(resumed).tolist() == [0, 1]
    resumed.close()


def test_padded_and_ragged_batches_stay_full_too():
    made = feed.range(1, 9).map(fails_at(2, 3)).map(lambda n: np.arange(int(n)))

    (first, second) = made.ignore_errors().padded_batch(3)
    assert [row.tolist() for row in first] == [[0, 0, 0, 0, 0], [0, 1, 2, 3, 0], [0, 1, 2, 3, 4]]
    assert second.shape == (3, 8)
    (ragged, _) = made.ignore_errors().ragged_batch(3)
    assert ragged.to_list() == [[0], [0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_what_fails_after_batch_is_raised():
    made = feed.range(10).batch(2).map(lambda b: fails_at(4)(b[0])).with_options(on_error="skip")

    with pytest.raises(StageError, match="4 is bad"):
        list(iter(made))


# --- ignore_errors --------------------------------------------------------------------------------


def test_ignore_errors_covers_what_stands_before_it_and_no_more():
    made = feed.range(10).map(fails_at(3)).ignore_errors().map(fails_at(5))

    got = []
    with pytest.raises(StageError, match="5 is bad"):
        got.extend(int(x) for x in made)
    assert got == [0, 1, 2, 4]


def test_a_whole_batch_is_left_out_where_it_is_what_fails():
    made = feed.range(10).batch(4).map(lambda b: fails_at(4)(b[0]) + b).ignore_errors()

    assert [plain(b) for b in made] == [(0, 1, 2, 3), (16, 17)]


VERBS = {
    "filter": lambda d, f: d.filter(lambda x: f(x) >= 0),
    "map": lambda d, f: d.map(f),
    "take_while": lambda d, f: d.take_while(lambda x: f(x) >= 0),
    "flat_map": lambda d, f: d.flat_map(lambda x: [f(x)]),
    "interleave": lambda d, f: d.interleave(lambda x: [f(x)], cycle_length=2),
    "scan": lambda d, f: d.scan(0, lambda state, x: (state, f(x))),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_function_of_a_stream_may_fail_on_an_element(verb):
    made = VERBS[verb](feed.range(20).filter(lambda x: True), fails_at(3, 4, 19)).ignore_errors()
    iterator = made.epoch(0)

    assert [int(x) for x in iterator] == [x for x in range(19) if x not in (3, 4)]
    assert [row.position for row in iterator.stats().skipped] == [3, 4, 19]
    assert iterator.stats().skipped[0].reason == "ValueError: 3 is bad"


def test_a_length_that_cannot_be_told_costs_its_element():
    made = feed.range(1, 5).map(lambda n: np.arange(int(n)))
    found = made.bucket_by_sequence_length(lambda e: fails_at(2)(len(e)), [9], [2, 2]).ignore_errors()

    assert [b.shape for b in found] == [(2, 3), (1, 4)]


def test_a_mapped_function_in_processes_may_fail_on_an_element():
    made = feed.range(12).filter(_always).map(_not_seven, processes=2).ignore_errors()

    assert [int(x) for x in made] == [x for x in range(12) if x != 7]


def _always(x):
    return True


def _not_seven(x):
    if x == 7:
        raise ValueError("seven")
    return x


class NoSeven:
    """A transform of columns that fails where a seven is among them."""

    def apply(self, columns, seeds):
        if (columns == 7).any():
            raise ValueError("seven")
        return columns


@pytest.mark.parametrize("make", [lambda d: d, lambda d: d.filter(_always)])
def test_a_transform_of_columns_may_fail_on_a_row(make):
    iterator = make(feed.range(12)).map(NoSeven()).ignore_errors().epoch(0)

    assert [int(x) for x in iterator] == [x for x in range(12) if x != 7]
    assert [(row.position, row.reason) for row in iterator.stats().skipped] == [(7, "ValueError: seven")]


def test_a_generator_that_raises_has_ended():
    def broken():
        yield 1
        raise ValueError("pipe closed")

    got = []
    with pytest.raises(StageError, match="pipe closed"):
        got.extend(int(x) for x in feed.from_generator(broken).ignore_errors())
    assert got == [1]


def test_losses_are_logged_where_so_wanted(caplog):
    with caplog.at_level(logging.WARNING, "wellfed.feed"):
        list(iter(feed.range(5).map(fails_at(3)).ignore_errors(log_warning=True)))
        list(iter(feed.range(5).map(fails_at(2)).ignore_errors()))

    assert [record.getMessage() for record in caplog.records] == ["left out: row 3: ValueError: 3 is bad"]


def test_rows_of_several_sources_are_traced_to_their_own():
    made = feed.range(5).concatenate(feed.range(10, 15)).map(fails_at(3, 12)).ignore_errors()
    iterator = made.epoch(0)
    list(iterator)

    assert [(row.position, row.row) for row in iterator.stats().skipped] == [(3, 3), (7, 2)]


def test_a_break_below_ignore_errors_leaves_no_thread():
    for b in feed.range(100_000).map(fails_at(5)).ignore_errors().batch(4).repeat():
        if b[0] > 50:
            break

    assert [t for t in threading.enumerate() if t.name.startswith("wellfed-feed")] == []


def test_damage_without_any_policy_is_raised(damaged):
    features = {"x": wf.FixedLenFeature([], np.int64)}

    with pytest.raises(CorruptRecordError, match="record 10 "):
        list(wf.TFRecordDataset(damaged, features).batch(8))


# --- Options ---------------------------------------------------------------------------------------


def test_options_change_only_what_is_named():
    made = feed.range(10).with_options(threads=3, on_error="skip", max_errors=7).with_options(ram_budget=2 << 20)

    assert made._options == feed.options.FeedOptions(threads=3, ram_budget=2 << 20, on_error="skip", max_errors=7)
    assert made.with_options(threads=None, ram_budget=None)._options == feed.options.FeedOptions(
        on_error="skip", max_errors=7
    )


def test_options_stay_with_the_verbs_that_follow():
    made = feed.range(10).with_options(threads=3).shuffle(seed=0).batch(2)

    assert made._options.threads == 3
