"""Batches that are made ahead: `batch`, `shuffle_batch` and their kin."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from wellfed.errors import InvalidArgumentError, OutOfRangeError
from wellfed.queues import (
    Coordinator,
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
    start_queue_runners,
)


def numbers(stop, start=0):
    """A source of numbers from several threads."""
    lock, counter = threading.Lock(), iter(range(start, stop))

    def source():
        with lock:
            return next(counter)

    return source


def drain(stream):
    threads = start_queue_runners([stream])
    batches = list(stream)
    for thread in threads:
        thread.join()
    return batches


def flat(batches):
    return [int(n) for numbers in batches for n in numbers]


def test_batches_come_in_order_and_the_remainder_is_dropped():
    assert [b.tolist() for b in drain(batch(numbers(7), 3))] == [[0, 1, 2], [3, 4, 5]]


def test_a_smaller_final_batch_can_be_allowed():
    batches = drain(batch(numbers(7), 3, allow_smaller_final_batch=True))

    assert [b.tolist() for b in batches] == [[0, 1, 2], [3, 4, 5], [6]]


def test_the_elements_of_a_dropped_remainder_stay_in_the_queue():
    stream = batch(numbers(7), 3)
    drain(stream)

    assert stream.queue.size() == 1


@pytest.mark.parametrize(
    ("element", "due"),
    [
        (lambda n: n, "[0, 1]"),
        (lambda n: [n], "[0, 1]"),
        (lambda n: (n, n), "([0, 1], [0, 1])"),
        (lambda n: {"x": n, "y": -n}, "{'x': [0, 1], 'y': [0, -1]}"),
    ],
)
def test_a_batch_has_the_form_of_its_elements(element, due):
    source = numbers(2)
    (got,) = drain(batch(lambda: element(source()), 2))

    as_lists = (
        {key: column.tolist() for key, column in got.items()}
        if isinstance(got, dict)
        else tuple(column.tolist() for column in got)
        if isinstance(got, tuple)
        else got.tolist()
    )
    assert repr(as_lists) == due


def test_arrays_are_stacked_and_strings_kept():
    source = numbers(4)
    images, names = drain(batch(lambda: (np.full((2, 3), source(), np.float32), "n"), 4))[0]

    assert (images.shape, images.dtype, names.tolist()) == ((4, 2, 3), np.float32, [b"n"] * 4)


def test_several_threads_share_one_source():
    assert sorted(flat(drain(batch(numbers(100), 5, num_threads=4)))) == list(range(100))


def test_enqueue_many_takes_many_elements_a_call():
    rounds = iter(range(2))
    stream = batch(lambda: np.arange(6) + 10 * next(rounds), 4, enqueue_many=True)

    assert [b.tolist() for b in drain(stream)] == [[0, 1, 2, 3], [4, 5, 10, 11], [12, 13, 14, 15]]


def test_dynamic_pad_pads_to_the_largest_of_a_batch():
    source = numbers(4)
    batches = drain(batch(lambda: np.arange(source()), 2, dynamic_pad=True))

    assert [b.tolist() for b in batches] == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]


def test_without_dynamic_pad_another_shape_is_the_producers_error():
    source = numbers(4)
    stream = batch(lambda: np.arange(1 + source()), 2)
    start_queue_runners([stream])

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        stream()
    assert "expected [1], got [2]" in str(caught.value.__cause__)


def test_given_dtypes_and_shapes_hold_for_the_first_element_too():
    stream = batch(numbers(4), 2, dtypes=[np.float32], shapes=[[]])

    assert drain(stream)[0].dtype == np.float32


def test_a_stream_whose_producer_failed_raises_instead_of_ending():
    def source():
        raise ValueError("no such sample")

    stream = batch(source, 2)
    start_queue_runners([stream])

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        list(stream)
    assert str(caught.value.__cause__) == "no such sample"


def test_a_source_may_end_with_out_of_range():
    source = numbers(2)

    def ends():
        try:
            return source()
        except StopIteration:
            raise OutOfRangeError(None, None, "no more") from None

    assert flat(drain(batch(ends, 2))) == [0, 1]


def test_a_shuffled_batch_has_other_neighbours():
    got = flat(drain(shuffle_batch(numbers(200), 10, capacity=100, min_after_dequeue=50, seed=1)))

    assert sorted(got) == list(range(200))
    assert got != list(range(200))


def test_a_shuffled_batch_waits_until_enough_elements_mix():
    gate = threading.Event()
    source = numbers(100)

    def slow():
        number = source()
        if number == 55:
            gate.wait()
        return number

    stream = shuffle_batch(slow, 10, capacity=100, min_after_dequeue=50)
    coord = Coordinator()
    threads = start_queue_runners([stream], coord)
    with pytest.raises(TimeoutError, match="dequeue"):
        stream.dequeue(timeout=0.01)  # 55 are in at most, and 60 are due.

    gate.set()
    assert len(stream()) == 10
    coord.request_stop()
    coord.join(threads)


def test_a_shuffling_capacity_must_exceed_the_minimum():
    with pytest.raises(ValueError, match="capacity 50 must be bigger than min_after_dequeue 50"):
        shuffle_batch(numbers(1), 10, capacity=50, min_after_dequeue=50)


@pytest.mark.parametrize("join", [batch_join, lambda s, n: shuffle_batch_join(s, n, capacity=40, min_after_dequeue=9)])
def test_join_gives_the_elements_of_all_sources(join):
    got = flat(drain(join([numbers(30), numbers(160, start=100), numbers(210, start=200)], 5)))

    assert sorted(got) == [*range(30), *range(100, 160), *range(200, 210)]


def test_join_needs_a_source():
    with pytest.raises(ValueError, match="at least one source is due"):
        batch_join([], 5)


def test_a_filter_keeps_the_elements_it_says():
    assert flat(drain(maybe_batch(numbers(10), lambda n: n % 3 == 0, 2))) == [0, 3, 6, 9]


def test_a_filter_may_be_one_truth_for_all():
    assert flat(drain(maybe_batch(numbers(4), True, 2))) == [0, 1, 2, 3]
    assert drain(maybe_batch(numbers(4), False, 2)) == []


@pytest.mark.parametrize("form", [lambda n: n, lambda n: [n], lambda n: {"x": n}], ids=["bare", "list", "dict"])
def test_a_filter_with_enqueue_many_may_say_it_of_each(form):
    rounds = iter(range(3))
    stream = maybe_batch(
        lambda: form(np.arange(4) + 4 * next(rounds)),
        lambda many: (many["x"] if isinstance(many, dict) else np.ravel(many)) % 2 == 0,
        2,
        enqueue_many=True,
    )
    batches = drain(stream)

    assert flat(b["x"] if isinstance(b, dict) else b for b in batches) == [0, 2, 4, 6, 8, 10]


def test_filtered_strings_keep_every_byte():
    once = iter([[b"a\0", b"b\0"]])
    stream = maybe_batch(lambda: [next(once)], lambda element: [False, True], 1, enqueue_many=True)

    assert drain(stream)[0].tolist() == [b"b\0"]


@pytest.mark.parametrize(
    ("many", "keep", "message"),
    [
        (False, [True], "must be one truth: a vector needs enqueue_many"),
        (True, [[True]], r"or a vector of them, got shape \(1, 1\)"),
    ],
)
def test_a_filter_of_another_shape_is_refused(many, keep, message):
    stream = maybe_batch(lambda: np.zeros(1), lambda element: keep, 1, enqueue_many=many)
    start_queue_runners([stream])

    with pytest.raises(OutOfRangeError, match="is closed") as caught:
        stream()
    assert isinstance(caught.value.__cause__, InvalidArgumentError)
    with pytest.raises(InvalidArgumentError, match=message):
        raise caught.value.__cause__


def test_the_other_three_filter_too():
    def odd(number):
        return number % 2

    sources = [numbers(10), numbers(20, start=10)]
    got = [
        drain(maybe_batch_join(sources, odd, 5)),
        drain(maybe_shuffle_batch(numbers(20), 5, 40, 3, odd)),
        drain(maybe_shuffle_batch_join([numbers(10), numbers(20, start=10)], 5, 40, 3, odd)),
    ]

    assert [sorted(flat(batches)) for batches in got] == [list(range(1, 20, 2))] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: batch(numbers(1), 0), "batch_size must be at least 1 element, got 0"),
        (lambda: batch(numbers(1), 1, num_threads=0), "num_threads must be at least 1, got 0"),
    ],
)
def test_options_are_checked_when_given(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'capasity'"):
        batch(numbers(1), 1, capasity=3)


def test_batches_of_batches_pass_through_a_chain():
    inner = batch(numbers(12), 2)
    outer = batch(inner, 3, enqueue_many=True)
    threads = start_queue_runners([inner, outer])

    assert flat(outer) == list(range(12))
    for thread in threads:
        thread.join()


def test_a_stop_ends_a_batcher_whose_queue_is_full():
    counter = itertools.count()
    stream = batch(lambda: next(counter), 2, capacity=4)
    coord = Coordinator()
    threads = start_queue_runners([stream], coord)
    first = stream()

    coord.request_stop()
    coord.join(threads)

    assert first.tolist() == [0, 1]


def test_a_stream_says_which_queue_is_behind_it():
    assert repr(batch(numbers(1), 1, name="pairs")) == "<Stream of <FIFOQueue 'pairs': size 0, open>>"
