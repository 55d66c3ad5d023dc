"""Numbers from numbers: the keys and seeds behind every order and every random transform.

All randomness of a run comes from (seed, node, epoch, position) through SplitMix64's finaliser (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014), so it depends on nothing else: no thread, no machine, no time.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

UInt64s: TypeAlias = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def mix(*values: int) -> int:
    """Mixes whole numbers into one of 64 bits; every argument and its place matter."""
    state = 0
    for value in values:
        state = (state ^ (value & _MASK)) + _GOLDEN & _MASK
        state = ((state ^ (state >> 30)) * _FIRST) & _MASK
        state = ((state ^ (state >> 27)) * _SECOND) & _MASK
        state ^= state >> 31
    return state


def mix_each(state: int | UInt64s, values: UInt64s) -> UInt64s:
    """Mixes each of `values` into `state`: one 64-bit number each, as `mix` would from the same state."""
    mixed: UInt64s = (np.asarray(state, np.uint64) ^ values) + np.uint64(_GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
