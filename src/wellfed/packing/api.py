"""`pack` and `plan_pack`: the face of the room."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack, cast, get_args

from wellfed.checks import flag, one_of, whole
from wellfed.packing.job import Job
from wellfed.packing.options import OnError, PackFields, PackOptions, own_name
from wellfed.packing.packer import Packer, check_target
from wellfed.packing.run import GivenPool, LocalPool, default_workers
from wellfed.packing.stream import StreamPacker, is_stream
from wellfed.sources import as_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from wellfed.packing.progress import Progress
    from wellfed.packing.report import PackPlan, PackReport
    from wellfed.sources import Source, Spooled


# Starting processes takes a second or two. Below this many pictures threads have done the work by then; the decoders
# run without the GIL, so it is only on many cores that threads stand in each other's way.
_MANY_PICTURES = 2000


def pack(
    source: Source | Iterable[Mapping[str, Any]],
    out: str | os.PathLike[str],
    *,
    on_error: OnError = "raise",
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Unpack[PackFields],
) -> PackReport:
    """Packs raw data into TFRecord shards, shuffled and split, with index, manifest and metadata.

    The same input, options and seed give the same bytes, on any machine and with any number of workers (compressed
    shards: the same content). Nothing is a data set before it is whole: shards are staged in `out/.wellfed/pack`, and
    the manifest is written last. A pack that was killed goes on with its finished shards when it is run again.

    Args:
      source: The raw data, such as `wf.sources.ClassFolders("photos/")`; or any sequence or iterable of mappings. What
        has no length is written to the temporary folder first, so that it can be shuffled; with `shuffle=False`, and
        without `shards` and `stratify`, it is packed as it comes, a shard at a time.
      out: Folder or fsspec URL of the data set. It is made if it is not there.
      on_error: A bad item ends the pack ("raise"), is left out and reported ("skip"), or is also put aside in
        `out/.wellfed/quarantine` ("quarantine").
      overwrite: Replace a data set that is there, or begin again where other options were used before.
      workers: How many on this machine; None for as many as there are cores.
      executor: Any `concurrent.futures.Executor` to run on instead. It is not shut down.
      progress: Called about ten times a second, in this thread.
      **options: The fields of `PackOptions`: name (if not given, that of `out`), split, stratify, shards, shard_size,
        seed, shuffle, compression, version, layout, name_pattern, pictures.

    Returns:
      Counts, bytes, and what was left out.

    Raises:
      TypeError: There is no such option, or the source is none.
      ValueError: An option is none of its choices.
      SourceError: The raw data is not what it was given for; or an item cannot be read.
      ImageError: A picture is damaged.
      PackError: The folder holds something else, a split would be empty, another pack is running there, or an item does
        not fit the schema.

    Differs from TensorFlow Datasets:
      The split and the order do not come from a builder's code but from the options; shards are sized by `shard_size`.
    """
    return pack_with(
        source,
        out,
        _checked_options(out, options),
        on_error=on_error,
        overwrite=overwrite,
        workers=workers,
        executor=executor,
        progress=progress,
    )


def _checked_options(out: str | os.PathLike[str], options: Mapping[str, Any]) -> PackOptions:
    if unknown := sorted(options.keys() - PackFields.__annotations__.keys()):
        raise TypeError(f"pack has no option {unknown[0]!r}; its options are {', '.join(PackFields.__annotations__)}")
    return PackOptions(**{"name": own_name(out), **options})


def pack_with(
    source: Source | Iterable[Mapping[str, Any]],
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
    one_of("on_error", on_error, get_args(OnError))
    flag("overwrite", overwrite)
    if workers is not None:
        workers = whole("workers", workers, 1)
    folder = os.fspath(out)
    if not folder:
        raise ValueError("out is empty: a folder or a URL is due")
    check_target(folder, options, overwrite=overwrite)
    given, count = as_source(source), workers or default_workers()
    streamed = is_stream(given, options)
    job = None if streamed else Job.plan(given, options)
    target = check_target(folder, options, overwrite=overwrite)  # Once more: listing takes its time.
    packer: Packer | StreamPacker
    if job is None:
        packer = StreamPacker(
            cast("Spooled", given), folder, target, options, on_error=on_error, overwrite=overwrite, progress=progress
        )
    else:
        packer = Packer(job, folder, target, on_error=on_error, overwrite=overwrite, progress=progress)
    pool = GivenPool(executor) if executor is not None else local_pool(job, count)
    try:
        return packer.run(pool)
    finally:
        pool.close()


def local_pool(job: Job | None, workers: int) -> LocalPool:
    """Returns workers of this machine: processes where many pictures are decoded, else threads; also for a stream."""
    if job is None:
        return LocalPool(workers, processes=False)
    count = min(workers, len(job.files))
    pictures = job.options.pictures
    decodes = bool(job.work.names) and (pictures.changes_pixels or pictures.check)
    return LocalPool(count, processes=decodes and count > 1 and len(job.listing) >= _MANY_PICTURES)


def plan_pack(
    source: Source | Iterable[Mapping[str, Any]], out: str | os.PathLike[str], options: PackOptions
) -> PackPlan:
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
    return Job.plan(as_source(source), options).preview(os.fspath(out))
