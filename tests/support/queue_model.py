"""A plain model of a queue, written from tensorflow.md's rules alone: no threads, no arrays, one element at a time.

Calls that wait are `Call`s in two lists; `Model.settle` serves them, strictly first come, first served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Call:
    """One call; `outcome` is None while it waits, else "done" or the name of an error."""

    kind: str  # "put", "close" or "take".
    values: list[Any] = field(default_factory=list)  # What a put has still to put in; what a take has taken.
    wanted: int = 0
    up_to: bool = False
    outcome: str | None = None


class Model:
    """The rules of who is served, in which order, with what.

    `order` says who leaves next: "fifo", "priority" (of a value's first entry, lowest first), or "pool", where `draw()`
    gives numbers in [0, 1): the element at that place leaves, and the last one takes its place.
    """

    def __init__(self, capacity: int, minimum: int = 0, order: str = "fifo", draw: Callable[[], float] = float) -> None:
        self.capacity, self.minimum, self.order, self.draw = capacity, minimum, order, draw
        self.inside: list[Any] = []
        self.closed = False
        self.puts: list[Call] = []
        self.takes: list[Call] = []

    def put(self, values: list[Any]) -> Call:
        call = Call("put", values=list(values))
        if not values:
            call.outcome = "done"
            return call
        return self._line_up(self.puts, call)

    def take(self, count: int, *, up_to: bool = False) -> Call:
        call = Call("take", wanted=count, up_to=up_to)
        if count == 0:
            call.outcome = "done"
            return call
        return self._line_up(self.takes, call)

    def close(self) -> Call:
        return self._line_up(self.puts, Call("close"))

    def close_now(self) -> None:
        self.closed = True
        for call in self.puts:
            call.outcome = "CancelledError"
        self.puts = []
        self.settle()

    def give_up(self, call: Call) -> None:
        """A call whose timeout is over: what it has taken goes back."""
        (self.takes if call.kind == "take" else self.puts).remove(call)
        call.outcome = "DeadlineExceededError"
        if call.kind == "take":
            self._return(call)
        self.settle()

    def settle(self) -> None:
        while self._turn(self.puts, self._act_put) | self._turn(self.takes, self._act_take):
            pass

    def _line_up(self, calls: list[Call], call: Call) -> Call:
        calls.append(call)
        self.settle()
        return call

    def _turn(self, calls: list[Call], act: Any) -> bool:
        moved = False
        while calls:
            before = len(calls[0].values)
            act(calls[0])
            moved = moved or len(calls[0].values) != before or calls[0].outcome is not None
            if calls[0].outcome is None:
                break
            calls.pop(0)
        return moved

    def _act_put(self, call: Call) -> None:
        if call.kind == "close":
            call.outcome = "CancelledError" if self.closed else "done"
            self.closed = True
        elif self.closed:
            call.outcome = "CancelledError"
        else:
            while call.values and len(self.inside) < self.capacity:
                self._insert(call.values.pop(0))
            call.outcome = None if call.values else "done"

    def _act_take(self, call: Call) -> None:
        if self.closed and len(self.inside) < call.wanted - len(call.values):
            self._return(call)
            if not call.up_to or not self.inside:
                call.outcome = "OutOfRangeError"
                return
            call.wanted = len(self.inside)
        full = self.closed or len(self.inside) >= self.capacity
        if self.order == "priority" and not full and len(self.inside) < call.wanted - len(call.values):
            return  # What comes later may have to leave sooner.
        floor = 0 if self.closed else self.minimum
        while len(call.values) < call.wanted and len(self.inside) > floor:
            call.values.append(self._remove())
        call.outcome = "done" if len(call.values) == call.wanted else None

    def _insert(self, value: Any) -> None:
        """A new element comes after its equals."""
        at = len(self.inside)
        while self.order == "priority" and at > 0 and self.inside[at - 1][0] > value[0]:
            at -= 1
        self.inside.insert(at, value)

    def _remove(self) -> Any:
        if self.order != "pool":
            return self.inside.pop(0)
        at = int(self.draw() * len(self.inside))
        self.inside[at], self.inside[-1] = self.inside[-1], self.inside[at]
        return self.inside.pop()

    def _return(self, call: Call) -> None:
        """What a take has taken goes back to its place: in front, before its equals, or anywhere in a pool."""
        if self.order == "pool":
            self.inside += call.values
        else:
            for value in reversed(call.values):
                at = 0
                while self.order == "priority" and at < len(self.inside) and self.inside[at][0] < value[0]:
                    at += 1
                self.inside.insert(at, value)
        call.values = []
