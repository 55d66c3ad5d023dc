"""Writes TFRecord files.

write(record) -> pending records --1 MiB--> Sink: framed -> (compressed) -> file
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import EncodeError
from wellfed.io.compression import check_name, compressor
from wellfed.io.files import local_path, path_text
from wellfed.io.framing import FRAME_BYTES
from wellfed.io.index import RecordIndex
from wellfed.io.output import open_output
from wellfed.io.sink import Sink
from wellfed.lossless import all_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from numpy.typing import NDArray

    from wellfed.io.files import PathLike

_CHUNK_BYTES = 1 << 20  # 16 records a call are 10 times slower for small ones; more than 1 MiB gains nothing.


class TFRecordWriter:
    """Writes records to a TFRecord file that appears under its name whole, when it is closed.

    Use it in a `with`: leaving it by an exception throws everything away, and the folder is as it was. Not
    thread-safe.

    Args:
      path: A path of this machine, or a URL that fsspec knows.
      compression_type: "" or None, "GZIP" or "ZLIB".
      compression_level: 0 to 9 as zlib's; -1 is the default, fast and nearly as small as zlib's own default.
      seekable: Begin a new GZIP member, always between records, every `member_bytes`. TensorFlow reads the file
        unchanged; wellfed reads it at random too.
      member_bytes: Aim for a member of a seekable file, before compression. [bytes]
      overwrite: Replace a file of that name, once this one is whole.
      append: Add to a plain file of that name, after checking that it ends on a record. It is changed in place, and
        cut back to its old length on an error.
      index: Write the file's index too, when it is closed.

    Attributes:
      path: As given.
      records: How many records were written.

    Raises:
      FileExistsError: The file exists, and neither `overwrite` nor `append` is set.
      RecordError: `append`, and the file is damaged or does not end on a record.
      TypeError: `path` is no path.
      ValueError: An option is unknown, out of range, or excludes another.
      OSError: The place cannot be written; raised again by every later call, and by `close`.

    Differs from tf.io.TFRecordWriter:
      Refuses to overwrite; nothing is visible under `path` before `close`; what is not closed is thrown away.

    Example:
      >>> with TFRecordWriter("pairs.tfrecord") as writer:  # doctest: +SKIP
      ...     writer.write(b"any bytes")
    """

    def __init__(
        self,
        path: PathLike,
        compression_type: str | None = "",
        *,
        compression_level: int = -1,
        seekable: bool = False,
        member_bytes: int = _CHUNK_BYTES,
        overwrite: bool = False,
        append: bool = False,
        index: bool = False,
    ) -> None:
        check_name(compression_type)
        compression = compression_type or ""
        if seekable and compression != "GZIP":
            raise ValueError(f'seekable=True needs compression_type="GZIP", got {compression!r}')
        if append and compression:
            raise ValueError(f"append=True needs a plain file, got compression_type={compression!r}")
        if member_bytes < 1:
            raise ValueError(f"member_bytes must be at least 1 byte, got {member_bytes}")
        if compression:
            compressor(compression, compression_level)  # Refuses a level that does not exist.
        self.path = path_text(path)
        self.records = 0
        before = _existing(self.path) if append else None
        output = open_output(path, overwrite=overwrite, append=append)
        self._sink = Sink(output, compression, compression_level, seekable=seekable, before=before, index=index)
        self._chunk_bytes = member_bytes if seekable else _CHUNK_BYTES
        self._index = index
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._open = True
        self._lost = weakref.finalize(self, _throw_away, self._sink, self.path)

    def write(self, record: bytes | bytearray | memoryview) -> None:
        """Adds one record; bytes that can change are copied.

        Raises:
          TypeError: `record` is not bytes-like.
          ValueError: The writer is closed.
          OSError: This record, or one before it, cannot be written.
        """
        if type(record) is not bytes:
            record = memoryview(record).tobytes()
        if not self._open:
            raise self._closed()
        self._pending.append(record)
        self._pending_bytes += len(record) + FRAME_BYTES
        self.records += 1
        if self._pending_bytes >= self._chunk_bytes:
            self._hand_over()

    def write_many(self, records: Bytes | Iterable[bytes]) -> None:
        """Adds records, in their order; `Bytes` of any number is framed in native code.

        Raises:
          TypeError: A record is not bytes-like; those before it were added.
          ValueError: The writer is closed.
          OSError: A record cannot be written.
        """
        if not isinstance(records, Bytes):
            for record in records:
                self.write(record)
            return
        if not self._open:
            raise self._closed()
        self._hand_over()
        # Framed here and now: `records` may be changed once this call is over.
        starts, sizes = np.ascontiguousarray(records.starts), np.ascontiguousarray(records.sizes)
        for part in _parts(sizes, self._chunk_bytes):
            self._sink.put(_native.frame_records(records.data, starts[part], sizes[part]), sizes[part])
            self.records += part.stop - part.start

    def write_examples(self, columns: Mapping[str, Any]) -> None:
        """Adds a `tf.train.Example` for each row of columns: encoded and framed in native code, chunk by chunk.

        Args:
          columns: Feature name to column, as `wellfed.example.encode_examples` takes them.

        Raises:
          EncodeError: As `encode_examples`; nothing was added, unless an Example would be larger than 2 GiB - 1.
          ValueError: The writer is closed.
          OSError: The records cannot be written.
        """
        if not self._open:
            raise self._closed()
        parts, rows = all_parts(columns)
        self._hand_over()
        row_bytes = sum(part.nbytes for part in parts.values()) // max(1, rows) + 32 * len(parts)
        step = max(1, self._chunk_bytes // max(1, row_bytes))
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            chunk = {key: part.rows(start, stop) for key, part in parts.items()}
            framed, sizes = _native.encode_examples(chunk, stop - start, True)
            if framed is None:
                raise EncodeError(f"row {start + sizes} would be an Example larger than 2 GiB - 1", "")
            self._sink.put(framed, sizes)
            self.records += len(sizes)

    def write_framed(self, framed: bytes | memoryview | NDArray[np.uint8]) -> None:
        """Adds records that are framed already, after proving that their headers lie end to end.

        Args:
          framed: Whole frames. Must not change before `flush` or `close`.

        Raises:
          ValueError: It does not begin and end with a record, or the writer is closed.
          OSError: The records cannot be written.
        """
        framed = (framed.data if isinstance(framed, np.ndarray) else memoryview(framed)).cast("B")
        offsets, after, status = _native.scan_frames(framed, 0, check=False)
        if status != _native.FRAME_END:
            raise ValueError(f"framed must hold whole records, byte {after} of {len(framed)} does not begin one")
        if not self._open:
            raise self._closed()
        self._hand_over()
        bounds = np.append(offsets, np.uint64(after)).astype(np.int64)
        sizes = np.diff(bounds) - FRAME_BYTES
        for part in _parts(sizes, self._chunk_bytes):
            self._sink.put(framed[bounds[part.start] : bounds[part.stop]], sizes[part])
        self.records += len(sizes)

    def flush(self) -> None:
        """Gives all records so far to the operating system; they stay under a temporary name until `close`.

        Raises:
          OSError: They cannot be written.
        """
        if self._open:
            self._hand_over()
            self._sink.flush()

    def close(self) -> None:
        """Writes what is left and gives the file its name; does nothing when called again.

        Raises:
          OSError: A record cannot be written; nothing is left of the file then.
          FileExistsError: Another file took the name meanwhile.
        """
        if not self._open:
            return
        try:
            tables = self._sink.finish(self._pending)
        except BaseException:
            self.discard()
            raise
        self._end()
        if self._index:
            RecordIndex(self.path, tables).save()

    def discard(self) -> None:
        """Throws everything away; nothing is left of the file. Does nothing when closed."""
        if self._open:
            self._end()
            self._sink.abandon()

    def __reduce__(self) -> NoReturn:
        # A copy would share the file, and both would give it its name.
        raise TypeError("a TFRecordWriter is neither copied nor pickled: open one for each file, in its own process")

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _hand_over(self) -> None:
        if self._pending:
            records, self._pending, self._pending_bytes = self._pending, [], 0
            self._sink.put_records(records)

    def _end(self) -> None:
        self._open = False
        self._pending = []
        self._lost.detach()

    def _closed(self) -> ValueError:
        return ValueError(f"{self.path}: the writer is closed")


def _existing(path: str) -> RecordIndex | None:
    """The index of a file that is about to be added to; proves that it is plain and ends on a record."""
    if not Path(local_path(path)).exists():
        return None
    found = RecordIndex.find(path)
    if found is None or found.compression or len(found.gaps):
        return RecordIndex.build(path, "")
    return found


def _parts(sizes: NDArray[np.int64], chunk_bytes: int) -> Iterable[slice]:
    """Which records make up chunks of about `chunk_bytes`, or of one longer record."""
    chunk = np.cumsum(sizes + FRAME_BYTES) // chunk_bytes
    cuts = np.flatnonzero(np.diff(chunk)) + 1
    return itertools.starmap(slice, pairwise([0, *cuts.tolist(), len(sizes)])) if len(sizes) else ()


def _throw_away(sink: Sink, path: str) -> None:
    """Runs when a writer is collected that nobody closed."""
    sink.abandon()
    # Not a ResourceWarning, which nobody sees by default: records are lost.
    warnings.warn(
        f"{path}: a TFRecordWriter was never closed; its records were thrown away. Use it in a `with`",
        RuntimeWarning,
        stacklevel=2,
    )
