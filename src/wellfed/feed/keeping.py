"""What a cache over rows by number keeps, and what that depends on.

Each of these has a store of its own; a file is one's at a time. What is below a cache runs as epoch 0 and is numbered
as a plan of its own, so that neither the epoch nor the verbs above matter.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from wellfed.feed import plan
from wellfed.feed.caching import belongs_to
from wellfed.feed.file_store import FileStore
from wellfed.feed.memory_store import MemoryStore, Store
from wellfed.feed.parsing import ParseRecords
from wellfed.feed.specs import spec_of
from wellfed.feed.transforms import DecodeSchema, ParseSchema, SelectColumns
from wellfed.image import Cast, CenterCrop, Decode, Normalize, OneHot, Resize

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed.context import RunContext

# Transforms that never look at the seeds of rows.
_CERTAIN = (ParseRecords, ParseSchema, DecodeSchema, SelectColumns, Decode, Resize, CenterCrop, Normalize, Cast, OneHot)


class Keeping:
    """The store of a cache in one run, opened when the first element is asked for.

    Args:
      node: The cache.
      context: The run.
      files: Fingerprints what the rows below the cache come from.
      replacing: Whether rows that cannot be made are replaced below the cache.
    """

    def __init__(self, node: plan.Cache, context: RunContext, files: Callable[[], str], *, replacing: bool) -> None:
        self._node, self._context, self._files, self._replacing = node, context, files, replacing
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._length: int | None = None

    def store(self) -> Store:
        """What was kept. Threads that ask at a time get the same."""
        if self._store is not None:
            return self._store
        with self._lock:
            if self._store is None:
                self._store = self._open()
            store = self._store
        if self._length is not None:
            store.end(self._length)
        return store

    def end(self, length: int) -> None:
        """Notes how many rows there are."""
        self._length = length
        if self._store is not None:
            self._store.end(length)

    def _open(self) -> Store:
        node, kept = self._node, self._node.kept
        more = ("by number", *(["replacing"] if self._replacing else []))
        due = belongs_to(node, self._context, self._files(), *more)
        draws = self._replacing or any(map(_draws, plan.walk(node.source)))
        key = (due, self._context.seed if draws else None)
        for other in list(kept):
            if isinstance(other, tuple) and other[0] != due:  # Of files that have changed since.
                kept.pop(other, None)
        if (found := kept.get(key)) is not None:
            if (store := found.here()) is not None:
                return store  # type: ignore[no-any-return]
            kept.pop(key, None)
        made = FileStore(node, due, spec_of(node.source)) if node.filename else MemoryStore(node.limit_bytes)
        return kept.setdefault(key, made)  # type: ignore[no-any-return]


def _draws(node: plan.Node) -> bool:
    """Whether what a node gives depends on the seed of the run."""
    if isinstance(node, (plan.Shuffle, plan.Sample)):
        return node.seed is None
    if not isinstance(node, plan.Map):
        return False
    function: Any = node.function
    steps = getattr(function, "steps", (function,))  # Several transforms made one.
    return node.rng or (hasattr(function, "apply") and not all(isinstance(step, _CERTAIN) for step in steps))
