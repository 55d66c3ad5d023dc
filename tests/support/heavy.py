"""Functions for worker processes: those must be found by name in another process."""

from __future__ import annotations

import os
import signal
import time

import numpy as np


def double(x):
    return x * 2


class Times:
    """A function with something that may change."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


def picture(x):
    return {"image": np.full((64, 64, 3), x, np.uint8), "label": np.int64(x)}


def noisy(x, rng):
    return x + rng.integers(1000)


def batch_sum(batch):
    return {"sum": batch["x"].sum(), "text": f"{len(batch['x'])} rows"}


def pid(x):
    return np.int64(os.getpid()) + 0 * x


def fail_at_57(x):
    if x == 57:
        raise LookupError("no 57")
    return x


class Awkward(Exception):
    """An error that does not survive pickling."""

    def __init__(self, *, detail):
        super().__init__(f"detail {detail}")
        self.detail = detail


def fail_awkwardly(x):
    raise Awkward(detail=int(x))


def give_a_lambda(x):
    return (lambda: x) if x == 3 else x


def die_at_57(x):
    if x == 57:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def take_for_ever(x):
    if x:
        time.sleep(600)  # No wait of a test's own: what has to be broken off.
    return x
