"""Saves what is intact of a damaged file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.io.streams import open_walker
from wellfed.io.writer import TFRecordWriter

if TYPE_CHECKING:
    from wellfed.io.files import PathLike
    from wellfed.io.walk import Damage


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What `salvage` saved and what it left behind.

    Attributes:
      path: The damaged file, as the caller named it.
      out: The clean file.
      records: How many records were saved.
      damage: What was left behind, in the file's order.
    """

    path: str
    out: str
    records: int
    damage: tuple[Damage, ...]


def salvage(
    path: PathLike,
    out: PathLike,
    compression_type: str | None = None,
    *,
    out_compression: str = "",
    overwrite: bool = False,
) -> SalvageReport:
    """Writes every intact record of a file to a clean one, byte for byte; those in a damaged range are left behind.

    A record is intact when both its sums hold. Where a header is damaged, the next true record is found by its sums;
    if the damaged payload itself holds TFRecords, records of those can be taken for records of the file.

    Args:
      path: The damaged file; a path of this machine or a URL.
      out: The clean file; it appears under its name when it is whole. May be `path` with `overwrite`.
      compression_type: The damaged file's: "", "GZIP" or "ZLIB"; None has it told from the content.
      out_compression: The clean file's.
      overwrite: Replace `out` if it exists.

    Raises:
      FileExistsError: `out` exists.
      NotTFRecordError: The file looks like something else.
      CompressionError: The content has another compression than the one given.
      FileChangedError: The file was cut or replaced while it was read.
      OSError: A file cannot be opened or written.
    """
    walker, _ = open_walker(path, compression_type, on_damage="skip")
    with TFRecordWriter(out, out_compression, overwrite=overwrite) as writer:
        while (run := walker.next_run()) is not None:
            start, end = int(run.offsets[0]), int(run.offsets[-1])
            writer.write_framed(run.block[start:end])
    return SalvageReport(os.fspath(path), os.fspath(out), writer.records, tuple(walker.damage))
