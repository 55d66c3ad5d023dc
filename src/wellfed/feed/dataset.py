"""The data set: a plan that can be run. Its verbs are in `wellfed.feed.verbs`; nothing runs until someone iterates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wellfed.columns import Bytes
from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.context import RunContext, draw_seed, find_rank
from wellfed.feed.iterator import DatasetIterator, EpochCounter
from wellfed.feed.options import FeedOptions
from wellfed.feed.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import EllipsisType

    from wellfed.feed.workers import Pools

from wellfed.feed.readers import Readers
from wellfed.feed.rewrite import leave_errors_out
from wellfed.feed.sequential_verbs import SequentialVerbs
from wellfed.feed.specs import public_spec, spec_of, spec_of_element, with_open_rows
from wellfed.feed.tree import map_tree
from wellfed.feed.verbs import Verbs

INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2  # As in tf.data.


class Dataset(Verbs, SequentialVerbs):
    """Elements in an order, made when someone iterates.

    An element is a row of a column, or a mapping or tuple of such; after `batch` its leaves have one more dimension.
    Arrays that are delivered own their memory, or share it with other elements of the same batch or unit; writing to
    one never changes another element. Each `iter(dataset)` is the next epoch, from 0; `epoch(n)` is that one.

    Each verb says which of three kinds it gives. *Addressable*: it has a length and a row can be read at any time, so
    shuffling is exact and resuming takes constant time. *Replayable*: elements come one after another, and a saved
    place is reached by making a few of them again. *Opaque*: forward only.

    Example:
      >>> import numpy as np
      >>> import wellfed as wf
      >>> numbers = wf.from_arrays({"x": np.arange(6)}).shuffle(seed=1).batch(4)
      >>> [len(batch["x"]) for batch in numbers]
      [4, 2]
      >>> sorted(int(x) for batch in numbers for x in batch["x"])
      [0, 1, 2, 3, 4, 5]
    """

    def __init__(
        self,
        node: plan.Node,
        readers: Readers,
        options: FeedOptions | None = None,
        seeds: dict[str, int] | None = None,
    ) -> None:
        self._node, self._readers = node, readers
        self._options = options or FeedOptions()
        # The seed of every run, once it is drawn: one for all that is made of one source, so that take and skip of one
        # shuffle share nothing.
        self._seeds: dict[str, int] = {} if seeds is None else seeds
        self._epochs = EpochCounter()

    def with_options(
        self,
        *,
        threads: int | EllipsisType | None = ...,
        ram_budget: int | EllipsisType | None = ...,
        on_error: str | EllipsisType = ...,
        deterministic: bool | EllipsisType | None = ...,
        max_errors: int | EllipsisType | None = ...,
        stall_seconds: float | EllipsisType = ...,
    ) -> Dataset:
        """The same elements, made in another way. What is not named stays as it was.

        Args:
          threads: How many threads read, parse and transform; None: one for each core this process may use.
          ram_budget: What is ready or being made holds about this much at most. [bytes] 256 MiB where None.
          on_error: What becomes of a row before `batch` that is damaged, does not fit its features, or makes a function
            fail. "raise". "replace": another row comes in its place, drawn from (seed, epoch, position): lengths,
            positions and full batches hold; `stats().replaced` names each; addressable data sets only. "skip": it is
            left out, later rows move up, batches stay full; `stats().skipped` names each; what comes out is replayable.
          deterministic: Whether elements come in their order. None: they do, unless a `map(deterministic=False)` gives
            it up. False: they come as they are made, unless a `map(deterministic=True)` asks for it. True: they do in
            any case. Plans that are not addressable always keep it.
          max_errors: How many rows may be replaced or left out in one iteration; the next one raises. None: any number.
          stall_seconds: Once the consumer has waited for an element for so long, log to "wellfed.feed" which thread
            makes it, and where each thread stands; again after each doubling. 0: never. [s]

        Raises:
          PlanError: An option has a value that is none.
        """
        named = {
            "threads": threads,
            "ram_budget": ram_budget,
            "on_error": on_error,
            "deterministic": deterministic,
            "max_errors": max_errors,
            "stall_seconds": stall_seconds,
        }
        changed: dict[str, Any] = {name: value for name, value in named.items() if value is not ...}
        if "ram_budget" in changed and changed["ram_budget"] is None:
            changed["ram_budget"] = FeedOptions().ram_budget
        return Dataset(self._node, self._readers, replace(self._options, **changed), self._seeds)

    def _with(self, node: plan.Node) -> Dataset:
        return Dataset(node, self._readers.over(node), self._options, self._seeds)

    def _self(self) -> Dataset:
        return self

    def _over(
        self, verb: str, make: Callable[[tuple[plan.Node, ...]], plan.Node], others: Sequence[Dataset]
    ) -> Dataset:
        for other in others:
            if not isinstance(other, Dataset):
                raise PlanError(verb, f"a data set is due, got {type(other).__name__}")
        readers = Readers.merged([self._readers, *(other._readers for other in others)])
        return Dataset(make((self._node, *(other._node for other in others))), readers, self._options, self._seeds)

    # --- What is known of the elements ----------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """The form of an element: a tree like it with `TensorSpec`s and the like for leaves.

        It follows from the plan up to the first function of a user's. After one, the first element is made and shows
        its form: then each shape is that element's own, with None for the rows of batches that may be smaller.

        Raises:
          PlanError: A function hides the form, and there is no first element.

        Example:
          >>> import numpy as np
          >>> import wellfed as wf
          >>> wf.from_arrays({"x": np.zeros((5, 2), np.float32)}).batch(2).element_spec
          {'x': TensorSpec(shape=(None, 2), dtype=dtype('float32'))}
        """
        spec = spec_of(self._node)
        if spec is not None:
            return map_tree(public_spec, spec)
        with Dataset(self._node, self._readers, replace(self._options, threads=1)).epoch(0) as iterator:
            for element in iterator:
                return with_open_rows(self._node, spec_of_element(element))
        raise PlanError("element_spec", "a function hides the form of an element, and there is none to look at")

    def cardinality(self) -> int:
        """The number of elements; `INFINITE_CARDINALITY` (-1) or `UNKNOWN_CARDINALITY` (-2), as in tf.data.

        Differs from tf.data:
          Of records the number is known: files that are not indexed yet are indexed.
        """
        node = self._plan()
        if not plan.is_addressable(node):
            return UNKNOWN_CARDINALITY
        length = Pipeline(node, self._readers.open(), self._context(0)).length()
        return INFINITE_CARDINALITY if length is None else length

    def __len__(self) -> int:
        """The number of elements; indexes files that are not indexed yet.

        `list(dataset)` asks for it too; `list(iter(dataset))` and `[*iter(dataset)]` do not.

        Raises:
          TypeError: The data set never ends, or a verb lost its length.
        """
        length = self.cardinality()
        if length == UNKNOWN_CARDINALITY:
            lost = plan.lost_by(self._plan())
            raise TypeError(f"this data set has no length: {lost} makes any number of elements")
        if length == INFINITE_CARDINALITY:
            raise TypeError("this data set has no length: repeat() without a count never ends")
        return length

    # --- Running ------------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        epoch = self._epochs.next
        self._epochs.next += 1
        return self.epoch(epoch)

    def epoch(self, number: int, *, pools: Pools | None = None) -> DatasetIterator:
        """An iterator over epoch `number`, from 0; the count of `iter` is left alone.

        Args:
          number: Of the epoch.
          pools: Where processes of `map` wait for the next epoch; None: they end with this one. Who made it ends them.
        """
        context = self._context(number)
        return DatasetIterator(self._plan(), self._readers, context, self._options, self._epochs, pools=pools)

    def _nested(self, seed: int, cursor: Any) -> DatasetIterator:
        """An iterator within another data set's: one thread, and seed and epoch of that one's making."""
        context = replace(self._context(seed & 0xFFFFFF), seed=seed)
        options = replace(self._options, threads=1, deterministic=True)  # It goes on by making elements again.
        iterator = DatasetIterator(self._plan(), self._readers, context, options, EpochCounter())
        iterator.go_on(*(cursor or (0, None)))
        return iterator

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements of the next epoch with byte strings as NumPy has them: `bytes`, and arrays of such objects.

        Numbers are NumPy's anyway, and `Ragged` stays.
        """
        with iter(self) as iterator:
            for element in iterator:
                yield map_tree(lambda leaf: leaf.to_object_array() if isinstance(leaf, Bytes) else leaf, element)

    def _plan(self) -> plan.Node:
        """What is run: the verbs, and what the options put between them."""
        return leave_errors_out(self._node) if self._options.on_error == "skip" else self._node

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
        seed = given[0] if given else self._seeds.setdefault("run", draw_seed())
        return RunContext(seed, epoch, rank, size)

    def __repr__(self) -> str:
        names = [type(step).__name__ for step in list(plan.walk(self._node))]
        return f"<wellfed.Dataset: {' -> '.join(names)}>"
