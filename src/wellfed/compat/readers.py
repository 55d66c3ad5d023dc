"""Readers of TensorFlow 1: they take file names from a queue and give what is in the files, piece by piece.

    reader.read(queue)  ->  key, value      one piece a run; the next file begins where the last one has ended

A reader's place, file and line, belongs to the session.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.compat.deferred.dtypes import int64, string
from wellfed.compat.deferred.graph import Operation, Tensor
from wellfed.errors import InvalidArgumentError
from wellfed.io import TFRecordReader as RecordFile
from wellfed.io.framing import FRAME_BYTES

if TYPE_CHECKING:
    from wellfed import queues
    from wellfed.compat.deferred.session import Run
    from wellfed.compat.queue import QueueBase

Pieces = Iterator[tuple[bytes, bytes]]


class _Place:
    """Where a reader is, in one session."""

    def __init__(self, open_file: Callable[[str], Pieces]) -> None:
        self.lock = threading.Lock()
        self._open = open_file
        self._pieces: Pieces | None = None
        self.produced, self.files_done = 0, 0

    def next(self, names: queues.QueueBase, timeout: float | None) -> tuple[bytes, bytes]:
        """Gives the next key and value. REQUIRES: `lock` is held."""
        while True:
            if self._pieces is None:
                self._pieces = self._open(names.dequeue(timeout).decode())
            piece = next(self._pieces, None)
            if piece is not None:
                self.produced += 1
                return piece
            self._pieces = None
            self.files_done += 1

    def reset(self) -> None:
        self._pieces, self.produced, self.files_done = None, 0, 0


class ReaderBase:
    """What all readers share; `pieces` says what a file holds."""

    def __init__(self, name: str) -> None:
        self.reader_ref = Operation(name, [], [], lambda _: (), name)

    def pieces(self, path: str) -> Pieces:
        """Gives the keys and values of a file."""
        raise NotImplementedError

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Gives tensors of a key and a value, the next ones in each run.

        Its run ends with `OutOfRangeError` once the queue of names is closed and empty.
        """

        def compute(run: Run) -> tuple[bytes, bytes]:
            place = self._place(run)
            with place.lock:
                return place.next(queue.in_session(run.session), run.timeout())

        label = name or f"{self.reader_ref.name}_Read"
        key, value = Operation(label, [], [(string, []), (string, [])], compute, label).outputs
        return key, value

    def read_up_to(self, queue: QueueBase, num_records: int, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Gives tensors of up to `num_records` keys and values, at least one of each."""

        def compute(run: Run) -> Any:
            place, names = self._place(run), queue.in_session(run.session)
            with place.lock:
                pieces = [place.next(names, run.timeout())]
                files = place.files_done  # Goes on to the end of this file, and waits for no other name.
                while len(pieces) < num_records and place.files_done == files:
                    piece = next(place._pieces or iter(()), None)
                    if piece is None:
                        break
                    place.produced += 1
                    pieces.append(piece)
            return tuple(np.array(column, object) for column in zip(*pieces, strict=True))

        label = name or f"{self.reader_ref.name}_ReadUpTo"
        keys, values = Operation(label, [], [(string, [None]), (string, [None])], compute, label).outputs
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Gives a tensor of how many pieces the reader has given."""
        return self._count(lambda place: place.produced, name or "num_records_produced")

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Gives a tensor of how many files the reader has come to the end of."""
        return self._count(lambda place: place.files_done, name or "num_work_units_completed")

    def reset(self, name: str | None = None) -> Operation:
        """Gives an operation that lets the reader begin anew."""

        def compute(run: Run) -> Any:
            self._place(run).reset()
            return ()

        return Operation(name or "reader_reset", [], [], compute, name)

    def _count(self, count: Callable[[_Place], int], name: str) -> Tensor:
        return Operation(name, [], [(int64, [])], lambda run: (np.int64(count(self._place(run))),), name).outputs[0]

    def _place(self, run: Run) -> _Place:
        place: _Place = run.state(self, lambda: _Place(self.pieces))
        return place


class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files; the key is the file's name and the record's first byte.

    Args:
      name: The operation's.
      options: A `TFRecordOptions`, or a compression's name.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(name or "TFRecordReaderV2")
        self._compression = getattr(options, "compression_type", options) or ""

    def pieces(self, path: str) -> Pieces:
        """Gives the records of a file."""
        at = 0
        for record in RecordFile(path, self._compression):
            yield f"{path}:{at}".encode(), record
            at += len(record) + FRAME_BYTES


class WholeFileReader(ReaderBase):
    """Gives whole files; the key is the file's name."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "WholeFileReaderV2")

    def pieces(self, path: str) -> Pieces:
        """Gives a file."""
        yield path.encode(), Path(path).read_bytes()


class TextLineReader(ReaderBase):
    """Gives lines without their ends; the key is the file's name and the line's number, from 1.

    Args:
      skip_header_lines: Lines at the beginning of each file that are left out.
      name: The operation's.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name or "TextLineReaderV2")
        self._skip = skip_header_lines or 0

    def pieces(self, path: str) -> Pieces:
        """Gives the lines of a file."""
        with Path(path).open("rb") as lines:
            for number, line in itertools.islice(enumerate(lines, 1), self._skip, None):
                yield f"{path}:{number}".encode(), line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecordReader(ReaderBase):
    """Gives pieces of one length; the key is the file's name and the piece's number, from 0.

    Args:
      record_bytes: The length of a piece. [bytes]
      header_bytes: Left out at the beginning of each file. [bytes]
      footer_bytes: Left out at its end. [bytes]
      hop_bytes: From the beginning of one piece to that of the next; a piece's length where 0. [bytes]
      name: The operation's.
      encoding: Not kept here; None or "".
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(name or "FixedLengthRecordReaderV2")
        if record_bytes < 1:
            raise ValueError(f"record_bytes must be at least 1 byte, got {record_bytes}")
        if encoding:
            raise ValueError(f'encoding {encoding!r} is not kept in wellfed.compat: only None or ""')
        self._size, self._hop = record_bytes, hop_bytes or record_bytes
        self._header, self._footer = header_bytes or 0, footer_bytes or 0

    def pieces(self, path: str) -> Pieces:
        """Gives the pieces of a file.

        Raises:
          InvalidArgumentError: What is between header and footer is no whole number of pieces.
        """
        content = np.memmap(path, np.uint8, "r") if Path(path).stat().st_size else np.empty(0, np.uint8)
        end = len(content) - self._footer
        if self._hop == self._size and (end - self._header) % self._size:
            raise InvalidArgumentError(
                None,
                path,
                f"Excluding the header ({self._header} bytes) and the footer ({self._footer} bytes), {path} has body "
                f"length {end - self._header} bytes, which is not an exact multiple of the record length "
                f"({self._size} bytes).",
            )
        starts = range(self._header, end - self._size + 1, self._hop)
        for number, start in enumerate(starts):
            yield f"{path}:{number}".encode(), content[start : start + self._size].tobytes()


class IdentityReader(ReaderBase):
    """Gives the names themselves, as key and as value."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name or "IdentityReaderV2")

    def pieces(self, path: str) -> Pieces:
        """Gives the name."""
        yield path.encode(), path.encode()
