"""Laws 2 to 4 over plans of every verb: tf.data's meaning, one order for any number of threads, resuming anywhere."""

import json

import hypothesis.strategies as st
from feed_laws import EVERY_STEP, NUMBERS, build, plans
from feed_model import plain
from hypothesis import given, settings


def elements(dataset, epoch=0):
    return [plain(e) for e in dataset.epoch(epoch)]


@settings(max_examples=150)
@given(NUMBERS, plans(), st.integers(1, 3))
def test_a_plan_of_any_verbs_is_what_tf_data_means(numbers, steps, threads):
    expected = list(numbers)
    for step in steps:
        expected = step.model(expected)

    assert elements(build(numbers, steps, threads)) == expected


@settings(max_examples=60)
@given(NUMBERS, plans(EVERY_STEP), st.integers(0, 2))
def test_any_number_of_threads_gives_the_same(numbers, steps, epoch):
    assert elements(build(numbers, steps, 1), epoch) == elements(build(numbers, steps, 3), epoch)


@settings(max_examples=60)
@given(NUMBERS, plans(EVERY_STEP, most=4), st.integers(0, 1))
def test_every_stop_of_any_plan_resumes_exactly(numbers, steps, epoch):
    whole = elements(build(numbers, steps), epoch)
    for stop in range(min(len(whole), 12) + 1):
        iterator = build(numbers, steps).epoch(epoch)
        for _ in range(stop):
            next(iterator)
        saved = json.loads(json.dumps(iterator.state_dict()))
        iterator.close()
        resumed = iter(build(numbers, steps))
        resumed.load_state_dict(saved)

        assert [plain(e) for e in resumed] == whole[stop:]


@settings(max_examples=60)
@given(NUMBERS, plans(EVERY_STEP, most=4), st.integers(1, 4), st.integers(0, 1))
def test_the_shards_of_any_plan_partition_it(numbers, steps, count, epoch):
    whole = elements(build(numbers, steps), epoch)
    shares = [elements(build(numbers, steps).shard(count, index), epoch) for index in range(count)]

    assert [whole[index::count] for index in range(count)] == shares
