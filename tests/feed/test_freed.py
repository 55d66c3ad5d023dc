"""A feed is freed by counting references alone, without the garbage collector: at its end, dropped, after an error."""

from __future__ import annotations

import gc
import weakref

import pytest
from leftovers import feed_threads

from wellfed import feed
from wellfed.errors import PlanError, StageError


class Fails:
    """A function that fails on one number; its life is that of whatever holds it."""

    def __call__(self, x):
        if x == 33:
            raise ValueError("this one")
        return x


PLANS = {
    "rows": lambda f: feed.range(99).map(f),
    "rows in any order": lambda f: feed.range(99).map(f, deterministic=False),
    "batches": lambda f: feed.range(99).map(f).batch(8),
    "batches of a shard": lambda f: feed.range(99).shuffle(seed=0).map(f).shard(1, 0).batch(8),
    "a cache": lambda f: feed.range(99).map(f).cache().batch(8),
    "a cache where rows are replaced": lambda f: (
        feed.range(99).map(f).cache().batch(8).with_options(on_error="replace", max_errors=0)
    ),
    "a cache of batches": lambda f: (
        feed.range(99).map(f).batch(8).cache().with_options(on_error="replace", max_errors=0)
    ),
    "no row to replace one by": lambda f: feed.range(33, 34).map(f).with_options(on_error="replace"),
    "rows replaced": lambda f: feed.range(99).map(f).with_options(on_error="replace", max_errors=0),
    "batches in any order": lambda f: (
        feed.range(99).map(f, deterministic=False).batch(8).with_options(on_error="replace", max_errors=0)
    ),
    "batches full": lambda f: feed.range(99).map(f).batch(8).with_options(on_error="skip", max_errors=0),
    "rows left out": lambda f: feed.range(99).map(f).with_options(on_error="skip", max_errors=0),
    "rows left out of a stream": lambda f: (
        feed.range(99).filter(lambda _: True).map(f).with_options(on_error="skip", max_errors=0)
    ),
    "a stream": lambda f: feed.range(99).filter(lambda _: True).map(f),
    "a filter": lambda f: feed.range(99).filter(lambda x: f(x) >= 0),
    "a stream over rows": lambda f: feed.range(99).map(f).filter(lambda _: True).batch(8),
    "a stream of turns": lambda f: feed.range(99).map(f).filter(lambda _: True).repeat(2).shuffle(9, seed=0),
    "a stream within": lambda f: feed.range(3).flat_map(lambda _: feed.range(99).map(f)),
    "streams side by side": lambda f: feed.range(99).filter(lambda _: True).zip(feed.range(99).map(f)),
    "a cached stream": lambda f: feed.range(99).filter(lambda _: True).map(f).cache(),
    "batches taken apart": lambda f: feed.range(99).map(f).batch(8).unbatch(),
}
GOOD_AT_FIRST = {name: build for name, build in PLANS.items() if name != "no row to replace one by"}


@pytest.fixture
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def error_of(dataset):
    """A reference to the error that an iteration ends with."""
    iterator = iter(dataset)
    try:
        for _ in iterator:
            pass
    except (StageError, PlanError) as error:
        return weakref.ref(error)
    raise AssertionError("no error came")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("build", PLANS.values(), ids=PLANS)
def test_after_an_error_nothing_needs_the_garbage_collector(build, threads, no_collection):
    function = Fails()
    error = error_of(build(function).with_options(threads=threads))
    held = weakref.ref(function)
    del function

    assert (error(), held()) == (None, None)


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("build", GOOD_AT_FIRST.values(), ids=GOOD_AT_FIRST)
def test_what_is_dropped_after_some_elements_needs_no_garbage_collector(build, count, no_collection):
    function = Fails()
    iterator = iter(build(function).take(count).with_options(threads=2, on_error="raise"))
    next(iterator, None)
    held = weakref.ref(function)
    del function, iterator
    for thread in feed_threads():
        thread.join()

    assert held() is None


def test_an_error_that_is_one_too_many_says_where_the_function_raised(no_collection):
    dataset = feed.range(99).map(Fails()).with_options(on_error="replace", max_errors=0)
    with pytest.raises(StageError, match="this one") as caught:
        list(dataset)

    (note,) = caught.value.__cause__.__notes__
    assert note.startswith("Raised in __call__ at ")
    assert note.endswith(f"test_freed.py:{Fails.__call__.__code__.co_firstlineno + 2}.")


class Always:
    """A function that raises one error again and again, as its own cause."""

    def __init__(self):
        self.error = ValueError("this one")

    def __call__(self, x):
        if x % 2:
            raise self.error from self.error
        return x


def test_an_error_that_is_its_own_cause_and_comes_again_is_told_once_a_row():
    function = Always()
    iterator = iter(feed.range(20).map(function).with_options(on_error="replace"))
    list(iterator)

    assert [row.position for row in iterator.stats().replaced] == list(range(1, 20, 2))
    assert len(function.error.__notes__) == 1
