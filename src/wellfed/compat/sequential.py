"""tf.data's verbs after which the elements are made one after another, or are other elements than before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.compat.dataset_files import interleaved
from wellfed.compat.deferred.eager import as_value, eager, map_tree, plain
from wellfed.compat.elements import mapped, shape_tree, spec_of_rows
from wellfed.compat.late import inner_spec
from wellfed.compat.tracing import TensorSpec, as_row, call
from wellfed.feed import from_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellfed import feed
    from wellfed.compat.dataset import Dataset

_AUTOTUNE = -1


class SequentialVerbs:
    """Some of the verbs of `Dataset`, which has what they need."""

    behind: feed.Dataset
    known_spec: Any
    is_batched: bool
    made: Callable[..., Dataset]
    over: Callable[[feed.Dataset], Dataset]

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Gives the elements for which a function is true."""
        del name
        return self.over(self.behind.filter(lambda element: bool(np.all(_called(predicate, element)))))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Gives the elements before the first for which a function is false."""
        del name
        return self.over(self.behind.take_while(lambda element: bool(np.all(_called(predicate, element)))))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Gives the elements of the data sets that a function makes of the elements, one after another."""
        del name
        made = self.behind.flat_map(lambda element: _inner(map_func, element))
        return self.made(made, inner_spec(map_func, self.known_spec))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Gives elements of the data sets that a function makes, from `cycle_length` of them (4 by default) in turn.

        Of a list of names made into `TFRecordDataset`s the order is worked out beforehand: such records are read,
        parsed and shuffled on all threads, as a `TFRecordDataset` of all of them is.
        """
        del num_parallel_calls, deterministic, name
        cycle, block = turns(cycle_length, block_length)
        if isinstance(self.known_spec, TensorSpec) and self.known_spec.dtype.name == "string" and not self.is_batched:
            known = interleaved(self.behind, lambda path: map_func(eager(path)), cycle, block)
            if known is not None:
                return self.made(known, TensorSpec([], "string"))
        made = self.behind.interleave(lambda element: _inner(map_func, element), cycle, block)
        return self.made(made, inner_spec(map_func, self.known_spec))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Gives the elements without those that cannot be made. See `wellfed.feed.Dataset.ignore_errors`."""
        del name
        return self.over(self.behind.ignore_errors(log_warning))

    def ragged_batch(
        self, batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = None, name: str | None = None
    ) -> Dataset:
        """Makes one element of `batch_size` neighbours, with rows as long as they are."""
        del row_splits_dtype, name
        return self.made(self.behind.ragged_batch(int(plain(batch_size)), bool(plain(drop_remainder))), batched=True)

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Gives data sets of `size` neighbours; of elements with parts, a data set for each part."""
        del name
        step = None if shift is None else int(plain(shift))
        windows = self.behind.window(int(plain(size)), step, int(plain(stride)), bool(plain(drop_remainder)))
        return self.made(windows.map(lambda columns: map_tree(self._of_column, columns)))

    def _of_column(self, column: Any) -> Dataset:
        return self.made(from_arrays(column), spec_of_rows(column))

    def unbatch(self, name: str | None = None) -> Dataset:
        """Gives the rows of the elements."""
        del name
        return self.made(self.behind.unbatch(), mapped(self.known_spec, lambda s: TensorSpec(s.shape[1:], s.dtype)))

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Gives batches of other sizes, which take turns, cut by columns."""
        del name
        made = self.behind.rebatch(plain(batch_size), bool(plain(drop_remainder)))
        return self.made(made, mapped(self.known_spec, lambda s: TensorSpec([None, *s.shape[1:]], s.dtype)))

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Gives elements that a function makes of a state and each element; it gives the next state besides."""
        del name

        def step(state: Any, element: Any) -> Any:
            after, made = scan_func(map_tree(eager, state), map_tree(lambda leaf: eager(as_row(leaf)), element))
            return map_tree(plain, after), map_tree(as_value, made)

        return self.made(self.behind.scan(map_tree(as_value, initial_state), step))

    def unique(self, name: str | None = None) -> Dataset:
        """Gives each element the first time that it comes."""
        del name
        return self.over(self.behind.unique())

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Gives padded batches of elements of like length. See `wellfed.feed.Dataset.bucket_by_sequence_length`.

        Raises:
          NotImplementedError: `no_padding` is set.
        """
        del name
        if no_padding:
            raise NotImplementedError("bucket_by_sequence_length pads here: no_padding=True is not kept")
        batches = self.behind.bucket_by_sequence_length(
            lambda element: int(_called(element_length_func, element)),
            list(bucket_boundaries),
            list(bucket_batch_sizes),
            None if padded_shapes is None else shape_tree(padded_shapes),
            None if padding_values is None else map_tree(plain, padding_values),
            pad_to_bucket_boundary,
            drop_remainder,
        )
        return self.made(batches, batched=True)


def turns(cycle_length: Any, block_length: Any) -> tuple[int, int]:
    """Gives how many data sets `interleave` takes from in turn, and how many elements at a time."""
    cycle = 4 if cycle_length in (None, _AUTOTUNE) else int(plain(cycle_length))
    return cycle, 1 if block_length is None else int(plain(block_length))


def _called(function: Callable[..., Any], element: Any) -> Any:
    """Calls a function with one element's values."""
    return plain(call(function, map_tree(lambda leaf: eager(as_row(leaf)), element)))


def _inner(function: Callable[..., Any], element: Any) -> Any:
    made = call(function, map_tree(lambda leaf: eager(as_row(leaf)), element))
    if not isinstance(made, SequentialVerbs):
        raise TypeError(f"the function must give a tf.data.Dataset, got {type(made).__name__}")
    return made.behind
