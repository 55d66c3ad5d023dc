"""Batches as JAX arrays, put on their devices ahead of the step that needs them. The one file of this room for jax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.adapters.loader import Loader
from wellfed.errors import MissingExtraError, PlanError
from wellfed.feed.tree import leaves, map_tree, native

try:
    import jax
except ImportError as error:
    raise MissingExtraError("wellfed.adapters.jax", "JAX", "jax") from error

if TYPE_CHECKING:
    from wellfed.feed import Dataset
    from wellfed.feed.tree import Tree

__all__ = ["JaxLoader"]

_PLACES = (jax.sharding.Sharding, jax.Device)


class JaxLoader(Loader[Any]):
    """A data set's elements as trees of `jax.Array`, an epoch for each `iter`.

    Shapes and dtypes are those of the first element in all others: another one would make `jax.jit` compile again.

    Args:
      dataset: What to deliver; batched with `drop_remainder=True`, or of a length that leaves none.
      sharding: A `jax.sharding.Sharding` or a device, for every leaf. None: JAX's default device. Where the sharding
        spans processes, each gives its own part of the global array: `ds.shard()` before `batch`.
      ahead: Elements on their way to the devices while the consumer works on one. [elements]

    Raises:
      PlanError: `dataset`, `sharding` or `ahead` is none. While iterating: an element has other shapes or dtypes than
        the first, or a leaf JAX has no array for.

    Differs from the arrays of the feed:
      int64 and float64 become int32 and float32, unless `jax_enable_x64` is set, as in all of JAX.

    Example:
      >>> import numpy as np
      >>> import wellfed as wf
      >>> loader = JaxLoader(wf.from_arrays({"x": np.arange(6)}).batch(4, drop_remainder=True))
      >>> [batch["x"] for batch in loader]
      [Array([0, 1, 2, 3], dtype=int32)]
    """

    def __init__(self, dataset: Dataset, sharding: Any = None, ahead: int = 2) -> None:
        super().__init__(dataset, ahead)
        for place in jax.tree.leaves(sharding):  # One for all leaves, or a tree of them, as in `jax.device_put`.
            if not isinstance(place, _PLACES):
                raise PlanError("JaxLoader", f"sharding must be a jax.sharding.Sharding or a device, got {place!r}")
        self._sharding = sharding
        # Of a sharding over several processes, each holds a part only.
        self._whole = all(map(_is_whole, jax.tree.leaves(sharding)))
        self._due: dict[str, str] | None = None

    def _start(self, element: Tree) -> Any:
        found = {path: _describe(path, leaf) for path, leaf in leaves(element)}
        self._due = self._due or found
        if found != self._due:
            path = next(path for path in {**found, **self._due} if found.get(path) != self._due.get(path))
            raise PlanError(
                "JaxLoader",
                f"{path or 'the element'} is {found.get(path)}, and was {self._due.get(path)} in the first element; "
                "jit needs one shape: batch(n, drop_remainder=True), or padded_batch with padded_shapes",
            )
        element = map_tree(native, element)
        if self._whole:
            return jax.device_put(element, self._sharding)
        return jax.tree.map(_put, self._sharding, element)


def _is_whole(place: Any) -> bool:
    return getattr(place, "is_fully_addressable", True)


def _put(place: Any, part: Any) -> Any:
    """Puts leaves of an element where some places belong to other processes."""
    if _is_whole(place):
        return jax.device_put(part, place)
    return jax.tree.map(lambda leaf: jax.make_array_from_process_local_data(place, leaf), part)


def _describe(path: str, leaf: Any) -> str:
    # 2: a type that a package registered, such as ml_dtypes' bfloat16; records of fields are of the same kind, V.
    if not isinstance(leaf, (np.ndarray, np.generic)) or (leaf.dtype.kind not in "biufc" and leaf.dtype.isbuiltin != 2):
        raise PlanError(
            "JaxLoader",
            f"JAX has no array for {path or 'the element'} ({type(leaf).__name__}): leave it out with "
            "select_columns(), or make numbers of it with map() or padded_batch()",
        )
    return f"{leaf.dtype} {leaf.shape}"
