"""The half of a writer that works in a thread of its own, so that making records and writing them overlap."""

from __future__ import annotations

import threading
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.io import sidecar
from wellfed.io.compression import compressor
from wellfed.io.framing import FRAME_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.compression import Compressor
    from wellfed.io.index import RecordIndex
    from wellfed.io.output import Output


class Sink:
    """Frames, compresses and writes chunks of records, each in its turn.

    Args:
      output: Where they go; committed by `finish`.
      compression: "", "GZIP" or "ZLIB".
      level: Of the compression.
      seekable: Make each chunk a GZIP member.
      before: The index of the records that the output holds already.
      index: Keep each record's place for `finish`.

    One chunk is in work while the caller makes the next; a file of one chunk is written without a thread.
    """

    def __init__(
        self,
        output: Output,
        compression: str,
        level: int,
        *,
        seekable: bool,
        before: RecordIndex | None,
        index: bool,
    ) -> None:
        self._output = output
        self._new_stream = (lambda: compressor(compression, level)) if compression else None
        self._stream: Compressor | None = None
        self._compression, self._seekable, self._index = compression, seekable, index
        self._file_bytes = self._stream_bytes = 0 if before is None else before.stream_bytes
        self._offsets: list[NDArray[np.uint64]] = [] if before is None else [before.offsets[:-1]]
        self._members: list[tuple[int, int]] = []
        self._pool: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._worker = 0

    def put_records(self, records: list[bytes]) -> None:
        """Takes over a list of records."""
        self._submit(None, records)

    def put(self, framed: bytes | memoryview | NDArray[np.uint8], sizes: NDArray[np.int64]) -> None:
        """Takes framed records that nobody changes any more, and the sizes of their payloads."""
        self._submit(framed, sizes)

    def flush(self) -> None:
        """Waits until everything so far is written."""
        self._wait()
        if self._stream is not None:
            self._write(self._stream.flush(zlib.Z_SYNC_FLUSH))

    def finish(self, records: list[bytes]) -> sidecar.Tables:
        """Writes the last records, here and now, publishes the file, and tells where its records stand."""
        self._wait()
        if records:
            self._process(None, records)
        if self._new_stream is not None and (self._stream is not None or not self._members):
            self._begin_member()
            assert self._stream is not None
            self._write(self._stream.flush())
        self._stop()
        self._output.commit()
        offsets = np.concatenate([*self._offsets, np.array([self._stream_bytes], np.uint64)])
        members = np.array(self._members, np.uint64).reshape(-1, 2)
        gaps = np.zeros((0, 2), np.uint64)
        return sidecar.Tables(offsets, gaps, members, self._compression, checked=True, stream_bytes=self._stream_bytes)

    def abandon(self) -> None:
        """Stops the thread and leaves no file."""
        self._stop()
        self._output.abandon()

    def _submit(self, framed: bytes | memoryview | NDArray[np.uint8] | None, records: Any) -> None:
        self._wait()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "wellfed-writer")
        self._last = self._pool.submit(self._work, framed, records)

    def _wait(self) -> None:
        """Waits for the chunk in work; its error is raised by this call and by each after it."""
        if self._last is not None:
            self._last.result()

    def _stop(self) -> None:
        if self._pool is not None:
            # A writer can be collected inside its own thread, which cannot wait for itself.
            self._pool.shutdown(wait=threading.get_ident() != self._worker)
            self._pool = None

    def _work(self, framed: Any, records: Any) -> None:
        self._worker = threading.get_ident()
        self._process(framed, records)

    def _process(self, framed: Any, records: Any) -> None:
        if framed is None:
            sizes = np.fromiter(map(len, records), np.int64, len(records))
            framed = _native.frame_records(b"".join(records), np.cumsum(sizes) - sizes, sizes)
        else:
            sizes = records
        if self._index:
            lengths = sizes + FRAME_BYTES
            self._offsets.append((self._stream_bytes + np.cumsum(lengths) - lengths).astype(np.uint64))
        if self._new_stream is None:
            self._write(framed)
        else:
            self._compress(framed)
        self._stream_bytes += len(framed)

    def _compress(self, framed: bytes | memoryview) -> None:
        self._begin_member()
        assert self._stream is not None
        self._write(self._stream.compress(framed))
        if self._seekable:
            self._write(self._stream.flush())
            self._stream = None

    def _begin_member(self) -> None:
        if self._stream is None and self._new_stream is not None:
            self._stream = self._new_stream()
            self._members.append((self._file_bytes, self._stream_bytes))

    def _write(self, content: bytes | memoryview) -> None:
        self._output.write(content)
        self._file_bytes += len(content)
