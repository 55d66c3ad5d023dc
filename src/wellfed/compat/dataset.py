"""`tf.data.Dataset`: TensorFlow's verbs over the feed's.

A data set here is one of the feed and what is known of its elements. Functions given to `map` are traced once, so that
they run by columns (see `tracing`); functions given to other verbs get one element's values at a time.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import feed
from wellfed.columns import Bytes
from wellfed.compat.dataset_files import file_paths
from wellfed.compat.deferred.dtypes import as_dtype
from wellfed.compat.deferred.eager import as_value, eager, leaves, map_tree, plain
from wellfed.compat.deferred.graph import get_default_graph
from wellfed.compat.deferred.session import op_error
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.elements import (
    column_of,
    is_text,
    mapped,
    shape_tree,
    signature,
    spec_of_rows,
    typed,
    value_of,
    without_lists,
)
from wellfed.compat.iterators import DatasetIterator, OneShotIterator, guarded
from wellfed.compat.late import DatasetClass, late
from wellfed.compat.missing import refuse
from wellfed.compat.sequential import SequentialVerbs
from wellfed.compat.tracing import MapFunction, TensorSpec, spec_of_value
from wellfed.errors import OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class Dataset(SequentialVerbs, metaclass=DatasetClass):
    """Elements in an order. Made by `from_tensor_slices` and its kin; each verb gives a new data set.

    Elements are eager tensors, tuples or dicts; strings are `bytes`. All of it is `wellfed.feed.Dataset` behind
    TensorFlow's names: `shuffle` is exact, and reading, parsing and `map` run on all threads.

    Attributes:
      behind: The feed's data set.
      known_spec: The form of an element as far as it follows from the verbs; None where it does not.
      is_batched: Whether elements are batches.
      files: The TFRecord files whose plain records the elements are; None where they are others.
    """

    def __init__(
        self, behind: feed.Dataset, spec: Any = None, *, batched: bool = False, files: Sequence[str] | None = None
    ) -> None:
        self.behind = behind
        self.known_spec, self.is_batched = spec, batched
        self.files = files

    # --- Making ------------------------------------------------------------------------------------

    @staticmethod
    @late
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Gives the rows of arrays, or of tuples and dicts of arrays of one length."""
        del name
        columns = map_tree(column_of, without_lists(tensors))
        return Dataset(feed.from_arrays(columns), map_tree(spec_of_rows, columns))

    @staticmethod
    @late
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Gives one element."""
        del name
        values = map_tree(value_of, without_lists(tensors))
        columns = map_tree(lambda value: column_of(np.asarray(value, object if is_text(value) else None)[None]), values)
        return Dataset(feed.from_arrays(columns), map_tree(spec_of_value, values))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Gives what a Python iterable gives, in the dtypes that are promised.

        Args:
          generator: Makes the iterable, anew for each iteration.
          output_types: The dtypes of an element's parts.
          output_shapes: What is known of their shapes.
          args: Arguments of `generator`.
          output_signature: A tree of `TensorSpec`s in place of both.
          name: Ignored.
        """
        del name
        spec = output_signature
        if spec is None and output_types is not None:
            spec = signature(output_types, output_shapes)
        values = [plain(value) for value in args or ()]

        def elements() -> Iterator[Any]:
            for element in generator(*values):
                yield typed(element, spec)

        return Dataset(feed.from_generator(elements), spec)

    @staticmethod
    @late
    def range(*args: Any, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Gives the numbers of Python's `range`, int64."""
        del name
        made = Dataset(feed.range(*(int(plain(arg)) for arg in args)), TensorSpec([], "int64"))
        kind = as_dtype(output_type)
        return made if kind.name == "int64" else made.map(lambda n: eager(np.asarray(n).astype(kind.dtype)))

    @staticmethod
    @late
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """Gives the names of the files that match patterns: shuffled, unless `shuffle` is False.

        Raises:
          InvalidArgumentError: No file matches.
        """
        del name
        paths = guarded(lambda: file_paths(file_pattern))
        made = Dataset(feed.from_arrays(Bytes.from_list(paths)), TensorSpec([], "string"))
        return made if shuffle is False else made.shuffle(max(len(paths), 1), seed)

    @staticmethod
    @late
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Gives tuples of the elements of several data sets, as many as the shortest has."""
        del name
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        flat = leaves(given)
        spec = map_tree(lambda dataset: dataset.known_spec, given)
        known = None if any(dataset.known_spec is None for dataset in flat) else spec
        zipped = flat[0].behind.zip(*(dataset.behind for dataset in flat[1:]))
        plain_pair = isinstance(given, tuple) and all(isinstance(part, Dataset) for part in given)
        made = Dataset(zipped, known if plain_pair else None, batched=flat[0].is_batched)
        return made if plain_pair else made.map(lambda *parts: _regrouped(given, iter(parts)))

    @staticmethod
    @late
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Gives elements of several data sets, drawn by their weights. See `wellfed.feed.sample_from_datasets`."""
        seed = get_default_graph().op_seed(None if seed is None else int(plain(seed)))
        shares = None if weights is None else [float(weight) for weight in np.asarray(plain(weights)).tolist()]
        behind = [dataset.behind for dataset in datasets]
        again = bool(rerandomize_each_iteration)
        return datasets[0].over(feed.sample_from_datasets(behind, shares, seed, stop_on_empty_dataset, again))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Gives elements of several data sets; another one names which. See `wellfed.feed.choose_from_datasets`."""
        behind = [dataset.behind for dataset in datasets]
        return datasets[0].over(feed.choose_from_datasets(behind, choice_dataset.behind, stop_on_empty_dataset))

    # --- Verbs -------------------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Applies a function to each element.

        It is called once with tensors, where it can be, and its operations then run by columns; else it is called for
        each element with its values. All threads work, whatever `num_parallel_calls` says.
        """
        del num_parallel_calls, name
        function = MapFunction(map_func, self.known_spec)
        spec = function.traced.spec if function.traced is not None else None
        if self.is_batched:
            made = self.behind.map(function.of_each_batch(), deterministic=deterministic, rng=True)
            return Dataset(made, spec, batched=True)
        untraced = self.known_spec is not None and function.traced is None
        made = self.behind.map(function.of_each() if untraced else function, deterministic=deterministic)
        return Dataset(made, spec)

    @late
    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes one element of `batch_size` neighbours, with one more dimension in front."""
        del num_parallel_calls, deterministic, name
        size = int(plain(batch_size))
        rows = size if drop_remainder else None
        spec = mapped(self.known_spec, lambda s: TensorSpec(TensorShape([rows]).concatenate(s.shape), s.dtype))
        return Dataset(self.behind.batch(size, bool(plain(drop_remainder))), spec, batched=True)

    @late
    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """As `batch`, with rows padded on the right to one shape: the longest's, or what `padded_shapes` says."""
        del name
        shapes = None if padded_shapes is None else shape_tree(padded_shapes)
        values = None if padding_values is None else map_tree(plain, padding_values)
        batches = self.behind.padded_batch(int(plain(batch_size)), shapes, values, drop_remainder)
        spec = mapped(self.known_spec, lambda s: TensorSpec([None, *[None] * (s.shape.rank or 0)], s.dtype))
        return Dataset(batches, spec, batched=True)

    @late
    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Puts the elements into a random order: exact over the whole data set, where the feed knows its length.

        With `reshuffle_each_iteration=False` and no seed it is one order, drawn here: `take` and `skip` of it share
        nothing.
        """
        del name
        seed = get_default_graph().op_seed(None if seed is None else int(plain(seed)))
        again = reshuffle_each_iteration is not False
        if seed is None and not again:
            seed = secrets.randbits(63)
        size = int(plain(buffer_size))
        return self.over(self.behind.shuffle(size, seed=seed, reshuffle_each_iteration=again))

    @late
    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Gives every `num_shards`-th element, from `index` on."""
        del name
        return self.over(self.behind.shard(int(plain(num_shards)), int(plain(index))))

    @late
    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Gives the first `count` elements; all where it is -1."""
        del name
        return self.over(self.behind.take(int(plain(count))))

    @late
    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Gives all but the first `count` elements; none where it is -1."""
        del name
        count = int(plain(count))
        return self.over(self.behind.take(0) if count == -1 else self.behind.skip(count))

    @late
    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Gives the elements `count` times over; for ever where it is None or -1."""
        del name
        return self.over(self.behind.repeat(None if count is None else int(plain(count))))

    @late
    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Gives the elements of this data set, then those of another."""
        del name
        return self.over(self.behind.concatenate(dataset.behind))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Gives tuples of the elements' numbers, int64, and the elements."""
        del name
        spec = None if self.known_spec is None else (TensorSpec([], "int64"), self.known_spec)
        return Dataset(self.behind.enumerate(int(start)), spec, batched=self.is_batched)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Gives the same elements: the feed runs ahead by itself."""
        del name
        size = int(plain(buffer_size))
        return self.over(self.behind.prefetch(None if size == AUTOTUNE else size))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps each element once it was made: in memory, or in a file. See `wellfed.feed.Dataset.cache`."""
        del name
        path = plain(filename)
        return self.over(self.behind.cache(path.decode() if isinstance(path, bytes) else path))

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """Gives what a function makes of this data set."""
        return transformation_func(self)

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """Gives the same data set: the feed finds its own settings."""
        del options, name
        return self

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Gives what is left when a function has joined a state with each element."""
        del name
        state = map_tree(eager, map_tree(as_value, initial_state))
        for element in self:
            state = reduce_func(state, element)
        return map_tree(eager, state)

    # --- Elements ----------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(guarded(lambda: iter(self.behind)), eagerly=True)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Gives the elements as NumPy's arrays and scalars, and `bytes`."""
        return DatasetIterator(guarded(lambda: iter(self.behind)), eagerly=False)

    def __len__(self) -> int:
        try:
            return len(self.behind)
        except OSError as error:  # Asked for by list(), too.
            raise op_error(error, "Cardinality") from error

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> Any:
        """Gives the number of elements, or `INFINITE_CARDINALITY` or `UNKNOWN_CARDINALITY`."""
        try:
            return eager(np.int64(len(self)))
        except TypeError as error:
            endless = "never ends" in str(error)
            return eager(np.int64(INFINITE_CARDINALITY if endless else UNKNOWN_CARDINALITY))

    @property
    def element_spec(self) -> Any:
        """The form of an element; taken from the first one where it does not follow from the verbs.

        Raises:
          OutOfRangeError: There is no first one.
        """
        if self.known_spec is None:
            first = next(iter(self.take(1)), None)
            if first is None:
                raise OutOfRangeError(None, None, "End of sequence")
            self.known_spec = map_tree(lambda leaf: spec_of_value(plain(leaf)), first)
        return self.known_spec

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return mapped(self.element_spec, lambda spec: spec.dtype)

    @property
    def output_shapes(self) -> Any:
        """What is known of the shapes of an element."""
        return mapped(self.element_spec, lambda spec: spec.shape)

    def make_one_shot_iterator(self) -> OneShotIterator:
        """Gives the deferred iterator of TensorFlow 1: each session goes through the elements once."""
        return OneShotIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> OneShotIterator:
        """Gives the deferred iterator of TensorFlow 1 whose `initializer` begins anew."""
        del shared_name
        return OneShotIterator(self)

    def made(self, behind: feed.Dataset, spec: Any = None, *, batched: bool = False) -> Dataset:
        """Gives a data set of other elements."""
        return Dataset(behind, spec, batched=batched)

    def over(self, behind: feed.Dataset) -> Dataset:
        """Gives a data set of elements of the same form."""
        return Dataset(behind, self.known_spec, batched=self.is_batched)

    def __getattr__(self, name: str) -> Any:
        refuse("data.Dataset", name)

    def __repr__(self) -> str:
        return f"<tf.data.Dataset over {self.behind!r}>"


def _regrouped(form: Any, parts: Iterator[Any]) -> Any:
    return map_tree(lambda _: next(parts), form)
