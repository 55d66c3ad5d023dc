"""What this process may use of the machine."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """How many cores this process may run on at a time: by affinity where the system has it."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
