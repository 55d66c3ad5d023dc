"""A feed run for its account of time: which step limits it, and what would help."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.account import Account
from wellfed.feed.open import infer_features
from wellfed.feed.open import open as open_dataset
from wellfed.feed.stats import FeedStats, ReplacedRow, SkippedRow, StageStats
from wellfed.feed.trace import Trace
from wellfed.image import Resize
from wellfed.io.access import file_versions
from wellfed.io.files import is_url

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from wellfed.feed.dataset import Dataset
    from wellfed.feed.iterator import DatasetIterator


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a feed went.

    Attributes:
      stats: The figures, over all epochs that were run.
      epochs: In how many epochs elements were taken.
      trace: Who did what when.
      changed: Files of this machine that were written to, replaced or removed meanwhile: an epoch reads what is there
        when it begins, so the figures may be of several contents.
    """

    stats: FeedStats
    epochs: int
    trace: Trace = field(repr=False)
    changed: tuple[str, ...] = ()

    @property
    def stages(self) -> tuple[StageStats, ...]:
        """The steps of the plan, in the order in which rows meet them."""
        return self.stats.stages

    def __str__(self) -> str:
        """One sentence: what limits, and what would help."""
        return str(self.stats)

    def table(self) -> Table:
        """The steps as a table for `rich.print`; docs/profile.md says how each column is read."""
        return self.stats.table()

    def to_json(self) -> str:
        """One line of JSON: the fields of `FeedStats`, `epochs`, `changed`, and the sentence as `sentence`."""
        return json.dumps(self.stats.to_dict() | {"epochs": self.epochs, "changed": self.changed})

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes who did what when as JSON that ui.perfetto.dev and chrome://tracing open.

        The file is written under a temporary name and renamed. Half a million events are kept; `otherData` in the file
        counts those that came later.

        Raises:
          OSError: The place cannot be written.
        """
        self.trace.save(path)


def profile(
    dataset: Dataset,
    steps: int | None = None,
    *,
    seconds: float | None = None,
    consume: Callable[[Any], object] | None = None,
) -> Profile:
    """Runs a data set for its account of time, from epoch 0 on.

    Args:
      dataset: What to run. Its own count of epochs is left alone.
      steps: Stop after so many elements (batches, after `batch`); where an epoch ends before, the next one follows.
      seconds: Stop after this time. [s] With neither, one epoch is run.
      consume: Called with each element, such as a training step. None: the feed is measured by itself.

    Returns:
      The account; `str()` of it names what limits and what would help.

    Raises:
      ValueError: `steps` or `seconds` is not above 0.
      PlanError: The data set never ends, and neither `steps` nor `seconds` says when to stop.

    Example:
      >>> import numpy as np, wellfed as wf
      >>> found = wf.profile(wf.from_arrays({"x": np.arange(1000)}).shuffle(seed=0).batch(10), steps=250)
      >>> found.stats.elements, found.epochs, [stage.name for stage in found.stages]
      (250, 3, ['read', 'shuffle', 'batch'])
    """
    for name, value in (("steps", steps), ("seconds", seconds)):
        if value is not None and not value > 0:  # NaN is neither.
            raise ValueError(f"{name} must be above 0, got {value}")
    once = steps is None and seconds is None
    if once and any(isinstance(step, plan.Repeat) and step.count is None for step in plan.walk(dataset._node)):
        raise PlanError("profile", "repeat() without a count never ends; say when to stop with steps= or seconds=")
    sources = (step for step in plan.walk(dataset._node) if isinstance(step, plan.Records))
    began_with = {file: _version(file) for source in sources for file in source.files if not is_url(file)}
    run = _Run(Account(Trace()), steps, seconds, consume)
    epoch = 0
    while run.more(once=once, epoch=epoch):
        with dataset.epoch(epoch) as iterator:
            run.take(iterator)
        epoch += 1
    return run.result(epoch, tuple(file for file, version in began_with.items() if _version(file) != version))


def _version(file: str) -> str:
    """What changes when a file does; "" where there is none."""
    try:
        return file_versions([file])[0]
    except OSError:
        return ""


class _Run:
    """What the epochs of one profile have in common."""

    def __init__(
        self, account: Account, steps: int | None, seconds: float | None, consume: Callable[[Any], object] | None
    ) -> None:
        self._account, self._steps, self._consume = account, steps, consume
        self._seconds = seconds
        self._elements, self._in_epoch = 0, 1
        self._consumer_seconds = self._first_seconds = 0.0
        self._replaced: tuple[ReplacedRow, ...] = ()
        self._skipped: tuple[SkippedRow, ...] = ()
        self._last = FeedStats(0, 0.0, 0.0)
        self._began = perf_counter()
        self._ended = self._began

    def more(self, *, once: bool, epoch: int) -> bool:
        """Whether another epoch is due; an empty one is the last."""
        return (epoch == 0 if once else not self._done()) and self._in_epoch > 0

    def _done(self) -> bool:
        if self._steps is not None and self._elements >= self._steps:
            return True
        self._ended = perf_counter()  # What is told took no less than what was asked for.
        return self._seconds is not None and self._ended - self._began >= self._seconds

    def take(self, iterator: DatasetIterator) -> None:
        """Takes elements of an epoch until it ends or enough was seen."""
        iterator.account = self._account
        self._in_epoch = 0
        for element in iterator:
            self._in_epoch += 1
            self._elements += 1
            if self._consume is not None:
                self._step(element)
            if self._done():
                break
        self._ended = perf_counter()
        stats = iterator.stats()
        self._replaced += stats.replaced
        self._skipped += stats.skipped
        self._last = stats
        self._first_seconds = self._first_seconds or stats.first_seconds

    def _step(self, element: Any) -> None:
        began = perf_counter()
        assert self._consume is not None
        self._consume(element)
        ended = perf_counter()
        self._consumer_seconds += ended - began
        if self._account.trace is not None:
            self._account.trace.span("consume", began, ended)

    def result(self, epochs: int, changed: tuple[str, ...]) -> Profile:
        """The account of all epochs."""
        stats = replace(
            self._last,
            elements=self._elements,
            seconds=self._ended - self._began,
            replaced=self._replaced,
            skipped=self._skipped,
            first_seconds=self._first_seconds,
            consumer_seconds=self._consumer_seconds,
        )
        assert self._account.trace is not None
        return Profile(stats, epochs, self._account.trace, changed)


def open_to_profile(
    path: str | Sequence[str],
    split: str | None = None,
    *,
    parse: bool = True,
    resize: int | tuple[int, int] | None = None,
    on_error: str = "raise",
    on_damage: str = "raise",
) -> Dataset:
    """A data set for people who only have a path: features by its schema, or inferred from its first records.

    Args:
      path: A data set's folder; or a TFRecord file, a pattern of files, or several of them. URLs too.
      split: Of a folder's, as in `open`.
      parse: False feeds the records' bytes.
      resize: Decode pictures and make them this size, (height, width) or a shorter side. None: pictures of files stay
        encoded, those of a folder are decoded as its schema says.
      on_error: As in `Dataset.with_options`; where it does not raise, features are inferred from whole records only.
      on_damage: As in `open`.

    Raises:
      DatasetError: The folder holds no data set, or no such split.
      FileNotFoundError: Nothing is there.
      PlanError: `resize` is given, and there is no picture.
    """
    dataset = open_dataset(path, split, on_damage=on_damage)
    node = dataset._node
    while isinstance(node, plan.Map):
        node = node.source
    assert isinstance(node, plan.Records)
    if not parse:
        return open_dataset(list(node.files), on_damage=on_damage).with_options(on_error=on_error)
    if node.features is not None:
        columns = (_picture_column(step) for step in plan.walk(dataset._node))
        pictures = [column for column in columns if column is not None]
    else:
        seen = on_damage if on_error == "raise" else "skip"
        features, pictures = infer_features(node.files, on_damage=seen, required=False)
        dataset = open_dataset(list(node.files), features=features or None, on_damage=on_damage)
    if resize is not None:
        if not pictures:
            raise PlanError("resize", f"{_shown(path)} holds no picture")
        for column in pictures:
            dataset = dataset.map(Resize(column, resize))
    return dataset.with_options(on_error=on_error)


def _shown(path: str | Sequence[str]) -> str:
    return path if isinstance(path, str) else ", ".join(path[:3])


def _picture_column(step: plan.Node) -> str | None:
    return getattr(step.function, "column", None) if isinstance(step, plan.Map) else None
