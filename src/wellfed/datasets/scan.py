"""What the records of bare files hold; a record that is no Example is named by its file and number there."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from wellfed.errors import MalformedExampleError
from wellfed.example import Scan, scan_features
from wellfed.io import TFRecordReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellfed.io import RemoteOptions


def scan_files(
    files: Sequence[str],
    compression_type: str | None = None,
    *,
    limit: int | None = None,
    on_damage: str = "raise",
    check_crc: bool = True,
    remote: RemoteOptions | None = None,
) -> Scan:
    """Finds which features the records of files have, as `scan_features` does.

    Args:
      files: Paths or URLs, read one after another.
      compression_type: "", "GZIP" or "ZLIB"; None has it told from the content.
      limit: Read at most this many records. [records] None for all.
      on_damage: "raise", or "skip": damaged records are left out.
      check_crc: Prove each payload's sum. The header's is always proved.
      remote: How URLs are read; None for the usual way.

    Raises:
      MalformedExampleError: A record is no Example; `path` and `record_index` say which.
      RecordError: A record is damaged, and `on_damage` is "raise".
      OSError: A file cannot be read.
    """
    begun: list[tuple[int, str]] = []  # How many records stand before each file.

    def records() -> Iterator[bytes]:
        count = 0
        for file in files:
            begun.append((count, file))
            for record in TFRecordReader(
                file, compression_type, on_damage=on_damage, check_crc=check_crc, remote=remote
            ):
                count += 1
                yield record

    try:
        return scan_features(islice(records(), limit))
    except MalformedExampleError as error:
        number = error.example_index
        before, file = next(each for each in reversed(begun) if each[0] <= number)
        to_do = "`wellfed head` shows its bytes, and without features= a feed gives them"
        raise MalformedExampleError(f"{error.reason}; {to_do}", "", number, file, number - before) from None
