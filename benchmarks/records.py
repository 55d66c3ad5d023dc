"""Records as they are: framing and checksums, nothing parsed."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

from harness import Batch, Row
from layouts import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Wellfed:
    """Every checksum of the file, as `wellfed verify` checks it."""

    def __init__(self, data: str, folder: Path) -> None:
        self._path = path_of(folder, data)
        self._mapped: Any = None

    def forget(self) -> None:
        shutil.rmtree(self._path.parent / ".wellfed", ignore_errors=True)

    def first(self) -> Iterable[Batch]:
        from wellfed import summary

        report = summary.verify_file(str(self._path))
        return [{"records": range(report.records)}]

    def later(self) -> Iterable[Batch]:
        """The file stays mapped, as a reader that is open keeps it."""
        from wellfed import summary
        from wellfed.io import MappedFile

        if self._mapped is None:
            self._mapped = MappedFile(str(self._path))
        report = summary.verify_file(str(self._path), mapped=self._mapped)
        return [{"records": range(report.records)}]

    def proof(self) -> list[Any]:
        return [len(batch["records"]) for batch in self.first()]


class TensorFlow:
    """tf.data's reader, in batches so that Python is not what is timed."""

    def __init__(self, data: str, folder: Path) -> None:
        import tensorflow as tf

        self._dataset = tf.data.TFRecordDataset([str(path_of(folder, data))]).batch(1024)

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return ({"records": batch} for batch in self._dataset)

    later = first

    def proof(self) -> list[Any]:
        return [sum(len(batch["records"]) for batch in self.first())]


ROWS = (
    Row(
        "check every CRC, 3 KB records",
        {"wellfed": partial(Wellfed, "bytes"), "tensorflow": partial(TensorFlow, "bytes")},
        "bytes",
        due={"tensorflow": (8, 15)},
    ),
)
