"""Walks the records of a file, one after another, and over damage where asked.

    Window   the bytes at hand: a mapped file whole, or a block of a stream that moves on
    Walker   gives runs of records; at damage it raises, or notes it and goes on at the next true record
    Run      whole records that lie end to end in one block
    Damage   a range of bytes that was skipped

Every position is one in the uncompressed stream. A header proves itself by its own sum, so after any damage the next
true record can be found again, also where the damaged part holds a length:

    | record | header, payload damaged | record |      the next header stands: exactly one record is lost
    | record | damaged ......          | record |      searched byte by byte, for a record whose two sums hold
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed import _native
from wellfed.errors import CompressionError, NotTFRecordError
from wellfed.io.framing import FRAME_BYTES, HEADER_BYTES, explain, header_length, record_error
from wellfed.io.sniff import sniff

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.files import MappedFile

RUN_BYTES = 4 << 20  # Aim of a run: long enough to hide the call, short enough to answer Ctrl-C at once.
_MAX_LENGTH = 1 << 40  # A chance sum over noise gives a length near 2^64; no true record has 1 TiB.


@dataclass(frozen=True, slots=True)
class Damage:
    """A range of bytes that was skipped because it holds no intact record.

    Attributes:
      path: The file, as the caller named it.
      start: First byte of the range in the uncompressed stream. [bytes]
      end: First byte after it; equal to `start` where only the compression around it is damaged. [bytes]
      reason: What is wrong, with the numbers found and due.
      record_index: How many intact records stand before it.
      records_lost: How many records it held; None where that cannot be known.
    """

    path: str
    start: int
    end: int
    reason: str
    record_index: int
    records_lost: int | None

    def __str__(self) -> str:
        return f"record {self.record_index}  bytes [{self.start}..{self.end})  {self.reason}"


@dataclass(frozen=True, slots=True)
class Run:
    """Whole records that lie end to end in one block.

    Attributes:
      block: The memory that holds them: uint8 (n,), which the run keeps alive and nobody writes to again.
      offsets: uint64 (m + 1,): where each record's header starts in `block`, then where the last record ends.
      base: Where `block` starts in the uncompressed stream. [bytes]
      record_index: Number of the first of them in the file.
    """

    block: NDArray[np.uint8]
    offsets: NDArray[np.uint64]
    base: int
    record_index: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


class Window(Protocol):
    """The bytes at hand of a stream that is walked from start to end.

    Attributes:
      block: uint8 (n,); replaced by `advance`, never written to again.
      base: Where it starts in the uncompressed stream. [bytes]
      members: (start in the file, start in the stream) of each compressed member met so far; empty for plain files.
    """

    block: NDArray[np.uint8]
    base: int
    members: list[tuple[int, int]]

    def advance(self, keep: int, want: int = 0) -> bool:
        """Drops what stands before position `keep` of the stream and adds what follows; False where nothing does.

        `want` bytes from `keep` on would do; more come where the stream is cut into larger blocks.
        """

    def failure(self) -> str:
        """Why the stream ended where it did; "" where it ended as it should."""

    def resume(self) -> bool:
        """Goes on after a failure, where something is left to go on with; `block` then starts there."""

    def check(self, *, at_end: bool = False) -> None:
        """Raises FileChangedError where the file is not what it was.

        `at_end` says that all was read and nothing was wrong.
        """


class MappedWindow:
    """A `Window` over a mapped file: everything is at hand."""

    def __init__(self, mapped: MappedFile) -> None:
        self.mapped = mapped
        self.block, self.base = mapped.data, 0
        self.members: list[tuple[int, int]] = []

    def advance(self, keep: int, want: int = 0) -> bool:  # noqa: ARG002 -- nothing is left to add.
        """See `Window`."""
        return False

    def failure(self) -> str:
        """See `Window`."""
        return ""

    def resume(self) -> bool:
        """See `Window`."""
        return False

    def check(self, *, at_end: bool = False) -> None:  # noqa: ARG002 -- a file of this machine is asked for nothing.
        """See `Window`."""
        self.mapped.check_unchanged()


class Walker:
    """Walks records from the start of a window to its end.

    Args:
      window: Where the bytes come from.
      path: The file's name for errors.
      check: Prove each payload's sum; each header's is proved always.
      on_damage: "raise", or "skip": note it in `damage` and go on at the next true record.
      start: Position of the first record. [bytes]

    Attributes:
      window: As given.
      path: As given.
      records: How many records were passed.
      position: Where the walk stands in the uncompressed stream. [bytes]
      damage: What was skipped so far, in the file's order.

    A walk that does not check payloads still checks one wherever a bad header follows it, since that payload may be
    longer or shorter than it was, and hide where the next record starts.
    """

    def __init__(
        self, window: Window, path: str, *, check: bool = True, on_damage: str = "raise", start: int = 0
    ) -> None:
        if on_damage not in ("raise", "skip"):
            raise ValueError(f'on_damage must be "raise" or "skip", got {on_damage!r}')
        self.window, self.path = window, path
        self._check, self._skip = check, on_damage == "skip"
        self._aim = 16  # Records a run; follows the size of the records met.
        self._searched: NDArray[np.uint8] | None = None
        self._search: _native.FrameSearch | None = None  # Over the block `_searched`, once damage was met there.
        self.records = 0
        self.position = start
        self.damage: list[Damage] = []

    def next_run(self, max_records: int | None = None) -> Run | None:
        """The next records, at least one; None at the end.

        Args:
          max_records: At most so many; about `RUN_BYTES` worth of them where None.

        Raises:
          RecordError: The next record is damaged (`on_damage="raise"`).
          NotTFRecordError: The file looks like something else.
          CompressionError: The compressed stream is damaged (`on_damage="raise"`).
          FileChangedError: The file was cut or replaced meanwhile.
        """
        most = max_records or self._aim
        while True:
            run, status = self._scan(most)
            if run is not None:
                return run
            if status == _native.FRAME_END:
                if self.window.advance(self.position):
                    continue
                if not self._end_of_stream():
                    return None
            elif status != _native.FRAME_TRUNCATED or not self.window.advance(self.position, self._frame_bytes()):
                self._pass_damage(status)

    def _scan(self, most: int) -> tuple[Run | None, int]:
        """The records that lie whole in the block, and the status after them."""
        window = self.window
        # One more than asked for where payloads are not checked: it is given back below.
        start, count = self.position - window.base, most + (not self._check)
        if self._check and self._search is not None and self._searched is window.block:
            offsets, after, status = self._search.scan(start, count)
        else:
            offsets, after, status = _native.scan_frames(window.block, start, count, self._check)
        if not self._check and len(offsets):
            last = int(offsets[-1])
            if status == _native.FRAME_OK:
                # Whether the header after the last record stands is not known yet.
                offsets, after = offsets[:-1], last
            elif status != _native.FRAME_END and not self._payload_holds(last):
                offsets, after, status = offsets[:-1], last, _native.FRAME_BAD_PAYLOAD_CRC
        if not len(offsets):
            self.position = window.base + after
            return None, status
        run = Run(window.block, np.append(offsets, np.uint64(after)), window.base, self.records)
        self.records += len(run)
        self.position = window.base + after
        self._aim = max(1, min(1 << 16, RUN_BYTES * len(run) // max(1, after - int(offsets[0]))))
        return run, status

    def _payload_holds(self, at: int) -> bool:
        if self._skip:
            status = self._searcher().scan(at, 1)[2]
        else:
            status = _native.scan_frames(self.window.block, at, 1, True)[2]
        return bool(status == _native.FRAME_OK)

    def _frame_bytes(self) -> int:
        """Bytes of the record at `position`, once its header is there to say so."""
        length = header_length(self.window.block, self.position - self.window.base)
        return FRAME_BYTES if length is None else FRAME_BYTES + length

    def _end_of_stream(self) -> bool:
        """What to do where no byte is left: True to go on, after a failure of the stream that was noted."""
        self.window.check(at_end=True)
        failure = self.window.failure()
        if not failure:
            return False
        if not self._skip:
            raise CompressionError(failure, self.path)
        self._note(self.position, failure, 0)
        return self._resume()

    def _resume(self) -> bool:
        resumed = self.window.resume()
        self.position = self.window.base if resumed else self.position
        return resumed

    def _pass_damage(self, status: int) -> None:
        """Raises for the damage at `position`, or notes it and moves `position` behind it."""
        window = self.window
        window.check()
        at = self.position - window.base
        reason = explain(window.block, at, status, self._searcher() if self._skip else None)
        if self.position == 0 and status != _native.FRAME_BAD_PAYLOAD_CRC:
            found = sniff(window.block[:512].tobytes())
            if found:
                raise NotTFRecordError(f"this is {found}, not a TFRecord file", self.path)
        if not self._skip:
            failure = window.failure() if status == _native.FRAME_TRUNCATED else ""
            reason += f"; {failure}" if failure else ""
            raise record_error(status, reason, self.path, self.records, self.position)
        start = self.position
        if status == _native.FRAME_BAD_PAYLOAD_CRC:
            after = start + self._frame_bytes()
            if self._stands(start, after):
                self.position = after
                self._note(start, reason, 1)
                return
        header = header_length(window.block, at)
        self.position = self._find(start + (1 if header is None else HEADER_BYTES))
        lost = 1 if header is not None and self.position == window.base + len(window.block) else None
        self._note(start, reason, lost)

    def _note(self, start: int, reason: str, lost: int | None) -> None:
        self.damage.append(Damage(self.path, start, self.position, reason, self.records, lost))

    def _stands(self, keep: int, position: int) -> bool:
        """Whether a true header, or the end of the stream, is at `position`; keeps what stands from `keep` on."""
        window = self.window
        if position + HEADER_BYTES > window.base + len(window.block):
            window.advance(keep, position + HEADER_BYTES - keep)
        at = position - window.base
        return at == len(window.block) or header_length(window.block, at) is not None

    def _find(self, position: int) -> int:
        """Where the next whole record stands, both of whose sums hold; the end of the stream where there is none."""
        window = self.window
        while True:
            search = self._searcher()
            at, status = search.find_in_stream(position - window.base, _MAX_LENGTH)
            position = window.base + at
            if status == _native.FRAME_OK:
                return position
            want = FRAME_BYTES
            if status == _native.FRAME_TRUNCATED:
                want += header_length(window.block, at) or 0
            if not window.advance(position, want):
                return window.base + search.find(at)  # Nothing follows: a record that goes on there is none.

    def _searcher(self) -> _native.FrameSearch:
        """The search over the block at hand, which remembers what it summed there."""
        if self._search is None or self._searched is not self.window.block:
            self._searched, self._search = self.window.block, _native.FrameSearch(self.window.block)
        return self._search
