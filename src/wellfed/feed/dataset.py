"""The data set: a plan that can be run. Its verbs are in `wellfed.feed.verbs`; nothing runs until someone iterates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.context import RunContext, draw_seed, find_rank
from wellfed.feed.iterator import DatasetIterator, EpochCounter
from wellfed.feed.options import FeedOptions
from wellfed.feed.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

from wellfed.feed.readers import Readers
from wellfed.feed.sequential_verbs import SequentialVerbs
from wellfed.feed.verbs import Verbs


class Dataset(Verbs, SequentialVerbs):
    """Elements in an order, made when someone iterates.

    An element is a row of a column, or a mapping or tuple of such; after `batch` its leaves have one more dimension.
    Arrays that are delivered own their memory, or share it with other elements of the same batch or unit; writing to
    one never changes another element. Each `iter(dataset)` is the next epoch, from 0; `epoch(n)` is that one.

    All verbs here keep a data set *addressable*: it has a length and a row can be read at any time, so shuffling is
    exact and resuming takes constant time.

    Example:
      >>> import numpy as np
      >>> import wellfed as wf
      >>> numbers = wf.from_arrays({"x": np.arange(6)}).shuffle(seed=1).batch(4)
      >>> [len(batch["x"]) for batch in numbers]
      [4, 2]
      >>> sorted(int(x) for batch in numbers for x in batch["x"])
      [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, node: plan.Node, readers: Readers, options: FeedOptions | None = None) -> None:
        self._node, self._readers = node, readers
        self._options = options or FeedOptions()
        self._seeds: dict[str, int] = {}  # The seed of every run, once it is drawn.
        self._epochs = EpochCounter()

    def with_options(
        self,
        *,
        threads: int | None = None,
        ram_budget: int | None = None,
        on_error: str = "raise",
        max_errors: int | None = None,
    ) -> Dataset:
        """The same elements, made in another way.

        Args:
          threads: How many threads read, parse and transform; None: one for each core this process may use.
          ram_budget: What is ready or being made holds about this much at most. [bytes] 256 MiB where None.
          on_error: "raise", or "replace": where a record is damaged, does not fit its features, or a function fails on
            it, another row comes in its place, drawn from (seed, epoch, position). Lengths, positions and full batches
            hold; `stats().replaced` names each. It covers what stands before `batch`, on addressable data sets.
          max_errors: How many rows may be replaced in one iteration; the next one raises. None: any number.

        Raises:
          ValueError: An option has a value that is none.
        """
        budget = FeedOptions().ram_budget if ram_budget is None else ram_budget
        return Dataset(self._node, self._readers, FeedOptions(threads, budget, on_error, max_errors))

    def _with(self, node: plan.Node) -> Dataset:
        return Dataset(node, self._readers, self._options)

    def _self(self) -> Dataset:
        return self

    def _over(self, make: Callable[[tuple[plan.Node, ...]], plan.Node], others: Sequence[Dataset]) -> Dataset:
        for other in others:
            if not isinstance(other, Dataset):
                raise PlanError("several sources", f"a data set is due, got {type(other).__name__}")
        readers = Readers.merged([self._readers, *(other._readers for other in others)])
        return Dataset(make((self._node, *(other._node for other in others))), readers, self._options)

    # --- Running ------------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        epoch = self._epochs.next
        self._epochs.next += 1
        return self.epoch(epoch)

    def epoch(self, number: int) -> DatasetIterator:
        """An iterator over epoch `number`, from 0; the count of `iter` is left alone."""
        return DatasetIterator(self._node, self._readers, self._context(number), self._options, self._epochs)

    def __len__(self) -> int:
        """The number of elements; indexes files that are not indexed yet.

        Raises:
          TypeError: The data set never ends, or a verb lost its length.
        """
        if not plan.is_addressable(self._node):
            raise TypeError(f"this data set has no length: {plan.lost_by(self._node)} makes any number of elements")
        length = Pipeline(self._node, self._readers.open(), self._context(0)).length()
        if length is None:
            raise TypeError("this data set has no length: repeat() without a count never ends")
        return length

    def _context(self, epoch: int) -> RunContext:
        steps = list(plan.walk(self._node))
        rank, size = (0, 1)
        if any(isinstance(step, plan.Shard) and step.num_shards is None for step in steps):
            rank, size = find_rank()
        sharded = size > 1 or any(isinstance(step, plan.Shard) and (step.num_shards or 1) > 1 for step in steps)
        if sharded and any(isinstance(step, plan.Shuffle) and step.seed is None for step in steps):
            raise PlanError(
                "shuffle",
                "without a seed each process would draw its own order, and shards would overlap; "
                "give the same seed to all: shuffle(seed=0)",
            )
        given = [step.seed for step in steps if isinstance(step, plan.Shuffle) and step.seed is not None]
        # One step, so that threads that start at a time agree.
        seed = self._seeds.setdefault("run", given[0] if given else draw_seed())
        return RunContext(seed, epoch, rank, size)

    def __repr__(self) -> str:
        names = [type(step).__name__ for step in list(plan.walk(self._node))]
        return f"<wellfed.Dataset: {' -> '.join(names)}>"
