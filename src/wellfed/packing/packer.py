"""One pack from lock to manifest."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.datasets.folder import Folder, LocalFolder, open_folder
from wellfed.datasets.manifest import MANIFEST, Manifest, parse_json
from wellfed.datasets.tfds import DATASET_INFO
from wellfed.errors import PackError
from wellfed.packing.progress import Counters, Progress
from wellfed.packing.publish import finish, publish, switch
from wellfed.packing.report import PackReport
from wellfed.packing.run import run_tasks
from wellfed.packing.staging import (
    PLAN,
    STAGING,
    Lock,
    ShardResult,
    check_plan,
    clear,
    finished,
    lock_path,
    remove_partial,
    staged_name,
    unlock,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wellfed.packing.job import Job
    from wellfed.packing.options import OnError, PackOptions
    from wellfed.packing.run import Pool


def check_target(out: str, options: PackOptions, *, overwrite: bool) -> Folder:
    """Returns the folder the shards go to, or says why nothing can be packed into it.

    Raises:
      PackError: It is a file, holds a data set already, or holds something else.
    """
    root = open_folder(out)
    if isinstance(root, LocalFolder) and Path(root.path).exists() and not Path(root.path).is_dir():
        raise PackError("is a file: give a folder", root.path)
    target = open_folder(root.full(options.version)) if options.version else root
    content = target.read(MANIFEST)
    if content is not None and not options.version and "splits" not in parse_json(content, target.full(MANIFEST)):
        raise PackError("holds versions of a data set: say which to pack with version=... (--version)", root.path)
    if target.read(PLAN) is not None:
        return target  # A pack that began here goes on, or is told apart by its plan.
    if content is not None or target.size(DATASET_INFO) is not None:
        if not overwrite:
            raise PackError(
                "holds a data set already: replace it with overwrite=True (--overwrite), put another version beside it "
                "with version=... (--version), or choose another folder",
                target.path,
            )
    elif others := [name for name in target.names() if name != ".wellfed"]:
        raise PackError(f"holds no data set, but {others[0]!r}: choose another folder, or empty this one", target.path)
    return target


@dataclass(frozen=True, slots=True)
class Resumed:
    """What an earlier run had finished."""

    shards: int = 0
    items: int = 0
    bytes_in: int = 0


class Packer:
    """Runs a job into a folder.

    Args:
      job: What is packed.
      out: The folder as the caller named it.
      target: Where the shards go: `out`, or its folder for the version.
      on_error: What a bad item does.
      overwrite: Whether what is there may be replaced.
      progress: Called with how far it is.
    """

    def __init__(
        self,
        job: Job,
        out: str,
        target: Folder,
        *,
        on_error: OnError,
        overwrite: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._job, self._out, self._folder = job, out, target
        self._on_error, self._overwrite, self._progress = on_error, overwrite, progress
        self._results: dict[str, ShardResult] = {}
        self._resumed = Resumed()
        self._began = time.monotonic()

    def run(self, pool: Pool) -> PackReport:
        """Packs what is not packed yet, and publishes.

        Raises:
          PackError: Another pack is running here, or began here with other options.
          WellfedError, OSError: What ended it. Finished shards are kept, and a note on the error says so.
        """
        with held(self._folder, self._keep):
            return self._pack(pool)

    def _pack(self, pool: Pool) -> PackReport:
        check_plan(self._folder, self._job.fingerprint(), restart=self._overwrite)
        manifest = self._published()
        if manifest is None:
            self._run(pool)
            manifest = self._job.manifest(self._results)
            publish(self._folder, manifest, tfds=self._job.writes_tfds)
        if self._job.options.version:
            switch(open_folder(self._out), self._job.options.version)
        finish(self._folder, manifest)
        seconds = time.monotonic() - self._began
        return report_of(self._folder, manifest, self._results.values(), seconds, self._resumed.shards)

    def _run(self, pool: Pool) -> None:
        job, files = self._job, self._job.files
        remove_partial(self._folder, set(self._results))
        left = [number for number, file in enumerate(files) if file not in self._results]
        self._resumed = Resumed(
            shards=len(files) - len(left),
            items=len(job.listing) - sum(job.items_of(number) for number in left),
            bytes_in=sum(result.bytes_in for result in self._results.values()),
        )
        counters = Counters(str(lock_path(self._folder).with_name("progress")), len(files))
        tasks = [partial(job.task, number, self._folder.path, self._on_error, counters.path) for number in left]
        run_tasks(tasks, pool, self._done, partial(self._tell, counters), counters.stop)
        self._tell(counters)

    def _done(self, result: ShardResult) -> None:
        self._results[result.file] = result

    def _tell(self, counters: Counters) -> None:
        if self._progress is None:
            return
        items, bytes_in = counters.totals()
        results = self._results.values()
        self._progress(
            Progress(
                # Workers on other machines count a shard when it is whole.
                items=max(self._resumed.items + items, sum(r.records + len(r.skipped) for r in results)),
                total_items=len(self._job.listing),
                bytes_in=max(self._resumed.bytes_in + bytes_in, sum(r.bytes_in for r in results)),
                total_bytes=int(self._job.listing.sizes.sum()),
                shards=len(self._results),
                total_shards=len(self._job.files),
                seconds=time.monotonic() - self._began,
                resumed_items=self._resumed.items,
                resumed_bytes=self._resumed.bytes_in,
            )
        )

    def _published(self) -> Manifest | None:
        """Takes up what an earlier run has finished; returns the manifest where it had written even that."""
        self._results = finished(self._folder, self._job.files)
        content = self._folder.read(MANIFEST)
        if content is None or len(self._results) < len(self._job.files):
            return None
        if any(self._folder.size(staged_name(file)) is not None for file in self._job.files):
            return None
        manifest = self._job.manifest(self._results)
        return manifest if content == manifest.to_json().encode() else None

    def _keep(self, error: BaseException) -> bool:
        """Says whether shards are finished that the next run can take up; notes it on the error."""
        kept = len(finished(self._folder, self._job.files))
        if kept:
            error.add_note(
                f"{kept} of {len(self._job.files)} shards are finished and kept: run it again with the same input and "
                "options to go on."
            )
        return kept > 0


def report_of(
    folder: Folder, manifest: Manifest, results: Iterable[ShardResult], seconds: float, resumed_shards: int
) -> PackReport:
    """Returns the report of a pack that has ended well."""
    splits = manifest.splits
    return PackReport(
        folder=folder.path,
        name=manifest.name,
        version=manifest.version,
        records={name: sum(shard.records for shard in shards) for name, shards in splits.items()},
        shards={name: len(shards) for name, shards in splits.items()},
        bytes_in=sum(result.bytes_in for result in results),
        bytes_out=sum(shard.bytes for shards in splits.values() for shard in shards),
        skipped=manifest.skipped,
        seconds=seconds,
        resumed_shards=resumed_shards,
    )


@contextlib.contextmanager
def held(folder: Folder, keep: Callable[[BaseException], bool]) -> Iterator[None]:
    """Keeps other packs out of a folder, and after an error takes away what is of no use.

    Args:
      folder: Where the shards go.
      keep: Says whether something is left that the next run can take up.

    Raises:
      PackError: Another pack is running there.
    """
    made = _missing_folders(folder)
    lock = Lock(lock_path(folder), folder.path)
    try:
        yield
    except BaseException as error:
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = folder.path  # A full disk does not say which.
        if not keep(error):
            clear(folder)
            lock.release()
            for place in made:
                with contextlib.suppress(OSError):
                    place.rmdir()
        raise
    finally:
        unlock(lock, folder)


def _missing_folders(folder: Folder) -> list[Path]:
    """Returns the folders that packing will make, innermost first."""
    if not isinstance(folder, LocalFolder):
        return []
    root = Path(folder.path)
    return [place for place in (root / STAGING, root / ".wellfed", root, *root.parents) if not place.exists()]
