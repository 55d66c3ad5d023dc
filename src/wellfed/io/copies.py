"""Remote shards that have copies on this machine's disk, as one set of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from wellfed.io.index import RecordIndex


@dataclass(frozen=True)
class Copies:
    """The files that have copies on disk.

    Attributes:
      shards: All records as rows; those of other files stand in no memory.
      opened: How many files had been opened when this was made.
      whole: Whether all files have copies.
    """

    shards: _native.ShardSet
    opened: int
    whole: bool

    @classmethod
    def of(cls, indexes: Sequence[RecordIndex], opened: Mapping[int, NDArray[np.uint8] | None]) -> Copies:
        """Takes each file's index, and the memory of those that have been opened: None where that is no mapping."""
        nothing = np.empty(0, np.uint8)
        memory = [opened.get(file) for file in range(len(indexes))]
        parts = [
            (nothing if found is None else found, index.offsets[:-1])
            for found, index in zip(memory, indexes, strict=True)
        ]
        return cls(_native.ShardSet(parts), len(opened), all(found is not None for found in memory))
