"""The other readers' ways from records to batches of arrays, each in its own environment."""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from harness import Batch
    from layouts import Field, Layout

TFRECORD_RECORDS = 50_000  # It reads some 50,000 a second.


class TfrecordPackage:
    """`tfrecord` from PyPI: a dict of small arrays for each record, stacked here."""

    def __init__(self, path: Path, layout: Layout, *, batch_size: int, shuffled: bool) -> None:
        assert not shuffled
        self._path, self._layout, self._batch_size = path, layout, batch_size

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return self.prefix(TFRECORD_RECORDS)

    later = first

    def prefix(self, records: int) -> Iterator[Batch]:
        from tfrecord.reader import tfrecord_loader

        kinds = {"int64": "int", "float32": "float", "uint8": "byte"}
        fields = self._layout.fields
        description = {name: kinds[field.dtype] for name, field in fields.items()}
        rows = itertools.islice(tfrecord_loader(str(self._path), None, description), records)
        while chunk := list(itertools.islice(rows, self._batch_size)):
            yield {name: _stacked([row[name] for row in chunk], field) for name, field in fields.items()}


def _stacked(values: list[Any], field: Field) -> np.ndarray:
    arrays = [np.frombuffer(value, np.uint8) for value in values] if field.raw else values
    return np.stack(arrays).reshape(len(values), *field.shape)


class Dali:
    """DALI on the CPU, with the index file that its reader needs."""

    def __init__(self, path: Path, layout: Layout, *, batch_size: int, shuffled: bool) -> None:
        assert not shuffled
        index = path.with_suffix(".idx")
        if not index.exists():
            write_dali_index(path, index)
        self._fields, self._records, self._batch_size = layout.fields, layout.records, batch_size
        self._pipeline = self._built(path, index)

    def _built(self, path: Path, index: Path) -> Any:
        from nvidia.dali import fn, pipeline_def, tfrecord

        kinds = {"int64": (tfrecord.int64, 0), "float32": (tfrecord.float32, 0.0)}
        features = {
            name: tfrecord.FixedLenFeature([], tfrecord.string, "")
            if field.raw
            else tfrecord.FixedLenFeature(list(field.shape), *kinds[field.dtype])
            for name, field in self._fields.items()
        }

        @pipeline_def(batch_size=self._batch_size, num_threads=2, device_id=None)
        def reading() -> Any:
            columns = fn.readers.tfrecord(path=str(path), index_path=str(index), features=features, name="reader")
            return tuple(columns[name] for name in features)

        return reading()

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        """The whole batches of one pass; the reader goes round, so the remainder would run into the next."""
        return (self._batch() for _ in range(self._records // self._batch_size))

    later = first

    def prefix(self, records: int) -> Iterator[Batch]:
        for start in range(0, records, self._batch_size):
            batch = self._batch()
            yield {name: column[: records - start] for name, column in batch.items()}

    def _batch(self) -> dict[str, np.ndarray]:
        columns = zip(self._fields.items(), self._pipeline.run(), strict=True)
        return {name: column.as_array().reshape(self._batch_size, *field.shape) for (name, field), column in columns}


def write_dali_index(path: Path, index: Path) -> None:
    """Writes offset and size of each record, as DALI's own tool does."""
    with path.open("rb") as records, index.open("w", encoding="ascii") as lines:
        offset = 0
        while header := records.read(12):
            size = struct.unpack("<Q", header[:8])[0] + 16
            lines.write(f"{offset} {size}\n")
            offset += size
            records.seek(offset)
