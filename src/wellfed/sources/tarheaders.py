"""The headers of a tar's members. The plain ones are read here; Python's tarfile reads all others, at 5 times the cost.

    name 100 | mode, owner, group 24 | size 12 | time 12 | sum 8 | type 1 | link 100 | "ustar" 6 | ... | prefix 155

Numbers are octal text. Source: POSIX.1-2001, ustar interchange format.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
_OCTAL = re.compile(rb" *([0-7]+)[ \0]*")
_REGULAR, _GLOBAL = (b"0", b"\0"), b"g"
_MAGIC = (b"ustar\0", b"ustar ")  # The second is GNU's.
_ADLER = 65521


class Member(NamedTuple):
    """One member of a tar.

    Attributes:
      name: As it stands in the tar; bytes that are no UTF-8 as surrogates.
      kind: "file", "folder" or "other".
      header: Where its first header begins. [bytes]
      offset: Where its content begins. [bytes]
      size: How long that is. [bytes]
    """

    name: str
    kind: str
    header: int
    offset: int
    size: int


class Headers:
    """Walks the members of a tar; afterwards, `end` is where no further one begins.

    Args:
      path: The file.
      content: The same file's bytes.

    Raises:
      tarfile.TarError, ValueError, OverflowError: It is no tar, or is damaged.
    """

    def __init__(self, path: str, content: memoryview) -> None:
        self._path, self._content = path, content
        self.end = 0

    def __iter__(self) -> Iterator[Member]:
        others: tarfile.TarFile | None = None
        only_others = False
        try:
            while True:
                if self.end > len(self._content):
                    raise tarfile.ReadError("unexpected end of data")
                block = bytes(self._content[self.end : self.end + BLOCK])
                only_others |= block[156:157] == _GLOBAL  # It may rename all that follow.
                member = None if only_others else _plain(block, self.end)
                if member is not None:
                    self.end = member.offset + -(-member.size // BLOCK) * BLOCK
                else:
                    others = others or tarfile.open(self._path, "r:")  # noqa: SIM115 -- closed below.
                    member = self._next_of(others)
                if member is None:
                    return
                yield member
        finally:
            if others is not None:
                others.close()

    def _next_of(self, tar: tarfile.TarFile) -> Member | None:
        """The member whose headers begin at `end`, as tarfile reads them; moves `end` behind it."""
        if self.end:
            tar.firstmember, tar.offset = None, self.end  # type: ignore[attr-defined]  # typeshed lacks the first.
        found = tar.next()
        tar.members.clear()  # type: ignore[attr-defined]  # It keeps them all; typeshed lacks it.
        if found is None:
            return None
        if found.size < 0 or found.offset < self.end or tar.offset <= self.end:
            raise tarfile.ReadError(f"the member at byte {found.offset} has {found.size} bytes")
        self.end = tar.offset
        kind = "folder" if found.isdir() else "file" if found.isreg() and not found.issparse() else "other"
        return Member(found.name, kind, found.offset, found.offset_data, found.size)


def _plain(block: bytes, at: int) -> Member | None:
    """The regular file whose header is `block`, at byte `at`; None for whatever is not as plain as that."""
    size, due = _OCTAL.fullmatch(block[124:136]), _OCTAL.fullmatch(block[148:156])
    if (
        len(block) < BLOCK
        or size is None
        or due is None
        or block[156:157] not in _REGULAR
        or block[257:263] not in _MAGIC
    ):
        return None
    # The sum of all bytes, its own field taken for blanks: it is what Adler-32 keeps in its low 16 bits, plus 1.
    adler = zlib.adler32(block[156:], zlib.adler32(b" " * 8, zlib.adler32(block[:148])))
    if adler & 0xFFFF != (int(due[1], 8) + 1) % _ADLER:
        return None
    name, prefix = block[:100].partition(b"\0")[0], block[345:500].partition(b"\0")[0]
    if not name or name.endswith(b"/") or (prefix and block[257:263] != b"ustar\0"):
        return None
    whole = b"/".join([prefix, name]) if prefix else name
    return Member(whole.decode("utf-8", "surrogateescape"), "file", at, at + BLOCK, int(size[1], 8))
