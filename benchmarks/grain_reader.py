"""Grain with ArrayRecord: its own format, which it reads at random, and its own exact shuffle.

Grain parses no Examples by itself, so its records are what is cheapest for it: the features' bytes, one after another,
taken apart by NumPy. Row numbers are shuffled and batched, and each batch of records is read by one call:
`MapDataset` would ask for one record after another: a change of threads each, and 150 times slower on a busy machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from layouts import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from harness import Batch
    from layouts import Layout

GRAIN_RECORDS = 64 * 500  # Of a million: some 20,000 a second.


class Grain:
    """Row numbers shuffled and batched by `MapDataset`, read and taken apart a batch at a time, ahead on threads."""

    def __init__(self, path: Path, layout: Layout, *, batch_size: int, shuffled: bool) -> None:
        self._path, self._layout = path.with_suffix(".array_record"), layout
        self._batch_size, self._shuffled = batch_size, shuffled
        if not self._path.exists():
            write_array_record(self._path, layout)

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return self.prefix(min(GRAIN_RECORDS, self._layout.records))

    later = first

    def prefix(self, records: int) -> Iterator[Batch]:
        import grain.python as grain

        source = grain.ArrayRecordDataSource([str(self._path)])
        rows = grain.MapDataset.range(records)
        if self._shuffled:
            rows = rows.shuffle(seed=0)
        batches = rows.batch(self._batch_size).map(lambda numbers: self._columns(source.__getitems__(numbers.tolist())))
        return iter(batches.to_iter_dataset())

    def _columns(self, records: list[bytes]) -> dict[str, np.ndarray]:
        table, columns, at = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), -1), {}, 0
        for name, field in self._layout.fields.items():
            end = at + field.size * np.dtype(field.dtype).itemsize
            columns[name] = np.ascontiguousarray(table[:, at:end]).view(field.dtype).reshape(len(records), *field.shape)
            at = end
        return columns


def write_array_record(path: Path, layout: Layout) -> None:
    """Writes the layout's rows one by one, so that each can be read by itself."""
    from array_record.python.array_record_module import ArrayRecordWriter

    part = path.with_suffix(".part")
    writer: Any = ArrayRecordWriter(str(part), "group_size:1")
    for start in range(0, layout.records, CHUNK):
        columns = layout.columns(start, min(start + CHUNK, layout.records))
        for row in zip(*(columns[name] for name in layout.fields), strict=True):
            writer.write(b"".join(np.ascontiguousarray(value).tobytes() for value in row))
    writer.close()
    part.replace(path)
