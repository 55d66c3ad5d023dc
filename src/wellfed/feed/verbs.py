"""The verbs of a data set. Each gives a new data set; nothing runs until someone iterates.

All verbs here keep a data set *addressable*: it has a length and any row can be read at any time, so shuffling is exact
and resuming takes constant time.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.checks import check_wish, whole
from wellfed.feed.element_verbs import ElementVerbs
from wellfed.feed.workers import check_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from wellfed.feed.dataset import Dataset
    from wellfed.feed.tree import Tree

T = TypeVar("T")

AUTOTUNE = -1  # As in tf.data.
LONGEST_PATTERN = 4096  # Elements after which a mix repeats its pattern, where its weights are no simple shares.


class Verbs(ElementVerbs):
    """What can be asked of a data set; `Dataset` says what holds for all verbs."""

    _node: plan.Node

    @abstractmethod
    def _over(
        self, verb: str, make: Callable[[tuple[plan.Node, ...]], plan.Node], others: Sequence[Dataset]
    ) -> Dataset: ...

    @abstractmethod
    def _self(self) -> Dataset: ...

    # --- Order --------------------------------------------------------------------------------------

    def shuffle(
        self,
        buffer_size: int | None = None,
        *,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        block: int | None = None,
    ) -> Dataset:
        """Puts elements into a random order: exact, over the whole data set, another in each epoch. Addressable.

        The order is arithmetic (a keyed bijection), so it costs nothing to start and needs no buffer. Where a verb
        before it lost the rows, it is a seeded reservoir of `buffer_size` elements, as tf.data's: replayable.

        `block` is for data larger than memory on disks that are slow to jump: blocks of neighbours are permuted, and
        the order so made is mixed in windows, each of which reads a few blocks only. Arithmetic too. docs/feed.md
        tells how well it mixes.

        Args:
          buffer_size: Elements, as in tf.data. More than 1 gives the exact shuffle; 1 leaves the order as it is. With
            `block`, elements in a window; 16 blocks where None.
          seed: The same seed gives the same order in the same epoch, on any machine. None draws one for all
            that is made of one source, so `take` and `skip` of one shuffle share nothing within an epoch.
          reshuffle_each_iteration: False: the same order in each epoch.
          block: Neighbouring elements that stay near each other; None: none do.

        Raises:
          PlanError: `buffer_size` or `block` is below 1, or `block` comes after a verb that lost the rows. At
            iteration: the data set has no length, or there is no seed and `shard` below or above would tear ranks
            apart.

        Differs from tf.data:
          `buffer_size` may be left out, and any size shuffles all elements. The number where elements are a power of
          two only takes even permutations, which no test of uniformity notices.
        """
        if buffer_size is not None:
            buffer_size = whole("shuffle", "buffer_size", buffer_size, 1, "element")
        if block is not None:
            self._need_rows("shuffle(block=)")
            window = 16 * block if buffer_size is None else buffer_size
            return self._with(plan.Shuffle(self._node, seed, reshuffle_each_iteration, block, window))
        if buffer_size == 1:
            return self._self()
        if plan.is_addressable(self._node):
            return self._with(plan.Shuffle(self._node, seed, reshuffle_each_iteration))
        if buffer_size is None:
            raise PlanError(
                "shuffle", f"{plan.lost_by(self._node)} lost the rows: shuffle before it, or give a buffer_size"
            )
        return self._with(plan.BufferShuffle(self._node, buffer_size, seed, reshuffle_each_iteration))

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
        return self._self() if count == -1 else self._with(plan.Take(self._node, count))

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements. Addressable."""
        return self._with(plan.Skip(self._node, count))

    def repeat(self, count: int | None = None) -> Dataset:
        """The data set `count` times over; for ever where None or -1. Each time is an epoch below. Addressable."""
        return self._with(plan.Repeat(self._node, None if count == -1 else count))

    def select(self, rows: ArrayLike) -> Dataset:
        """The elements at the numbers `rows`, in that order; a number may come more than once. Addressable.

        Args:
          rows: Whole numbers from 0 on, shape (n,). Copied.

        Raises:
          PlanError: They are no such numbers. At iteration: one is beyond the end.
        """
        self._need_rows("select")
        numbers = np.asarray(rows)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu") or (numbers < 0).any():
            raise PlanError("select", f"rows must be whole numbers from 0 on, of 1 dimension; got {numbers!r}")
        return self._with(plan.Select(self._node, numbers.astype(np.uint64)))

    def sample(self, weights: ArrayLike, count: int | None = None, *, seed: int | None = None) -> Dataset:
        """Draws elements with replacement, each draw by itself, another draw in each epoch. Addressable.

        Args:
          weights: One for each element, not negative, shape (n,); they need not sum to 1.
          count: How many elements are drawn; as many as there are weights where None.
          seed: As in `shuffle`.

        Raises:
          PlanError: The weights are no such numbers. At iteration: there is not one for each element.
        """
        self._need_rows("sample")
        found = np.asarray(weights, np.float64)
        if found.ndim != 1 or not np.isfinite(found).all() or (found < 0).any() or not found.sum() > 0:
            raise PlanError("sample", f"weights must be finite, not negative and not all 0, got {found!r}")
        cumulative = np.cumsum(found)
        return self._with(plan.Sample(self._node, cumulative, len(found) if count is None else count, seed))

    def balance(self, labels: ArrayLike, count: int | None = None, *, seed: int | None = None) -> Dataset:
        """Draws elements with replacement so that each label is as likely as any other. Addressable.

        Args:
          labels: One for each element, shape (n,).
          count: As in `sample`.
          seed: As in `shuffle`.
        """
        _, which, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
        return self.sample(1.0 / counts[which], count, seed=seed)

    def split(self, fraction: float, *, seed: int) -> tuple[Dataset, Dataset]:
        """Two data sets that share no element: a random `fraction` of this one, and the rest. Addressable.

        Which element is in which depends on the seed and the number of elements only: it is the same in each epoch,
        whatever is shuffled afterwards.

        Args:
          fraction: Share of the first, from 0 to 1.
          seed: The same seed gives the same two.
        """
        self._need_rows("split")
        mixed = plan.Shuffle(self._node, seed, reshuffle_each_iteration=False)
        return self._with(plan.Part(mixed, 0.0, fraction)), self._with(plan.Part(mixed, fraction, 1.0))

    # --- Several data sets --------------------------------------------------------------------------

    def concatenate(self, *others: Dataset) -> Dataset:
        """All elements of this data set, then all of each other one. Addressable."""
        return self._over("concatenate", plan.Concatenate, others)

    def zip(self, *others: Dataset) -> Dataset:
        """Element i is the tuple of the data sets' elements i; as many as the shortest has. Addressable.

        Differs from tf.data:
          A method; `tf.data.Dataset.zip((a, b))` is `a.zip(b)`.
        """
        return self._over("zip", plan.Zip, others)

    def mix(self, *others: Dataset, weights: Sequence[float] | None = None, stop: str = "first") -> Dataset:
        """Elements of this data set and others in turn, in a fixed pattern of shares. Addressable.

        After any number of elements each of two data sets has given its share of them, to less than one element.
        `shuffle` each of them before, or all of them after.

        Args:
          others: The other data sets.
          weights: The share of each, this one first; they need not sum to 1. Equal where None. Shares are kept exactly
            where they are fractions of a whole number up to 4096, and to 1/4096 otherwise.
          stop: "first": end where a data set would have to start again. "last": end when each was given whole; the
            shorter ones start again, with a new epoch of theirs. Both end where an empty one is due.

        Raises:
          PlanError: Weights are missing, negative or all 0.

        Differs from tf.data.Dataset.sample_from_datasets:
          Shares hold at each point, not on average: no number is drawn.
        """
        shares = [1.0] * (len(others) + 1) if weights is None else [float(weight) for weight in weights]
        if len(shares) != len(others) + 1 or min(shares) < 0 or not sum(shares) > 0:
            raise PlanError("mix", f"{len(others) + 1} weights are due, not negative and not all 0; got {shares}")
        pattern = _pattern(shares)
        return self._over("mix", lambda sources: plan.Mix(sources, pattern, stop), others)

    # --- Elements -----------------------------------------------------------------------------------

    def map(
        self,
        function: Callable[..., Any] | plan.Transform,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        rng: bool = False,
        processes: int | None = None,
    ) -> Dataset:
        """Applies `function` to each element. Addressable.

        Args:
          function: Takes one element and gives one: a mapping, a tuple, an array or a number. It is called from several
            threads at a time. A built-in transform, such as `wf.image.Resize`, works on whole columns instead.
          num_parallel_calls: A number, -1 or None. Here so that chains written for tf.data run: the threads of the data
            set call it, as many as `with_options` says.
          deterministic: False: an element, or a batch of the `batch` that follows, that is ready need not wait for one
            before it. Each comes once an epoch all the same, batches hold what they would, and states are exact. The
            order of what is above it is given up with it, but not where a verb loses the rows: there it is kept. True:
            the order is kept also where the option `deterministic` gives it up. None: as that says; kept by default.
          rng: Call it with a `numpy.random.Generator` besides. Its numbers depend on seed, verb, epoch and position
            only; the seed is the first that a `shuffle` of this data set gives, or drawn once where none does.
          processes: Call it in so many processes, for heavy Python that threads would only take turns at. They start
            with the first element of an iteration and end with it, or with the loader that iterates. The function must
            pickle; what it takes and gives is copied between processes, arrays through shared memory. What comes out is
            the same.

        Raises:
          PlanError: `function` is none; or it does not pickle, or works on columns, where `processes` are given.
          WorkerLostError: At iteration: one of the processes ended.
          StageError: At iteration: the function raised; names it, the row and the record, with the error as cause.

        Differs from tf.data:
          `function` is plain Python, called for each element; a tuple arrives as one argument.
        """
        if num_parallel_calls not in (None, AUTOTUNE):
            whole("map", "num_parallel_calls", num_parallel_calls, 1)
        if not callable(function) and not hasattr(function, "apply"):
            raise PlanError("map", f"a function or a transform is due, got {type(function).__name__}")
        check_wish("map", "deterministic", deterministic)
        if processes is not None:
            processes = whole("map", "processes", processes, 1)
            check_processes(function, processes)
        return self._with(plan.Map(self._node, function, rng, processes or 0, deterministic))

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Makes one element of `batch_size` neighbours; each leaf gets a first dimension. Addressable.

        Args:
          batch_size: Elements in a batch.
          drop_remainder: Leave out the last batch where it is smaller.

        Raises:
          PlanError: `batch_size` is below 1. At iteration: rows differ in shape or dtype.
        """
        return self._with(plan.Batch(self._node, batch_size, drop_remainder))

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Tree = None,
        padding_values: Tree = None,
        drop_remainder: bool = False,
    ) -> Dataset:
        """As `batch`, with the rows of one batch padded on the right to one shape. Addressable.

        Args:
          batch_size: Elements in a batch.
          padded_shapes: A tree like an element, with a row's shape in each leaf; None for a dimension that the longest
            row of the batch decides. None: all are decided so.
          padding_values: What fills the places left over: a tree like an element, or one value for all. 0 or b"" where
            None.
          drop_remainder: Leave out the last batch where it is smaller.

        Raises:
          PlanError: `batch_size` is below 1. At iteration: a row is longer than its shape.
        """
        return self._with(plan.PaddedBatch(self._node, batch_size, drop_remainder, padded_shapes, padding_values))

    def apply(self, transformation: Callable[[Dataset], T]) -> T:
        """What `transformation` makes of this data set, as in tf.data."""
        return transformation(self._self())

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """Does nothing by itself: the engine runs ahead as its options say. Addressable.

        Here so that chains written for tf.data run as they are.
        """
        return self._with(plan.Prefetch(self._node, None if buffer_size == -1 else buffer_size))


def _pattern(shares: Iterable[float]) -> tuple[int, ...]:
    """Which source each place takes from: always the one that lags most behind its share."""
    parts = [Fraction(share).limit_denominator(10**6) for share in shares]
    total = sum(parts)
    fractions = [(part / total).limit_denominator(LONGEST_PATTERN) for part in parts]
    length = min(int(np.lcm.reduce([fraction.denominator for fraction in fractions])), LONGEST_PATTERN)
    quotas = [round(fraction * length) for fraction in fractions]
    places: list[int] = []
    given = [0] * len(quotas)
    for place in range(1, sum(quotas) + 1):
        lags = [quota * place - count * sum(quotas) for quota, count in zip(quotas, given, strict=True)]
        chosen = lags.index(max(lags))
        given[chosen] += 1
        places.append(chosen)
    return tuple(places)
