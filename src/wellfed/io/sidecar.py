r"""An index on disk: `.wellfed/SHARD.index`, beside the shard but out of reach of patterns such as `*`.

    0    8s   magic b"WFINDEX\n"
    8    u32  version, 1
    12   u32  flags: 1 every payload's sum was checked; 2 GZIP; 4 ZLIB
    16   u64  the shard's size                                    [bytes]
    24   16s  BLAKE2b of four samples of the shard
    40   u64  n, records
    48   u64  k, gaps
    56   u64  m, members
    64   u64  the shard's size when it is not compressed          [bytes]
    72   u32  CRC-32C of the tables
    76   48x  zeros
    124  u32  CRC-32C of the 124 bytes before it
    128       offsets u64[n + 1], gaps u64[k][2], members u64[m][2]

All little-endian, so that the tables are mapped and not read. Opening proves the header and the length, in constant
time; the tables' own sum is proved when a record does not stand where they say. See docs/format.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.errors import IndexFileError
from wellfed.io.access import Access
from wellfed.io.answers import limit
from wellfed.io.files import MappedFile, is_url, local_path
from wellfed.io.stamps import Stamp
from wellfed.io.systems import open_system

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import RawIOBase

    from numpy.typing import NDArray

    from wellfed.io.files import PathLike

MAGIC = b"WFINDEX\n"
VERSION = 1
HEADER_BYTES = 128
_HEADER = struct.Struct("<8sIIQ16sQQQQI48x")
_FLAG_CHECKED = 1
_FLAGS = {"": 0, "GZIP": 2, "ZLIB": 4}


@dataclass(frozen=True, slots=True)
class Tables:
    """What an index holds; see `RecordIndex` for the arrays.

    Attributes:
      offsets: uint64 (n + 1,).
      gaps: uint64 (k, 2).
      members: uint64 (m, 2).
      compression: "", "GZIP" or "ZLIB".
      checked: Whether every payload's sum was checked.
      stream_bytes: Length of the uncompressed stream.
    """

    offsets: NDArray[np.uint64]
    gaps: NDArray[np.uint64]
    members: NDArray[np.uint64]
    compression: str
    checked: bool
    stream_bytes: int


def pack_tables(tables: Tables, of: Stamp) -> list[memoryview]:
    """The bytes of a sidecar, as parts to be written one after another: the tables' own memory is not copied."""
    parts = [
        np.ascontiguousarray(table, "<u8").reshape(-1).view(np.uint8).data
        for table in (tables.offsets, tables.gaps, tables.members)
    ]
    body_sum = 0
    for part in parts:
        body_sum = _native.crc32c(part, body_sum)
    flags = _FLAGS[tables.compression] | (_FLAG_CHECKED if tables.checked else 0)
    counts = len(tables.offsets) - 1, len(tables.gaps), len(tables.members)
    header = _HEADER.pack(MAGIC, VERSION, flags, of.size, of.digest, *counts, tables.stream_bytes, body_sum)
    return [memoryview(header + _native.crc32c(header).to_bytes(4, "little")), *parts]


def unpack_tables(data: NDArray[np.uint8], of: Stamp, place: str) -> Tables:
    """Opens the bytes of a sidecar, in constant time; the tables are views of `data`.

    Raises:
      IndexFileError: They are no sidecar, of another version, damaged, cut, or of another file than `of`.
    """
    head = data[:HEADER_BYTES].tobytes()
    if len(head) < HEADER_BYTES or head[:8] != MAGIC:
        raise IndexFileError("this is no index of wellfed", place)
    found, due = _native.crc32c(head[:124]), int.from_bytes(head[124:], "little")
    if found != due:
        raise IndexFileError(f"the index is damaged: its header's CRC32C is {found:#010x}, stored {due:#010x}", place)
    _, version, flags, size, digest, records, gaps, members, stream_bytes, _ = _HEADER.unpack(head[:124])
    if version != VERSION:
        raise IndexFileError(f"the index has version {version}, this wellfed knows version {VERSION}", place)
    if Stamp(size, digest) != of:
        raise IndexFileError(f"the index is of another content of the file ({size} bytes, now {of.size})", place)
    ends = np.cumsum([HEADER_BYTES, 8 * (records + 1), 16 * gaps, 16 * members], dtype=object).tolist()
    compression = next((name for name, flag in _FLAGS.items() if flag and flags & flag), "")
    if ends[-1] != len(data):
        raise IndexFileError(f"the index has {len(data)} bytes, {ends[-1]} are due: it was cut", place)
    tables = Tables(
        data[ends[0] : ends[1]].view("<u8"),
        data[ends[1] : ends[2]].view("<u8").reshape(-1, 2),
        data[ends[2] : ends[3]].view("<u8").reshape(-1, 2),
        compression,
        bool(flags & _FLAG_CHECKED),
        stream_bytes,
    )
    if tables.offsets[0] > tables.offsets[-1] or tables.offsets[-1] > stream_bytes:
        raise IndexFileError("the index points behind the end of its file", place)
    if bool(compression and records) != bool(members):
        raise IndexFileError(f"the index has {members} members for {records} records of a {compression!r} file", place)
    return tables


def check_tables(data: NDArray[np.uint8], place: str) -> None:
    """Proves the tables' own sum, in time linear in their size.

    Raises:
      IndexFileError: They were changed since they were written.
    """
    due = _HEADER.unpack(data[:124].tobytes())[-1]
    found = _native.crc32c(data[HEADER_BYTES:])
    if found != due:
        raise IndexFileError(
            f"the index is damaged: its tables' CRC32C is {found:#010x}, stored {due:#010x}. Delete it", place
        )


def places(path: PathLike) -> list[str]:
    """Where the index of a file may stand: beside it, then in the user's cache folder."""
    name = os.fspath(path)
    if is_url(path):
        folder, _, file = name.rpartition("/")
        beside, whole = f"{folder}/.wellfed/{file}.index", name
    else:
        shard = Path(local_path(path)).absolute()
        beside, whole = str(shard.parent / ".wellfed" / f"{shard.name}.index"), str(shard.resolve())
        file = shard.name
    key = hashlib.blake2b(whole.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return [beside, str(_cache_folder() / f"{key}-{file}.index")]


def read_place(place: str, access: Access | None = None) -> NDArray[np.uint8] | None:
    """The bytes at a place, mapped where it is on this machine; None where nothing can be read there."""
    try:
        if not is_url(place):
            return MappedFile(place).data
        system, name = open_system(place)
        attempts = (access or Access()).attempts
        # With a start: for a whole file s3fs asks for its size first, and looks for a folder where there is none.
        content: bytes = attempts.make(lambda: system.cat_file(name, start=0, **limit(system)), place)
    except OSError:
        return None
    attempts.came(len(content))
    return np.frombuffer(content, np.uint8)


def write_place(place: str, parts: Sequence[memoryview], access: Access | None = None) -> bool:
    """Writes parts one after another, to a temporary name and renames it; False where the place cannot be written."""
    if is_url(place):
        return _publish(place, b"".join(parts), access or Access())
    target = Path(place)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb", buffering=0) as file:
                for part in parts:
                    _write_all(file, part)
            temporary.replace(target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except OSError:
        return False
    return True


def _publish(place: str, content: bytes, access: Access) -> bool:
    """Puts an index beside its shard; other systems than object stores may need the folder made."""
    system, name = open_system(place)
    # Not to the web: newer fsspec does send it, and servers say "200" that keep nothing.
    if access.options.index == "local" or place.startswith(("http://", "https://")):
        return False
    try:
        try:
            access.attempts.make(lambda: system.pipe_file(name, content), place)
        except FileNotFoundError:
            system.makedirs(name.rpartition("/")[0], exist_ok=True)
            access.attempts.make(lambda: system.pipe_file(name, content), place)
    except (OSError, NotImplementedError):  # Read-only protocols implement no writing.
        return False
    return True


def _write_all(file: RawIOBase, part: memoryview) -> None:
    while part:  # A raw write may take less than it is given.
        part = part[file.write(part) or 0 :]


def _cache_folder() -> Path:
    if "XDG_CACHE_HOME" in os.environ:
        root = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", "~\\AppData\\Local")).expanduser()
    elif sys.platform == "darwin":
        root = Path("~/Library/Caches").expanduser()
    else:
        root = Path("~/.cache").expanduser()
    return root / "wellfed" / "index"
