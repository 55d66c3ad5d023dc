"""The columns of Parquet files laid out as an Arrow file, whose rows are read in any order.

Parquet: row groups, compressed  ->  Arrow file: record batches, as in memory  ->  row k of batch b
"""

from __future__ import annotations

import importlib
import os
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import MissingExtraError, SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import Place, vanished
from wellfed.sources.ownedfile import OwnedFile
from wellfed.sources.sniff import describe, read_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

_READ_ROWS = 1024  # Of Parquet, at a time: some of them may be long.
_BATCH_BYTES = 64 << 20  # Of the Arrow file; each batch that rows are taken from costs 10 us a column.
_OFFSETS = {"binary": np.int32, "string": np.int32, "large_binary": np.int64, "large_string": np.int64}
_SPOOLING = threading.Lock()


class ParquetSpool:
    """The columns as an Arrow file, laid out before the first row is read or the source is pickled."""

    def __init__(self, paths: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._paths, self._names = paths, names
        self._file: OwnedFile | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_paths": self._paths, "_names": self._names, "_file": self._laid_out()}

    def locate(self, row: int) -> tuple[dict[str, Any], int]:
        """The columns that hold a row, counted over all files, and its place in them."""
        starts, batches = self._opened
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return batches[at], row - int(starts[at])

    def take(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """The columns of several rows, counted over all files."""
        pyarrow = pyarrow_module()
        _, batches = self._opened
        order, parts = self._by_batch(rows)
        inverse = pyarrow.array(np.argsort(order))
        within = [(at, pyarrow.array(inside)) for at, inside in parts]
        return {
            name: pyarrow.concat_arrays([batches[at][name].take(inside) for at, inside in within]).take(inverse)
            for name in self._names
        }

    def places(self, rows: NDArray[np.int64]) -> Iterator[Place]:
        """Where the values of several rows lie, but for those of lists."""
        _, batches = self._opened
        base = self._mapped.data.ctypes.data
        for at, inside in self._by_batch(rows)[1]:
            for column in batches[at].values():
                for address, starts, sizes in _values_of(column, inside):
                    yield Place(self._mapped, address - base + starts, sizes)

    def _by_batch(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[int, NDArray[np.int64]]]]:
        """The order that sorts rows by their batch; and for each batch that holds some, their places in it."""
        starts = self._opened[0]
        batch_of = np.searchsorted(starts, rows, side="right") - 1
        order = np.argsort(batch_of, kind="stable")
        found, firsts = np.unique(batch_of[order], return_index=True)
        parts = np.split(rows[order], firsts[1:])
        return order, [(at, part - starts[at]) for at, part in zip(found.tolist(), parts, strict=True)]

    @cached_property
    def _mapped(self) -> MappedFile:
        return MappedFile(self._laid_out().path)

    @cached_property
    def _opened(self) -> tuple[NDArray[np.int64], list[dict[str, Any]]]:
        """The first row and the columns of each batch, mapped."""
        pyarrow, ipc = pyarrow_module(), pyarrow_module("ipc")
        file = ipc.open_file(pyarrow.BufferReader(pyarrow.py_buffer(self._mapped.data)))
        batches = [file.get_batch(at) for at in range(file.num_record_batches)]
        counts = np.array([batch.num_rows for batch in batches], np.int64)
        columns = [dict(zip(batch.schema.names, batch.columns, strict=True)) for batch in batches]
        return np.cumsum(counts) - counts, columns

    def _laid_out(self) -> OwnedFile:
        with _SPOOLING:
            if self._file is None or not os.path.exists(self._file.path):  # On another machine it is not there.
                self._file = self._lay_out()
            return self._file

    def _lay_out(self) -> OwnedFile:
        pyarrow, ipc, file = pyarrow_module(), pyarrow_module("ipc"), OwnedFile()
        writer = None
        try:
            with pyarrow.OSFile(file.path, "wb") as sink:
                for laid in _joined(laid_batches(self._paths, self._names)):
                    writer = writer or ipc.new_file(sink, laid.schema)
                    writer.write_table(laid)
                if writer is not None:
                    writer.close()
        except (pyarrow.ArrowException, OSError) as error:
            folder = os.path.dirname(file.path)
            reason = f"cannot be laid out in {folder}: {error}. TMPDIR names another folder"
            raise SourceError(reason, self._paths[0]) from error
        return file


def normal(column: Any) -> Any:
    """A column as it is laid out: dictionaries as their values, times as int64, structs as their bytes."""
    pyarrow, types, compute, stored = pyarrow_module(), pyarrow_module("types"), pyarrow_module("compute"), column.type
    if types.is_dictionary(stored):
        return normal(column.dictionary_decode())
    if types.is_struct(stored):
        return compute.struct_field(column, "bytes")
    if types.is_date32(stored) or types.is_time32(stored):
        column = column.cast(pyarrow.int32())
    return column.cast(pyarrow.int64()) if types.is_temporal(stored) else column


def laid_batches(paths: Iterable[str], names: tuple[str, ...]) -> Iterator[Any]:
    """The columns as they are laid out, some rows at a time."""
    pyarrow = pyarrow_module()
    for path in paths:
        for batch in open_parquet(path).iter_batches(_READ_ROWS, columns=list(names)):
            yield pyarrow.RecordBatch.from_pydict({name: normal(batch.column(name)) for name in names})


def _joined(batches: Iterator[Any]) -> Iterator[Any]:
    """Tables of about `_BATCH_BYTES`, each column of which is one piece."""
    pyarrow = pyarrow_module()
    waiting: list[Any] = []
    nbytes = 0
    for batch in batches:
        waiting.append(batch)
        nbytes += batch.nbytes
        if nbytes >= _BATCH_BYTES:
            yield pyarrow.Table.from_batches(waiting).combine_chunks()
            waiting, nbytes = [], 0
    if waiting:
        yield pyarrow.Table.from_batches(waiting).combine_chunks()


def _values_of(column: Any, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """The address of a column's values; where those of some rows begin from there on, and how long they are."""
    stored, buffers, rows = column.type, column.buffers(), rows + column.offset
    if (width := _OFFSETS.get(str(stored))) is not None:
        ends: NDArray[Any] = np.frombuffer(buffers[1], width)
        starts = ends[rows].astype(np.int64)
        if buffers[2] is not None:  # Else all are empty.
            yield buffers[2].address, starts, ends[rows + 1] - starts
    elif pyarrow_module("types").is_primitive(stored) and stored.bit_width >= 8:
        size = stored.bit_width // 8
        yield buffers[1].address, rows * size, np.full(len(rows), size, np.int64)


def open_parquet(path: str) -> Any:
    """A file's reader.

    Raises:
      SourceError: It is gone, or is no whole Parquet file.
    """
    pyarrow, parquet = pyarrow_module(), pyarrow_module("parquet")
    try:
        if not (head := read_head(path)).startswith(b"PAR1"):
            raise SourceError(f"is no Parquet but {describe(head)}", path)
        return parquet.ParquetFile(path, memory_map=True)
    except OSError as error:
        raise vanished(path, error) from error
    except pyarrow.ArrowException as error:
        raise SourceError(f"is a damaged Parquet file: {str(error).rstrip('.')}. Fetch it again", path) from error


def pyarrow_module(module: str = "") -> Any:
    """pyarrow, or a module of it."""
    try:
        return importlib.import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError as error:
        raise MissingExtraError("wellfed.sources.Parquet", "pyarrow", "pyarrow") from error
