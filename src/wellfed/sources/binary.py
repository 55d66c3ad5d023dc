"""Records of a fixed length, one after another: CIFAR's binary files and their like.

    header | record 0 | record 1 | ...            record: the fields' bytes in order, without gaps

Each file may be gzipped, whatever its name says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wellfed.columns import Bytes
from wellfed.datasets import Schema
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Place, Scan
from wellfed.sources.inflate import WholeFile
from wellfed.sources.listing import Listing, NumberedKeys
from wellfed.sources.paths import Paths, existing_files, group_names
from wellfed.sources.types import type_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import DTypeLike, NDArray

    from wellfed.datasets import FeatureType


@dataclass(frozen=True)
class FixedBinary(ListedSource):
    """The records of files that hold nothing else: a value for each field.

    Attributes:
      paths: A file, several, or a pattern.
      fields: Name to dtype and shape, in the order in which they lie in a record, such as
        `{"label": ("uint8", ()), "image": ("uint8", (3, 32, 32))}`. Byte order as in NumPy: ">u2" is big-endian.
        "S10" is a byte string of 10 bytes, all of them kept.
      header_bytes: What each file has in front of its records. [bytes]
      label: The field that is the class, for splits by class; a single integer.

    Raises:
      ValueError: A field has a dtype that no feature holds, or `label` is no field of a single integer.
      SourceError: A file is missing, or does not hold a whole number of records.

    Memory: a file that is not gzipped is mapped, a gzipped one inflated once in each process.
    """

    paths: Paths
    fields: Mapping[str, tuple[DTypeLike, tuple[int, ...]]]
    header_bytes: int = 0
    label: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", existing_files(self.paths))
        fields: dict[str, tuple[DTypeLike, tuple[int, ...]]]
        fields = {name: (np.dtype(dtype), tuple(shape)) for name, (dtype, shape) in self.fields.items()}
        object.__setattr__(self, "fields", fields)
        if self.header_bytes < 0:
            raise ValueError(f"header_bytes must be at least 0, got {self.header_bytes}")
        if not self._record.itemsize:
            raise ValueError(f"a record must have at least one byte, got the fields {dict(self.fields)}")
        if self.label is not None and (self.label not in fields or not _is_integer(*fields[self.label])):
            raise ValueError(f"label must name a field of a single integer, got {self.label!r}")
        self._types()

    def scan(self) -> Scan:
        """Divides each file's length by the record's."""
        files = self._files
        for file in files:
            self._check_length(file)
        names = group_names(tuple(file.path for file in files))
        record = self._record.itemsize
        counts = {name: (len(file.data) - self.header_bytes) // record for name, file in zip(names, files, strict=True)}
        n = sum(counts.values())
        if not n:
            raise SourceError(f"holds no record; one has {record} bytes", files[0].path)
        labels = None if self.label is None else self._labels()
        listing = Listing(NumberedKeys.of_counts(counts), np.full(n, record, np.int64), labels)
        return Scan(Schema(self._types()), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Copies the fields of record `index`: arrays and numbers in the machine's byte order."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        at, number = keys.locate(index)
        file = self._files[at]
        self._check_length(file)
        start = self.header_bytes + number * self._record.itemsize
        record = file.data[start : start + self._record.itemsize].tobytes()
        file.check_unchanged()
        if len(record) < self._record.itemsize:
            raise SourceError(f"ends before record {number}, which it held when it was listed", file.path)
        return {name: self._field(name, record) for name in self.fields}

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        for at, _, numbers in keys.locate_all(start, stop):
            if (mapped := self._files[at].mapped) is not None:
                starts = self.header_bytes + self._record.itemsize * numbers
                yield Place(mapped, starts, np.full(len(numbers), self._record.itemsize, np.int64))

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Copies the fields of the records from `start` to `stop`; see `ColumnSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        records = np.empty(stop - start, self._record)
        for at, places, numbers in keys.locate_all(start, stop):
            file = self._files[at]
            self._check_length(file)
            content = file.data[self.header_bytes :].view(self._record)
            if numbers.max() >= len(content):
                return None
            records[places] = np.take(content, numbers)
            file.check_unchanged()
        return {name: self._column(records[name]) for name in self.fields}

    def _column(self, values: NDArray[Any]) -> Any:
        """One field of many records, in memory of its own."""
        if values.dtype.kind == "S":  # Not as NumPy has it, which drops NUL bytes at the end.
            return Bytes.from_rows(np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1))
        if values.dtype.kind == "b":
            return np.ascontiguousarray(values).view(np.uint8) != 0
        return values.astype(values.dtype.newbyteorder("="))

    def _field(self, name: str, record: bytes) -> Any:
        dtype, shape = np.dtype(self.fields[name][0]), self.fields[name][1]
        start = self._record.fields[name][1]  # type: ignore[index]  # It has fields.
        content = record[start : start + dtype.itemsize * prod(shape)]
        if dtype.kind == "S":
            return content
        if dtype.kind == "b":  # Any bit makes a true one.
            dtype, content = np.dtype(np.bool_), bytes(byte != 0 for byte in content)
        values = np.frombuffer(content, dtype).astype(dtype.newbyteorder("=")).reshape(shape)
        return values if shape else values[()]

    def _types(self) -> dict[str, FeatureType]:
        types = {}
        for name, (dtype, shape) in self.fields.items():
            if np.dtype(dtype).kind not in "biufS":
                raise ValueError(f"field {name!r} has dtype {dtype}; bool, integers, floats and S are read")
            types[name] = type_of_array(shape, np.dtype(dtype))
        return types

    def _labels(self) -> NDArray[np.int64]:
        """The class of each record of all files."""
        assert self.label is not None
        columns = []
        for file in self._files:
            records = file.data[self.header_bytes :].view(self._record)
            columns.append(records[self.label].astype(np.int64))
        return np.concatenate(columns)

    def _check_length(self, file: WholeFile) -> None:
        content = len(file.data) - self.header_bytes
        record = self._record.itemsize
        if content < 0 or content % record:
            rest = f"{content % record} bytes are left over" if content >= 0 else "it is shorter than its header"
            reason = f"has {len(file.data)} bytes, but header_bytes={self.header_bytes} and records of {record}: {rest}"
            raise SourceError(f"{reason}. Check the fields", file.path)

    @cached_property
    def _record(self) -> np.dtype[Any]:
        """A record's dtype, without gaps."""
        return np.dtype([(name, dtype, shape) for name, (dtype, shape) in self.fields.items()])

    @cached_property
    def _files(self) -> list[WholeFile]:
        return [WholeFile(path) for path in cast("tuple[str, ...]", self.paths)]


def _is_integer(dtype: DTypeLike, shape: tuple[int, ...]) -> bool:
    return shape == () and np.dtype(dtype).kind in "iu"
