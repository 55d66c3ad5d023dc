"""How threads stop together: each rule of TensorFlow's Coordinator by itself."""

from __future__ import annotations

import sys
import threading

import pytest

from wellfed.errors import CancelledError, OutOfRangeError
from wellfed.queues import Coordinator, LooperThread


class Held:
    """A thread that lives until it is let go."""

    def __init__(self, name="held"):
        self.go = threading.Event()
        self.thread = threading.Thread(target=self.go.wait, name=name)
        self.thread.start()

    def __enter__(self):
        return self.thread

    def __exit__(self, *exc):
        self.go.set()
        self.thread.join()


def test_a_stop_shows_to_everyone():
    coord = Coordinator()
    assert not coord.should_stop()

    coord.request_stop()

    assert coord.should_stop()
    assert coord.wait_for_stop()


def test_waiting_for_a_stop_ends_with_its_timeout():
    assert Coordinator().wait_for_stop(0) is False


def test_a_thread_that_waits_for_a_stop_is_freed_by_it():
    coord = Coordinator()
    thread = threading.Thread(target=coord.wait_for_stop)
    thread.start()

    coord.request_stop()

    thread.join()


def test_join_without_threads_returns():
    coord = Coordinator()

    coord.join()

    assert coord.joined


def test_join_waits_for_threads_that_end_by_themselves_without_a_stop():
    coord = Coordinator()
    done = []
    thread = threading.Thread(target=done.append, args=(1,))
    thread.start()

    coord.join([thread])

    assert done == [1]
    assert not coord.should_stop()


def test_join_waits_for_registered_threads_too():
    coord = Coordinator()
    started, seen = threading.Event(), []

    def work():
        started.wait()
        seen.append(coord.wait_for_stop())

    thread = threading.Thread(target=work)
    coord.register_thread(thread)
    thread.start()
    started.set()
    coord.request_stop()

    coord.join()

    assert seen == [True]


def test_join_forgets_the_registered_threads():
    coord = Coordinator()
    with Held() as thread:
        coord.register_thread(thread)
        coord.request_stop()
        with pytest.raises(RuntimeError, match="still running: held"):
            coord.join(stop_grace_period_secs=0)
        coord.clear_stop()

        coord.join()  # Would wait for the thread, were it still registered.


def test_the_error_of_a_stop_is_raised_by_join():
    coord = Coordinator()
    error = ValueError("no such file")

    coord.request_stop(error)

    with pytest.raises(ValueError, match="no such file") as caught:
        coord.join()
    assert caught.value is error


def test_only_the_first_error_counts():
    coord = Coordinator()
    coord.request_stop(ValueError("first"))
    coord.request_stop(ValueError("second"))

    with pytest.raises(ValueError, match="first"):
        coord.join()


def test_an_error_after_a_clean_stop_does_not_count():
    coord = Coordinator()
    coord.request_stop()
    coord.request_stop(CancelledError(None, None, "freed by the stop"))

    coord.join()


def test_the_end_of_the_input_is_a_clean_stop():
    coord = Coordinator()

    coord.request_stop(OutOfRangeError(None, None, "no more"))

    coord.join()
    assert coord.should_stop()


def test_the_clean_errors_can_be_chosen():
    coord = Coordinator(clean_stop_exception_types=(StopIteration,))
    coord.request_stop(StopIteration())
    coord.join()

    other = Coordinator(clean_stop_exception_types=())
    other.request_stop(OutOfRangeError(None, None, "no more"))
    with pytest.raises(OutOfRangeError, match="no more"):
        other.join()


def test_an_exc_info_tuple_is_taken_as_its_exception():
    coord = Coordinator()
    try:
        int("caught")
    except ValueError:
        coord.request_stop(sys.exc_info())

    with pytest.raises(ValueError, match="invalid literal"):
        coord.join()


@pytest.mark.parametrize("wrong", [(None, None, None), (ValueError,), ("a", "b", "c")])
def test_a_tuple_that_is_no_exc_info_is_recorded_as_a_value_error(wrong):
    coord = Coordinator()

    coord.request_stop(wrong)

    with pytest.raises(ValueError, match="ex must be an exception or what"):
        coord.join()


def test_an_error_after_join_is_raised_at_once():
    coord = Coordinator()
    coord.request_stop()
    coord.join()

    with pytest.raises(ValueError, match="too late"):
        coord.request_stop(ValueError("too late"))


def test_a_clean_error_after_join_is_not_raised():
    coord = Coordinator()
    coord.request_stop()
    coord.join()

    coord.request_stop(OutOfRangeError(None, None, "no more"))


def test_clear_stop_makes_the_coordinator_as_new():
    coord = Coordinator()
    coord.request_stop(ValueError("old"))
    with pytest.raises(ValueError, match="old"):
        coord.join()

    coord.clear_stop()

    assert (coord.should_stop(), coord.joined, coord.requested_exception) == (False, False, None)
    coord.join()


def test_raise_requested_exception_raises_it_before_join():
    coord = Coordinator()
    coord.raise_requested_exception()  # Nothing to raise yet.
    coord.request_stop(ValueError("no such file"))

    with pytest.raises(ValueError, match="no such file"):
        coord.raise_requested_exception()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_stop_on_exception_swallows_and_records_any_exception(kind):
    coord = Coordinator()

    with coord.stop_on_exception():
        raise kind("inside")

    with pytest.raises(kind, match="inside"):
        coord.join()


def test_stop_on_exception_without_one_requests_nothing():
    coord = Coordinator()

    with coord.stop_on_exception():
        pass

    assert not coord.should_stop()


def test_threads_that_outlive_the_grace_period_are_named():
    coord = Coordinator()
    with Held("reader") as reader, Held("writer") as writer:
        coord.request_stop()

        with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running: reader writer"):
            coord.join([writer, reader], stop_grace_period_secs=0.01)
        assert coord.joined


def test_live_threads_can_be_ignored():
    coord = Coordinator()
    with Held() as thread:
        coord.request_stop()

        coord.join([thread], stop_grace_period_secs=0, ignore_live_threads=True)


def test_the_recorded_error_wins_over_live_threads():
    coord = Coordinator()
    with Held() as thread:
        coord.request_stop(ValueError("the cause"))

        with pytest.raises(ValueError, match="the cause"):
            coord.join([thread], stop_grace_period_secs=0)


def test_the_grace_period_counts_from_the_stop(monkeypatch):
    coord = Coordinator()
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    coord.request_stop()
    now[0] += 60
    waits = []

    class Slow(threading.Thread):
        def is_alive(self):
            return True

        def join(self, timeout=None):
            waits.append(timeout)
            now[0] += timeout

    with pytest.raises(RuntimeError, match="still running"):
        coord.join([Slow()], stop_grace_period_secs=100)

    assert waits == [40.0]


def test_before_a_stop_join_looks_up_no_later_than_a_grace_period_could_end():
    coord = Coordinator()
    waits = []

    class Slow(threading.Thread):
        alive = True

        def is_alive(self):
            return self.alive

        def join(self, timeout=None):
            waits.append(timeout)
            self.alive = len(waits) < 3

    coord.join([Slow()], stop_grace_period_secs=7)

    assert waits == [7, 7, 7]


def test_join_is_freed_by_a_stop_while_it_waits():
    coord = Coordinator()
    thread = threading.Thread(target=coord.wait_for_stop)
    thread.start()
    stopper = threading.Thread(target=coord.request_stop)
    stopper.start()

    coord.join([thread])

    stopper.join()
    assert coord.joined


def test_a_looper_calls_its_function_until_the_stop():
    coord = Coordinator()
    calls = []

    def work(word, times):
        calls.append(word * times)
        if len(calls) == 3:
            coord.request_stop()

    LooperThread.loop(coord, None, work, args=("a",), kwargs={"times": 2})
    coord.join()

    assert calls == ["aa", "aa", "aa"]


def test_a_looper_on_a_timer_calls_at_once_and_then_at_its_interval():
    coord = Coordinator()
    calls = []

    def work():
        calls.append(1)
        if len(calls) == 3:
            coord.request_stop()

    LooperThread.loop(coord, 0.001, work)
    coord.join()

    assert len(calls) == 3


def test_a_loopers_error_stops_the_coordinator():
    coord = Coordinator()

    def work():
        raise ValueError("inside the loop")

    LooperThread.loop(coord, None, work)

    with pytest.raises(ValueError, match="inside the loop"):
        coord.join()


def test_a_looper_may_be_a_subclass_with_a_start_and_an_end():
    coord = Coordinator()
    steps = []

    class Mine(LooperThread):
        def start_loop(self):
            steps.append("start")

        def run_loop(self):
            steps.append("run")
            coord.request_stop()

        def stop_loop(self):
            steps.append("stop")

    Mine(coord, None).start()
    coord.join()

    assert steps == ["start", "run", "stop"]


def test_a_looper_needs_a_coordinator():
    with pytest.raises(ValueError, match="coord must be a Coordinator, got 'coord'"):
        LooperThread("coord", None)


def test_a_loopers_arguments_need_a_function():
    with pytest.raises(ValueError, match="args and kwargs need a target"):
        LooperThread(Coordinator(), None, args=(1,))
