"""What a pack will do, decided before the first item is read. The steps are files of their own.

listing -> plan -> (staging: finished shards of an earlier run) -> run -> write ... -> publish
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ClassLabel, Image, Manifest, Schema, Shard, SkippedItem
from wellfed.packing.encode import ITEM_ERRORS
from wellfed.packing.names import shard_names
from wellfed.packing.pictures import Facts, PictureWork, narrowed_schema, stored_schema
from wellfed.packing.plan import SplitPlan, plan_splits, record_overhead
from wellfed.packing.report import PackPlan, PlannedSplit
from wellfed.packing.write import ShardTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wellfed.packing.options import OnError, PackOptions
    from wellfed.packing.staging import ShardResult
    from wellfed.sources import Listing, Source

FIRST_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Everything that is decided before the first item is packed; a pure function of source and options.

    Attributes:
      source: The raw data.
      listing: Its items.
      options: What is asked for.
      schema: What is stored.
      work: What is done to pictures.
      plans: Which item goes where.
      names: The file name of each shard of each split.
      as_is: Whether the source's records are written as they are.
    """

    source: Source
    listing: Listing
    options: PackOptions
    schema: Schema
    work: PictureWork
    plans: list[SplitPlan]
    names: list[list[str]]
    as_is: bool

    @classmethod
    def plan(cls, source: Source, options: PackOptions) -> Job:
        """Lists the source and decides where each item goes.

        Raises:
          SourceError: The raw data is not what it was given for.
          PackError: The options do not fit it.
        """
        listing = source.listing()
        as_is = hasattr(source, "record") and not options.pictures.reads_pictures
        if as_is:
            schema, work = source.schema, PictureWork((), options.pictures)
        else:
            schema, work = stored_schema(source.schema, options.pictures, _sample(source))
        plans = plan_splits(listing, options, schema)
        return cls(source, listing, options, schema, work, plans, shard_names(plans, options), as_is)

    @property
    def files(self) -> list[str]:
        """The file names of all shards, in order."""
        return [name for names in self.names for name in names]

    @property
    def writes_tfds(self) -> bool:
        """Whether metadata of TensorFlow Datasets is written: it reads uncompressed shards of Examples only."""
        plain = not self.options.compression and self.schema.records == "Example"
        return self.options.layout == "tfds" and plain

    def json_options(self) -> dict[str, Any]:
        """Returns the options as they come back from JSON."""
        options: dict[str, Any] = json.loads(json.dumps(self.options.to_json()))
        return options

    def fingerprint(self) -> dict[str, Any]:
        """Returns what must be the same for a pack to go on, as JSON values."""
        return {
            "options": self.json_options(),
            "items": len(self.listing),
            "listing": self.listing.fingerprint(),
            "schema": self.schema.to_json(),
            "records": self.schema.records,
        }

    def task(self, number: int, out: str, on_error: OnError, counters: str) -> ShardTask:
        """Returns the task that writes shard `number`, counted over all splits."""
        split, shard = self._place(number)
        return ShardTask(
            number=number,
            source=self.source.part(self.plans[split].rows_of(shard)),
            schema=self.schema,
            work=self.work,
            out=out,
            file=self.names[split][shard],
            split=self.plans[split].name,
            compression=self.options.compression,
            on_error=on_error,
            counters=counters,
            as_is=self.as_is,
            source_bytes=int(self.listing.sizes.sum()),
        )

    def items_of(self, number: int) -> int:
        """Returns how many items shard `number` gets."""
        split, shard = self._place(number)
        return len(self.plans[split].rows_of(shard))

    def manifest(self, results: Mapping[str, ShardResult]) -> Manifest:
        """Returns the manifest of the finished shards."""
        seen: dict[str, Facts] = {}
        skipped = [SkippedItem(found.path, found.reason) for found in self.listing.skipped]
        splits = {}
        for plan, names in zip(self.plans, self.names, strict=True):
            of_split = [results[name] for name in names]
            splits[plan.name] = tuple(Shard(r.file, r.records, r.bytes, r.crc32c) for r in of_split)
            for result in of_split:
                skipped += result.skipped
                for feature, facts in (result.pictures or {}).items():
                    seen[feature] = seen[feature].common(facts) if feature in seen else facts
        return Manifest(
            name=self.options.name,
            version=self.options.version or FIRST_VERSION,
            schema=narrowed_schema(self.schema, seen),
            splits=splits,
            compression=self.options.compression.partition("_")[0],
            seed=self.options.seed if self.options.shuffle else None,
            options=self.json_options(),
            listing=self.listing.fingerprint(),
            skipped=tuple(skipped),
        )

    def preview(self, folder: str) -> PackPlan:
        """Returns the plan as people want to see it."""
        splits = {}
        overhead = record_overhead(self.schema)
        for plan, names in zip(self.plans, self.names, strict=True):
            size = int(self.listing.sizes[plan.rows].sum()) + overhead * len(plan.rows)
            splits[plan.name] = PlannedSplit(len(plan.rows), names, size, self._classes(plan))
        skipped = [SkippedItem(found.path, found.reason) for found in self.listing.skipped]
        return PackPlan(folder, self.options.name, self.options.version or FIRST_VERSION, self.schema, splits, skipped)

    def _classes(self, plan: SplitPlan) -> dict[str, int]:
        labels = self.listing.labels
        if labels is None:
            return {}
        kinds = [kind for kind in self.schema.values() if isinstance(kind, ClassLabel)]
        names = kinds[0].names if len(kinds) == 1 else ()
        found, counts = np.unique(labels[plan.rows], return_counts=True)
        return {
            "(none)" if label < 0 else names[label] if label < len(names) else str(label): int(count)
            for label, count in zip(found, counts, strict=True)
        }

    def _place(self, number: int) -> tuple[int, int]:
        for split, names in enumerate(self.names):
            if number < len(names):
                return split, number
            number -= len(names)
        raise IndexError(number)


def _sample(source: Source) -> dict[str, Any]:
    """Returns the first item, where it tells what its pictures are; empty where it cannot be read."""
    if not len(source.listing()) or not any(isinstance(kind, Image) for kind in source.schema.values()):
        return {}
    try:
        return source.load(0)
    except ITEM_ERRORS:
        return {}
