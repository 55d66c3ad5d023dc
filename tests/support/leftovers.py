"""What iterations may leave behind: threads of feeds, and processes; and what a forked child does to its parent's."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from typing import Any


def feed_threads() -> list[threading.Thread]:
    """The threads of feeds that are alive."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("wellfed-feed")]


def workers() -> list[Any]:
    """The processes of feeds that are alive."""
    return [p for p in multiprocessing.active_children() if p.name.startswith("wellfed-worker")]


def child_that_drops(held: list[Any]) -> int:
    """Forks; the child closes what is in the list, drops it and ends. Gives the child's exit code."""
    child = os.fork()
    if child == 0:
        try:
            dropped = held.pop()
            getattr(dropped, "close", int)()
            del dropped
            gc.collect()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
