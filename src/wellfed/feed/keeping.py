"""What a cache over rows by number keeps, and what that depends on.

Each of these has a store of its own; a file is one's at a time. What is below a cache runs as epoch 0 and is numbered
as a plan of its own, so that neither the epoch nor the verbs above matter.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from wellfed.feed.caching import key_of
from wellfed.feed.file_store import FileStore
from wellfed.feed.memory_store import MemoryStore, Store
from wellfed.feed.specs import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed import plan
    from wellfed.feed.context import RunContext


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
        key = key_of(node, self._context, self._files(), "by number", *(["replaced"] if self._replacing else []))
        if (found := kept.get(key)) is not None:
            if (store := found.here()) is not None:
                return store  # type: ignore[no-any-return]
            kept.pop(key, None)
        made = FileStore(node, key[1], spec_of(node.source)) if node.filename else MemoryStore(node.limit_bytes)
        return kept.setdefault(key, made)  # type: ignore[no-any-return]
