"""What users put into a queue and get out of it: values, shapes, dtypes, names, ownership, errors."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

from wellfed.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from wellfed.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from wellfed.queues.engine import PutMany, Take

ONE_OF_EACH = [
    lambda: FIFOQueue(4, np.int64, shapes=[[]]),
    lambda: PaddingFIFOQueue(4, np.int64, shapes=[[]]),
    lambda: RandomShuffleQueue(4, 0, np.int64, shapes=[[]]),
]


@pytest.mark.parametrize("make", ONE_OF_EACH)
def test_what_goes_in_comes_out(make):
    queue = make()
    queue.enqueue_many([[1, 2, 3]])

    assert sorted(queue.dequeue_many(3).tolist()) == [1, 2, 3]


def test_a_fifo_queue_keeps_the_order_over_many_turns_of_its_ring():
    queue = FIFOQueue(-1, np.int64, shapes=[[]])
    got = []
    for start in range(0, 300, 3):
        queue.enqueue_many([range(start, start + 3)])
        got += queue.dequeue_many(2).tolist()
    got += queue.dequeue_many(100).tolist()

    assert got == list(range(300))


def test_a_negative_capacity_has_no_bound():
    queue = FIFOQueue(-1, np.int64, shapes=[[]])

    queue.enqueue_many([range(10_000)])

    assert queue.size() == 10_000


def test_a_capacity_of_zero_is_refused():
    with pytest.raises(ValueError, match=r"capacity must be at least 1 element, or negative .*, got 0"):
        FIFOQueue(0, np.int64)


def test_a_single_component_comes_bare_and_several_as_a_tuple():
    one, two = FIFOQueue(4, np.int64), FIFOQueue(4, [np.int64, np.float32])
    one.enqueue(1)
    two.enqueue((1, 2.5))

    assert one.dequeue() == 1
    assert two.dequeue() == (1, 2.5)


def test_named_components_go_in_and_come_out_as_a_dict():
    queue = FIFOQueue(4, [np.int64, bytes], shapes=[[], []], names=["x", "label"])
    queue.enqueue({"label": "a", "x": 1})
    queue.enqueue_many({"label": ["b", "c"], "x": [2, 3]})

    assert queue.dequeue() == {"x": 1, "label": b"a"}
    assert {name: column.tolist() for name, column in queue.dequeue_many(2).items()} == {
        "x": [2, 3],
        "label": [b"b", b"c"],
    }


@pytest.mark.parametrize(
    ("names", "element", "message"),
    [
        (["x", "y"], [1, 2], "has names, so it takes a dict"),
        (["x", "y"], {"x": 1, "z": 2}, r"takes the names \['x', 'y'\], got \['x', 'z'\]"),
        (None, {"x": 1, "y": 2}, "has no names, so it takes no dict"),
        (None, [1, 2, 3], "takes 2 components, got 3"),
    ],
)
def test_an_element_with_other_components_is_refused(names, element, message):
    queue = FIFOQueue(4, [np.int64, np.int64], names=names)

    with pytest.raises(ValueError, match=message):
        queue.enqueue(element)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.int64, 5),
        (np.int32, np.int64(5)),
        (np.float32, 1.5),
        (np.float32, 2),
        (np.float32, np.float64(1.5)),
        (np.uint8, 255),
        (np.bool_, True),
        (bytes, b"\0a\0"),
    ],
)
def test_a_value_is_kept_in_the_queues_dtype(dtype, value):
    queue = FIFOQueue(2, dtype, shapes=[[]])
    queue.enqueue([value])
    got = queue.dequeue()

    assert got == value
    assert type(got) is (bytes if dtype is bytes else dtype)


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        (np.int64, 1.5, TypeError, "component 0 of FIFOQueue is int64, got float64"),
        (np.bool_, 1, TypeError, "is bool, got int64"),
        (np.int64, "1", TypeError, "is int64, got <U1"),
        (bytes, 7, TypeError, "holds byte strings, got int"),
        (np.int32, np.int64(1 << 40), OverflowError, "is int32, got values from 1099511627776 to 1099511627776"),
        (np.uint8, np.array(-1), OverflowError, "is uint8, got values from -1 to -1"),
    ],
)
def test_a_value_that_would_lose_information_is_refused(dtype, value, error, message):
    queue = FIFOQueue(2, dtype, shapes=[[]])

    with pytest.raises(error, match=message):
        queue.enqueue([value])


def test_a_text_is_kept_as_utf8():
    queue = FIFOQueue(2, bytes)
    queue.enqueue("é")

    assert queue.dequeue() == "é".encode()


@pytest.mark.parametrize("make", [lambda: FIFOQueue(4, np.int64, shapes=[[2]]), lambda: FIFOQueue(4, np.int64)])
def test_an_element_shares_no_memory_with_what_the_caller_put_in(make):
    queue, mine = make(), np.array([1, 2])
    queue.enqueue([mine])
    mine[:] = 0

    assert queue.dequeue().tolist() == [1, 2]


@pytest.mark.parametrize("capacity", [4, 1], ids=["at once", "waiting"])
@pytest.mark.parametrize("shape", [[], [600]])
def test_a_batch_shares_no_memory_with_what_the_caller_put_in(capacity, shape):
    queue, mine = FIFOQueue(capacity, np.int64, shapes=[shape]), np.ones((2, *shape), np.int64)
    producer = threading.Thread(target=lambda: (queue.enqueue_many([mine]), mine.fill(0)))
    producer.start()

    got = queue.dequeue_many(2)
    producer.join()

    assert got.min() == 1


def test_what_waits_in_an_enqueue_many_is_a_copy():
    engine, mine = FIFOQueue(1, np.int64, shapes=[[]])._engine, np.array([1, 2])
    engine.begin_put(PutMany((mine,)))
    mine[:] = 0

    assert engine.take_many(2, None)[0].tolist() == [1, 2]


@pytest.mark.parametrize("shape", [[2], [600]])
def test_elements_of_one_batch_share_no_memory(shape):
    queue = FIFOQueue(4, np.int64, shapes=[shape])
    queue.enqueue_many([np.zeros((2, *shape), np.int64)])
    first, second = queue.dequeue(), queue.dequeue()
    first[:] = 7

    assert second.tolist() == [0] * shape[0]
    assert first.flags.owndata
    assert first.flags.writeable


def test_another_shape_is_refused_with_both_shapes():
    queue = FIFOQueue(4, [np.int64, np.float32], shapes=[[], [2, 3]], name="pairs")

    with pytest.raises(InvalidArgumentError, match=r"component 1 of FIFOQueue 'pairs': expected \[2,3\], got \[3,2\]"):
        queue.enqueue([1, np.zeros((3, 2))])


def test_enqueue_many_needs_columns_of_one_length():
    queue = FIFOQueue(4, [np.int64, np.int64], shapes=[[], []])

    with pytest.raises(InvalidArgumentError, match=r"one number of rows, got shapes \[\(2,\), \(3,\)\]"):
        queue.enqueue_many([[1, 2], [1, 2, 3]])


def test_enqueue_many_refuses_a_single_value():
    queue = FIFOQueue(4, np.int64)

    with pytest.raises(InvalidArgumentError, match=r"one number of rows, got shapes \[\(\)\]"):
        queue.enqueue_many([5])


def test_without_shapes_elements_may_differ_and_cannot_be_stacked():
    queue = FIFOQueue(4, np.int64)
    queue.enqueue([[1, 2]])
    queue.enqueue([[[3]]])

    assert queue.dequeue().tolist() == [1, 2]
    with pytest.raises(InvalidArgumentError, match="need the shapes of all components"):
        queue.dequeue_many(1)


def test_dequeue_many_of_none_gives_no_rows():
    queue = FIFOQueue(4, [np.int64, bytes], shapes=[[3], []])

    numbers, names = queue.dequeue_many(0)

    assert (numbers.shape, numbers.dtype, names.shape) == ((0, 3), np.int64, (0,))


def test_a_negative_count_is_refused():
    with pytest.raises(InvalidArgumentError, match="cannot take -1 elements"):
        FIFOQueue(4, np.int64, shapes=[[]]).dequeue_many(-1)


def test_without_dtypes_the_first_element_decides():
    queue = FIFOQueue(4)
    queue.enqueue((1, "a", np.zeros(2, np.float32)))

    assert queue.dtypes == (np.int64, np.dtype(object), np.float32)
    assert queue.shapes == ((), (), (2,))
    with pytest.raises(InvalidArgumentError, match=r"expected \[2\], got \[3\]"):
        queue.enqueue((1, "a", np.zeros(3, np.float32)))


@pytest.mark.parametrize("element", [5, b"text", np.zeros(2)], ids=["number", "text", "array"])
def test_without_dtypes_a_dequeue_may_wait_for_the_first_element(element):
    queue, got = FIFOQueue(4), []
    consumer = threading.Thread(target=lambda: got.append(queue.dequeue()))
    consumer.start()
    while queue.waiting() != (0, 1):
        consumer.join(0.001)

    queue.enqueue([element])
    consumer.join()

    assert np.array_equal(got[0], element)


def test_without_dtypes_a_first_dict_gives_the_names():
    queue = FIFOQueue(4)
    queue.enqueue_many({"x": [1, 2], "y": [3.0, 4.0]})

    assert queue.names == ("x", "y")
    assert queue.dequeue() == {"x": 1, "y": 3.0}


def test_without_dtypes_a_padding_queue_lets_every_dimension_vary():
    queue = PaddingFIFOQueue(4)
    queue.enqueue([[1, 2]])
    queue.enqueue([[3]])

    assert queue.dequeue_many(2).tolist() == [[1, 2], [3, 0]]


def test_a_batch_is_padded_with_zeros_and_empty_strings():
    queue = PaddingFIFOQueue(4, [np.float32, bytes], shapes=[[None, 2], [None]])
    queue.enqueue([np.ones((1, 2)), ["a", "b"]])
    queue.enqueue([np.ones((2, 2)), []])
    numbers, names = queue.dequeue_many(2)

    assert numbers.tolist() == [[[1, 1], [0, 0]], [[1, 1], [1, 1]]]
    assert names.tolist() == [[b"a", b"b"], [b"", b""]]


def test_a_single_element_of_a_padding_queue_is_not_padded():
    queue = PaddingFIFOQueue(4, np.int64, shapes=[[None]])
    queue.enqueue([[1]])
    queue.enqueue([[1, 2]])

    assert queue.dequeue().tolist() == [1]


def test_a_padding_queue_refuses_another_rank_and_another_fixed_dimension():
    queue = PaddingFIFOQueue(4, np.int64, shapes=[[None, 2]])

    with pytest.raises(InvalidArgumentError, match=r"expected \[\?,2\], got \[2,3\]"):
        queue.enqueue([np.zeros((2, 3), int)])
    with pytest.raises(InvalidArgumentError, match=r"expected \[\?,2\], got \[2\]"):
        queue.enqueue([[1, 2]])


def test_a_padding_queue_needs_its_ranks():
    with pytest.raises(ValueError, match="needs the rank of every component"):
        PaddingFIFOQueue(4, [np.int64])


def test_dequeue_many_of_none_from_a_padding_queue_has_open_dimensions_of_zero():
    assert PaddingFIFOQueue(4, np.int64, shapes=[[None, 2]]).dequeue_many(0).shape == (0, 0, 2)


def test_a_shuffling_queue_gives_each_element_once_in_another_order():
    queue = RandomShuffleQueue(1000, 0, np.int64, shapes=[[]], seed=3)
    queue.enqueue_many([range(1000)])
    got = queue.dequeue_many(1000).tolist()

    assert got != list(range(1000))
    assert sorted(got) == list(range(1000))


def test_a_seed_fixes_a_shuffling_queues_order_however_the_elements_are_asked_for():
    orders = []
    for counts in ([50], [1] * 50, [20, 30]):
        queue = RandomShuffleQueue(50, 0, np.int64, shapes=[[]], seed=5)
        queue.enqueue_many([range(50)])
        orders.append([n for count in counts for n in queue.dequeue_many(count).tolist()])

    assert orders[0] == orders[1] == orders[2]


def test_every_place_of_a_shuffling_queue_is_drawn_about_equally_often():
    queue = RandomShuffleQueue(10, 0, np.int64, shapes=[[]], seed=1)
    firsts = np.zeros(10, int)
    for _ in range(2000):
        queue.enqueue_many([range(10)])
        firsts[queue.dequeue_many(10)[0]] += 1

    assert firsts.min() > 140  # 200 expected, with a standard deviation of 13.
    assert firsts.max() < 260


@pytest.mark.parametrize(("capacity", "minimum"), [(10, 10), (10, 11)])
def test_a_shuffling_queue_needs_more_capacity_than_it_keeps(capacity, minimum):
    with pytest.raises(ValueError, match=f"capacity {capacity} must be bigger than min_after_dequeue {minimum}"):
        RandomShuffleQueue(capacity, minimum, np.int64)


def test_a_shuffling_queue_refuses_a_negative_minimum():
    with pytest.raises(ValueError, match="min_after_dequeue must be at least 0 elements, got -1"):
        RandomShuffleQueue(10, -1, np.int64)


def test_a_priority_queue_gives_the_lowest_first_and_equal_ones_in_order():
    queue = PriorityQueue(10, [bytes], shapes=[[]])
    queue.enqueue_many([[2, 1, 2, 1], ["a", "b", "c", "d"]])

    priorities, names = queue.dequeue_many(4)

    assert priorities.tolist() == [1, 1, 2, 2]
    assert names.tolist() == [b"b", b"d", b"a", b"c"]


def test_a_priority_is_one_number():
    queue = PriorityQueue(10, [np.int64])

    with pytest.raises(InvalidArgumentError, match=r"component 0 .* expected \[\], got \[2\]"):
        queue.enqueue([[1, 2], 5])


def test_the_names_of_a_priority_queue_begin_with_priority():
    queue = PriorityQueue(10, [np.int64], names="x")
    queue.enqueue({"priority": 1, "x": 2})

    assert queue.dequeue() == {"priority": 1, "x": 2}


def test_from_list_selects_by_index():
    queues = [FIFOQueue(1, np.int64), FIFOQueue(2, np.int64)]

    assert QueueBase.from_list(1, queues) is queues[1]


@pytest.mark.parametrize(
    ("queues", "message"),
    [
        ([], "a list of at least one queue"),
        ([1], "a list of at least one queue"),
        ([FIFOQueue(1, np.int64), FIFOQueue(1, np.int32)], "differ in dtypes"),
        ([FIFOQueue(1, np.int64, names="a"), FIFOQueue(1, np.int64, names="b")], "differ in names"),
    ],
)
def test_from_list_refuses_queues_that_differ(queues, message):
    with pytest.raises(TypeError, match=message):
        QueueBase.from_list(0, queues)


def test_queues_of_one_shared_name_are_one_queue():
    first = FIFOQueue(4, np.int64, shapes=[[]], shared_name="test_shared")
    second = FIFOQueue(4, np.int64, shapes=[[]], shared_name="test_shared")
    first.enqueue(7)

    assert second.dequeue() == 7


def test_a_shared_name_is_free_again_once_nobody_uses_it():
    FIFOQueue(4, np.int64, shapes=[[]], shared_name="test_freed").enqueue(7)

    assert FIFOQueue(5, np.int64, shapes=[[]], shared_name="test_freed").size() == 0


def test_a_shared_queue_of_another_make_is_refused():
    kept = FIFOQueue(4, np.int64, shapes=[[]], shared_name="test_make")

    with pytest.raises(InvalidArgumentError, match="the queue shared as 'test_make' is"):
        FIFOQueue(5, np.int64, shapes=[[]], shared_name="test_make")
    assert not kept.is_closed()


def test_a_shared_queue_needs_dtypes():
    with pytest.raises(ValueError, match="shared_name needs dtypes"):
        FIFOQueue(4, shared_name="test_open")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shapes": [[], []]}, "has 1 dtypes and 2 shapes"),
        ({"names": ["a", "b"]}, "has 1 dtypes and 2 names"),
    ],
)
def test_dtypes_shapes_and_names_come_in_equal_numbers(given, message):
    with pytest.raises(ValueError, match=message):
        FIFOQueue(4, np.int64, **given)


def test_names_without_dtypes_are_refused():
    with pytest.raises(ValueError, match="names need dtypes"):
        FIFOQueue(4, names=["a"])


def test_a_queue_says_its_name_size_and_state():
    queue = FIFOQueue(4, np.int64, name="pairs")
    queue.enqueue(1)
    queue.close()

    assert repr(queue) == "<FIFOQueue 'pairs': size 1, closed>"


def test_a_queue_cannot_be_pickled():
    with pytest.raises(TypeError, match="FIFOQueue lives in the threads of one process and cannot be pickled"):
        pickle.dumps(FIFOQueue(4, np.int64))


def test_a_timeout_of_zero_does_not_wait():
    with pytest.raises(DeadlineExceededError, match=r"dequeue on FIFOQueue was not served within 0 s \(size 0, open\)"):
        FIFOQueue(4, np.int64).dequeue(timeout=0)


def test_a_deadline_is_also_pythons_timeout_error():
    with pytest.raises(TimeoutError, match="was not served"):
        FIFOQueue(4, np.int64).dequeue(timeout=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of forks in programs with threads.
@pytest.mark.parametrize("call", ["enqueue", "dequeue", "close"])
def test_a_queue_refuses_to_work_in_a_forked_child(call):
    queue = FIFOQueue(4, np.int64, shapes=[[]])
    queue.enqueue(1)
    child = os.fork()
    if child == 0:
        try:
            {"enqueue": lambda: queue.enqueue(1), "dequeue": queue.dequeue, "close": queue.close}[call]()
        except InvalidArgumentError as error:
            os._exit(0 if "make one queue in each process" in str(error) else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0


def test_a_thousand_elements_pass_through_a_queue_of_one_between_two_threads():
    queue = FIFOQueue(1, np.int64, shapes=[[]])

    def produce():
        for number in range(1000):
            queue.enqueue(number)
        queue.close()

    producer = threading.Thread(target=produce)
    producer.start()
    got = [int(queue.dequeue()) for _ in range(1000)]
    producer.join()

    assert got == list(range(1000))
    with pytest.raises(OutOfRangeError, match="closed"):
        queue.dequeue()


@pytest.mark.parametrize("make", ONE_OF_EACH)
def test_four_producers_and_four_consumers_lose_and_repeat_nothing(make):
    queue = make()
    got = [[] for _ in range(4)]

    def produce(first):
        for number in range(first, first + 500, 5):
            queue.enqueue_many([range(number, number + 5)])

    def consume(mine):
        try:
            while True:
                mine.extend(queue.dequeue_up_to(3).tolist())
        except OutOfRangeError:
            pass

    producers = [threading.Thread(target=produce, args=(500 * i,)) for i in range(4)]
    consumers = [threading.Thread(target=consume, args=(mine,)) for mine in got]
    for thread in [*producers, *consumers]:
        thread.start()
    for thread in producers:
        thread.join()
    queue.close()
    for thread in consumers:
        thread.join()

    assert sorted(number for mine in got for number in mine) == list(range(2000))


def test_closing_with_cancel_frees_a_thread_that_waits_in_an_enqueue():
    queue = FIFOQueue(1, np.int64, shapes=[[]])
    queue.enqueue(1)
    told = []

    def produce():
        try:
            queue.enqueue(2)
        except CancelledError as error:
            told.append(str(error))

    producer = threading.Thread(target=produce)
    producer.start()
    queue.close(cancel_pending_enqueues=True)  # Before or after it waits: refused either way.
    producer.join()

    assert "FIFOQueue" in told[0]


def test_a_priority_batch_holds_the_lowest_of_all_that_came():
    queue = PriorityQueue(10, np.int64, shapes=[[]])
    waiting = queue._engine.begin_take(Take(2))
    queue.enqueue([9, 0])
    assert queue.size() == 1  # Not taken yet: what comes next may be lower.

    queue.enqueue_many([[3, 5], [1, 2]])

    assert waiting.finished
    assert queue.dequeue() == (9, 0)


def test_a_priority_batch_larger_than_the_capacity_is_filled_a_queueful_at_a_time():
    queue = PriorityQueue(2, np.int64, shapes=[[]])
    waiting = queue._engine.begin_take(Take(3))
    queue.enqueue_many([[2, 1], [0, 0]])
    assert not waiting.finished

    queue.enqueue([0, 0])

    assert queue._engine.storage.join(waiting.parts)[0].tolist() == [1, 2, 0]
