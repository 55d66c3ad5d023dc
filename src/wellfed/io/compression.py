"""Which compression a file has: "", "GZIP" or "ZLIB" around the whole record stream, as TensorFlow names them.

TensorFlow believes what it is told and reads noise where that is wrong. Here the content decides where nothing is
given, whatever the file's name, and a wrong choice is an error that says what the content is.
"""

from __future__ import annotations

import zlib
from typing import Protocol

import numpy as np
from isal import isal_zlib

from wellfed.errors import CompressionError
from wellfed.io.framing import HEADER_BYTES, header_length
from wellfed.io.sniff import sniff

KNOWN = ("", "GZIP", "ZLIB")
HEAD_BYTES = 4096  # Enough to tell what a file is.
WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}  # As zlib counts them: 15 with its own wrapper, 16 more for gzip's.
_TITLES = {"": "plain TFRecord", "GZIP": "GZIP", "ZLIB": "ZLIB"}


def check_name(compression_type: str | None) -> None:
    """Refuses a compression that does not exist.

    Raises:
      ValueError: It is not None, "", "GZIP" or "ZLIB".
    """
    if compression_type is not None and compression_type not in KNOWN:
        raise ValueError(
            f'compression_type must be None (told from the content), "", "GZIP" or "ZLIB", got {compression_type!r}'
        )


def detect(head: bytes) -> str:
    """Tells the compression from a file's first bytes (`HEAD_BYTES`, or all there are): "", "GZIP" or "ZLIB".

    A record's header proves itself, so a plain file that happens to begin as GZIP does (a first record of 559,903
    bytes) is told apart.
    """
    if _is_record(head):
        return ""
    if head[:3] == b"\x1f\x8b\x08" and len(head) > 3 and not head[3] & 0xE0:
        return "GZIP"
    return "ZLIB" if _is_zlib(head) else ""


def choose(head: bytes, given: str | None, path: str) -> str:
    """The compression to read a file with: the one given, if the content agrees, or the one found.

    Args:
      head: The file's first `HEAD_BYTES`, or all there are. An empty file agrees with everything.
      given: None, "", "GZIP" or "ZLIB".
      path: The file's name for errors.

    Raises:
      ValueError: `given` is no compression.
      CompressionError: The content has another one.
    """
    check_name(given)
    found = detect(head)
    if given is None or given == found or not head:
        return found if given is None else given
    what = _TITLES[found]
    if not found and not _is_record(head):
        what = sniff(head) or f"neither GZIP nor ZLIB nor a TFRecord (it begins with {head[:8].hex(' ')})"
    advice = "leave compression_type out to have it told from the content"
    raise CompressionError(f"compression_type={given!r} was given, but the content is {what}; {advice}", path)


class Compressor(Protocol):
    """What `zlib.compressobj` gives."""

    def compress(self, data: memoryview | bytes, /) -> bytes:
        """Compresses more bytes; gives what is ready."""

    def flush(self, mode: int = ..., /) -> bytes:
        """Ends the stream, or with Z_SYNC_FLUSH a block of it; gives what is left."""


def compressor(compression: str, level: int) -> Compressor:
    """A new compressed stream.

    Args:
      compression: "GZIP" or "ZLIB".
      level: 0 to 9 as zlib's, or -1 for the default. 1 to 3 and the default use isal, several times as fast at nearly
        the size; 0 (stored) and 4 to 9 use zlib.

    Raises:
      ValueError: `level` is out of range.
    """
    if not -1 <= level <= 9:
        raise ValueError(f"compression_level must be -1 (default) to 9, got {level}")
    if level in (-1, 1, 2, 3):
        fast = isal_zlib.ISAL_DEFAULT_COMPRESSION if level == -1 else level
        return isal_zlib.compressobj(fast, isal_zlib.DEFLATED, WINDOW_BITS[compression])
    return zlib.compressobj(level, zlib.DEFLATED, WINDOW_BITS[compression], 9)  # As TensorFlow.


def _is_record(head: bytes) -> bool:
    return header_length(np.frombuffer(head[:HEADER_BYTES], np.uint8), 0) is not None


def _is_zlib(head: bytes) -> bool:
    # RFC 1950 section 2.2: method 8, no preset dictionary, and a check over both bytes.
    if len(head) < 2 or head[0] & 0x0F != 8 or head[0] >> 4 > 7 or head[1] & 0x20 or (head[0] << 8 | head[1]) % 31:
        return False
    inflater = zlib.decompressobj()
    try:
        # Two bytes of agreement are too few: a damaged plain record of 376 bytes begins with 78 01 as well.
        return bool(inflater.decompress(head, HEADER_BYTES)) or inflater.eof
    except zlib.error:
        return False
