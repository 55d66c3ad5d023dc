"""What `tf.data.Dataset.window` gives: elements that are data sets themselves.

Dataset.range(5).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))    [0 1 2], [1 2 3], [2 3 4]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from wellfed import feed
from wellfed.compat.dataset import Dataset
from wellfed.compat.deferred.eager import map_tree
from wellfed.compat.sequential import SequentialVerbs, turns
from wellfed.compat.tracing import call, column_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Windows(Dataset):
    """Elements of neighbours: a data set each, or a tuple or dict of data sets where elements have parts.

    `flat_map` and `interleave` make elements of them again; `take`, `skip`, `shuffle`, `repeat` and `shard` keep them.
    """

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # Data sets, not tensors.
        return map(_opened, iter(self.behind))

    as_numpy_iterator = __iter__  # type: ignore[assignment]

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Gives the elements of the data sets that a function makes of the windows, one after another."""
        del name
        return self.made(self.behind.flat_map(lambda window: call(map_func, _opened(window)).behind))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Gives elements of the data sets that a function makes of the windows, from `cycle_length` of them in turn."""
        del num_parallel_calls, deterministic, name
        made = self.behind.interleave(
            lambda window: call(map_func, _opened(window)).behind, *turns(cycle_length, block_length)
        )
        return self.made(made)

    def over(self, behind: feed.Dataset) -> Dataset:
        """Gives a data set of the same windows in another order."""
        return Windows(behind)

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("windows are data sets: flat_map(lambda w: w.batch(n)) makes elements of them first")

    map = batch = padded_batch = filter = take_while = scan = unbatch = _refused


def _opened(window: Any) -> Any:
    return map_tree(lambda column: Dataset(feed.from_arrays(column), column_spec(column)), window)


SequentialVerbs.windows = Windows
