"""Rows that cannot be made: raised, or replaced by others, with each of them counted and named."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from wellfed.errors import ExampleError, ImageError, RecordError, StageError
from wellfed.feed.many import Operator, join
from wellfed.feed.mixing import mix
from wellfed.feed.order import Positions, length_of
from wellfed.feed.stats import ReplacedRow

if TYPE_CHECKING:
    from wellfed.feed.unit import Unit

ROW_ERRORS = (RecordError, ExampleError, ImageError, StageError)
_TRIES = 16  # Draws for one place; with half of all rows bad, one place in 65,536 finds none.


class ErrorReport:
    """The rows that were replaced, up to a limit. Many threads add to it."""

    def __init__(self, max_errors: int | None) -> None:
        self._max_errors = max_errors
        self._lock = threading.Lock()
        self._rows: dict[tuple[int, int], ReplacedRow] = {}

    def add(self, row: ReplacedRow, error: Exception) -> None:
        """Notes a row.

        Raises:
          Exception: `error` itself, where that is one more than allowed.
        """
        with self._lock:
            self._rows[row.epoch, row.position] = row  # A unit that is made twice counts once.
            if self._max_errors is not None and len(self._rows) > self._max_errors:
                error.add_note(f"This is one more than max_errors={self._max_errors} rows that could not be made.")
                raise error

    def rows(self) -> tuple[ReplacedRow, ...]:
        """The rows so far, in the order of epochs and positions."""
        with self._lock:
            return tuple(self._rows[key] for key in sorted(self._rows))


class Guarded:
    """Gives another row in the place of one that cannot be made; which one depends on (seed, epoch, position)."""

    def __init__(self, source: Operator, seed: int, report: ErrorReport) -> None:
        self._source, self._seed, self._report = source, seed, report

    def available(self, stop: int) -> int:
        """See `Operator`."""
        return self._source.available(stop)

    def make(self, positions: Positions) -> Unit:
        """See `Operator`."""
        try:
            return self._source.make(positions)
        except ROW_ERRORS as error:
            if len(positions) == 1:
                return self._replace(positions, error)
        at, epochs, half = positions.numbers(), positions.epochs(), len(positions) // 2
        which = (np.arange(len(at)) >= half).astype(np.int64)
        return join((self, self), which, at, epochs)

    def _replace(self, positions: Positions, error: Exception) -> Unit:
        at, epoch = int(positions.numbers()[0]), int(positions.epochs()[0])
        length = length_of(self._source, "on_error")
        self._report.add(ReplacedRow(at, epoch, _where(error), _reason(error)), error)
        for attempt in range(_TRIES):
            drawn = mix(self._seed, epoch, at, attempt) % length
            try:
                return self._source.make(Positions(range(drawn, drawn + 1), epoch))
            except ROW_ERRORS:
                continue
        raise error


def _where(error: Exception) -> str:
    if isinstance(error, RecordError):
        return f"{error.path}: record {error.record_index}"
    if isinstance(error, ExampleError):
        return f"{error.path}: record {error.record_index}" if error.path else ""
    return error.record if isinstance(error, StageError) else getattr(error, "source", "")


def _reason(error: Exception) -> str:
    return error.error if isinstance(error, StageError) else str(getattr(error, "reason", error))
