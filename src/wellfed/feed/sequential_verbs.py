"""The verbs after which a data set has no rows by number: its elements are made one after another.

They are *replayable*: no length, and a saved position is reached again from a place shortly before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.specs import StackRows, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wellfed.feed.dataset import Dataset
    from wellfed.feed.tree import Tree


class SequentialVerbs(ABC):
    """What makes as many elements as a function says; `Dataset` says what holds for all verbs."""

    _node: plan.Node

    @abstractmethod
    def _with(self, node: plan.Node) -> Dataset: ...

    def filter(self, predicate: Callable[[Any], Any]) -> Dataset:
        """The elements for which `predicate` is true. Replayable.

        Raises:
          StageError: At iteration: the predicate raised.
        """
        return self._with(plan.Filter(self._node, _callable("filter", predicate)))

    def take_while(self, predicate: Callable[[Any], Any]) -> Dataset:
        """The elements before the first for which `predicate` is false. Replayable."""
        return self._with(plan.TakeWhile(self._node, _callable("take_while", predicate)))

    def flat_map(self, function: Callable[[Any], Iterable[Any]]) -> Dataset:
        """All elements of the data sets that `function` makes of the elements, one after another. Replayable.

        Args:
          function: Takes an element and gives a data set, or any iterable.
        """
        return self._with(plan.Interleave(self._node, _callable("flat_map", function)))

    def interleave(
        self, function: Callable[[Any], Iterable[Any]], cycle_length: int = 2, block_length: int = 1
    ) -> Dataset:
        """Elements of the data sets that `function` makes, from `cycle_length` of them in turn. Replayable.

        Args:
          function: Takes an element and gives a data set, or any iterable.
          cycle_length: How many are open at a time.
          block_length: How many elements are taken from one before the next.

        Raises:
          PlanError: A number is below 1.
        """
        return self._with(plan.Interleave(self._node, _callable("interleave", function), cycle_length, block_length))

    def unbatch(self) -> Dataset:
        """Each row of each element. Replayable."""
        return self._with(plan.Unbatch(self._node))

    def rebatch(self, batch_size: int | Sequence[int], drop_remainder: bool = False) -> Dataset:
        """Batches of other sizes: `unbatch().batch(batch_size)`. Replayable.

        Args:
          batch_size: Rows in a batch; of several sizes each has its turn, round and round.
          drop_remainder: Leave out the last batch where it is smaller than its size.

        Raises:
          PlanError: There is no size, or one is below 1.

        Differs from tf.data:
          A size of 0, which gives empty batches there, is refused.

        Example:
          >>> import wellfed as wf
          >>> [batch.tolist() for batch in wf.feed.range(8).batch(4).rebatch([2, 1, 1])]
          [[0, 1], [2], [3], [4, 5], [6], [7]]
        """
        sizes = np.asarray(batch_size)
        if sizes.ndim > 1 or sizes.dtype.kind not in "iu":
            raise PlanError("rebatch", f"batch_size must be a whole number or several, got {batch_size!r}")
        return self._with(plan.Rebatch(self._node, tuple(sizes.reshape(-1).tolist()), drop_remainder))

    def scan(self, initial_state: Any, scan_func: Callable[[Any, Any], tuple[Any, Any]]) -> Dataset:
        """Elements made with a state. Replayable.

        Args:
          initial_state: What the first call gets.
          scan_func: Takes (state, element), gives (next state, element).
        """
        return self._with(plan.Scan(self._node, initial_state, _callable("scan", scan_func)))

    def unique(self, *, limit_bytes: int = 1 << 30) -> Dataset:
        """Each element the first time that it comes. Replayable.

        Args:
          limit_bytes: What tells the elements seen apart may take so much memory, about 80 bytes each; beyond, it is an
            error. [bytes]
        """
        return self._with(plan.Unique(self._node, limit_bytes))

    def ignore_errors(self, log_warning: bool = False) -> Dataset:
        """The elements without those that cannot be made: damaged, not fitting, or failed by a function. Replayable.

        It covers what stands before it; `stats().skipped` names each. `with_options(on_error="skip")` is the same for
        all that stands before the first `batch`. A generator that raised has ended, so its error is raised; a data set
        within `interleave` or `flat_map` that fails has ended too.

        Args:
          log_warning: Write each to the log "wellfed.feed" too.
        """
        return self._with(plan.IgnoreErrors(self._node, log_warning))

    def window(self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False) -> Dataset:
        """Windows of `size` neighbouring elements, each as the columns of its rows. Replayable.

        Args:
          size: Elements in a window.
          shift: How many elements further the next window begins; `size` where None.
          stride: How many elements apart those of one window are.
          drop_remainder: Leave out windows at the end that are smaller.

        Raises:
          PlanError: At iteration: rows of a column differ in shape or dtype, as in `batch`.

        Differs from tf.data:
          A window is a batch, not a data set: `.window(3, shift=1)` gives what
          `.window(3, shift=1).flat_map(lambda w: w.batch(3))` gives there.
        """
        windows = plan.Window(self._node, size, size if shift is None else shift, stride, drop_remainder)
        return self._with(plan.Map(windows, StackRows(spec_of(self._node))))

    def bucket_by_sequence_length(  # noqa: PLR0917 -- tf.data's.
        self,
        element_length_func: Callable[[Any], Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Tree = None,
        padding_values: Tree = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
        *,
        limit_bytes: int = 1 << 30,
    ) -> Dataset:
        """Padded batches of elements of like length. Replayable.

        Args:
          element_length_func: The length of an element.
          bucket_boundaries: Rising lengths; bucket i holds those from boundary i - 1 to below boundary i.
          bucket_batch_sizes: Elements in a batch of each bucket: one more than boundaries.
          padded_shapes: As in `padded_batch`.
          padding_values: As in `padded_batch`.
          pad_to_bucket_boundary: Pad to the bucket's boundary less 1, not to the longest of the batch.
          drop_remainder: Leave out batches at the end that are smaller.
          limit_bytes: The elements that wait for their batch may take so much memory; beyond, it is an error. [bytes]

        Raises:
          PlanError: The sizes do not fit the boundaries. At iteration: elements are longer than the last boundary where
            that is padded to, or take too much memory.
        """
        return self._with(
            plan.Bucket(
                self._node,
                _callable("bucket_by_sequence_length", element_length_func),
                tuple(bucket_boundaries),
                tuple(bucket_batch_sizes),
                padded_shapes,
                padding_values,
                pad_to_bucket_boundary,
                drop_remainder,
                limit_bytes,
            )
        )


def _callable(verb: str, function: Any) -> Any:
    if not callable(function):
        raise PlanError(verb, f"a function is due, got {type(function).__name__}")
    return function
