"""Columns to files of records."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Batch, Row
from layouts import LAYOUTS, tensorflow_example

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECORDS = {"pairs": 200_000, "bytes": 50_000}


class Writer:
    """Both sides write the same columns to a file of their own; the bytes must be equal."""

    def __init__(self, name: str, folder: Path) -> None:
        self._layout, self._records = LAYOUTS[name], RECORDS[name]
        self._columns = self._layout.columns(0, self._records)
        self._path = folder / "write" / f"{name}-{type(self).__name__}.tfrecord"
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)

    def first(self) -> Iterable[Batch]:
        self.write()
        return [self._columns]

    later = first

    def write(self) -> None:
        raise NotImplementedError

    def proof(self) -> list[Any]:
        self.write()
        return [self._records, hashlib.sha256(self._path.read_bytes()).hexdigest()]


class Wellfed(Writer):
    """Whole columns to framed records in native code."""

    def __init__(self, name: str, folder: Path) -> None:
        import wellfed as wf

        super().__init__(name, folder)
        for key, field in self._layout.fields.items():
            if field.raw:  # A byte string a row: views into the one array.
                column = self._columns[key]
                starts = np.arange(0, column.size, field.size, dtype=np.int64)
                self._columns[key] = wf.Bytes(column.ravel(), starts, np.full(len(column), field.size, np.int64))

    def write(self) -> None:
        import wellfed as wf

        with wf.TFRecordWriter(str(self._path), overwrite=True) as writer:
            writer.write_examples(self._columns)


class TensorFlow(Writer):
    """A message a row, as TensorFlow's guide writes it. (Deterministic: so that the bytes can be compared.)"""

    def write(self) -> None:
        import tensorflow as tf

        rows = zip(*self._columns.values(), strict=True)
        with tf.io.TFRecordWriter(str(self._path)) as writer:
            for row in rows:
                values = dict(zip(self._columns, row, strict=True))
                example = tensorflow_example(values, self._layout.fields)
                writer.write(example.SerializeToString(deterministic=True))


def row(name: str, data: str, due: float) -> Row:
    sides = {"wellfed": partial(Wellfed, data), "tensorflow": partial(TensorFlow, data)}
    return Row(name, sides, due={"tensorflow": (due, None)})


ROWS = (
    row("write two int64 from columns", "pairs", 80),
    row("write 3 KB byte examples", "bytes", 10),
)
