"""Who is served when: the rules of a queue's two lists, driven from one thread.

The two halves of a call stand apart here: `begin_*` lines it up, and what it has got shows without waiting.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wellfed.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from wellfed.queues.engine import UNBOUNDED, Close, PutMany, PutOne, QueueEngine, Take
from wellfed.queues.spec import ElementSpec
from wellfed.queues.storage import RowFifo, make_fifo, make_pool, stack

SPEC = ElementSpec("numbers", [np.dtype(np.int64)], [()], None)


def fifo(capacity=UNBOUNDED):
    return QueueEngine("numbers", make_fifo(SPEC), capacity)


def pool(minimum, capacity=UNBOUNDED):
    return QueueEngine("numbers", make_pool(SPEC, itertools.cycle([0.0])), capacity, minimum)


def put(engine, *numbers):
    many = PutMany((np.array(numbers),)) if len(numbers) > 1 else PutOne((np.int64(numbers[0]),))
    return engine.begin_put(many)


def take(engine, count=1, *, up_to=False):
    return engine.begin_take(Take(count, up_to=up_to))


def taken(engine, attempt):
    """What a finished take has got."""
    assert attempt.finished
    assert attempt.error is None
    return engine.storage.join(attempt.parts)[0].tolist()


def refusal(attempt):
    """The kind of error that a finished attempt ends with."""
    assert attempt.finished
    return attempt.error[0]


def test_a_dequeue_on_an_empty_queue_waits_for_the_next_element():
    engine = fifo()
    waiting = take(engine)
    assert not waiting.finished

    put(engine, 7)

    assert taken(engine, waiting) == [7]


def test_elements_go_to_waiting_dequeues_in_order_of_arrival():
    engine = fifo()
    first, second = take(engine), take(engine)

    put(engine, 1, 2)

    assert (taken(engine, first), taken(engine, second)) == ([1], [2])


def test_a_small_dequeue_waits_behind_a_large_one_that_came_first():
    engine = fifo()
    large, small = take(engine, 3), take(engine, 1)
    put(engine, 1, 2)
    assert not small.finished

    put(engine, 3, 4)

    assert (taken(engine, large), taken(engine, small)) == ([1, 2, 3], [4])


def test_an_enqueue_on_a_full_queue_waits_for_room():
    engine = fifo(capacity=1)
    put(engine, 1)
    waiting = put(engine, 2)
    assert not waiting.finished

    assert taken(engine, take(engine)) == [1]

    assert waiting.finished
    assert engine.storage.size == 1


def test_enqueue_many_goes_in_one_by_one_as_room_appears():
    engine = fifo(capacity=2)
    waiting = put(engine, 1, 2, 3, 4)
    assert engine.storage.size == 2

    assert taken(engine, take(engine)) == [1]

    assert not waiting.finished
    assert taken(engine, take(engine, 3)) == [2, 3, 4]
    assert waiting.finished


def test_a_single_enqueue_waits_behind_an_enqueue_many_that_came_first():
    engine = fifo(capacity=2)
    put(engine, 1, 2, 3)
    put(engine, 4)

    assert taken(engine, take(engine, 4)) == [1, 2, 3, 4]


def test_dequeue_many_larger_than_the_capacity_is_served_through_the_queue():
    engine = fifo(capacity=1)
    waiting = take(engine, 3)

    for number in range(3):
        put(engine, number)

    assert taken(engine, waiting) == [0, 1, 2]


def test_what_a_waiting_dequeue_many_has_taken_makes_room():
    engine = fifo(capacity=2)
    take(engine, 4)

    assert put(engine, 1, 2, 3).finished


def test_close_waits_behind_enqueues_that_came_before_it():
    engine = fifo(capacity=1)
    put(engine, 1)
    before = put(engine, 2)
    closing = engine.begin_put(Close(None))
    assert not engine.closed

    take(engine)

    assert (before.error, closing.error, engine.closed) == (None, None, True)


def test_an_enqueue_behind_a_waiting_close_is_refused():
    engine = fifo(capacity=1)
    put(engine, 1)
    put(engine, 2)
    engine.begin_put(Close(None))
    behind = put(engine, 3)

    take(engine)

    assert refusal(behind) is CancelledError


def test_an_enqueue_on_a_closed_queue_is_cancelled():
    engine = fifo()
    engine.close(None, None)

    with pytest.raises(CancelledError, match="numbers is closed"):
        engine.put((np.int64(1),), None)


def test_enqueue_many_of_nothing_is_no_work_even_when_closed():
    engine = fifo()
    engine.close(None, None)

    engine.put_many((np.empty(0, np.int64),), None)


def test_a_second_close_is_cancelled():
    engine = fifo()
    engine.close(None, None)

    with pytest.raises(CancelledError, match="numbers is closed already"):
        engine.close(None, None)


def test_closing_at_once_may_be_repeated():
    engine = fifo()

    engine.close_now(None)
    engine.close_now(None)

    assert engine.closed


def test_closing_at_once_cancels_the_enqueues_that_wait():
    engine = fifo(capacity=1)
    put(engine, 1)
    waiting = put(engine, 2)

    engine.close_now(None)

    with pytest.raises(CancelledError, match="enqueue on numbers was cancelled"):
        engine.end(waiting, None)


def test_closing_at_once_keeps_what_is_inside():
    engine = fifo()
    put(engine, 1, 2)
    engine.close_now(None)

    assert taken(engine, take(engine, 2)) == [1, 2]


def test_the_part_of_an_enqueue_many_that_is_in_stays_when_it_is_cancelled():
    engine = fifo(capacity=2)
    put(engine, 1, 2, 3)
    engine.close_now(None)

    assert taken(engine, take(engine, 2)) == [1, 2]


def test_a_dequeue_on_a_closed_and_empty_queue_is_out_of_range():
    engine = fifo()
    engine.close(None, None)

    with pytest.raises(
        OutOfRangeError, match=r"is closed and has insufficient elements \(requested 1, current size 0\)"
    ):
        engine.take(None)


def test_a_closed_queue_gives_what_is_left():
    engine = fifo()
    put(engine, 1, 2)
    engine.close(None, None)

    assert engine.take(None) == (1,)
    assert engine.take_many(1, None)[0].tolist() == [2]


def test_dequeue_many_on_a_closed_queue_that_holds_fewer_leaves_them_there():
    engine = fifo()
    put(engine, 1, 2)
    engine.close(None, None)

    with pytest.raises(OutOfRangeError, match=r"requested 3, current size 2"):
        engine.take_many(3, None)

    assert engine.take_many(2, None)[0].tolist() == [1, 2]


def test_close_returns_what_a_waiting_dequeue_many_had_taken_in_order():
    engine = fifo()
    waiting = take(engine, 4)
    put(engine, 1, 2)
    put(engine, 3)

    engine.close(None, None)

    assert refusal(waiting) is OutOfRangeError
    assert taken(engine, take(engine, 3)) == [1, 2, 3]


def test_dequeue_up_to_waits_for_all_while_the_queue_is_open():
    engine = fifo()
    waiting = take(engine, 3, up_to=True)
    put(engine, 1, 2)
    assert not waiting.finished

    put(engine, 3)

    assert taken(engine, waiting) == [1, 2, 3]


def test_dequeue_up_to_gives_the_remainder_of_a_closed_queue():
    engine = fifo()
    waiting = take(engine, 3, up_to=True)
    put(engine, 1, 2)

    engine.close(None, None)

    assert taken(engine, waiting) == [1, 2]


def test_dequeue_up_to_on_a_closed_and_empty_queue_is_out_of_range():
    engine = fifo()
    waiting = take(engine, 3, up_to=True)

    engine.close(None, None)

    assert refusal(waiting) is OutOfRangeError


def test_a_refused_dequeue_many_leaves_its_elements_to_the_next_in_line():
    engine = fifo()
    large, small = take(engine, 3), take(engine, 2)
    put(engine, 1, 2)

    engine.close(None, None)

    assert refusal(large) is OutOfRangeError
    assert taken(engine, small) == [1, 2]


def test_an_open_shuffling_queue_keeps_its_minimum():
    engine = pool(minimum=2)
    put(engine, 1, 2, 3)

    assert taken(engine, take(engine)) == [1]
    assert not take(engine).finished


def test_a_closed_shuffling_queue_gives_all():
    engine = pool(minimum=2)
    put(engine, 1, 2)
    waiting = take(engine, 2)
    assert not waiting.finished

    engine.close(None, None)

    assert sorted(taken(engine, waiting)) == [1, 2]


def test_a_shuffling_queue_serves_a_large_dequeue_bit_by_bit_above_its_minimum():
    engine = pool(minimum=2, capacity=3)
    waiting = take(engine, 3)
    for number in range(4):
        assert put(engine, number).finished

    assert not waiting.finished
    put(engine, 4)
    assert len(taken(engine, waiting)) == 3


def test_a_dequeue_that_times_out_gives_up_its_place():
    engine = fifo()
    first = take(engine)
    second = take(engine)

    with pytest.raises(DeadlineExceededError, match=r"dequeue on numbers was not served within 0 s \(size 0, open\)"):
        engine.end(first, 0)
    put(engine, 1)

    assert taken(engine, second) == [1]


def test_a_dequeue_many_that_times_out_returns_what_it_had_taken():
    engine = fifo()
    waiting = take(engine, 3)
    put(engine, 1, 2)

    with pytest.raises(DeadlineExceededError, match="dequeue"):
        engine.end(waiting, 0)

    assert taken(engine, take(engine, 2)) == [1, 2]


def test_what_a_timed_out_dequeue_many_returns_goes_to_the_next_in_line():
    engine = fifo()
    large, small = take(engine, 3), take(engine, 2)
    put(engine, 1, 2)

    with pytest.raises(DeadlineExceededError, match="dequeue"):
        engine.end(large, 0)

    assert taken(engine, small) == [1, 2]


def test_an_enqueue_that_times_out_is_not_in_the_queue():
    engine = fifo(capacity=1)
    put(engine, 1)

    with pytest.raises(DeadlineExceededError, match=r"enqueue on numbers was not served within 0 s \(size 1, open\)"):
        engine.put((np.int64(2),), 0)

    assert taken(engine, take(engine)) == [1]
    assert engine.storage.size == 0


def test_a_close_that_times_out_leaves_the_queue_open():
    engine = fifo(capacity=1)
    put(engine, 1, 2)

    with pytest.raises(DeadlineExceededError, match="close on numbers"):
        engine.close(0, None)

    assert not engine.closed


def test_an_attempt_that_was_served_before_its_timeout_counts():
    engine = fifo()
    waiting = take(engine)
    put(engine, 1)

    engine.end(waiting, 0)

    assert taken(engine, waiting) == [1]


def test_an_interrupted_dequeue_puts_its_element_back_even_when_it_was_served():
    engine = fifo()
    waiting = take(engine)

    def served_and_interrupted(timeout):
        put(engine, 1)
        raise KeyboardInterrupt

    waiting.wait = served_and_interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.end(waiting, None)

    assert taken(engine, take(engine)) == [1]


def test_an_interrupted_enqueue_that_waits_is_withdrawn():
    engine = fifo(capacity=1)
    put(engine, 1)
    waiting = put(engine, 2)

    def interrupted(timeout):
        raise KeyboardInterrupt

    waiting.wait = interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.end(waiting, None)

    assert engine.waiting() == (0, 0)


def test_cancel_pending_frees_everyone_who_waits_and_keeps_the_queue_open():
    engine = fifo(capacity=1)
    put(engine, 1)
    waiting = put(engine, 2)

    engine.cancel_pending("the session was closed")

    with pytest.raises(CancelledError, match="enqueue on numbers was cancelled: the session was closed"):
        engine.end(waiting, None)
    assert not engine.closed


def test_cancel_pending_returns_what_a_dequeue_many_had_taken():
    engine = fifo()
    waiting = take(engine, 3)
    put(engine, 1, 2)

    engine.cancel_pending("enough")

    assert refusal(waiting) is CancelledError
    assert taken(engine, take(engine, 2)) == [1, 2]


def test_the_error_that_closed_a_queue_is_the_cause_of_what_callers_see():
    engine = fifo()
    broken = ValueError("no such file")
    engine.close_now(broken)

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        engine.take(None)
    assert caught.value.__cause__ is broken

    with pytest.raises(CancelledError, match="is closed") as caught:
        engine.put((np.int64(1),), None)
    assert caught.value.__cause__ is broken


def test_the_first_cause_stays():
    engine = fifo()
    first = ValueError("first")

    engine.close_now(first)
    engine.close_now(ValueError("second"))

    assert engine.cause is first


def test_returned_elements_may_exceed_the_capacity_and_block_until_they_are_gone():
    engine = fifo(capacity=2)
    waiting = take(engine, 5)
    put(engine, 1, 2)
    put(engine, 3, 4)

    with pytest.raises(DeadlineExceededError, match="dequeue"):
        engine.end(waiting, 0)

    assert engine.storage.size == 4
    assert not put(engine, 5).finished
    assert taken(engine, take(engine, 5)) == [1, 2, 3, 4, 5]


def test_a_row_storage_follows_the_same_rules():
    engine = QueueEngine("rows", RowFifo(stack), 2)
    waiting = put(engine, 1, 2, 3)

    assert taken(engine, take(engine, 3)) == [1, 2, 3]
    assert waiting.finished
