"""A sum over delivered batches that two programs can compare, whatever the sizes of their batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def _mixed(values: np.ndarray) -> np.ndarray:
    values = (values ^ (values >> _SHIFT)) * _MIX
    return values ^ (values >> _SHIFT)


def row_sums(column: np.ndarray) -> np.ndarray:
    """One uint64 for each row, in which the place of every byte counts."""
    flat = np.ascontiguousarray(column).reshape(len(column), -1)
    flat = flat.view(np.uint8).reshape(len(column), -1)
    padded = np.zeros((len(flat), -(-flat.shape[1] // 8) * 8), np.uint8)
    padded[:, : flat.shape[1]] = flat
    words = padded.view(np.uint64)
    places = _mixed(np.arange(1, words.shape[1] + 1, dtype=np.uint64))
    return _mixed(words + places).sum(axis=1, dtype=np.uint64)


class Checksum:
    """Sums rows up. With `ordered`, the place of a row counts; otherwise only which rows came, and how often."""

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._total = 0
        self._rows = 0
        self._kinds: set[str] = set()

    def add(self, batch: Mapping[str, Any]) -> None:
        names = sorted(batch)
        columns = [np.asarray(batch[name]) for name in names]
        self._kinds |= {f"{n} {c.dtype} {c.shape[1:]}" for n, c in zip(names, columns, strict=True)}
        sums = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            sums = _mixed(sums + row_sums(column))
        if self._ordered:
            sums = _mixed(sums + np.arange(self._rows, self._rows + len(sums), dtype=np.uint64))
        self._total = (self._total + int(sums.sum(dtype=np.uint64))) % 2**64
        self._rows += len(sums)

    def result(self) -> list[Any]:
        """Number of rows, what each column holds, and the sum: of JSON's types."""
        return [self._rows, sorted(self._kinds), f"{self._total:016x}"]
