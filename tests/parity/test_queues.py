"""The same histories on TensorFlow's own queues and on ours: every call ends alike, with the same elements.

A call that has to wait is lined up here and runs in a thread of its own there. TensorFlow does not show that a call
waits, so a history holds only what comes out alike whether its thread was quick or slow: one waiting call of each side
at a time, and no plain close while an enqueue waits (that order is a unit test).
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellfed import errors, queues
from wellfed.queues.engine import Close, PutMany, PutOne, Take

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow

CAPACITY, MINIMUM = 5, 2
PATIENCE_S = 10.0


class Kind:
    """A kind of queue, both makes, and what its elements look like."""

    exact = True
    largest = 8  # The most elements that one dequeue asks for.
    up_to = True

    def ours(self):
        raise NotImplementedError

    def theirs(self):
        raise NotImplementedError

    def column(self, numbers):
        return [np.array(numbers, np.int64)]

    def numbers(self, columns):
        """The numbers in what came out."""
        (column,) = columns
        return np.asarray(column).tolist()


class Fifo(Kind):
    def ours(self):
        return queues.FIFOQueue(CAPACITY, np.int64, shapes=[[]])

    def theirs(self):
        return tf.queue.FIFOQueue(CAPACITY, [tf.int64], shapes=[[]])


class Shuffle(Kind):
    exact = False  # The draws differ: only how many came out, and that none came twice, is compared.

    def ours(self):
        return queues.RandomShuffleQueue(CAPACITY, MINIMUM, np.int64, shapes=[[]], seed=1)

    def theirs(self):
        return tf.queue.RandomShuffleQueue(CAPACITY, MINIMUM, [tf.int64], shapes=[[]], seed=1)


class Padding(Kind):
    def ours(self):
        return queues.PaddingFIFOQueue(CAPACITY, np.int64, shapes=[[None]])

    def theirs(self):
        return tf.queue.PaddingFIFOQueue(CAPACITY, [tf.int64], shapes=[[None]])

    def column(self, numbers):
        return [np.tile(np.array(numbers, np.int64)[:, None], (1, 1 + len(numbers) % 3))]


class Priority(Kind):
    largest = CAPACITY  # TensorFlow's call for more waits for ever, whatever comes.
    up_to = False  # TensorFlow's call that waits when the queue is closed loses the elements.

    def ours(self):
        return queues.PriorityQueue(CAPACITY, np.int64, shapes=[[]])

    def theirs(self):
        return tf.queue.PriorityQueue(CAPACITY, [tf.int64], shapes=[[]])

    def column(self, numbers):
        numbers = np.array(numbers, np.int64)
        return [(numbers * 7919) % 1009, numbers]  # Priorities that all differ: the order of ties is not defined there.

    def numbers(self, columns):
        return [np.asarray(column).tolist() for column in columns]


class Call:
    """One call on both queues: lined up here, in a thread there."""

    def __init__(self, attempt, run):
        self.attempt = attempt
        self.theirs = None

        def record():
            try:
                self.theirs = run()
            except tf.errors.OpError as error:
                self.theirs = type(error).__name__

        self.thread = threading.Thread(target=record, daemon=True)
        self.thread.start()

    def joined(self):
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive(), "TensorFlow's call waits on, and ours has ended"
        return self.theirs


class Pair:
    """Both queues, and the calls that wait."""

    def __init__(self, kind):
        self.kind = kind
        self.ours, self.theirs = kind.ours(), kind.theirs()
        self.engine = self.ours._engine
        self.pending = {}
        self.next = 0
        self.seen = ([], [])

    def put(self, count):
        numbers = list(range(self.next, self.next + count))
        self.next += count
        columns = self.kind.column(numbers)
        theirs = [tf.constant(column) for column in columns]
        attempt = PutMany(self.ours._spec.columns(columns))
        self.line_up("put", self.engine.begin_put(attempt), lambda: self.theirs.enqueue_many(theirs))

    def put_one(self):
        columns = [column[0] for column in self.kind.column([self.next])]
        self.next += 1
        theirs = [tf.constant(column) for column in columns]
        attempt = PutOne(self.ours._spec.row(columns))
        self.line_up("put", self.engine.begin_put(attempt), lambda: self.theirs.enqueue(theirs))

    def take(self, count, up_to):
        ask = self.theirs.dequeue_up_to if up_to else self.theirs.dequeue_many
        self.line_up("take", self.engine.begin_take(Take(count, up_to=up_to)), lambda: ask(count))

    def close(self):
        self.line_up("put", self.engine.begin_put(Close(None)), self.theirs.close)

    def cancel(self):
        self.ours.close(cancel_pending_enqueues=True)
        self.theirs.close(cancel_pending_enqueues=True)
        self.settle()

    def line_up(self, side, attempt, run):
        call = Call(attempt, run)
        self.pending[side] = call
        self.settle()

    def settle(self):
        """Compares the calls that have ended, and waits until TensorFlow has got as far as we have."""
        for side, call in list(self.pending.items()):
            if call.attempt.finished:
                del self.pending[side]
                self.compare(call)
        watch = threading.Event()
        for _ in range(int(PATIENCE_S / 0.001)):
            if int(self.theirs.size()) == self.ours.size():
                return
            watch.wait(0.001)
        pytest.fail(f"TensorFlow's queue holds {int(self.theirs.size())} elements, ours {self.ours.size()}")

    def compare(self, call):
        theirs = call.joined()
        if call.attempt.error is not None:
            assert theirs == call.attempt.error[0].__name__
            return
        if not isinstance(call.attempt, Take):
            assert theirs is None
            return
        ours = self.kind.numbers(self.engine.storage.join(call.attempt.parts))
        theirs = self.kind.numbers([c.numpy() for c in (theirs if isinstance(theirs, list) else [theirs])])
        if self.kind.exact:
            assert ours == theirs
        else:
            assert len(ours) == len(theirs)
            for seen, new in zip(self.seen, (ours, theirs), strict=True):
                seen.extend(new)
                assert len(set(seen)) == len(seen)


def play(kind, history):
    pair = Pair(kind)
    for step, count in history:
        if step.startswith("put") and "put" not in pair.pending:
            pair.put_one() if step == "put one" else pair.put(count)
        elif step.startswith("take") and "take" not in pair.pending:
            pair.take(min(count, kind.largest), up_to=kind.up_to and step == "take up to")
        elif step == "close" and "put" not in pair.pending:
            pair.close()
        elif step == "cancel":
            pair.cancel()
    pair.cancel()
    assert not pair.pending
    assert pair.ours.is_closed() == bool(pair.theirs.is_closed())


STEPS = ["put one", "put", "put", "put", "take", "take", "take up to", "take up to", "close", "cancel"]
HISTORIES = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 8)), max_size=25)


@pytest.mark.parametrize("kind", [Fifo(), Shuffle(), Padding(), Priority()], ids=lambda kind: type(kind).__name__)
@settings(max_examples=150, deadline=None)
@given(history=HISTORIES)
def test_a_history_ends_alike_on_tensorflows_queue(kind, history):
    play(kind, history)


def outcome(run, error):
    """What a call gives, or the name of the error it ends with."""
    try:
        got = run()
    except error as found:
        return type(found).__name__
    return np.asarray(got).tolist() if got is not None else None


def closed(queue):
    queue.close()
    return queue


def closed_at_once(queue):
    queue.close(cancel_pending_enqueues=True)
    queue.close(cancel_pending_enqueues=True)
    return queue


CASES = {
    "enqueue of nothing on a closed queue": lambda q: closed(q).enqueue_many([np.zeros(0, np.int64)]),
    "dequeue of none on a closed queue": lambda q: closed(q).dequeue_many(0),
    "dequeue of none": lambda q: q.dequeue_many(0),
    "dequeue up to none": lambda q: closed(q).dequeue_up_to(0),
    "dequeue of less than none": lambda q: q.dequeue_many(-1),
    "close twice": lambda q: closed(q).close(),
    "close after closing at once, twice": lambda q: closed(closed_at_once(q)),
    "enqueue on closed": lambda q: closed(q).enqueue(np.int64(1)),
    "dequeue on closed and empty": lambda q: closed(q).dequeue(),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_edge_ends_alike_on_tensorflows_queue(case):
    kind = Fifo()

    assert outcome(lambda: case(kind.ours()), errors.OpError) == outcome(lambda: case(kind.theirs()), tf.errors.OpError)


def test_the_codes_of_errors_are_tensorflows():
    ours = {cls.__name__: cls.code for cls in errors.OpError.__subclasses__()}
    theirs = {name: getattr(tf.errors, name)(None, None, "text").error_code for name in dir(tf.errors) if name in ours}

    assert len(theirs) == len(ours) == 16
    assert ours == theirs


@pytest.mark.parametrize("shapes", [([None], [[1, 2], [3]]), ([None, 2], [np.ones((1, 2)), np.ones((3, 2))])])
@pytest.mark.parametrize("dtype", ["int64", "float32", "string"])
def test_batches_are_padded_as_tensorflows(shapes, dtype):
    shape, elements = shapes
    if dtype == "string":
        ours, theirs, elements = bytes, tf.string, [np.asarray(e).astype(int).astype("S4") for e in elements]
    else:
        ours, theirs = np.dtype(dtype), tf.as_dtype(dtype)
        elements = [np.asarray(e, dtype) for e in elements]
    queue, judge = queues.PaddingFIFOQueue(9, ours, [shape]), tf.queue.PaddingFIFOQueue(9, [theirs], [shape])
    for element in elements:
        queue.enqueue([element])
        judge.enqueue([tf.constant(element)])

    assert queue.dequeue_many(2).tolist() == judge.dequeue_many(2).numpy().tolist()
