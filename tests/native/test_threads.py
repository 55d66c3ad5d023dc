"""The native module among threads: the GIL is off while it works, and nothing is shared between calls."""

import functools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from wellfed import _native

SIZE = 32 << 20


@functools.cache
def noise():
    return np.random.default_rng(0).bytes(SIZE)


@functools.cache
def records():
    return _native.frame_records(noise(), np.arange(0, SIZE, 1024), np.full(SIZE // 1024, 1024))


CALLS = {
    "crc32c": lambda: _native.crc32c(noise()),
    "masked_crc32c": lambda: _native.masked_crc32c(noise()),
    "crc32c_with": lambda: _native.crc32c_with("portable", noise()),
    "scan_frames": lambda: _native.scan_frames(records()),
    "find_frame": lambda: _native.find_frame(noise()),
    "find_frame_in_stream": lambda: _native.find_frame_in_stream(noise()),
    "FrameSearch.scan": lambda: _native.FrameSearch(records()).scan(),
    "FrameSearch.find": lambda: _native.FrameSearch(noise()).find(),
    "frame_records": lambda: _native.frame_records(noise(), np.array([0]), np.array([SIZE])),
    "permute_range": lambda: _native.permute_range(2**40, 0, 0, 1_000_000),
    "permute_apply": lambda: _native.permute_apply(2**40, 0, np.arange(1_000_000, dtype=np.uint64)),
}


@pytest.fixture
def no_switching():
    """Makes threads hand the GIL over only where they give it away themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_another_thread_runs_while_the_call_works(call, no_switching):
    working, other_ran = threading.Event(), threading.Event()
    outcome = []
    call()  # Its arguments are made once, before the threads.

    def work():
        working.set()
        deadline = time.monotonic() + 20
        # Between the calls nothing gives the GIL away, so only inside one can the other thread set its event.
        while not other_ran.is_set() and time.monotonic() < deadline:
            call()
        outcome.append(other_ran.is_set())

    thread = threading.Thread(target=work, name="native call")
    thread.start()
    working.wait()
    other_ran.set()
    thread.join()

    assert outcome == [True]


def test_threads_that_call_everything_at_once_get_what_one_gets():
    search = _native.FrameSearch(records()[:200_000])
    small = {
        "FrameSearch.scan": lambda: sum(search.scan()[0].tolist()),
        "FrameSearch.find": lambda: search.find(7),
        "crc32c": lambda: _native.crc32c(noise()[:100_000]),
        "scan_frames": lambda: sum(_native.scan_frames(records()[:1_000_000])[0].tolist()),
        "find_frame": lambda: _native.find_frame(records()[:100_000], 5),
        "frame_records": lambda: _native.frame_records(noise()[:1000], np.array([10, 0]), np.array([20, 1000])),
        "permute_range": lambda: _native.permute_range(10**9, 7, 0, 5000).tobytes(),
    }
    due = {name: call() for name, call in small.items()}

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: (name, small[name]()), list(small) * 50))

    assert len(found) == 50 * len(small)
    assert all(value == due[name] for name, value in found)
