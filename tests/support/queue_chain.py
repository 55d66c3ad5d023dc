"""A chain of three queues that something happens to: an end, an error, a stop or a close, drawn from a seed.

    source -> first -> second -> third -> consumer

`run_chain` gives what was seen and checks what must hold whatever happens: nothing hangs, nothing is delivered twice,
no thread is left, and an error that ended the input is what the consumer sees.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wellfed.errors import CancelledError, OpError, OutOfRangeError
from wellfed.queues import (
    Coordinator,
    FIFOQueue,
    PaddingFIFOQueue,
    QueueBase,
    QueueRunner,
    RandomShuffleQueue,
    start_queue_runners,
)

EVENTS = ("end", "source fails", "link fails", "stop", "close", "close and cancel", "consumer leaves")
PATIENCE_S = 60.0  # A run takes milliseconds; who waits this long waits for ever.


class Broken(Exception):
    """What a failing producer raises."""


@dataclass
class Seen:
    """What a run brought to light."""

    event: str
    coordinated: bool
    sent: int
    got: list[int] = field(default_factory=list)
    end: OpError | None = None
    joined: BaseException | None = None


class Chain:
    """The three queues with their runners, and what is to happen to them."""

    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        self.queues = [self._queue() for _ in range(3)]
        self.coord = Coordinator() if self.luck.random() < 0.7 else None
        # Without a coordinator only an end or an error goes through the chain by itself.
        self.event = self.luck.choice(EVENTS if self.coord is not None else EVENTS[:3])
        self.seen = Seen(self.event, self.coord is not None, sent=self.luck.randrange(1, 120))
        self.at = self.luck.randrange(self.seen.sent)  # The event comes at this element.
        self._lock, self._next = threading.Lock(), 0

    def _queue(self) -> QueueBase:
        capacity = self.luck.choice([2, 5, 20])
        kind = self.luck.randrange(3)
        if kind == 0:
            return FIFOQueue(capacity, np.int64, shapes=[[]])
        if kind == 1:
            return PaddingFIFOQueue(capacity, np.int64, shapes=[[]])
        return RandomShuffleQueue(capacity, self.luck.randrange(capacity), np.int64, shapes=[[]], seed=1)

    def _source(self) -> None:
        with self._lock:
            number, self._next = self._next, self._next + 1
        if number == self.at and self.event == "source fails":
            raise Broken(f"at {number}")
        if number >= self.seen.sent:
            raise OutOfRangeError(None, None, "no more")
        self.queues[0].enqueue(number)

    def _link(self, source: QueueBase, sink: QueueBase) -> None:
        number = int(source.dequeue())
        if number == self.at and self.event == "link fails" and sink is self.queues[1]:
            raise Broken(f"at {number}")
        sink.enqueue(number)

    def _happens(self) -> None:
        """The event, where it is the consumer's doing."""
        if self.event == "stop":
            self.coord.request_stop()
        elif self.event.startswith("close"):
            queue = self.luck.choice(self.queues)
            if not queue.is_closed():
                self._close(queue)

    def _close(self, queue: QueueBase) -> None:
        try:
            queue.close(cancel_pending_enqueues=self.event == "close and cancel", timeout=0.01)
        except OpError:
            queue.close(cancel_pending_enqueues=True)  # Closed by its runner, or its producers wait for this thread.

    def start(self) -> list[threading.Thread]:
        first, second, third = self.queues
        runners = [
            QueueRunner(first, [self._source] * self.luck.randrange(1, 4)),
            QueueRunner(second, [lambda: self._link(first, second)] * self.luck.randrange(1, 4)),
            QueueRunner(third, [lambda: self._link(second, third)] * self.luck.randrange(1, 4)),
        ]
        return start_queue_runners(runners, self.coord)

    def consume(self) -> None:
        while self.event != "consumer leaves" or len(self.seen.got) < self.at:
            if len(self.seen.got) == self.at:
                self._happens()
            try:
                self.seen.got.append(int(self.queues[2].dequeue(timeout=PATIENCE_S)))
            except (OutOfRangeError, CancelledError) as end:
                self.seen.end = end
                return


def run_chain(seed: int) -> Seen:
    """Runs one chain; raises AssertionError where something does not hold."""
    chain = Chain(seed)
    threads = chain.start()
    chain.consume()
    seen = chain.seen
    if chain.coord is not None:
        chain.coord.request_stop()
        try:
            chain.coord.join(threads, stop_grace_period_secs=PATIENCE_S)
        except (Broken, CancelledError) as error:
            seen.joined = error
    else:
        for queue in chain.queues:  # Nobody else frees the producers before a link that failed.
            queue.close(cancel_pending_enqueues=True)
    for thread in threads:
        thread.join(PATIENCE_S)
    check(seen, threads)
    return seen


def check(seen: Seen, threads: list[Any]) -> None:
    """Holds a run to what is true of all."""
    where = f"{seen}"
    assert not any(thread.is_alive() for thread in threads), where
    assert len(set(seen.got)) == len(seen.got), where
    assert set(seen.got) <= set(range(seen.sent)), where
    if seen.event == "end":
        assert (sorted(seen.got), seen.joined) == (list(range(seen.sent)), None), where
    if seen.event.endswith("fails"):
        assert isinstance(seen.end.__cause__, Broken), where
        if seen.coordinated:
            assert seen.joined is seen.end.__cause__, where
