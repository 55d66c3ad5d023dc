"""What was new once: `tf.data.experimental`, as far as it became part of tf.data."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wellfed.compat.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from wellfed.compat.graphs import ConfigProto as OptimizationOptions
from wellfed.compat.missing import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Callable[[Dataset], Dataset]:
    """Gives the function that shuffles and repeats a data set, for `apply`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """Gives the function that maps and batches a data set, for `apply`."""
    del num_parallel_batches, num_parallel_calls
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, **_: Any
) -> Callable[[Dataset], Dataset]:
    """Gives the function that interleaves what a function makes of a data set's elements, for `apply`."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def unbatch() -> Callable[[Dataset], Dataset]:
    """Gives the function that takes batches apart, for `apply`."""
    return lambda dataset: dataset.unbatch()


def sample_from_datasets(datasets: Sequence[Dataset], weights: Any = None, seed: int | None = None) -> Dataset:
    """Gives elements of several data sets in turn, by their weights."""
    return Dataset.sample_from_datasets(datasets, weights, seed)


def assert_cardinality(expected_cardinality: Any) -> Callable[[Dataset], Dataset]:
    """Gives the function that gives a data set as it is, for `apply`: the feed knows lengths by itself."""
    del expected_cardinality
    return lambda dataset: dataset


class AutoShardPolicy:
    """Accepted and ignored: each process takes its own part by `Dataset.shard`."""

    OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Gives elements of several data sets; another one names which."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False)


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """Gives the function that leaves out elements that cannot be made, for `apply`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def cardinality(dataset: Dataset) -> Any:
    """Gives the number of elements, or `INFINITE_CARDINALITY` or `UNKNOWN_CARDINALITY`."""
    return dataset.cardinality()


__getattr__ = functools.partial(refuse, "data.experimental")

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "Dataset",
    "OptimizationOptions",
    "assert_cardinality",
    "cardinality",
    "choose_from_datasets",
    "ignore_errors",
    "map_and_batch",
    "parallel_interleave",
    "sample_from_datasets",
    "shuffle_and_repeat",
    "unbatch",
]
