"""Threads that fill a queue: how they end, how they fail, and what consumers and coordinators see of it."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from wellfed.errors import CancelledError, CorruptRecordError, InvalidArgumentError, OutOfRangeError, StageError
from wellfed.queues import Coordinator, FIFOQueue, QueueRunner, start_queue_runners


def numbers(capacity=4):
    return FIFOQueue(capacity, np.int64, shapes=[[]])


def counting(queue, limit, first=0):
    """An operation that enqueues first, first + 1, ... and then says that the input is over."""
    state = {"next": first}

    def op():
        if state["next"] == first + limit:
            raise OutOfRangeError(None, None, "no more")
        queue.enqueue(state["next"])
        state["next"] += 1

    return op


def drain(queue):
    got = []
    while True:
        try:
            got.append(int(queue.dequeue()))
        except OutOfRangeError as end:
            return got, end


def test_there_is_one_thread_an_operation():
    queue = numbers()
    runner = QueueRunner(queue, [counting(queue, 1), counting(queue, 1)])

    threads = runner.create_threads()

    assert [thread.name for thread in threads] == ["QueueRunnerThread-FIFOQueue-0", "QueueRunnerThread-FIFOQueue-1"]


def test_with_a_coordinator_one_more_thread_closes_on_stop():
    queue = numbers()

    threads = QueueRunner(queue, [counting(queue, 1)]).create_threads(Coordinator())

    assert threads[-1].name == "QueueRunnerThread-FIFOQueue-close_on_stop"
    assert len(threads) == 2


def test_threads_are_not_started_unless_asked():
    queue = numbers()

    (thread,) = QueueRunner(queue, [counting(queue, 1)]).create_threads()

    assert thread.ident is None
    assert not thread.daemon


def test_threads_can_be_daemons():
    queue = numbers()

    (thread,) = QueueRunner(queue, [counting(queue, 1)]).create_threads(daemon=True)

    assert thread.daemon


def test_threads_are_registered_with_the_coordinator():
    queue = numbers()
    coord = Coordinator()
    threads = QueueRunner(queue, [counting(queue, 3)]).create_threads(coord, start=True)
    drain(queue)
    coord.request_stop()

    coord.join()

    assert not any(thread.is_alive() for thread in threads)


def test_no_second_set_of_threads_while_the_first_is_running():
    queue = numbers(capacity=1)
    runner = QueueRunner(queue, [counting(queue, 5)])
    threads = runner.create_threads(start=True)

    assert runner.create_threads() == []

    drain(queue)
    for thread in threads:
        thread.join()
    assert len(runner.create_threads()) == 1


def test_the_last_thread_to_end_closes_the_queue():
    queue = numbers()
    runner = QueueRunner(queue, [counting(queue, 3), counting(queue, 5, first=10)])
    runner.create_threads(start=True)

    got, end = drain(queue)

    assert sorted(got) == [0, 1, 2, 10, 11, 12, 13, 14]
    assert end.__cause__ is None


def test_a_queue_stays_open_while_one_thread_still_runs():
    queue = numbers()
    go = threading.Event()

    def late():
        go.wait()
        raise OutOfRangeError(None, None, "no more")

    first, second = QueueRunner(queue, [counting(queue, 1), late]).create_threads(start=True)
    first.join()
    assert not queue.is_closed()

    go.set()
    second.join()
    assert queue.is_closed()


def test_a_close_operation_of_ones_own_is_called_instead():
    queue, called = numbers(), []
    runner = QueueRunner(queue, [counting(queue, 0)], close_op=lambda: called.append("close"))

    for thread in runner.create_threads(start=True):
        thread.join()

    assert called == ["close"]
    assert not queue.is_closed()


def test_an_error_of_the_close_operation_is_ignored():
    queue = numbers()
    queue.close()  # The runner's own close is refused.

    for thread in QueueRunner(queue, [counting(queue, 0)]).create_threads(start=True):
        thread.join()

    assert queue.is_closed()


def test_a_cancel_operation_of_ones_own_is_called_on_stop():
    queue, called = numbers(), []
    coord = Coordinator()
    runner = QueueRunner(queue, [counting(queue, 0)], close_op=list, cancel_op=lambda: called.append("cancel"))
    runner.create_threads(coord, start=True)

    coord.request_stop()
    coord.join()

    assert called == ["cancel"]


def test_a_stop_frees_a_thread_that_waits_in_an_enqueue():
    queue = numbers(capacity=1)
    coord = Coordinator()
    threads = QueueRunner(queue, [counting(queue, 100)] * 3).create_threads(coord, start=True)
    queue.dequeue()

    coord.request_stop()
    coord.join(threads)

    assert queue.is_closed()


def test_a_failing_operation_stops_the_coordinator_with_its_error():
    queue = numbers()
    coord = Coordinator()
    error = ValueError("no such sample")

    def op():
        raise error

    QueueRunner(queue, [op]).create_threads(coord, start=True)

    with pytest.raises(ValueError, match="no such sample") as caught:
        coord.join()
    assert caught.value is error


def test_the_end_of_ones_own_input_does_not_stop_the_coordinator():
    queue = numbers()
    coord = Coordinator()
    producer, _ = QueueRunner(queue, [counting(queue, 2)]).create_threads(coord, start=True)
    producer.join()

    assert not coord.should_stop()

    coord.request_stop()
    coord.join()


def test_other_errors_can_mean_that_the_input_is_over():
    queue, upstream = numbers(), numbers()
    upstream.close(cancel_pending_enqueues=True)
    runner = QueueRunner(
        queue, [lambda: upstream.enqueue(1)], queue_closed_exception_types=(OutOfRangeError, CancelledError)
    )

    for thread in runner.create_threads(start=True):
        thread.join()

    assert queue.is_closed()
    assert runner.exceptions_raised == []


def test_without_a_coordinator_errors_are_kept_and_logged(caplog):
    queue = numbers()
    error = ValueError("no such sample")

    def op():
        raise error

    runner = QueueRunner(queue, [op])
    with caplog.at_level(logging.ERROR):
        for thread in runner.create_threads(start=True):
            thread.join()

    assert runner.exceptions_raised == [error]
    assert "error in the queue runner of FIFOQueue" in caplog.text
    assert "no such sample" in caplog.text


def test_with_a_coordinator_errors_are_the_coordinators():
    queue = numbers()
    coord = Coordinator()

    def op():
        raise ValueError("no such sample")

    runner = QueueRunner(queue, [op])
    runner.create_threads(coord, start=True)
    with pytest.raises(ValueError, match="no such sample"):
        coord.join()

    assert runner.exceptions_raised == []


@pytest.mark.parametrize(("queue", "ops"), [(None, [list]), (FIFOQueue(1), [])])
def test_a_runner_needs_a_queue_and_an_operation(queue, ops):
    with pytest.raises(ValueError, match="needs a queue and at least one enqueue operation"):
        QueueRunner(queue, ops)


@pytest.mark.parametrize("kinds", [(), [OutOfRangeError], (ValueError,), OutOfRangeError])
def test_the_errors_that_mean_the_end_are_a_tuple_of_op_errors(kinds):
    with pytest.raises(TypeError, match="must be a tuple of kinds of OpError"):
        QueueRunner(FIFOQueue(1), [list], queue_closed_exception_types=kinds)


def test_start_queue_runners_takes_queues_and_runners():
    first, second = numbers(), numbers()
    first.runners.append(QueueRunner(first, [counting(first, 2)]))

    threads = start_queue_runners([first, QueueRunner(second, [counting(second, 3)])])

    assert (drain(first)[0], drain(second)[0]) == ([0, 1], [0, 1, 2])
    assert all(thread.daemon for thread in threads)


def test_start_queue_runners_refuses_what_has_none():
    with pytest.raises(TypeError, match="'queue' has no queue runners"):
        start_queue_runners(["queue"])


# --- The true error ------------------------------------------------------------------------------


class NotSeenBefore(Exception):
    """An error of the user's own, which nothing here knows."""


def divide():
    return 1 // 0


FAILURES = {
    "value": lambda: int("seven"),
    "type": lambda: 1 + "a",
    "key": lambda: {}["missing"],
    "index": lambda: [1].pop(3),
    "zero": divide,
    "file": lambda: open("/no/such/file"),  # noqa: PTH123, SIM115 -- the error is what is wanted.
    "memory": lambda: (_ for _ in ()).throw(MemoryError("out of memory")),
    "own": lambda: (_ for _ in ()).throw(NotSeenBefore("own")),
    "record": lambda: (_ for _ in ()).throw(CorruptRecordError("payload", "a.tfrecord", 3, 90)),
    "stage": lambda: (_ for _ in ()).throw(StageError("map", 3, "a.tfrecord", "ValueError: x")),
    "shape": lambda: FIFOQueue(1, np.int64, shapes=[[2]]).enqueue([1]),
    "exit": lambda: (_ for _ in ()).throw(SystemExit("3")),
    "interrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt("now")),
}


def raised_by(fail):
    try:
        fail()
    except BaseException as error:  # noqa: BLE001 -- also SystemExit and KeyboardInterrupt are wanted.
        return error
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_consumer_sees_a_producers_own_error_as_the_cause(fail):
    due = raised_by(fail)
    queue = numbers()
    for thread in QueueRunner(queue, [fail]).create_threads(start=True):
        thread.join()

    with pytest.raises(OutOfRangeError, match="is closed and has insufficient elements") as caught:
        queue.dequeue()

    assert (type(caught.value.__cause__), str(caught.value.__cause__)) == (type(due), str(due))
    assert caught.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_with_a_coordinator_consumer_and_join_see_the_same_error(fail):
    due = raised_by(fail)
    queue = numbers()
    coord = Coordinator()
    QueueRunner(queue, [fail]).create_threads(coord, start=True)

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        queue.dequeue()
    with pytest.raises(type(due)) as joined:
        coord.join()

    assert caught.value.__cause__ is joined.value
    assert str(joined.value) == str(due)


@pytest.mark.parametrize("coord", [None, Coordinator()], ids=["alone", "coordinated"])
def test_an_error_at_the_head_of_a_chain_reaches_the_consumer_at_its_end(coord):
    if coord is not None:
        coord.clear_stop()
    first, second, third = numbers(), numbers(), numbers()
    error = ValueError("no such sample")

    def op():
        raise error

    chain = [
        QueueRunner(first, [op]),
        QueueRunner(second, [lambda: second.enqueue(first.dequeue())]),
        QueueRunner(third, [lambda: third.enqueue(second.dequeue())]),
    ]
    threads = start_queue_runners(chain, coord)

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        third.dequeue()
    for thread in threads:
        thread.join()

    assert caught.value.__cause__ is error


def test_elements_that_came_before_the_error_can_still_be_taken():
    queue = numbers()
    steps = iter([1, 2])

    def op():
        number = next(steps, None)
        if number is None:
            raise InvalidArgumentError(None, None, "no third")
        queue.enqueue(number)

    for thread in QueueRunner(queue, [op]).create_threads(start=True):
        thread.join()
    got, end = drain(queue)

    assert got == [1, 2]
    assert str(end.__cause__) == "no third"
