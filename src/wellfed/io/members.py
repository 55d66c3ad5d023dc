"""The compressed bytes of members that are to be inflated.

LocalMembers     the file itself
RemoteMembers    a short member by one request, some at a time; a long one, or a pass in file order, by blocks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from wellfed.io.blocks import BlockSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellfed.io.access import Access
    from wellfed.io.blocks import Content
    from wellfed.io.files import ByteSource
    from wellfed.io.index import RecordIndex


class Members(Protocol):
    """Where compressed bytes come from."""

    def sources(self, due: Sequence[tuple[int, int]], *, in_order: bool) -> Iterator[ByteSource]:
        """A source for each member, to be read from its start on.

        Args:
          due: Members by number, each with the end of what is wanted of it in the uncompressed stream.
          in_order: The members after them come next.
        """


class LocalMembers:
    """Members of a file on this machine."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source

    def sources(self, due: Sequence[tuple[int, int]], *, in_order: bool) -> Iterator[ByteSource]:
        """See `Members`."""
        del in_order
        return iter([self._source] * len(due))


class RemoteMembers:
    """Members of a file behind a URL."""

    def __init__(self, access: Access, index: RecordIndex) -> None:
        self._access, self._file, self._members = access, access.remote(index.path), index.members

    def sources(self, due: Sequence[tuple[int, int]], *, in_order: bool) -> Iterator[ByteSource]:
        """See `Members`."""
        blocks = BlockSource(self._access.blocks, self._file)
        ranges = [self._range(*one) for one in due]
        short = [not in_order and end - start <= self._access.options.range_bytes for start, end in ranges]
        at_once = [one for one, is_short in zip(ranges, short, strict=True) if is_short]
        fetched = self._access.requests.fetch(self._file, at_once)
        for (start, _), is_short in zip(ranges, short, strict=True):
            yield _Part(self._file.path, self._file.size, start, next(fetched)) if is_short else blocks

    def _range(self, member: int, end: int) -> tuple[int, int]:
        """Where in the file a member begins, and where the first one begins of which nothing is wanted."""
        after = int(np.searchsorted(self._members[:, 1], end, side="left"))
        after = max(after, member + 1)
        stop = int(self._members[after, 0]) if after < len(self._members) else self._file.size
        return int(self._members[member, 0]), stop


class _Part:
    """A `ByteSource` of which one range is at hand, and nothing behind it is asked for."""

    def __init__(self, path: str, size: int, start: int, content: Content) -> None:
        self.path, self.size, self._start, self._content = path, size, start, content

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """See `ByteSource`."""
        at = offset - self._start
        piece = self._content[at : at + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """See `ByteSource`."""
