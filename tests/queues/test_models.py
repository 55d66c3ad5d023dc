"""Each kind of queue beside a plain model of it, driven through the same random history, one call after the other.

No threads: a call that has to wait is lined up and stays open, so every history is one that threads could bring about.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from queue_model import Model

from wellfed.errors import DeadlineExceededError
from wellfed.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue
from wellfed.queues.engine import Close, PutMany, PutOne, Take

DRAWS = [0.0, 0.99, 0.5, 0.25, 0.8, 0.1, 0.6]  # A pool's luck, the same for queue and model.


class History(RuleBasedStateMachine):
    """One history; a subclass says which queue, and what its elements look like."""

    order, minimum = "fifo", 0

    def queue(self, capacity):
        raise NotImplementedError

    def value(self, number, priority):
        """The model's element: a hashable that stands for it."""
        return number

    def element(self, value):
        """The queue's element for the model's."""
        return np.int64(value)

    def seen(self, row):
        """The model's element for what came out, as a tuple of components."""
        return int(row[0])

    @initialize(capacity=st.integers(3, 6))
    def start(self, capacity):
        self.numbers = itertools.count()
        self.real = self.queue(capacity)
        self.engine = self.real._engine
        self.model = Model(capacity, self.minimum, self.order, itertools.cycle(DRAWS).__next__)
        self.calls = []

    def fresh(self, priorities):
        return [self.value(next(self.numbers), priority) for priority in priorities]

    @rule(priority=st.integers(0, 3))
    def enqueue(self, priority):
        values = self.fresh([priority])
        row = self.real._spec.row(self.element(values[0]))
        self.calls.append((self.engine.begin_put(PutOne(row)), self.model.put(values)))

    @rule(priorities=st.lists(st.integers(0, 3), min_size=1, max_size=9))
    def enqueue_many(self, priorities):
        values = self.fresh(priorities)
        elements = [self.element(value) for value in values]
        columns = list(zip(*elements, strict=True)) if isinstance(elements[0], tuple) else [np.stack(elements)]
        attempt = PutMany(self.real._spec.columns(columns))
        self.calls.append((self.engine.begin_put(attempt), self.model.put(values)))

    @rule(count=st.integers(1, 9), up_to=st.booleans())
    def dequeue(self, count, up_to):
        attempt = self.engine.begin_take(Take(count, up_to=up_to))
        self.calls.append((attempt, self.model.take(count, up_to=up_to)))

    @rule()
    def close(self):
        self.calls.append((self.engine.begin_put(Close(None)), self.model.close()))

    @rule()
    def close_and_cancel(self):
        self.real.close(cancel_pending_enqueues=True)
        self.model.close_now()

    @precondition(lambda self: any(not attempt.finished for attempt, _ in self.calls))
    @rule(data=st.data())
    def time_out(self, data):
        attempt, call = data.draw(st.sampled_from([pair for pair in self.calls if not pair[0].finished]))
        with pytest.raises(DeadlineExceededError, match="was not served within 0 s"):
            self.engine.end(attempt, 0)
        self.model.give_up(call)
        self.calls.remove((attempt, call))

    @invariant()
    def queue_and_model_agree(self):
        if not hasattr(self, "real"):
            return
        assert self.real.size() == len(self.model.inside)
        assert self.real.is_closed() == self.model.closed
        assert self.real.waiting() == (len(self.model.puts), len(self.model.takes))
        for attempt, call in self.calls:
            assert attempt.finished == (call.outcome is not None)
            if attempt.finished:
                assert (attempt.error[0].__name__ if attempt.error else "done") == call.outcome
                if isinstance(attempt, Take) and not attempt.error:
                    columns = self.engine.storage.join(attempt.parts)
                    assert [self.seen(row) for row in zip(*columns, strict=True)] == call.values
        self.calls = [pair for pair in self.calls if not pair[0].finished]


class FifoOfColumns(History):
    def queue(self, capacity):
        return FIFOQueue(capacity, np.int64, shapes=[[]])


class FifoOfLargeRows(History):
    def queue(self, capacity):
        return FIFOQueue(capacity, np.int64, shapes=[[600]])

    def element(self, value):
        return np.full(600, value)

    def seen(self, row):
        assert (row[0] == row[0][0]).all()
        return int(row[0][0])


class FifoOfStrings(History):
    def queue(self, capacity):
        return FIFOQueue(capacity, [bytes, np.float32], shapes=[[], [2]])

    def element(self, value):
        return b"%d" % value, np.array([value, -value], np.float32)

    def seen(self, row):
        assert row[1].tolist() == [int(row[0]), -int(row[0])]
        return int(row[0])


class Padding(History):
    def queue(self, capacity):
        return PaddingFIFOQueue(capacity, [np.int64, np.int64], shapes=[[], [None]])

    def element(self, value):
        return np.int64(value), np.full(3, value)  # Of one length, so that enqueue_many can stack them.

    def seen(self, row):
        assert row[1].tolist() == [row[0]] * 3
        return int(row[0])


class PoolOfColumns(History):
    order, minimum = "pool", 2

    def queue(self, capacity):
        queue = RandomShuffleQueue(capacity, self.minimum, np.int64, shapes=[[]])
        queue._engine.storage._draw = itertools.cycle(DRAWS)
        return queue


class PoolOfLargeRows(FifoOfLargeRows):
    order, minimum = "pool", 2

    def queue(self, capacity):
        queue = RandomShuffleQueue(capacity, self.minimum, np.int64, shapes=[[600]])
        queue._engine.storage._draw = itertools.cycle(DRAWS)
        return queue


class Heap(History):
    order = "priority"

    def queue(self, capacity):
        return PriorityQueue(capacity, np.int64, shapes=[[]])

    def value(self, number, priority):
        return priority, number

    def element(self, value):
        return value

    def seen(self, row):
        return int(row[0]), int(row[1])


LENGTH = settings(max_examples=60, stateful_step_count=40)
MACHINES = [FifoOfColumns, FifoOfLargeRows, FifoOfStrings, Padding, PoolOfColumns, PoolOfLargeRows, Heap]
for machine in MACHINES:
    machine.TestCase.settings = LENGTH
    globals()[f"Test{machine.__name__}"] = machine.TestCase
