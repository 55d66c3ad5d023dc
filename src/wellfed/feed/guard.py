"""Rows that cannot be made: raised, replaced by others, or left out, with each of them counted and named."""

from __future__ import annotations

import logging
import traceback
from collections import deque
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wellfed.errors import ExampleError, ImageError, OpError, RecordError, StageError
from wellfed.feed.many import Operator, join
from wellfed.feed.mixing import mix
from wellfed.feed.order import Positions, length_of
from wellfed.feed.stats import ReplacedRow, SkippedRow
from wellfed.feed.unit import Failure, Unit, concat_units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wellfed.feed.pipeline import Pipeline
    from wellfed.feed.tree import Tree

ROW_ERRORS = (RecordError, ExampleError, ImageError, StageError, OpError)
_logger = logging.getLogger("wellfed.feed")
_TRIES = 16  # Draws for one place; with half of all rows bad, one place in 65,536 finds none.


class ErrorReport:
    """The rows that were replaced or left out, up to a limit, in the order in which their elements were taken."""

    def __init__(self, max_errors: int | None) -> None:
        self._max_errors = max_errors
        self._rows: list[ReplacedRow | SkippedRow] = []

    def add(self, row: ReplacedRow | SkippedRow, error: Exception, warning: bool = False) -> None:
        """Notes a row whose turn has come, and logs it where so wanted. Called by one thread at a time.

        Raises:
          Exception: A copy of `error`, where that is one more than allowed: the frames that it is raised through hold
            `error`, so that would be a circle.
        """
        self._rows.append(row)
        if self._max_errors is not None and len(self._rows) > self._max_errors:
            raise self._one_too_many(error) from error.__cause__
        if warning:
            _logger.warning("left out: %s: %s", row.where or f"row {getattr(row, 'row', -1)}", row.reason)

    def _one_too_many(self, error: Exception) -> Exception:
        found = copy(error)
        note = f"This is one more than max_errors={self._max_errors} rows that could not be made."
        found.__notes__ = [*getattr(error, "__notes__", ()), note]
        return found

    def count(self) -> int:
        """How many rows were noted."""
        return len(self._rows)

    def skipped(self, count: int) -> tuple[SkippedRow, ...]:
        """Those of the first `count` rows that were left out, in the order of the elements."""
        return tuple(row for row in self._rows[:count] if isinstance(row, SkippedRow))

    def replaced(self, count: int) -> tuple[ReplacedRow, ...]:
        """Those of the first `count` rows that were replaced, in the order of epochs and positions."""
        found = (row for row in self._rows[:count] if isinstance(row, ReplacedRow))
        return tuple(sorted(found, key=lambda row: (row.epoch, row.position)))


def told(unit: Unit, report: ErrorReport) -> Iterable[Tree]:
    """The elements of a unit; rows that were replaced are noted right before the element that they were due in.

    Raises:
      Exception: A row's error, in its turn, where it is one more than allowed.
    """
    return _telling(unit, report) if unit.replaced else unit


def _telling(unit: Unit, report: ErrorReport) -> Iterator[Tree]:
    left = deque(sorted(unit.replaced, key=lambda failure: failure.at))
    for number, element in enumerate(unit):
        while left and left[0].at == number:
            failure = left.popleft()
            report.add(failure.row, failure.error)
        yield element


def bare(error: Exception) -> Exception:
    """The error without tracebacks: their frames hold the unit that the error travels with (see `attempt`).

    Where a user's function raised is kept as a note.
    """
    cause = error.__cause__
    if cause is not None and cause.__traceback__ is not None:
        *_, (frame, line) = traceback.walk_tb(cause.__traceback__)
        note = f"Raised in {frame.f_code.co_name} at {frame.f_code.co_filename}:{line}."
        if note not in getattr(cause, "__notes__", ()):  # It may be one object that is raised again and again.
            cause.add_note(note)
    error.__traceback__ = error.__context__ = None
    while cause is not None and cause.__traceback__ is not None:  # After `raise e from e` it is its own cause.
        cause.__traceback__ = cause.__context__ = None
        cause = cause.__cause__
    return error


class Guarded:
    """Gives another row in the place of one that cannot be made; which one depends on (seed, epoch, position).

    What was replaced travels with the unit, for who takes it.

    Attributes:
      source: What makes the rows.
    """

    def __init__(self, source: Operator, seed: int) -> None:
        self.source, self._seed = source, seed

    def available(self, stop: int) -> int:
        """See `Operator`."""
        return self.source.available(stop)

    def make(self, positions: Positions) -> Unit:
        """See `Operator`."""
        try:
            return self.source.make(positions)
        except ROW_ERRORS as error:
            if len(positions) == 1:
                return self._replace(positions, error)
        at, epochs, half = positions.numbers(), positions.epochs(), len(positions) // 2
        which = (np.arange(len(at)) >= half).astype(np.int64)
        return join((self, self), which, at, epochs)

    def trace(self, positions: Positions) -> tuple[int, int]:
        """See `Operator`."""
        return self.source.trace(positions)

    def _replace(self, positions: Positions, error: Exception) -> Unit:
        at, epoch = int(positions.numbers()[0]), int(positions.epochs()[0])
        length = length_of(self.source, "on_error")
        for attempt in range(_TRIES):
            drawn = mix(self._seed, epoch, at, attempt) % length
            try:
                unit = self.source.make(Positions(range(drawn, drawn + 1), epoch))
            except ROW_ERRORS:
                continue
            row = ReplacedRow(at, epoch, _where(error), _reason(error))
            return replace(unit, replaced=(Failure(0, row, bare(error)),))
        try:
            raise error
        finally:
            del error  # See `attempt`.


class LeavingOut:
    """Makes units without the rows that cannot be made; what was left out travels with the unit, for who takes it."""

    def __init__(self, pipeline: Pipeline, epoch: int) -> None:
        self._pipeline, self._epoch = pipeline, epoch

    def work(self, start: int, stop: int) -> Unit:
        """The unit of positions [start, stop), with fewer rows where some failed."""
        parts: list[Unit] = []
        failures: list[Failure] = []
        self._make(start, stop, parts, failures)
        unit = concat_units(parts)
        unit.failures = tuple(failures)
        return unit

    def _make(self, start: int, stop: int, parts: list[Unit], failures: list[Failure]) -> None:
        made = self._try(start, stop)
        if isinstance(made, Unit):
            parts.append(made)
        elif stop - start == 1:
            source, row = self._pipeline.trace(start)
            where = _where(made) or self._pipeline.locate(source, row)
            lost = SkippedRow(start, self._epoch, where, _reason(made), row)
            failures.append(Failure(sum(map(len, parts)), lost, made))
        else:
            middle = (start + stop) // 2
            self._make(start, middle, parts, failures)
            self._make(middle, stop, parts, failures)

    def _try(self, start: int, stop: int) -> Unit | Exception:
        try:
            return self._pipeline.work(start, stop)
        except ROW_ERRORS as error:
            return bare(error)


def skipped_row(error: Exception, position: int, epoch: int) -> SkippedRow:
    """What is known of an element that a verb of a stream failed on."""
    return SkippedRow(position, epoch, _where(error), _reason(error), -1)


def stretches(
    units: Iterable[Unit], position: int, lose: Callable[[SkippedRow | ReplacedRow, Exception], None]
) -> Iterator[tuple[int, Unit]]:
    """Each unit from `position` on, cut where rows were left out, with the position of its first row.

    Raises:
      Exception: A row's error, in its turn, where it is one more than allowed.
    """
    for unit in units:
        if not unit.failures:
            yield position, unit
            position += len(unit)
            continue
        start = 0
        for failure in unit.failures:
            if failure.at > start:
                yield position, unit.part(start, failure.at)
            position += failure.at - start + 1
            start = failure.at
            lose(failure.row, failure.error)
        if start < len(unit):
            yield position, unit.part(start, len(unit))
        position += len(unit) - start


def _where(error: Exception) -> str:
    if isinstance(error, RecordError):
        return f"{error.path}: record {error.record_index}"
    if isinstance(error, ExampleError):
        return f"{error.path}: record {error.record_index}" if error.path else ""
    return error.record if isinstance(error, StageError) else getattr(error, "source", "")


def _reason(error: Exception) -> str:
    return error.error if isinstance(error, StageError) else str(getattr(error, "reason", error))
