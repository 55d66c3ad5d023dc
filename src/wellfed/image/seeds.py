"""All randomness of the room: numbers from a row's seed and a count, so that a row is the same on any thread.

Draw k (from 0) of the 64-bit seed s is SplitMix64's output k: mix(s + (k + 1) * 0x9E3779B97F4A7C15) modulo 2^64.

Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17
with the constants of variant 13 ("MurmurHash3 finalizer variants", D. Stafford).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Seeds = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEP = 0xD1342543DE82EF95  # Another odd number, so that steps and draws of one seed do not meet.


def split_seeds(seeds: Seeds, step: int) -> Seeds:
    """The seeds that step `step` of a chain has when the chain has `seeds`, (B,)."""
    return _mix(_mix(seeds) + np.uint64(_STEP * (step + 1) % 2**64))


def uniform(seeds: Seeds, count: int) -> npt.NDArray[np.float64]:
    """The first `count` draws of each seed, (B, count), in [0, 1): 53 bits each."""
    places = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
    bits = _mix(seeds[:, None] + places)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(values: Seeds) -> Seeds:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
