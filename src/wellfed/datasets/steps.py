"""How a `Sequence` stands in a SequenceExample: a feature list, one step an entry.

    Sequence(Scalar(int64))            x: [1] [2] [3]           a step a number
    Sequence(Tensor((2,), float32))    x: [a, b] [c, d]         a step an array's numbers
    Sequence(Sequence(Scalar(int64)))  x: [1, 2, 3] [] [4]      a step an inner list

Everything but sequences is context. The functions here turn what an Example would hold into steps and back, so that the
types themselves need not know of it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Ragged
from wellfed.datasets.tensors import Sequence, Tensor, stored_kind
from wellfed.errors import FeatureLengthError
from wellfed.example import VarLenFeature

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_steps(name: str, kind: Sequence) -> None:
    """Raises `ValueError` where a sequence is nested deeper than the steps of a feature list can be."""
    if kind.unnested()[0] > 2:
        raise ValueError(f'feature "{name}": a SequenceExample holds lists of lists, and none deeper')


def step_feature(kind: Sequence) -> VarLenFeature:
    """Returns what `parse_sequence_example` needs to read a sequence."""
    return VarLenFeature(stored_kind(kind.unnested()[1]))


def to_steps(name: str, kind: Sequence, encoded: Mapping[str, Any]) -> list[Any]:
    """Returns the steps of one row, from what `kind.encode` gives for an Example."""
    depth, size = kind.unnested()[0], _numbers(kind)
    if depth == 1:
        flat = encoded[name]
        lengths = np.full(len(flat) // size, size)
    else:
        flat, lengths = encoded[f"{name}/ragged_flat_values"], encoded[f"{name}/ragged_row_lengths_0"] * size
    ends = np.cumsum(lengths)
    return [flat[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def from_steps(name: str, kind: Sequence, steps: Ragged) -> dict[str, Ragged]:
    """Returns what `kind.decode` needs, from a feature list's column.

    Raises:
      FeatureLengthError: A step does not hold whole entries.
    """
    depth, size = kind.unnested()[0], _numbers(kind)
    inner = steps.values
    assert isinstance(inner, Ragged)
    counts = np.diff(inner.row_splits)
    bad = counts != size if depth == 1 else counts % size != 0
    if bad.any():
        step = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(steps.row_splits, step, side="right")) - 1
        due = str(size) if depth == 1 else f"a multiple of {size}"
        raise FeatureLengthError(f"expected {due} values in each step, got {counts[step]}", name, row)
    flat = Ragged(inner.values, inner.row_splits[steps.row_splits])
    if depth == 1:
        return {name: flat}
    lengths = Ragged(counts // size, steps.row_splits)
    return {f"{name}/ragged_flat_values": flat, f"{name}/ragged_row_lengths_0": lengths}


def _numbers(kind: Sequence) -> int:
    """Returns how many values of a list one entry is."""
    leaf = kind.unnested()[1]
    return max(1, prod(leaf.shape)) if isinstance(leaf, Tensor) and leaf.inline else 1  # type: ignore[arg-type]  # known
