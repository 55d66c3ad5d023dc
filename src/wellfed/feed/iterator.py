"""Iteration: one epoch of a data set, with its position, its state and its account of time."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wellfed.errors import StateError
from wellfed.feed import plan, state
from wellfed.feed.account import Account
from wellfed.feed.delivered import Delivered
from wellfed.feed.elastic import consumed, last_shard, sharing
from wellfed.feed.generated import can_go_on
from wellfed.feed.pipeline import Pipeline
from wellfed.feed.running import Runner, elements_of
from wellfed.feed.stats import FeedStats
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from types import TracebackType

    from wellfed.feed.context import RunContext
    from wellfed.feed.engine import Engine
    from wellfed.feed.options import FeedOptions
    from wellfed.feed.readers import Readers
    from wellfed.feed.workers import Pools


INTERRUPT_PATIENCE = 0.05  # How long threads are waited for after Ctrl-C. [s]


@dataclass
class EpochCounter:
    """The number of the epoch that the next `iter` gives; the data set owns it, iterators move it on."""

    next: int = 0


_forks = 0


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 -- os.register_at_fork takes a function without arguments.
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class DatasetIterator(Iterator[Tree]):
    """One epoch of a data set.

    Threads start with the first element and end with the last one, with `close`, with an error, or when the iterator
    is dropped. Elements fetched ahead and not delivered do not count in the position.

    Example:
      >>> from wellfed.feed import from_arrays
      >>> import numpy as np
      >>> numbers = from_arrays(np.arange(5))
      >>> iterator = iter(numbers)
      >>> int(next(iterator)), iterator.state_dict()["position"]
      (0, 1)

    Attributes:
      account: Where time is counted; may be exchanged before the first element.
    """

    def __init__(
        self,
        node: plan.Node,
        readers: Readers,
        context: RunContext,
        options: FeedOptions,
        counter: EpochCounter,
        *,
        pools: Pools | None = None,
    ) -> None:
        self._pools = pools
        self._node, self._readers, self._context, self._options = node, readers, context, options
        self._counter = counter
        self._position = self._from = 0
        self._cursor: Any = None  # Where a stream stood at the position from which this iterator began.
        self._delivered = None if options.keeps_order(node) else Delivered(0)
        self._engine: Engine | None = None
        self._elements: Iterator[Tree] | None = None
        self._runner: Runner | None = None
        self._began = self._first = self._ended = 0.0
        self.account = Account()
        self._closed = self._whole = False  # `_whole`: it came to an end, or to an error, by itself.
        self._forks = _forks

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Tree:
        if self._forks != _forks:
            raise RuntimeError(
                "this iterator was made before a fork, and its threads stayed with the parent: call iter(dataset) here"
            )
        if self._elements is None:
            self._elements = self._start()
        try:
            element = next(self._elements)
        except Exception:  # Also the one that says that it is over.
            self._whole = self._whole or not self._closed
            self.close()
            raise
        except BaseException:  # Ctrl-C: what a user's function does just then is not waited for.
            if self._runner is not None:
                self._runner.hurry(INTERRUPT_PATIENCE)
            if self._engine is not None:
                self._engine.hurry(INTERRUPT_PATIENCE)
            self.close()
            raise
        self._position += 1
        if not self._first:
            self._first = perf_counter() - self._began
        return element

    def _start(self) -> Iterator[Tree]:
        if self._closed:
            return iter(())
        self._began, self._from = perf_counter(), self._position
        self._runner = Runner(self._readers.open(), self._options, self.account, self._pools)
        position, ahead = (self._position, []) if self._delivered is None else self._delivered.place()
        self._engine = self._runner.start(self._node, self._context, position, self._cursor, ahead)
        weakref.finalize(self, self._engine.collected)
        return elements_of(self._engine, self._runner.parts, self._delivered, self._runner.report)

    def state_dict(self) -> dict[str, Any]:
        """Where this iteration stands: a few integers and fingerprints, ready for JSON.

        Returns:
          A new dict. It counts what was delivered, so restoring it gives the element after the last one that `next`
          returned. With `deterministic=False`, `position` is that of the first element that was not delivered, and
          `ahead` lists the ranges behind it that were.
        """
        rank, world_size = sharing(self._node, self._context)
        return {
            "version": state.VERSION,
            "epoch": self._context.epoch,
            **dict(zip(state.PLACE, self.progress(), strict=False)),
            "seed": self._context.seed,
            "consumed": self._context.consumed,
            "rank": rank,
            "world_size": world_size,
            "plan": self._plan,
            "files": self._fingerprint,
        }

    def cursor(self) -> Any:
        """Where the stream stands, as JSON; None for an addressable data set, whose position says it all."""
        return self._cursor if self._runner is None else self._runner.cursor_at(self._position)

    @cached_property
    def _plan(self) -> str:
        return state.fingerprint(self._node)

    @cached_property
    def _fingerprint(self) -> str:
        return self._readers.fingerprint()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on where a saved state stood, in its epoch; the data set's next epoch is the one after it.

        Where only `map`, `batch`, `padded_batch`, `prefetch` and `with_row_ids` come after the one `shard`, the state
        of any rank will do, also with another world size: all that the processes took together counts as delivered,
        and the rest of the order is shared anew. The position then counts from there. A state that was saved with
        `deterministic=False` belongs to its rank and world size.

        Raises:
          StateError: The state belongs to another plan, other files, or another way of sharing them; or the data set
        comes from a generator.
        """
        here = self.state_dict()
        elastic = last_shard(self._node) is not None
        state.check(saved, here, elastic=elastic and "ahead" not in saved)
        makers = [step.make for step in plan.walk(self._node) if isinstance(step, plan.Generator)]
        if makers and saved["position"] and not can_go_on(saved["cursor"], makers):
            raise StateError("from_generator cannot go on in the middle: only its maker knows what it yielded before")
        if self._closed:
            raise StateError("this iterator is closed: load the state into a new one, from iter(dataset)")
        self._drop_engine()
        before, position = saved["consumed"], saved["position"]
        if elastic and saved["world_size"] != here["world_size"]:
            before, position = consumed(self._node, before, saved["world_size"], position), 0
        self._context = replace(self._context, epoch=saved["epoch"], seed=saved["seed"], consumed=before)
        self.go_on(position, saved["cursor"], saved.get("ahead", ()))
        self._counter.next = saved["epoch"] + 1

    def progress(self) -> list[Any]:
        """What `go_on` takes, as JSON: the values of those of `state.PLACE` that this iterator has."""
        if self._delivered is None:
            return [self._position, self.cursor()]
        position, ahead = self._delivered.place()
        return [position, None, [list(each) for each in ahead]]

    def go_on(self, position: int, cursor: Any, ahead: Sequence[Sequence[int]] = ()) -> None:
        """Begins at a position, where the stream stood at `cursor`. REQUIRES: nothing was asked for yet.

        `ahead` are ranges behind the position that were delivered.
        """
        self._position, self._cursor = position + sum(stop - start for start, stop in ahead), cursor
        if ahead or self._delivered is not None:
            self._delivered = Delivered(position, ahead)

    def is_whole(self) -> bool:
        """Whether the state that was loaded is that of a whole epoch. Without a length, that is seen only on the way.

        Where the rest of an epoch was shared anew, its length is that of the rest.
        """
        if not plan.is_addressable(self._node):
            return False
        if self._position:
            return self._position >= (self._length_of(self._node) or self._position + 1)
        shard = last_shard(self._node) if self._context.consumed else None
        return shard is not None and self._context.consumed >= (self._length_of(shard.source) or 0)

    def _length_of(self, node: plan.Node) -> int | None:
        return Pipeline(node, self._readers.open(), self._context).length()

    @property
    def epoch(self) -> int:
        """The number of the epoch that this iterator gives, from 0."""
        return self._context.epoch

    def stats(self) -> FeedStats:
        """What this iteration did so far, how long its consumer waited, and which rows were replaced.

        `str()` of it is one sentence that names what limits.
        """
        if self._runner is None:
            return FeedStats(0, 0.0, 0.0)
        errors = self._runner.report.count() if self._whole else self._runner.errors_at(self._position)
        repeated, repeated_at = self._readers.repeats()
        return FeedStats(
            self._position - self._from,
            (self._ended or perf_counter()) - self._began,
            self.account.waited_seconds(),
            self._options.thread_count(),
            self.account.stages(),
            self._runner.report.replaced(errors),
            self._runner.report.skipped(errors),
            first_seconds=self._first,
            remote=self._readers.remote_stats(),
            repeated=repeated,
            repeated_at=repeated_at,
            damage=self._readers.damage(),
        )

    def close(self) -> None:
        """Ends the iteration and its threads. Nothing happens the second time."""
        self._closed = True
        self._ended = self._ended or perf_counter()
        if self._engine is not None:
            self._engine.close()
        if self._runner is not None:
            self._runner.release()
        self._elements = iter(())

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine, self._elements, self._runner = None, None, None

    def __enter__(self) -> DatasetIterator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a running iterator does not pickle: save state_dict() and load it into iter(dataset) there")
