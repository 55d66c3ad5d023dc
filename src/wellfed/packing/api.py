"""`pack` and `plan_pack`: the face of the room."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wellfed.packing.job import Job
from wellfed.packing.options import SHARD_BYTES, Compression, Layout, OnError, PackOptions, PictureOptions
from wellfed.packing.packer import Packer, check_target
from wellfed.packing.run import GivenPool, LocalPool, default_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from wellfed.packing.progress import Progress
    from wellfed.packing.report import PackPlan, PackReport
    from wellfed.sources import Source


def pack(
    source: Source,
    out: str | os.PathLike[str],
    *,
    name: str,
    split: Mapping[str, float] | str | None = None,
    stratify: bool = False,
    shards: int | Mapping[str, int] | None = None,
    shard_size: int = SHARD_BYTES,
    seed: int = 0,
    shuffle: bool = True,
    compression: Compression = "",
    version: str | None = None,
    layout: Layout = "tfds",
    name_pattern: str | None = None,
    pictures: PictureOptions | None = None,
    on_error: OnError = "raise",
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PackReport:
    """Packs raw data into TFRecord shards, shuffled and split, with index, manifest and metadata.

    The same input, options and seed give the same bytes, on any machine and with any number of workers (compressed
    shards: the same content). Nothing is a data set before it is whole: shards are staged in `out/.wellfed/pack`, and
    the manifest is written last. A pack that was killed goes on with its finished shards when it is run again.

    Args:
      source: The raw data, such as `wf.sources.ClassFolders("photos/")`.
      out: Folder or fsspec URL of the data set. It is made if it is not there.
      name: The data set's name, also in the shards' names: letters, digits and "_".
      split: Split to share, such as `{"train": 0.9, "test": 0.1}`, by a hash of each item's key: an item keeps its
        split when others are added. One name puts all items into it. None keeps the source's own splits, or makes
        "train".
      stratify: Take the shares within each class.
      shards: How many shards each split gets, or a mapping for each split its own.
      shard_size: As many shards as give about this many bytes each. [bytes] Used where `shards` is None.
      seed: Of the shuffle. It does not change the splits.
      shuffle: Shuffle the listing, exactly and as a whole; False keeps the source's order.
      compression: "", "GZIP", "ZLIB", or "GZIP_SEEKABLE": GZIP that wellfed reads at random.
      version: Such as "1.1.0": packed into a folder of that name, beside other versions, and made current when whole.
      layout: "tfds" or "plain"; see `PackOptions`.
      name_pattern: Such as "data_{shard:05d}.tfrecord", for the plain layout.
      pictures: What is done to pictures; by default their bytes are kept.
      on_error: A bad item ends the pack ("raise"), is left out and reported ("skip"), or is also put aside in
        `out/.wellfed/quarantine` ("quarantine").
      overwrite: Replace a data set that is there, or begin again where other options were used before.
      workers: How many on this machine; None for as many as there are cores.
      executor: Any `concurrent.futures.Executor` to run on instead. It is not shut down.
      progress: Called about ten times a second, in this thread.

    Returns:
      Counts, bytes, and what was left out.

    Raises:
      ValueError: An option is none of its choices.
      SourceError: The raw data is not what it was given for; or an item cannot be read.
      ImageError: A picture is damaged.
      PackError: The folder holds something else, a split would be empty, another pack is running there, or an item does
        not fit the schema.

    Differs from TensorFlow Datasets:
      The split and the order do not come from a builder's code but from the options; shards are sized by `shard_size`.
    """
    options = PackOptions(
        name=name,
        split=split,
        stratify=stratify,
        shards=shards,
        shard_size=shard_size,
        seed=seed,
        shuffle=shuffle,
        compression=compression,
        version=version,
        layout=layout,
        name_pattern=name_pattern,
        pictures=pictures or PictureOptions(),
    )
    return pack_with(
        source,
        out,
        options,
        on_error=on_error,
        overwrite=overwrite,
        workers=workers,
        executor=executor,
        progress=progress,
    )


def pack_with(
    source: Source,
    out: str | os.PathLike[str],
    options: PackOptions,
    *,
    on_error: OnError = "raise",
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PackReport:
    """`pack` with its options in one object; see there."""
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    folder = os.fspath(out)
    check_target(folder, options, overwrite=overwrite)
    job = Job.plan(source, options)
    target = check_target(folder, options, overwrite=overwrite)
    packer = Packer(job, folder, target, on_error=on_error, overwrite=overwrite, progress=progress)
    pictures = options.pictures
    pool = (
        GivenPool(executor)
        if executor is not None
        else LocalPool(
            min(workers or default_workers(), len(job.files)),
            processes=bool(job.work.names) and (pictures.changes_pixels or pictures.check),
        )
    )
    try:
        return packer.run(pool)
    finally:
        pool.close()


def plan_pack(source: Source, out: str | os.PathLike[str], options: PackOptions) -> PackPlan:
    """Says what a pack would write, without writing anything.

    Args:
      source: The raw data.
      out: Where it would go.
      options: As for `pack`.

    Returns:
      Splits, classes, shards and sizes, the last by the listing's estimate.

    Raises:
      SourceError: The raw data is not what it was given for.
      PackError: The options do not fit it.
    """
    return Job.plan(source, options).preview(os.fspath(out))
