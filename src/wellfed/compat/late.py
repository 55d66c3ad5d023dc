"""Data sets of what a run is fed: made anew, from the tensors' values, whenever their iterator begins.

    names = tf.placeholder(tf.string, [None])
    iterator = tf.data.TFRecordDataset(names).map(parse).batch(32).make_initializable_iterator()
    session.run(iterator.initializer, {names: ["a.tfrecord"]})

What is known of the elements before is found on a sample: the same verbs over made-up values.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from wellfed.compat.deferred.eager import leaves, map_tree
from wellfed.compat.deferred.graph import Graph, Operation, Tensor
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.elements import mapped
from wellfed.compat.iterators import OneShotIterator
from wellfed.compat.missing import refuse
from wellfed.compat.tracing import TensorSpec, call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.compat.dataset import Dataset

P = ParamSpec("P")
R = TypeVar("R")


class LateDataset:
    """Verbs that wait for values: what `tf.data.Dataset`'s names give where an argument is a tensor.

    Attributes:
      inputs: The tensors whose values it waits for.
      element_spec: What is known of its elements.
    """

    def __init__(self, make: Callable[..., Dataset], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._make, self._args, self._kwargs = make, args, kwargs
        given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Tensor | LateDataset)]
        self.inputs = tuple(dict.fromkeys(t for leaf in given for t in getattr(leaf, "inputs", (leaf,))))
        self._sample = self._made(lambda tensor: _made_up(tensor, 2), lambda late: late._sample)
        if any(isinstance(leaf, Tensor) for leaf in given):
            other = self._made(lambda tensor: _made_up(tensor, 3), lambda late: late._sample)
            self._sample.known_spec = _common(self._sample.known_spec, other.known_spec)
        self.element_spec = self._sample.known_spec

    def of(self, values: tuple[Any, ...]) -> Dataset:
        """Gives the data set of the inputs' values."""
        by_tensor = dict(zip(self.inputs, values, strict=True))
        made = self._made(by_tensor.__getitem__, lambda late: late.of(tuple(by_tensor[t] for t in late.inputs)))
        made.known_spec = self.element_spec
        return made

    def _made(self, value_of: Callable[[Tensor], Any], dataset_of: Callable[[LateDataset], Any]) -> Dataset:
        def filled(leaf: Any) -> Any:
            if isinstance(leaf, LateDataset):
                return dataset_of(leaf)
            return value_of(leaf) if isinstance(leaf, Tensor) else leaf

        return self._make(*map_tree(filled, self._args), **map_tree(filled, self._kwargs))

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return mapped(self.element_spec, lambda spec: spec.dtype)

    @property
    def output_shapes(self) -> Any:
        """What is known of the shapes of an element."""
        return mapped(self.element_spec, lambda spec: spec.shape)

    def make_initializable_iterator(self, shared_name: str | None = None) -> OneShotIterator:
        """Gives the deferred iterator whose `initializer` takes the values."""
        del shared_name
        return OneShotIterator(self)

    def make_one_shot_iterator(self) -> NoReturn:
        """Refuses: nothing would give it the values.

        Raises:
          ValueError: Always.
        """
        raise ValueError(
            "make_one_shot_iterator: the data set waits for the value of a tensor, such as a placeholder; "
            "make_initializable_iterator has an initializer that takes it"
        )

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "a data set of tensors has no elements before a run: make_initializable_iterator() goes through it"
        )

    def __getattr__(self, name: str) -> Any:
        return functools.partial(late(getattr(type(self._sample), name)), self)


def late(make: Callable[P, R]) -> Callable[P, R]:
    """Has a function that makes a data set wait where a tensor, or a data set that waits, is among its arguments."""

    @functools.wraps(make)
    def face(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_late((args, kwargs)):
            return LateDataset(make, args, kwargs)  # type: ignore[return-value,arg-type]  # Stands for it until a run.
        return make(*args, **kwargs)

    return face


def is_late(tree: Any) -> bool:
    """Says whether any leaf is a tensor, or a data set of tensors."""
    return any(isinstance(leaf, Tensor | LateDataset) for leaf in leaves(tree))


class DatasetClass(type):
    """The class of `tf.data.Dataset`: one of files waits for tensors of names; a verb that is not here says so."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes a data set, or one that waits for the values of tensors."""
        if cls.__name__ != "Dataset" and is_late((args, kwargs)):
            return LateDataset(super().__call__, args, kwargs)
        return super().__call__(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        refuse("data.Dataset", name)


def inner_spec(function: Callable[..., Any], spec: Any) -> Any:
    """Gives what is known of the elements of data sets that a function makes of elements; None where it is nothing."""
    if spec is None:
        return None

    def tensor(part: TensorSpec) -> Tensor:
        return Operation("Placeholder", [], [(part.dtype, part.shape)], lambda _: (), None).outputs[0]

    graph = Graph()
    graph.tracing = True
    with graph.as_default():
        try:
            made = call(function, map_tree(tensor, spec))
        except Exception:  # noqa: BLE001 -- called with values, it says it better.
            return None
    return made.element_spec if isinstance(made, LateDataset) else getattr(made, "known_spec", None)


def _made_up(tensor: Tensor, number: int) -> Any:
    """Gives a value of a tensor's form; of strings none, since they may be names of files."""
    sizes = [number if size is None else size for size in tensor.shape.sizes or ()]
    if tensor.dtype.name == "string":
        return np.empty((0, *sizes[1:]), object)
    return np.full(sizes, number, tensor.dtype.dtype)[()]


def _common(first: Any, second: Any) -> Any:
    """Gives what two samples' specs have in common."""
    if first is None or second is None:
        return None
    others = iter(leaves(second))

    def joined(spec: TensorSpec) -> TensorSpec:
        a, b = spec.shape.sizes, next(others).shape.sizes
        if a is None or b is None or len(a) != len(b):
            return TensorSpec(None, spec.dtype)
        return TensorSpec(TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)]), spec.dtype)

    return map_tree(joined, first)
