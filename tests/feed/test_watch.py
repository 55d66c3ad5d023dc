"""A consumer that waits for long says who makes its element, and where every thread stands."""

import logging
import threading

import numpy as np
import pytest
from feed_model import plain

import wellfed as wf
from wellfed.feed.engine import Engine, UnitSize
from wellfed.feed.tuning import Pace, ReadAhead, ThreadCount
from wellfed.feed.unit import Unit


class Release(logging.Handler):
    """Keeps what is logged, and opens a gate after so many lines."""

    def __init__(self, after=1):
        super().__init__()
        self.gate, self.lines, self._after = threading.Event(), [], after

    def emit(self, record):
        self.lines.append(record.getMessage())
        if len(self.lines) >= self._after:
            self.gate.set()


@pytest.fixture
def release():
    handler = Release()
    logger = logging.getLogger("wellfed.feed")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    handler.gate.set()


def test_a_long_wait_names_the_thread_its_elements_and_the_line_of_the_users_function(release):
    def stuck(x):
        if x == 7:
            release.gate.wait()
        return x

    dataset = wf.from_arrays(np.arange(9)).map(stuck).with_options(threads=2, stall_seconds=0.01)
    found = [plain(x) for x in dataset]

    assert found == list(range(9))
    first, *threads = release.lines[0].split("\n  ")
    assert first.startswith("MainThread has waited for 0.0")
    assert "makes elements" in threads[0]
    assert "stuck (" in threads[0]
    assert "test_watch.py" in threads[0]


def test_a_wait_is_told_again_after_each_doubling(release):
    release._after = 3

    def stuck(x):
        release.gate.wait()
        return x

    list(wf.from_arrays(np.arange(1)).map(stuck).with_options(threads=1, stall_seconds=0.001))
    waits = [float(line.split("waited for ")[1].split(" s")[0]) for line in release.lines]

    assert waits[1] >= 2 * 0.001
    assert waits[2] >= 4 * 0.001


def test_in_a_stream_each_consumer_tells_of_its_own_wait(release):
    release._after = 2

    def stuck(x):
        release.gate.wait()
        return x

    dataset = wf.from_arrays(np.arange(3)).map(stuck).filter(lambda x: True)
    list(dataset.with_options(threads=1, stall_seconds=0.02))
    names = {line.split(" has waited")[0] for line in release.lines}

    assert names == {"MainThread", "wellfed-feed-0"}


def test_no_warning_is_wanted_with_0(release):
    list(wf.from_arrays(np.arange(1000)).map(lambda x: x).with_options(stall_seconds=0))

    assert release.lines == []


def test_a_negative_wait_is_refused():
    with pytest.raises(ValueError, match="stall_seconds must be a number of at least 0, got -1"):
        wf.from_arrays(np.arange(3)).with_options(stall_seconds=-1)


# --- Threads that come and go ----------------------------------------------------------------------


def numbered(start, stop):
    rows = np.arange(start, stop, dtype=np.uint64)
    return Unit(rows, None, rows)


def take_all(engine):
    found = []
    most = 0
    while (units := engine.take()) is not None:
        found += [int(x) for unit in units for x in unit]
        most = max(most, len([t for t in threading.enumerate() if t.name.startswith("wellfed-feed")]))
    engine.close()
    return found, most


def test_threads_that_are_added_and_taken_back_make_the_same_elements_and_end():
    times = iter(range(10**9))  # Each look at the clock is a second later, and the process was never busy.

    def clock():
        return float(next(times)), 0.0

    count = ThreadCount(1, 4)
    pace = Pace(ReadAhead(2, 8, 1 << 20), count, 1, clock)
    engine = Engine(numbered, lambda _, stop: min(stop, 3000), 0, threads=1, pace=pace, size=UnitSize(64))
    found, _ = take_all(engine)

    assert found == list(range(3000))
    assert [t for t in threading.enumerate() if t.name.startswith("wellfed-feed")] == []


def test_a_slow_source_gets_more_threads_than_cores():
    steps = iter(range(10**9))
    gate = threading.Barrier(2, timeout=60)  # One thread alone would not get through.

    def clock():
        return float(next(steps)), 0.0

    def slow(start, stop):
        if start >= 20:
            gate.wait()
        return numbered(start, stop)

    class Waits(ThreadCount):
        """As if every step made it faster."""

        def after_period(self, rate, waited, busy):
            del rate, waited
            return super().after_period(1.0 + next(steps), 1.0, busy)

    pace = Pace(ReadAhead(2, 8, 1 << 20), Waits(1, 2), 1, clock)
    engine = Engine(slow, lambda _, stop: min(stop, 40), 0, threads=1, pace=pace, size=UnitSize(8))
    found, most = take_all(engine)

    assert (found, most) == (list(range(40)), 2)


def test_in_any_order_the_oldest_unit_is_named(release):
    def stuck(x):
        if x == 0:
            release.gate.wait()
        return x

    dataset = wf.from_arrays(np.arange(9)).map(stuck, deterministic=False).with_options(threads=2, stall_seconds=0.01)

    assert sorted(plain(x) for x in dataset) == list(range(9))
    assert "s for unit 0\n" in release.lines[-1]
