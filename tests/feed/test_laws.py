"""Laws 2 to 4 over plans of every verb: tf.data's meaning, one order for any number of threads, resuming anywhere."""

import json

import hypothesis.strategies as st
from feed_laws import EVERY_STEP, build, plans
from feed_model import plain
from hypothesis import given, settings

lengths = st.integers(0, 25)


def elements(dataset, epoch=0):
    return [plain(e) for e in dataset.epoch(epoch)]


@settings(max_examples=150)
@given(lengths, plans(), st.integers(1, 3))
def test_a_plan_of_any_verbs_is_what_tf_data_means(length, steps, threads):
    expected = list(range(length))
    for step in steps:
        expected = step.model(expected)

    assert elements(build(length, steps, threads)) == expected


@settings(max_examples=60)
@given(lengths, plans(EVERY_STEP), st.integers(0, 2))
def test_any_number_of_threads_gives_the_same(length, steps, epoch):
    assert elements(build(length, steps, 1), epoch) == elements(build(length, steps, 3), epoch)


@settings(max_examples=60)
@given(lengths, plans(EVERY_STEP, most=4), st.integers(0, 1))
def test_every_stop_of_any_plan_resumes_exactly(length, steps, epoch):
    whole = elements(build(length, steps), epoch)
    for stop in range(min(len(whole), 12) + 1):
        iterator = build(length, steps).epoch(epoch)
        for _ in range(stop):
            next(iterator)
        saved = json.loads(json.dumps(iterator.state_dict()))
        iterator.close()
        resumed = iter(build(length, steps))
        resumed.load_state_dict(saved)

        assert [plain(e) for e in resumed] == whole[stop:]


@settings(max_examples=60)
@given(lengths, plans(EVERY_STEP, most=4), st.integers(1, 4), st.integers(0, 1))
def test_the_shards_of_any_plan_partition_it(length, steps, count, epoch):
    whole = elements(build(length, steps), epoch)
    shares = [elements(build(length, steps).shard(count, index), epoch) for index in range(count)]

    assert [whole[index::count] for index in range(count)] == shares
