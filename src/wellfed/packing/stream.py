"""Packing what comes one after another and is not to be shuffled: a shard at a time, never the whole on disk.

    item --hash of its number--> split --spooled--> as large as a shard --task--> the shard, by a passing name
                                                    at the end, when they are counted: the shards' own names

The schema is found from the items of the first shard. What was killed begins again: nobody can go back in a stream.
"""

from __future__ import annotations

import json
import time
from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import Schema
from wellfed.datasets.folder import open_folder
from wellfed.errors import PackError
from wellfed.packing.job import Job
from wellfed.packing.names import shard_names
from wellfed.packing.packer import held, report_of
from wellfed.packing.pictures import PictureWork, stored_schema
from wellfed.packing.plan import SplitPlan, empty_split, key_hashes, record_overhead, split_numbers
from wellfed.packing.progress import Counters, Progress
from wellfed.packing.publish import finish, publish, switch
from wellfed.packing.run import run_tasks
from wellfed.packing.staging import check_plan, clear, lock_path, staged_name
from wellfed.packing.write import ShardTask, index_name
from wellfed.sources import Listing, NumberedKeys, Spooled
from wellfed.sources.infer import SchemaGuess, checked_mapping
from wellfed.sources.spooled import Spool, no_item, spooled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from wellfed.datasets.folder import Folder
    from wellfed.packing.options import OnError, PackOptions
    from wellfed.packing.report import PackReport
    from wellfed.packing.run import Pool
    from wellfed.packing.staging import ShardResult


def is_stream(source: Any, options: PackOptions) -> bool:
    """Says whether a source can be packed as it comes: nothing is asked of it that needs the number of its items."""
    unread = isinstance(source, Spooled) and not source.is_read and source.label is None
    return unread and not (options.shuffle or options.stratify) and options.shards is None


@dataclass
class _Filling:
    """The shard of a split that is being filled."""

    spool: Spool = field(default_factory=Spool)
    numbers: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True)
class _Filled:
    """A shard that was handed over."""

    split: str
    file: str  # Its passing name.
    rows: NDArray[np.int64]
    sizes: NDArray[np.int64]


class StreamPacker:
    """Packs the items of an iterable in their order.

    Args:
      source: The iterable, not read yet.
      out: The folder as the caller named it.
      target: Where the shards go.
      options: What is asked for.
      on_error: What a bad item does.
      overwrite: Whether what is there may be replaced.
      progress: Called with how far it is.
    """

    def __init__(
        self,
        source: Spooled,
        out: str,
        target: Folder,
        options: PackOptions,
        *,
        on_error: OnError,
        overwrite: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._source, self._out, self._folder, self._options = source, out, target, options
        self._on_error, self._overwrite, self._progress = on_error, overwrite, progress
        self._schema = None if source.types is None else Schema(source.types)
        self._stored: tuple[Schema, PictureWork] | None = None
        self._guess = SchemaGuess()
        self._filling: dict[str, _Filling] = {}
        self._filled: list[_Filled] = []
        self._results: dict[str, ShardResult] = {}
        self._counters = Counters("")
        self._items = self._bytes = 0
        self._began = time.monotonic()

    def run(self, pool: Pool) -> PackReport:
        """Packs all items, and publishes.

        Raises:
          PackError: Another pack is running here, or began here with other options; a split would be empty.
          WellfedError, OSError: What ended it. Nothing is kept.
        """
        with held(self._folder, lambda _: False):
            options = json.loads(json.dumps(self._options.to_json()))
            plan = {"options": options, "items": None, "listing": "a stream", "schema": None, "records": None}
            check_plan(self._folder, plan, restart=self._overwrite)
            clear(self._folder, keep=("lock", "plan.json", "replaced.json"))
            self._counters = Counters(str(lock_path(self._folder).with_name("progress")), 1)
            try:
                run_tasks(self._tasks(), pool, self._done, self._tell, self._counters.stop)
            finally:
                for filling in self._filling.values():
                    filling.spool.close()
            self._tell()
            return self._publish()

    def _tasks(self) -> Iterator[Callable[[], ShardTask]]:
        """Reads the stream; gives a task whenever a split has the items of a shard."""
        overhead = 0
        for number, item in enumerate(self._source.items):
            name = f"item {number}"
            checked_mapping(item, name)
            if self._schema is None:
                self._guess.see(item)
            overhead = overhead or record_overhead(item)
            split = self._split_of(number)
            if split not in self._filling:
                self._filling[split] = _Filling()
            filling = self._filling[split]
            before = filling.spool.bytes
            filling.spool.add(item, name)
            filling.numbers.append(number)
            self._items, self._bytes = number + 1, self._bytes + filling.spool.bytes - before
            if filling.spool.bytes + overhead * len(filling.spool) >= self._options.shard_size:
                yield self._close(split)
        if not self._items:
            raise no_item()
        for split in list(self._filling):
            yield self._close(split)

    def _split_of(self, number: int) -> str:
        split = self._options.split
        if split is None or isinstance(split, str):
            return split or "train"
        return list(split)[int(split_numbers(key_hashes([b"item/%d" % number], 1), split)[0])]

    def _close(self, split: str) -> Callable[[], ShardTask]:
        """Returns what gives the task of the shard that a split has filled."""
        if self._schema is None:
            self._schema = self._guess.schema()
        filling = self._filling.pop(split)
        rows = np.array(filling.numbers, np.int64)
        source = spooled(filling.spool, NumberedKeys(("item",), np.zeros(1, np.int64), rows), self._schema)
        if self._stored is None:
            self._stored = stored_schema(self._schema, self._options.pictures, source.load(0))
        schema, work = self._stored
        file = f"{len(self._filled):08d}.part"
        self._filled.append(_Filled(split, file, rows, source.listing().sizes))
        # All of the number 0: what they count is of no use, but that they are told to stop.
        compression, place, counters = self._options.compression, self._folder.path, self._counters.path
        task = ShardTask(0, source, schema, work, place, file, split, compression, self._on_error, counters)
        return lambda: task

    def _done(self, result: ShardResult) -> None:
        self._results[result.file] = result

    def _tell(self) -> None:
        if self._progress is None:
            return
        results = self._results.values()
        self._progress(
            Progress(
                items=sum(result.records + len(result.skipped) for result in results),
                total_items=self._items,
                bytes_in=sum(result.bytes_in for result in results),
                total_bytes=self._bytes,
                shards=len(results),
                total_shards=len(self._filled),
                seconds=time.monotonic() - self._began,
                resumed_items=0,
                resumed_bytes=0,
            )
        )

    def _publish(self) -> PackReport:
        """Gives the shards their names, and makes them the data set."""
        job = self._job()
        of_split = {plan.name: iter(names) for plan, names in zip(job.plans, job.names, strict=True)}
        results = {}
        for shard in self._filled:
            name = next(of_split[shard.split])
            self._folder.move(staged_name(shard.file), staged_name(name))
            self._folder.move(staged_name(index_name(shard.file)), staged_name(index_name(name)))
            results[name] = replace(self._results[shard.file], file=name)
        # Not the listing's own fingerprint: a shard of it cannot be made again by itself.
        manifest = replace(job.manifest(results), listing=f"stream {job.listing.fingerprint()}")
        publish(self._folder, manifest, tfds=job.writes_tfds)
        if self._options.version:
            switch(open_folder(self._out), self._options.version)
        finish(self._folder, manifest)
        return report_of(self._folder, manifest, results.values(), time.monotonic() - self._began, 0)

    def _job(self) -> Job:
        """Returns the job that would have been planned, had all been known before."""
        assert self._stored is not None
        options = self._options
        sizes = np.zeros(self._items, np.int64)
        for shard in self._filled:
            sizes[shard.rows] = shard.sizes
        plans = []
        for split in self._splits():
            shards = [shard for shard in self._filled if shard.split == split]
            if not shards:
                raise PackError(empty_split(split, self._items, options), options.name)
            bounds = np.cumsum([0, *(len(shard.rows) for shard in shards)], dtype=np.int64)
            plans.append(SplitPlan(split, np.concatenate([shard.rows for shard in shards]), bounds))
        listing = Listing(NumberedKeys.of_counts({"item": self._items}), sizes)
        return Job(self._source, listing, options, *self._stored, plans, shard_names(plans, options), as_is=False)

    def _splits(self) -> Mapping[str, float] | list[str]:
        split = self._options.split
        return [split or "train"] if split is None or isinstance(split, str) else split
