"""AUTOTUNE as arithmetic: what is measured, and what follows."""

import hypothesis.strategies as st
from hypothesis import given

from wellfed.feed.tuning import Pace, ReadAhead, ThreadCount


def test_a_consumer_that_waits_gets_units_further_ahead_up_to_the_most():
    ahead = ReadAhead(units=2, most=4, budget=1000)
    ahead.learn(10)

    assert [ahead.after_take(wanting=True) for _ in range(4)] == [2, 2, 1, 1]
    assert ahead.units == 4


def test_a_consumer_that_does_not_wait_changes_nothing():
    ahead = ReadAhead(units=3, most=9, budget=1000)

    assert [ahead.after_take(wanting=False) for _ in range(3)] == [1, 1, 1]


def test_large_units_are_made_fewer_at_a_time_until_the_budget_holds_them():
    ahead = ReadAhead(units=6, most=8, budget=1000)
    ahead.learn(300)

    assert [ahead.after_take(wanting=True) for _ in range(4)] == [0, 0, 0, 1]
    assert ahead.units == 3


@given(st.integers(1, 40), st.integers(1, 10**6), st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), min_size=1))
def test_units_under_way_are_as_many_as_were_allowed_and_at_most_what_the_budget_holds(units, budget, takes):
    ahead = ReadAhead(units, 40, budget)
    allowed = units
    for nbytes, wanting in takes:
        ahead.learn(nbytes)
        allowed += ahead.after_take(wanting) - 1
        assert allowed == ahead.units >= 1
    for _ in range(40):
        ahead.after_take(wanting=True)

    assert ahead.units <= 2 or ahead.units * ahead.unit_bytes <= budget


def test_a_consumer_that_waits_while_threads_have_room_needs_no_more_of_it():
    pace = Pace(ReadAhead(units=2, most=4, budget=1000))

    assert pace.after_take(10, 0.5, was_full=False) == (1, 0)
    assert pace.after_take(10, 0.5, was_full=True) == (2, 0)


SLOW_DISK = {"waited": 0.9, "busy": 0.1}


def test_threads_are_added_while_each_step_makes_it_faster():
    count = ThreadCount(2, 32)

    assert [count.after_period(rate, **SLOW_DISK) for rate in (10, 15, 22, 33)] == [1, 1, 2, 3]


def test_a_step_that_gains_nothing_is_taken_back_and_not_tried_again_soon():
    count = ThreadCount(2, 32)

    assert [count.after_period(10, **SLOW_DISK) for _ in range(22)] == [1, -1, *[0] * 20]
    assert count.after_period(10, **SLOW_DISK) == 1


def test_busy_cores_or_a_consumer_that_is_fed_add_no_thread():
    count = ThreadCount(2, 32)

    assert count.after_period(10, waited=0.9, busy=0.95) == 0
    assert count.after_period(10, waited=0.05, busy=0.1) == 0


@given(st.integers(1, 8), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1), st.floats(0, 1)), max_size=60))
def test_the_number_of_threads_stays_between_the_first_and_the_most(first, periods):
    count = ThreadCount(first, 4 * first)
    for rate, waited, busy in periods:
        before = count.threads
        assert count.after_period(rate, waited, busy) == count.threads - before
        assert first <= count.threads <= 4 * first
