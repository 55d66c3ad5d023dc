"""Writing one shard: a pure function of its task, so it can run anywhere, and again.

task --load--> item --pictures--> --schema.encode--> Example --writer--> shard, index, note
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed import _native
from wellfed.datasets.folder import Folder, open_folder
from wellfed.io import TFRecordWriter
from wellfed.io.files import is_url
from wellfed.packing.encode import EncodedItems
from wellfed.packing.staging import ShardResult, done_name, staged_name

if TYPE_CHECKING:
    from wellfed.datasets import Schema
    from wellfed.packing.options import Compression, OnError
    from wellfed.packing.pictures import PictureWork
    from wellfed.sources import Source

_CHECKSUM_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ShardTask:
    """All that writing one shard needs. Pickles; holds only the shard's own part of the listing.

    Attributes:
      number: The shard's place among all shards of all splits.
      source: The items of this shard, in order.
      schema: What is stored.
      work: What is done to pictures.
      out: The data set's folder, a path or URL.
      file: The shard's final name.
      split: The split it belongs to.
      compression: As in `PackOptions`.
      on_error: What a bad item does.
      counters: The file of progress counters; "" where the worker cannot reach it.
      as_is: Whether the source's records are written as they are.
      source_bytes: What the items of all shards take together. [bytes]
    """

    number: int
    source: Source
    schema: Schema
    work: PictureWork
    out: str
    file: str
    split: str
    compression: Compression
    on_error: OnError
    counters: str
    as_is: bool = False
    source_bytes: int = 0


def write_shard(task: ShardTask) -> ShardResult:
    """Writes the shard of a task into the staging folder: the shard, its index, then the note that vouches for it.

    Returns:
      What it holds. The same task gives the same bytes.

    Raises:
      SourceError, ImageError, PackError: An item is bad and `on_error` is "raise"; the error names it.
      OSError: The shard cannot be written.
    """
    folder = open_folder(task.out)
    if not is_url(task.out):
        return _write(task, folder, Path(folder.full(staged_name(task.file))))
    with tempfile.TemporaryDirectory(prefix="wellfed-") as scratch:
        return _write(task, folder, Path(scratch) / task.file)


def _write(task: ShardTask, folder: Folder, place: Path) -> ShardResult:
    place.parent.mkdir(parents=True, exist_ok=True)
    items = EncodedItems(task, folder)
    kind, _, seekable = task.compression.partition("_")
    records = checksum = 0
    with TFRecordWriter(place, kind, seekable=bool(seekable), overwrite=True, index=True) as writer:
        for framed, count in items:
            writer.write_framed(framed)
            checksum = _native.crc32c(framed, checksum)  # While it is in the cache.
            records += count
    result = ShardResult(
        file=task.file,
        records=records,
        bytes=place.stat().st_size,
        crc32c=_crc32c(place) if kind else f"{checksum:08x}",
        bytes_in=int(task.source.listing().sizes.sum()),
        skipped=tuple(items.skipped),
        pictures=items.seen,
    )
    if is_url(task.out):
        folder.put(str(place), staged_name(task.file))
        folder.put(str(place.parent / index_name(place.name)), staged_name(index_name(task.file)))
    folder.write(done_name(task.file), result.to_json())
    return result


def index_name(file: str) -> str:
    """Returns where the index of a shard stands, beside it."""
    return f".wellfed/{file}.index"


def _crc32c(path: Path) -> str:
    """Returns the CRC-32C of a compressed file's bytes, as 8 hexadecimal digits."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHECKSUM_CHUNK_BYTES):
            crc = _native.crc32c(chunk, crc)
    return f"{crc:08x}"
