"""Reads the records of one file, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.io.access import Access
from wellfed.io.compression import check_name
from wellfed.io.files import path_text
from wellfed.io.framing import FRAME_BYTES, HEADER_BYTES
from wellfed.io.remote import Counts
from wellfed.io.streams import open_walker
from wellfed.io.walk import MappedWindow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.io.files import MappedFile, PathLike
    from wellfed.io.remote import RemoteOptions, RemoteStats
    from wellfed.io.walk import Damage, Run


class TFRecordReader:
    """A stream of the records of one TFRecord file: iterate over it, as often as you like.

    A plain file of this machine is mapped; a compressed one is read block by block, in bounded memory (about twice the
    longest record, 12 MiB at least); one behind a URL in ranges, some of them ahead (`RemoteOptions`).

    Args:
      path: A path of this machine, or a URL that fsspec knows.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from the content, whatever the file's name.
      on_damage: "raise", or "skip" to go on at the next true record of the same file; what was skipped stands in
        `damage`.
      check_crc: Check each payload's CRC32C. The header's is checked always. Without, damage inside a payload goes
        unnoticed, to gain 0 to 5 % (docs/format.md).
      remote: How a file behind a URL is read; see `RemoteOptions`.

    Attributes:
      path: As given.
      damage: What the last iteration skipped, so far; empty unless `on_damage="skip"`.

    Raises:
      TypeError: `path` is no path; several files are for `Records`.
      OSError: The file cannot be opened (when iteration starts).
      CompressionError: The content has another compression than the one given, or its stream is damaged.
      NotTFRecordError: The file looks like something else.
      CorruptRecordError: A sum does not hold.
      TruncatedRecordError: The file ends inside a record; also where 1 to 11 bytes are left, which TensorFlow takes
        for an end.
      FileChangedError: The file was cut or replaced while it was read.

    Differs from tf.data.TFRecordDataset:
      The compression is told from the content; an error's `offset` is always the first byte of the record's header.

    Example:
      >>> for record in TFRecordReader("pairs.tfrecord"):  # doctest: +SKIP
      ...     print(len(record))
    """

    def __init__(
        self,
        path: PathLike,
        compression_type: str | None = None,
        *,
        on_damage: str = "raise",
        check_crc: bool = True,
        remote: RemoteOptions | None = None,
    ) -> None:
        check_name(compression_type)
        if on_damage not in ("raise", "skip"):
            raise ValueError(f'on_damage must be "raise" or "skip", got {on_damage!r}')
        self.path = path_text(path)
        self._compression_type, self._on_damage, self._check_crc = compression_type, on_damage, check_crc
        self._mapped: MappedFile | None = None  # Of the last iteration: a new mapping would fault in each page again.
        self._remote, self._counts = remote, Counts()
        self.damage: list[Damage] = []

    @property
    def remote_stats(self) -> RemoteStats:
        """What was done to read a file behind a URL, by all iterations so far."""
        return self._counts.stats()

    def __iter__(self) -> Iterator[bytes]:
        """Each record as `bytes` of its own."""
        for run in self._runs(None):
            yield from _native.cut_records(run.block, run.offsets)

    def read_batches(self, max_records: int = 1024) -> Iterator[Bytes]:
        """Records in batches of 1 to `max_records`, never empty; nothing is copied.

        Returns:
          `Bytes` over the mapped file or the block that was read, which they keep alive.
        """
        if max_records < 1:
            raise ValueError(f"max_records must be at least 1 record, got {max_records}")
        return (run_records(run) for run in self._runs(max_records))

    def _runs(self, max_records: int | None) -> Iterator[Run]:
        # A new one each time: the file behind a URL may be another by now.
        access = Access(self._remote, counts=self._counts)
        walker, _ = open_walker(
            self.path,
            self._compression_type,
            self._mapped,
            check=self._check_crc,
            on_damage=self._on_damage,
            access=access,
        )
        self._mapped = walker.window.mapped if isinstance(walker.window, MappedWindow) else None
        self.damage = walker.damage
        try:
            while (run := walker.next_run(max_records)) is not None:
                yield run
        finally:
            access.close()


def run_records(run: Run) -> Bytes:
    """The records of a run, without a copy."""
    offsets = run.offsets.astype(np.int64)
    return Bytes(run.block, offsets[:-1] + HEADER_BYTES, np.diff(offsets) - FRAME_BYTES)
