"""Locks on files, between processes: they end with the process that holds them, however it ends."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WINDOWS = os.name == "nt"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock that one process, and one thread of it, has at a time; the file stays behind, empty."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        take_lock(descriptor, shared=False, wait=True)
        yield
    finally:
        os.close(descriptor)  # Ends the lock.


def take_lock(descriptor: int, *, shared: bool, wait: bool) -> bool:
    """Locks an open file; False where another holds it and `wait` is off. Closing the descriptor ends the lock.

    On Windows there are no shared locks, and none are needed: a file that is open cannot be removed there.
    """
    if _WINDOWS:
        return shared or _lock_on_windows(descriptor, wait=wait)
    fcntl = importlib.import_module("fcntl")  # Not on Windows.
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(descriptor: int, *, wait: bool) -> bool:
    msvcrt: Any = importlib.import_module("msvcrt")
    while True:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:  # LK_LOCK gives up after ten seconds.
            if not wait:
                return False
        else:
            return True


def is_unused(path: Path) -> bool:
    """Whether nobody holds a lock on a file; True where it is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return take_lock(descriptor, shared=False, wait=False)
    finally:
        os.close(descriptor)
