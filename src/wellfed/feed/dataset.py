"""The data set: the fluent face over a plan. Each verb gives a new data set; nothing runs until someone iterates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.context import RunContext, draw_seed, find_rank
from wellfed.feed.iterator import DatasetIterator, EpochCounter, FeedOptions
from wellfed.feed.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed.readers import SharedReader


class Dataset:
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

    def __init__(self, node: plan.Node, reader: SharedReader, options: FeedOptions | None = None) -> None:
        self._node, self._reader = node, reader
        self._options = options or FeedOptions()
        self._seed: int | None = None
        self._epochs = EpochCounter()

    # --- Verbs --------------------------------------------------------------------------------------

    def shuffle(
        self, buffer_size: int | None = None, *, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset:
        """Puts elements into a random order: exact, over the whole data set, another in each epoch. Addressable.

        The order is arithmetic (a keyed bijection), so it costs nothing to start and needs no buffer.

        Args:
          buffer_size: Elements, as in tf.data. More than 1 gives the exact shuffle; 1 leaves the order as it is.
          seed: The same seed gives the same order in the same epoch, on any machine. None draws one for each data set.
          reshuffle_each_iteration: False: the same order in each epoch.

        Raises:
          PlanError: `buffer_size` is below 1. At iteration: the data set has no length, or there is no seed and
            `shard` below or above would tear ranks apart.

        Differs from tf.data:
          `buffer_size` may be left out, and any size shuffles all elements. The number where elements are a power of
          two only takes even permutations, which no test of uniformity notices.
        """
        if buffer_size is not None and buffer_size < 1:
            raise PlanError("shuffle", f"buffer_size must be at least 1 element, got {buffer_size}")
        if buffer_size == 1:
            return self
        return self._with(plan.Shuffle(self._node, seed, reshuffle_each_iteration))

    def shard(self, num_shards: int | None = None, index: int | None = None, *, even: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from `index` on. Addressable.

        Args:
          num_shards: How many shards; without arguments, the number of processes that train together: from
            torch.distributed or JAX where they run, else from WORLD_SIZE and RANK; asked when iteration starts.
          index: Which one, from 0.
          even: None: shards differ by up to one element. "drop": the remainder is left out. "pad": shards are filled
            up with elements from the start of the order.

        Raises:
          PlanError: A number out of its range.
        """
        return self._with(plan.Shard(self._node, num_shards, index, even))

    def take(self, count: int) -> Dataset:
        """The first `count` elements; all where count is -1. Addressable."""
        return self if count == -1 else self._with(plan.Take(self._node, count))

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements. Addressable."""
        return self._with(plan.Skip(self._node, count))

    def repeat(self, count: int | None = None) -> Dataset:
        """The data set `count` times over; for ever where None or -1. Each time is an epoch below. Addressable."""
        return self._with(plan.Repeat(self._node, None if count == -1 else count))

    def map(self, function: Callable[..., Any] | plan.Transform, *, rng: bool = False) -> Dataset:
        """Applies `function` to each element. Addressable.

        Args:
          function: Takes one element and gives one: a mapping, a tuple, an array or a number. It is called from several
            threads at a time. A built-in transform, such as `wf.image.Resize`, works on whole columns instead.
          rng: Call it with a `numpy.random.Generator` besides. Its numbers depend on seed, verb, epoch and position
            only; the seed is the first that a `shuffle` of this data set gives, or drawn once where none does.

        Raises:
          StageError: At iteration: the function raised; names it, the row and the record, with the error as cause.

        Differs from tf.data:
          `function` is plain Python, called for each element; a tuple arrives as one argument.
        """
        if not callable(function) and not hasattr(function, "apply"):
            raise PlanError("map", f"a function or a transform is due, got {type(function).__name__}")
        return self._with(plan.Map(self._node, function, rng))

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Makes one element of `batch_size` neighbours; each leaf gets a first dimension. Addressable.

        Args:
          batch_size: Elements in a batch.
          drop_remainder: Leave out the last batch where it is smaller.

        Raises:
          PlanError: `batch_size` is below 1. At iteration: rows differ in shape or dtype.
        """
        return self._with(plan.Batch(self._node, batch_size, drop_remainder))

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """Does nothing by itself: the engine runs ahead as its options say. Addressable.

        Here so that chains written for tf.data run as they are.
        """
        return self._with(plan.Prefetch(self._node, None if buffer_size == -1 else buffer_size))

    def with_options(self, *, threads: int | None = None, ram_budget: int | None = None) -> Dataset:
        """The same elements, made in another way.

        Args:
          threads: How many threads read, parse and transform; None: one for each core this process may use.
          ram_budget: What is ready or being made holds about this much at most. [bytes] 256 MiB where None.
        """
        options = FeedOptions(threads, FeedOptions().ram_budget if ram_budget is None else ram_budget)
        return Dataset(self._node, self._reader, options)

    def _with(self, node: plan.Node) -> Dataset:
        return Dataset(node, self._reader, self._options)

    # --- Running ------------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        epoch = self._epochs.next
        self._epochs.next += 1
        return self.epoch(epoch)

    def epoch(self, number: int) -> DatasetIterator:
        """An iterator over epoch `number`, from 0; the count of `iter` is left alone."""
        return DatasetIterator(self._node, self._reader, self._context(number), self._options, self._epochs)

    def __len__(self) -> int:
        """The number of elements; indexes files that are not indexed yet.

        Raises:
          TypeError: The data set never ends.
        """
        length = Pipeline(self._node, self._reader.open(), self._context(0)).length()
        if length is None:
            raise TypeError("this data set has no length: repeat() without a count never ends")
        return length

    def _context(self, epoch: int) -> RunContext:
        steps = plan.chain(self._node)
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
        if self._seed is None:
            self._seed = given[0] if given else draw_seed()
        return RunContext(self._seed, epoch, rank, size)

    def __repr__(self) -> str:
        names = [type(step).__name__ for step in plan.chain(self._node)]
        return f"<wellfed.Dataset: {' -> '.join(names)}>"
