"""Iterators that the garbage collector finds, wherever it runs."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from leftovers import feed_threads

import wellfed as wf

PATIENCE_S = 30


@pytest.fixture
def no_collection_of_its_own():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


VERBS = {
    "addressable": lambda dataset: dataset.batch(4),
    "a stream over an engine": lambda dataset: dataset.filter(lambda _: True).batch(4),
}


@pytest.mark.parametrize("verbs", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_collection_in_a_thread_of_the_feed_itself_ends_the_feed(verbs, threads, no_collection_of_its_own):
    dropped, collected = threading.Event(), threading.Event()

    def collect(element):
        if (
            element >= 100 and not collected.is_set() and dropped.wait(PATIENCE_S)
        ):  # Not in the first units, for which `next` waits.
            gc.collect()
            collected.set()
        return element

    cycle = [iter(verbs(wf.from_arrays(np.arange(999)).map(collect)).with_options(threads=threads))]
    cycle.append(cycle)
    next(cycle[0])
    running = feed_threads()
    del cycle
    dropped.set()

    assert running
    assert collected.wait(PATIENCE_S)
    for thread in running:
        thread.join(PATIENCE_S)
    assert feed_threads() == []


def test_threads_that_begin_at_a_time_draw_the_same_seed():
    dataset = wf.from_arrays(np.arange(999)).shuffle().batch(999)
    start, found = threading.Barrier(4), []

    def read():
        start.wait(PATIENCE_S)
        found.append(next(dataset.epoch(0)).tolist())

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()

    assert len(found) == 4
    assert all(order == found[0] for order in found)
