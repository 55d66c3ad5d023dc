"""Law 7: threads end with their owner, however it ends."""

import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from leftovers import child_that_drops, feed_threads

import wellfed as wf
from wellfed.errors import StageError


def numbers(length=100_000):
    return wf.from_arrays(np.arange(length)).batch(10).with_options(threads=3)


def test_a_break_in_the_middle_leaves_no_thread():
    for number, _ in enumerate(numbers()):
        if number == 3:
            break

    assert feed_threads() == []


def test_an_exhausted_iterator_leaves_no_thread():
    iterator = iter(numbers(1000))
    assert sum(len(batch) for batch in iterator) == 1000

    assert feed_threads() == []


def test_an_iterator_in_a_cycle_leaves_no_thread_once_collected():
    holder = [iter(numbers().repeat())]
    next(holder[0])
    holder.append(holder)
    assert feed_threads()
    del holder
    gc.collect()

    assert feed_threads() == []


def test_a_closed_iterator_is_at_its_end():
    iterator = iter(numbers())
    next(iterator)
    iterator.close()
    iterator.close()

    assert list(iterator) == []


def test_a_with_block_closes_the_iterator():
    with iter(numbers()) as iterator:
        next(iterator)

    assert feed_threads() == []


def test_an_exception_of_the_consumer_leaves_no_thread():
    def consume():
        for _ in numbers():
            raise KeyError("the consumer's own")

    with pytest.raises(KeyError, match="the consumer's own"):
        consume()
    gc.collect()

    assert feed_threads() == []


def failing(x):
    if x == 57:
        raise ValueError("no 57")
    return x


def test_an_error_comes_after_every_element_before_it():
    iterator = iter(wf.from_arrays(np.arange(100)).map(failing).with_options(threads=3))
    got = []
    with pytest.raises(StageError, match="no 57"):
        got.extend(iterator)

    assert [int(x) for x in got] == list(range(57))
    assert feed_threads() == []


def test_an_error_of_a_function_names_stage_row_and_text():
    with pytest.raises(
        StageError, match=r"map\(failing at .*test_engine\.py:\d+\) failed at row 57: ValueError: no 57"
    ) as caught:
        list(wf.from_arrays(np.arange(100)).map(failing))

    assert (caught.value.row, type(caught.value.__cause__)) == (57, ValueError)


def test_an_error_in_a_shuffled_data_set_names_the_row_of_the_source():
    with pytest.raises(StageError, match="failed at row 57"):
        list(wf.from_arrays(np.arange(100)).shuffle(seed=0).map(failing).batch(8))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # That is the point.
def test_a_running_iterator_raises_in_a_forked_child():
    iterator = iter(numbers())
    next(iterator)
    child = os.fork()
    if child == 0:
        try:
            next(iterator)
        except RuntimeError as error:
            os._exit(0 if "made before a fork" in str(error) else 2)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    iterator.close()

    assert os.waitstatus_to_exitcode(status) == 0


def test_a_program_that_ends_with_a_running_iterator_ends():
    program = (
        "import numpy as np, wellfed as wf\n"
        "iterator = iter(wf.from_arrays(np.arange(10**6)).batch(2))\n"
        "next(iterator)\n"
        "print('end of the program')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "end of the program\n", "")


@pytest.mark.parametrize("verb", [lambda d: d, lambda d: d.filter(lambda x: True)], ids=["rows", "stream"])
def test_ctrl_c_does_not_wait_for_a_users_function(verb):
    gate = threading.Event()

    def stuck(x):
        if x == 5:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # As Ctrl-C does.
            gate.wait()
        return x

    dataset = verb(wf.from_arrays(np.arange(100)).map(stuck)).with_options(threads=2)
    with pytest.raises(KeyboardInterrupt):
        list(dataset)
    left = feed_threads()
    gate.set()
    for thread in left:
        thread.join(60)

    assert len(left) >= 1  # The function was still in its call.
    assert feed_threads() == []


def test_ctrl_c_before_a_thread_has_started_is_ctrl_c(monkeypatch):
    start = threading.Thread.start

    def interrupted(thread):
        if thread.name == "wellfed-feed-1":
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(numbers())

    assert feed_threads() == []


def test_a_stream_that_is_left_anywhere_leaves_no_thread_and_needs_no_collector():
    gc.disable()  # A circle of references would hold the threads below the stream.
    try:
        for stop in range(60):
            for number, _ in enumerate(wf.feed.range(100_000).filter(lambda x: x % 2 == 0).batch(4).repeat()):
                if number > stop % 40:
                    break
            assert feed_threads() == []
    finally:
        gc.enable()


def test_a_filter_that_rejects_everything_ends_with_its_iterator():
    gate, seen = threading.Event(), []

    def reject(x):
        seen.append(x)
        if len(seen) == 1000:
            gate.set()
        return False

    iterator = iter(wf.feed.range(10**12).filter(reject))
    taker = threading.Thread(target=lambda: next(iterator, None))
    taker.start()
    gate.wait(60)
    iterator.close()
    taker.join(60)

    assert not taker.is_alive()
    assert feed_threads() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # That is the point.
def test_a_child_that_drops_its_parents_iterator_leaves_the_parents_threads_alone():
    held = [iter(numbers())]
    next(held[0])

    assert child_that_drops(held) == 0
    assert sum(len(batch) for batch in held[0]) == 100_000 - 10
    assert feed_threads() == []


def test_a_running_iterator_does_not_pickle():
    iterator = iter(numbers())

    with pytest.raises(TypeError, match="save state_dict"):
        iterator.__reduce__()
