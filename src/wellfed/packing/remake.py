"""Making one shard of a packed data set again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed.datasets import Shard, open_dataset
from wellfed.datasets.folder import open_folder
from wellfed.errors import PackError
from wellfed.packing.job import Job
from wellfed.packing.staging import Lock, clear, lock_path, staged_name, unlock
from wellfed.packing.write import index_name, write_shard
from wellfed.sources import as_source

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any

    from wellfed.packing.options import OnError, PackOptions
    from wellfed.sources import Source


def remake_shard(
    source: Source | Iterable[Mapping[str, Any]],
    out: str | os.PathLike[str],
    options: PackOptions,
    shard: str,
    *,
    on_error: OnError = "raise",
) -> Shard:
    """Writes one shard of a data set again, such as one that was damaged or lost.

    Args:
      source: What the data set was packed from.
      out: The data set's folder or URL.
      options: What it was packed with.
      shard: Split and number, such as "train:3"; the number alone where there is one split.
      on_error: What it was packed with: the same items are left out then.

    Returns:
      The shard, as the manifest has it. Its content is the same; its bytes, too, where they are not compressed.

    Raises:
      DatasetError: The folder holds no data set.
      PackError: Source or options are not those of the data set, there is no such shard, or it came out different.
    """
    dataset = open_dataset(out, version=options.version)
    manifest = dataset.manifest
    if manifest is None:
        raise PackError("was not packed by wellfed, so no shard of it can be made again", dataset.folder)
    job = Job.plan(as_source(source), options)
    if (job.listing.fingerprint(), job.json_options()) != (manifest.listing, manifest.options):
        raise PackError(
            "was packed from another source or with other options: give those it was packed with", dataset.folder
        )
    number, due = _find(shard, job, [one for shards in manifest.splits.values() for one in shards])
    folder = open_folder(dataset.folder)
    lock = Lock(lock_path(folder), folder.path)
    try:
        made = write_shard(job.task(number, folder.path, on_error, ""))
        if made.records != due.records or (not manifest.compression and made.crc32c != due.crc32c):
            raise PackError(f"{due.file} came out different: the source's content has changed since", dataset.folder)
        for name in (due.file, index_name(due.file)):
            folder.move(staged_name(name), name)
    finally:
        clear(folder)
        unlock(lock, folder)
    return due


def _find(shard: str, job: Job, shards: list[Shard]) -> tuple[int, Shard]:
    """Returns a shard's number over all splits, and its entry in the manifest."""
    split, colon, text = shard.rpartition(":")
    names = [plan.name for plan in job.plans]
    split = split if colon or len(names) > 1 else names[0]
    due = f"expected a split and a number such as {names[0]}:0, got {shard!r}"
    if split not in names or not text.isdecimal():
        raise PackError(f"{due}; the splits are {', '.join(names)}", "only_shard")
    at = names.index(split)
    if int(text) >= len(job.names[at]):
        raise PackError(f"{due}; split {split!r} has {len(job.names[at])} shards, counted from 0", "only_shard")
    number = sum(len(job.names[before]) for before in range(at)) + int(text)
    return number, shards[number]
