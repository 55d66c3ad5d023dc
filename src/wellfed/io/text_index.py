"""The text indexes of DALI (`.idx`) and of the `tfrecord` package (`.tfindex`): one line a record.

    0 3232
    3232 3232
    6464 3240          offset of the header, bytes of the whole frame; both packages read the same lines

They say nothing about which file they are of, so reading one proves each line against the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wellfed import _native
from wellfed.errors import IndexFileError
from wellfed.io.files import MappedFile, local_path
from wellfed.io.framing import FRAME_BYTES
from wellfed.io.index import RecordIndex
from wellfed.io.output import open_output
from wellfed.io.sidecar import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellfed.io.files import PathLike

_LINES = 1 << 16  # Written at a time.


def write_text_index(index: RecordIndex, out: PathLike, *, overwrite: bool = False) -> None:
    """Writes an index as DALI and `tfrecord` read it.

    Args:
      index: Of a plain file.
      out: The text file; appears when it is whole. DALI takes any name, `tfrecord` looks where it is told.
      overwrite: Replace `out` if it exists.

    Raises:
      IndexFileError: The file is compressed: these packages cannot find a place in it.
      FileExistsError: `out` exists.
      OSError: `out` cannot be written.
    """
    if index.compression:
        raise IndexFileError(f"a {index.compression} file has no places that DALI or tfrecord can go to", index.path)
    ends = index.ends_of(np.arange(len(index))).tolist()
    starts = index.offsets[:-1].tolist()
    output = open_output(out, overwrite=overwrite)
    try:
        for first in range(0, len(starts), _LINES):
            pairs = zip(starts[first : first + _LINES], ends[first : first + _LINES], strict=True)
            output.write("".join(f"{start} {end - start}\n" for start, end in pairs).encode())
        output.commit()
    finally:
        output.abandon()


def read_text_index(path: PathLike, text: PathLike) -> RecordIndex:
    """Reads a text index of a plain file of this machine, and proves each line against the file's headers.

    Args:
      path: The TFRecord file.
      text: The index.

    Returns:
      The index, in memory; `save` keeps it as wellfed's own.

    Raises:
      IndexFileError: A line is not two numbers, does not begin where the line before ended, or the file has no such
        record; the index is of another file, of another version of it, or counts a truncated record.
      OSError: A file cannot be opened.
    """
    mapped = MappedFile(path)
    offsets = _parse(text, mapped.size)
    sizes, count, status = _native.read_frames(mapped.data, offsets[:-1], False)
    due = np.diff(offsets).astype(np.int64) - FRAME_BYTES
    wrong = np.flatnonzero(sizes != due[: int(count)])
    if len(wrong) or status != _native.FRAME_OK:
        line = int(wrong[0]) if len(wrong) else int(count)
        raise _error(text, line, f"{mapped.path} has no record of that size there")
    none = np.zeros((0, 2), np.uint64)
    return RecordIndex(mapped.path, Tables(offsets, none, none, "", checked=False, stream_bytes=mapped.size))


def _parse(text: PathLike, size: int) -> NDArray[np.uint64]:
    """Each record's offset and then the file's end, after checking that the lines tile the file."""
    lines = Path(local_path(text)).read_text("ascii", errors="replace").splitlines()
    offsets, end = [], 0
    for number, line in enumerate(lines):
        fields = line.split()
        if len(fields) != 2 or not all(field.isascii() and field.isdigit() for field in fields):
            raise _error(text, number, f"two numbers are due, got {line[:40]!r}")
        start, length = map(int, fields)
        if start != end or length < FRAME_BYTES or length > size - start:
            raise _error(
                text, number, f"a record from byte {end} to {size} at most is due, got {length} bytes at {start}"
            )
        offsets.append(start)
        end = start + length
    if end != size:
        raise _error(text, len(lines), f"the file goes on to byte {size}, the index ends at byte {end}")
    return np.array([*offsets, end], np.uint64)


def _error(text: PathLike, line: int, reason: str) -> IndexFileError:
    return IndexFileError(f"line {line + 1}: {reason}", str(text))
