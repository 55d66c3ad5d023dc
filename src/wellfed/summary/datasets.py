"""Checking a whole data set: its records, and what only its manifest can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed import _native
from wellfed.datasets import DatasetFolder, open_dataset
from wellfed.datasets.folder import open_folder
from wellfed.errors import FileFormatError, WellfedError
from wellfed.io.access import open_source
from wellfed.summary.files import FileReport, verify_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.io.files import PathLike

_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a check of one shard found.

    Attributes:
      path: The shard.
      split: The split it belongs to.
      expected_records: How many records the metadata says.
      file: What its records gave; None where it could not be read.
      problems: What is wrong beyond damaged records, as phrases: missing, unreadable, another size, count or checksum.
    """

    path: str
    split: str
    expected_records: int
    file: FileReport | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the shard is whole and what the metadata says."""
        return self.file is not None and self.file.ok and not self.problems


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """What a check of a data set found.

    Attributes:
      folder: Where it is.
      name: Its name.
      version: Its version.
      shards: A report a shard, in order.
    """

    folder: str
    name: str
    version: str
    shards: tuple[ShardReport, ...]

    @property
    def ok(self) -> bool:
        """Whether every shard is whole and what the metadata says."""
        return all(shard.ok for shard in self.shards)


def verify_dataset(
    folder: PathLike, *, checksums: bool = False, progress: Callable[[int], object] | None = None
) -> DatasetReport:
    """Checks every sum of every record of a data set, and each shard against the metadata.

    Only the metadata can tell that a shard is missing, or was cut exactly between two records.

    Args:
      folder: Path or URL of the data set.
      checksums: Check each shard's own checksum too, which wellfed's manifest has: it tells one whole shard from
        another. Every shard is read a second time.
      progress: Called with the bytes that were just checked.

    Raises:
      DatasetError: The folder holds no data set.
    """
    dataset = open_dataset(folder)
    shards = tuple(_check_all(dataset, checksums=checksums, progress=progress))
    return DatasetReport(dataset.folder, dataset.name, dataset.version, shards)


def _check_all(
    dataset: DatasetFolder, *, checksums: bool, progress: Callable[[int], object] | None
) -> Iterator[ShardReport]:
    manifest = dataset.manifest
    for split, files in dataset.splits.items():
        stated = manifest.splits[split] if manifest else [None] * len(files.files)
        for path, count, shard in zip(files.files, files.record_counts, stated, strict=True):
            report, problems = _read(path, dataset, progress)
            if report is not None:
                if report.ok and report.records != count:
                    problems.append(f"holds {report.records:,} records, {count:,} are due")
                if shard is not None and report.bytes != shard.bytes:
                    problems.append(f"has {report.bytes:,} bytes, {shard.bytes:,} are due")
                if checksums and shard is not None and not problems and _crc32c(path) != shard.crc32c:
                    problems.append("has another checksum than the manifest says")
            yield ShardReport(path, split, count, report, tuple(problems))


def _read(
    path: str, dataset: DatasetFolder, progress: Callable[[int], object] | None
) -> tuple[FileReport | None, list[str]]:
    name = path[len(dataset.folder) :].lstrip("/\\")
    if open_folder(dataset.folder).size(name) is None:
        return None, ["is missing"]
    try:
        return verify_file(path, progress=progress), []
    except FileFormatError as error:
        return None, [error.reason]
    except OSError as error:  # One shard that cannot be read does not keep the others from being checked.
        reason = error if isinstance(error, WellfedError) else error.strerror
        return None, [f"cannot be read: {reason or error}"]


def _crc32c(path: str) -> str:
    crc = 0
    source = open_source(path)
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    try:
        for start in range(0, source.size, _CHUNK_BYTES):
            crc = _native.crc32c(buffer[: source.read_into(start, buffer)], crc)
    finally:
        source.close()
    return f"{crc:08x}"
