"""A walk over a plain file behind a URL: its blocks as they came, copied only where a record lies across two.

blocks    |              0              |              1              |
records   | a |   b   |  c  |      d         |  e  |      f      | ...
windows   [ ............................]                               block 0 itself
                            [ d .............]                          joined: its start, and what it needs
                                             [ .......................] block 1 from e on
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellfed.io.blocks import ALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.access import Access
    from wellfed.io.blocks import Content
    from wellfed.io.remote_file import RemoteFile

_JOIN_BYTES = 64 << 10  # A header that lies across two blocks does not say yet how long its record is.


class RemoteWindow:
    """A `Window` over a remote file; see `wellfed.io.walk`.

    Args:
      access: Whose blocks are read; kept alive.
      file: The file.
      join_bytes: Where a record lies across two blocks, at least so much of the second is copied to it. [bytes]

    Memory: the blocks that are fetched ahead, and those that the runs given out still need.
    """

    def __init__(self, access: Access, file: RemoteFile, join_bytes: int = _JOIN_BYTES) -> None:
        self._access, self._file, self._join_bytes = access, file, join_bytes
        self._chunk: NDArray[np.uint8] = np.empty(0, np.uint8)  # The last block fetched, and where it starts.
        self._chunk_base = 0
        self._number = 0  # Of the next block.
        self._checked = -1
        self.block, self.base = self._chunk, 0
        self.members: list[tuple[int, int]] = []

    def head(self, count: int) -> bytes:
        """The file's first bytes, `count` of them if there are so many in its first block; fetches that block."""
        if not len(self._chunk) and self._fetch(used=0):  # Kept: a compressed stream begins again at it.
            self.block = self._chunk
        return self._chunk[:count].tobytes()

    def advance(self, keep: int, want: int = 0) -> bool:
        """See `Window`."""
        end = self.base + len(self.block)
        if end == self._chunk_end() and not self._fetch():
            return False
        if keep >= self._chunk_base:
            self.block, self.base = self._chunk[keep - self._chunk_base :], keep
            return True
        kept = self.block[keep - self.base :]
        # Grows with the bytes that are really there, never with the length that a record claims.
        need = max(1, min(want - len(kept), len(kept)))
        self._join(kept, keep, need)
        return True

    def failure(self) -> str:
        """See `Window`."""
        return ""

    def resume(self) -> bool:
        """See `Window`."""
        return False

    def check(self, *, at_end: bool = False) -> None:
        """See `Window`. At a sound end nothing is asked: every range was as long as it had to be."""
        if not at_end and self._checked != self._number:  # Once a block, however much damage it holds.
            self._file.check_unchanged()
            self._checked = self._number

    def _chunk_end(self) -> int:
        return self._chunk_base + len(self._chunk)

    def _fetch(self, used: int = ALL) -> bool:
        """Takes the next block; False at the file's end."""
        start = self._chunk_end()
        if start >= self._file.size:
            return False
        if self._file.at_hand():
            self._take(self._file.read(start, self._file.size), start)
            return True
        if self._number == 1:
            self._access.blocks.get(self._file, 0, ALL)  # It was read to its end, so it is no compressed stream.
        self._take(self._access.blocks.get(self._file, self._number, used), start)
        self._number += 1
        return True

    def _take(self, found: Content, start: int) -> None:
        self._chunk, self._chunk_base = np.frombuffer(found, np.uint8), start

    def _join(self, kept: NDArray[np.uint8], base: int, need: int) -> None:
        """Makes a block of what is kept and what follows it: `need` bytes, and more where they are at hand."""
        joined = np.empty(len(kept) + max(need, self._join_bytes), np.uint8)
        joined[: len(kept)] = kept
        filled = len(kept)
        try:
            while True:
                piece = self._chunk[base + filled - self._chunk_base :][: len(joined) - filled]
                joined[filled : filled + len(piece)] = piece
                filled += len(piece)
                if filled >= len(kept) + need or not self._fetch():
                    return
        finally:  # Also where a request failed: a walk may go on from here later.
            self.block, self.base = joined[:filled], base
