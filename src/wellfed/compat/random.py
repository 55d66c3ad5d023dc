"""Random numbers: `tf.random`, and TensorFlow 1's names at the top, which wait for a run whatever they are given."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wellfed.compat.deferred.dtypes import as_dtype, float32
from wellfed.compat.deferred.eager import as_value, plain
from wellfed.compat.deferred.graph import Tensor, get_default_graph
from wellfed.compat.deferred.randomness import randomly, seed_eager
from wellfed.compat.missing import refuse


def set_random_seed(seed: int | None) -> None:
    """Fixes the random numbers of operations that are made after it in the default graph, and of calls at once."""
    get_default_graph().seed = seed
    seed_eager(seed)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
    *,
    wait: bool = True,
) -> Any:
    """Gives random numbers from `minval` (included) to `maxval` (not included), other ones in each run.

    Args:
      shape: Their shape.
      minval: The lowest.
      maxval: What they stay below: 1 by default; due for integers.
      dtype: Their dtype.
      seed: Fixes them.
      name: The operation's.
      wait: Whether they wait for a run, as under TensorFlow 1's name.
    """
    kind = as_dtype(dtype)
    if kind.is_integer and maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype {kind.name}")

    def draw(rng: np.random.Generator, size: Any, low: Any, high: Any) -> Any:
        numbers = rng.integers(low, high, _ints(size)) if kind.is_integer else rng.uniform(low, high, _ints(size))
        return np.asarray(numbers, kind.dtype)[()]

    return randomly(
        draw,
        (shape, minval, 1 if maxval is None else maxval),
        seed,
        name or "random_uniform",
        (dtype, _known(shape)),
        wait=wait,
    )


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
    *,
    wait: bool = True,
) -> Any:
    """Gives random numbers around `mean`, other ones in each run. The arguments are those of `random_uniform`."""

    def draw(rng: np.random.Generator, size: Any, mean: Any, stddev: Any) -> Any:
        return np.asarray(rng.normal(mean, stddev, _ints(size)), as_dtype(dtype).dtype)[()]

    return randomly(draw, (shape, mean, stddev), seed, name or "random_normal", (dtype, _known(shape)), wait=wait)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None, *, wait: bool = True) -> Any:
    """Gives the parts of a value along its first dimension in random order, another one in each run."""
    given = value if isinstance(value, Tensor) else as_value(value)
    static = (given.dtype, given.shape if isinstance(given, Tensor) else np.shape(given))
    return randomly(lambda rng, rows: rng.permutation(rows), (given,), seed, name or "RandomShuffle", static, wait=wait)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None, *, wait: bool = True) -> Any:
    """Gives a part of the shape `size`, from a random place, another one in each run."""

    def draw(rng: np.random.Generator, whole: Any, size: Any) -> Any:
        room = [have - want for have, want in zip(np.shape(whole), _ints(size), strict=True)]
        if min(room) < 0:
            raise ValueError(f"Need value.shape >= size, got {np.shape(whole)} and {_ints(size)}")
        starts = [int(rng.integers(0, free + 1)) for free in room]
        return whole[tuple(slice(a, a + n) for a, n in zip(starts, _ints(size), strict=True))].copy()

    given = value if isinstance(value, Tensor) else as_value(value)
    dtype = given.dtype
    return randomly(draw, (given, size), seed, name or "random_crop", (dtype, _known(size)), wait=wait)


def _ints(shape: Any) -> list[int]:
    return [int(size) for size in np.atleast_1d(np.asarray(shape, np.int64))]


def _known(shape: Any) -> Any:
    """Gives what is known of a shape that may hold tensors, or be one."""
    if isinstance(shape, Tensor):
        return None
    return [None if isinstance(size, Tensor) else int(size) for size in np.atleast_1d(np.asarray(plain(shape), object))]


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Gives random numbers as `random_uniform` does: at once, unless a tensor is among the arguments."""
    return random_uniform(shape, minval, maxval, dtype, seed, name, wait=False)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Gives random numbers as `random_normal` does: at once, unless a tensor is among the arguments."""
    return random_normal(shape, mean, stddev, dtype, seed, name, wait=False)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Gives the parts of a value in random order as `random_shuffle` does: at once, unless it is a tensor."""
    return random_shuffle(value, seed, name, wait=False)


set_seed = set_random_seed

__getattr__ = functools.partial(refuse, "random")
