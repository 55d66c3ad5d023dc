"""A number for each row of a data set whose length need not be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_ROWS = 1024


class Numbered:
    """One int64 a row, -1 where none was set. One thread sets at a time; any number may ask meanwhile."""

    def __init__(self) -> None:
        self._array: NDArray[np.int64] = np.full(_FIRST_ROWS, -1, np.int64)

    def get(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of rows: int64, shape (len(rows),), in memory of its own."""
        array = self._array
        if not len(rows) or int(rows.max()) < len(array):
            return array[rows]
        known = rows < len(array)
        found = np.full(len(rows), -1, np.int64)
        found[known] = array[rows[known]]
        return found

    def set(self, rows: NDArray[np.int64], numbers: NDArray[np.int64] | int) -> None:
        """Sets the numbers of rows."""
        need = int(rows.max(initial=-1)) + 1
        if need > len(self._array):
            larger = np.full(max(need, 2 * len(self._array)), -1, np.int64)
            larger[: len(self._array)] = self._array
            self._array = larger
        self._array[rows] = numbers

    def where(self, number: int, stop: int) -> NDArray[np.int64]:
        """The rows below `stop` that have this number, rising."""
        return np.flatnonzero(self.get(np.arange(stop)) == number)


def each_once(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows in rising order, each once."""
    rising = np.sort(rows)
    return rising[np.append(True, rising[1:] != rising[:-1])] if len(rising) else rising
