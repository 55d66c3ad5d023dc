"""Memory of batches: one pool for the process, so that a data set starts with the memory of the one before.

A fresh batch costs a page fault for every few kilobytes; one whose memory was used before costs none. What dies comes
back by itself, and at most `MAX_FREE_BYTES` of it wait for use.
"""

from __future__ import annotations

import os

from wellfed import _native

MAX_FREE_BYTES = 64 << 20

_pool = _native.LeasePool(MAX_FREE_BYTES)


def pool() -> _native.LeasePool:
    """The pool of this process."""
    return _pool


def _renew() -> None:
    global _pool  # noqa: PLW0603 -- a fork's child has a pool of its own: the parent's lock may be held in its copy.
    _pool = _native.LeasePool(MAX_FREE_BYTES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
