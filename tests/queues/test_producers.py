"""Queues that are filled epoch after epoch: names, numbers, slices."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from wellfed.errors import OutOfRangeError
from wellfed.queues import (
    Coordinator,
    input_producer,
    limit_epochs,
    range_input_producer,
    slice_input_producer,
    start_queue_runners,
    string_input_producer,
)


def drain(source):
    start_queue_runners([source])
    got = []
    while True:
        try:
            got.append(source.dequeue())
        except OutOfRangeError:
            return got


def stopped(source, count):
    """The first values of a source without an end."""
    coord = Coordinator()
    threads = start_queue_runners([source], coord)
    got = [source.dequeue() for _ in range(count)]
    coord.request_stop()
    coord.join(threads)
    return got


def test_without_shuffle_the_epochs_follow_in_order():
    assert b"".join(drain(string_input_producer(["A", "B", "C"], num_epochs=3, shuffle=False))) == b"ABCABCABC"


def test_without_a_limit_the_epochs_go_on():
    assert b"".join(stopped(string_input_producer(["A", "B"], shuffle=False), 7)) == b"ABABABA"


def test_every_shuffled_epoch_has_each_name_once():
    got = drain(string_input_producer(["A", "B", "C"], num_epochs=50, seed=7))
    epochs = [got[i : i + 3] for i in range(0, 150, 3)]

    assert all(sorted(epoch) == [b"A", b"B", b"C"] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 6


def test_a_seed_fixes_the_orders_of_all_epochs():
    first, again = (drain(range_input_producer(20, num_epochs=3, seed=5)) for _ in range(2))

    assert first == again
    assert first[:20] != first[20:40]


def test_a_queue_smaller_than_the_list_still_shuffles_the_whole_list():
    got = drain(range_input_producer(100, num_epochs=1, capacity=2, seed=1))

    assert sorted(got) == list(range(100))
    assert max(abs(number - place) for place, number in enumerate(got)) > 50


def test_numbers_come_as_int64():
    queue = range_input_producer(3, num_epochs=1, shuffle=False)

    assert [type(number) for number in drain(queue)] == [np.int64] * 3


def test_rows_of_any_array_can_be_produced():
    got = drain(input_producer(np.arange(6, dtype=np.float32).reshape(3, 2), num_epochs=1, shuffle=False))

    assert np.array(got).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert got[0].dtype == np.float32


def test_an_element_shape_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"element_shape is \(3,\), and the rows have shape \(2,\)"):
        input_producer(np.zeros((4, 2)), element_shape=[3])


@pytest.mark.parametrize("make", [lambda: input_producer([]), lambda: range_input_producer(0)])
def test_no_rows_are_refused(make):
    with pytest.raises(ValueError, match="at least one row, got none"):
        make()


def test_a_single_value_is_refused():
    with pytest.raises(ValueError, match="needs rows along axis 0, got the single value 5"):
        input_producer(5)


def test_no_strings_are_refused():
    with pytest.raises(ValueError, match="string_input_producer requires a non-null input tensor"):
        string_input_producer([])


@pytest.mark.parametrize("num_epochs", [0, -1])
def test_less_than_one_epoch_is_refused(num_epochs):
    with pytest.raises(ValueError, match=f"num_epochs must be > 0, got {num_epochs}"):
        string_input_producer(["A"], num_epochs=num_epochs)


def test_slices_of_all_arrays_stay_together():
    images = np.arange(20).reshape(10, 2)
    labels = [f"label {n}" for n in range(10)]

    got = drain(slice_input_producer([images, labels], num_epochs=2, seed=3))

    assert len(got) == 20
    assert all(label == b"label %d" % (image[0] // 2) for image, label in got)


def test_strings_keep_every_byte():
    (got,) = drain(slice_input_producer([[b"a\0"]], num_epochs=1))

    assert got == (b"a\0",)


def test_a_slice_is_a_copy():
    images = np.zeros((2, 3))
    (image,) = drain(slice_input_producer([images], num_epochs=1))[0]
    image[:] = 7

    assert images.max() == 0


@pytest.mark.parametrize(
    ("arrays", "message"), [([], "at least one array"), ([[1, 2], [1, 2, 3]], r"arrays of one length, got \[2, 3\]")]
)
def test_arrays_that_cannot_be_sliced_together_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        slice_input_producer(arrays)


def test_a_cancel_operation_is_handed_to_the_runner():
    called = []
    queue = string_input_producer(["A"], num_epochs=1, cancel_op=lambda: called.append("cancel"))
    coord = Coordinator()
    start_queue_runners([queue], coord)
    queue.dequeue()
    coord.request_stop()
    coord.join()

    assert called == ["cancel"]


def test_a_stop_frees_a_producer_whose_queue_is_full():
    queue = string_input_producer(["A", "B", "C"], capacity=1)
    coord = Coordinator()
    threads = start_queue_runners([queue], coord)
    queue.dequeue()

    coord.request_stop()
    coord.join(threads)

    assert queue.is_closed()


def test_limit_epochs_calls_so_often_and_then_says_that_it_is_over():
    limited = limit_epochs(lambda: "again", 2)

    assert (limited(), limited()) == ("again", "again")
    with pytest.raises(OutOfRangeError, match="reached the limit of 2 epochs"):
        limited()


def test_limit_epochs_without_a_limit_is_the_function_itself():
    def source():
        return 1

    assert limit_epochs(source) is source


def test_limit_epochs_counts_over_all_threads():
    calls, ended = [], []
    limited = limit_epochs(lambda: calls.append(1), 100)

    def work():
        try:
            while True:
                limited()
        except OutOfRangeError:
            ended.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(calls), len(ended)) == (100, 4)
