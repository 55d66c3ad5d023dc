"""Iteration: one epoch of a data set, with its position, its state and its account of time."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wellfed.errors import StateError
from wellfed.feed import plan, state
from wellfed.feed.running import Runner, elements_of
from wellfed.feed.stats import FeedStats
from wellfed.feed.tree import Tree

if TYPE_CHECKING:
    from types import TracebackType

    from wellfed.feed.context import RunContext
    from wellfed.feed.engine import Engine
    from wellfed.feed.options import FeedOptions
    from wellfed.feed.readers import Readers


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
    """

    def __init__(
        self,
        node: plan.Node,
        readers: Readers,
        context: RunContext,
        options: FeedOptions,
        counter: EpochCounter,
    ) -> None:
        self._node, self._readers, self._context, self._options = node, readers, context, options
        self._counter = counter
        self._position = 0
        self._engine: Engine | None = None
        self._elements: Iterator[Tree] | None = None
        self._runner: Runner | None = None
        self._began = 0.0
        self._closed = False
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
        except StopIteration:
            self.close()
            raise
        except BaseException:
            self.close()
            raise
        self._position += 1
        return element

    def _start(self) -> Iterator[Tree]:
        if self._closed:
            return iter(())
        self._began = perf_counter()
        self._runner = Runner(self._readers.open(), self._options)
        self._engine = self._runner.start(self._node, self._context, self._position)
        weakref.finalize(self, self._engine.close)
        return elements_of(self._engine)

    def state_dict(self) -> dict[str, Any]:
        """Where this iteration stands: a few integers and fingerprints, ready for JSON.

        Returns:
          A new dict. It counts what was delivered, so restoring it gives the element after the last one that `next`
          returned.
        """
        return {
            "version": state.VERSION,
            "epoch": self._context.epoch,
            "position": self._position,
            "seed": self._context.seed,
            "rank": self._context.rank,
            "world_size": self._context.world_size,
            "plan": state.fingerprint(self._node),
            "files": self._fingerprint,
        }

    @cached_property
    def _fingerprint(self) -> str:
        return self._readers.fingerprint()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on where a saved state stood, in its epoch; the data set's next epoch is the one after it.

        Raises:
          StateError: The state belongs to another plan, other files, or another way of sharing them; or the data set
        comes from a generator.
        """
        state.check(saved, self.state_dict())
        if any(isinstance(step, plan.Generator) for step in plan.walk(self._node)) and saved["position"]:
            raise StateError("from_generator cannot go on in the middle: only its maker knows what it yielded before")
        if self._closed:
            raise StateError("this iterator is closed: load the state into a new one, from iter(dataset)")
        self._drop_engine()
        self._context = replace(self._context, epoch=saved["epoch"], seed=saved["seed"])
        self._position = saved["position"]
        self._counter.next = saved["epoch"] + 1

    @property
    def epoch(self) -> int:
        """The number of the epoch that this iterator gives, from 0."""
        return self._context.epoch

    def stats(self) -> FeedStats:
        """What this iteration did so far, how long its consumer waited, and which rows were replaced.

        `str()` of it is one sentence that names what limits.
        """
        if self._engine is None or self._runner is None:
            return FeedStats(self._position, 0.0, 0.0)
        stages = self._runner.pipelines[-1].stages() if self._runner.pipelines else ()
        return FeedStats(
            self._position,
            perf_counter() - self._began,
            self._engine.waited_seconds,
            self._options.thread_count(),
            stages,
            self._runner.report.rows(),
            remote=self._readers.remote_stats(),
        )

    def close(self) -> None:
        """Ends the iteration and its threads. Nothing happens the second time."""
        self._closed = True
        if self._engine is not None:
            self._engine.close()
        self._elements = iter(())

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine, self._elements = None, None

    def __enter__(self) -> DatasetIterator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a running iterator does not pickle: save state_dict() and load it into iter(dataset) there")
