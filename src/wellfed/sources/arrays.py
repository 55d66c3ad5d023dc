"""NumPy's files: .npy holds one array, .npz several; item i is row i of each.

    x.npy       (n, ...)                           {"x": row}
    set.npz     x: (n, ...), y: (n,)               {"x": row, "y": number}
    mnist.npz   x_train, y_train, x_test, y_test   {"x": row, "y": number} in the splits "train" and "test"

A .npz is a zip of .npy files. Source: numpy/lib/format.py; APPNOTE.TXT of PKWARE, section 4.3.7 (the local header).
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ClassLabel, Schema
from wellfed.errors import SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import ListedSource, Place, Scan, StrPath, existing_file, vanished
from wellfed.sources.listing import Listing, NumberedKeys
from wellfed.sources.sniff import describe, read_head
from wellfed.sources.types import type_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wellfed.datasets import FeatureType

_SPLIT = re.compile(
    r"(?P<name>.+)_(?P<split>train|val|valid|validation|dev|test)|(?P<split2>train|val|test)_(?P<name2>.+)"
)
_MAX_HEADER_BYTES = 1 << 16


@dataclass(frozen=True)
class Numpy(ListedSource):
    """The rows of arrays: a value for each array, `{"x": array, "y": number}`.

    Arrays whose names all end in `_train`, `_test` and their like are splits of the arrays named by the rest.

    Attributes:
      files: A .npy or .npz file, or a mapping of name to .npy file, such as `{"image": "x.npy", "label": "y.npy"}`.
      label: The array that is the class: integers from 0; becomes `ClassLabel`.

    Raises:
      SourceError: A file is no NumPy file or is damaged; arrays differ in length; one holds Python objects, which
        are pickles and are not read.

    Memory: arrays are mapped, also those of a .npz that `numpy.savez` made; those of `savez_compressed` are inflated
    once in each process.
    """

    files: StrPath | Mapping[str, StrPath]
    label: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.files, Mapping):
            files = {name: existing_file(path, "a .npy file") for name, path in self.files.items()}
            object.__setattr__(self, "files", files)
        else:
            object.__setattr__(self, "files", existing_file(self.files, "a .npy or .npz file"))

    def scan(self) -> Scan:
        """Reads the arrays' headers."""
        splits = self._splits
        counts = {}
        for split, arrays in splits.items():
            lengths = {name: len(array.values) for name, array in arrays.items()}
            if len(set(lengths.values())) > 1:
                shown = ", ".join(f"{name} has {length} rows" for name, length in lengths.items())
                raise SourceError(f"holds arrays of different lengths: {shown}", self._path)
            counts[split or self._stem] = next(iter(lengths.values()))
        if not (n := sum(counts.values())):
            raise SourceError("holds no row", self._path)
        types = self._types()
        labels = None
        if self.label is not None:
            types[self.label], labels = self._classes()
        first = next(iter(splits.values()))
        size = sum(array.values.dtype.itemsize * prod(array.values.shape[1:]) for array in first.values())
        ids = None if "" in splits else np.repeat(np.arange(len(counts)), list(counts.values()))
        names = () if ids is None else tuple(counts)
        listing = Listing(NumberedKeys.of_counts(counts), np.full(n, size, np.int64), labels, (), names, ids)
        return Scan(Schema(types), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Copies row `index` of each array."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        at, number = keys.locate(index)
        item = {}
        for name, array in list(self._splits.values())[at].items():
            if number >= len(array.values):
                raise SourceError(f"has {len(array.values)} rows, but had more when it was listed", array.path)
            row = array.values[number]
            native = np.array(row, row.dtype.newbyteorder("="))
            item[name] = native if native.ndim else native[()]
            array.check_unchanged()
        return item

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Copies the rows from `start` to `stop` of each array; see `ColumnSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        columns: dict[str, Any] = {}
        for at, places, numbers in keys.locate_all(start, stop):
            for name, array in list(self._splits.values())[at].items():
                if numbers.max() >= len(array.values):
                    return None
                rows = np.take(array.values, numbers, axis=0)  # Rows at a time; indexing goes value by value.
                native = rows.astype(rows.dtype.newbyteorder("="), copy=False)
                if len(places) == stop - start:
                    columns[name] = native
                else:
                    columns.setdefault(name, np.empty((stop - start, *native.shape[1:]), native.dtype))[places] = native
                array.check_unchanged()
        return columns

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        for at, _, numbers in keys.locate_all(start, stop):
            for array in list(self._splits.values())[at].values():
                yield from array.places(numbers)

    def _types(self) -> dict[str, FeatureType]:
        types: dict[str, FeatureType] = {}
        for arrays in self._splits.values():
            for name, array in arrays.items():
                try:
                    kind = type_of_array(array.values.shape[1:], array.values.dtype)
                except ValueError as error:
                    raise SourceError(f"array {name!r}: {error}", array.path) from error
                if types.setdefault(name, kind) != kind:
                    raise SourceError(f"array {name!r} is {types[name]} in one split and {kind} in another", array.path)
        return types

    def _classes(self) -> tuple[ClassLabel, NDArray[np.int64]]:
        """The type of the class, and the class of each row."""
        parts = [arrays[self.label] for arrays in self._splits.values() if self.label in arrays]
        if not parts:
            names = ", ".join(next(iter(self._splits.values())))
            raise SourceError(f"has no array {self.label!r}; it has {names}", self._path)
        if any(part.values.ndim != 1 or part.values.dtype.kind not in "iub" for part in parts):
            raise SourceError(f"array {self.label!r} is not one integer a row; a class is", self._path)
        labels = np.concatenate([part.values.astype(np.int64) for part in parts])
        if labels.min() < 0:
            raise SourceError(f"array {self.label!r} holds the class {labels.min()}; classes count from 0", self._path)
        return ClassLabel(num_classes=int(labels.max()) + 1), labels

    @cached_property
    def _splits(self) -> dict[str, dict[str, _Array]]:
        """The arrays of each split by name; of the split "" where they name none."""
        arrays = self._arrays
        matches = [_SPLIT.fullmatch(name) for name in arrays]
        if not all(matches):
            return {"": arrays}
        splits: dict[str, dict[str, _Array]] = {}
        for match, array in zip(matches, arrays.values(), strict=True):
            found = match.groupdict() if match else {}
            split, name = found["split"] or found["split2"], found["name"] or found["name2"]
            splits.setdefault(split, {})[name] = array
        first = next(iter(splits.values())).keys()
        for split, named in splits.items():
            if missing := first ^ named.keys():
                raise SourceError(
                    f"has {min(missing)!r} for some splits, but not for all (split {split!r})", self._path
                )
        return splits

    @cached_property
    def _arrays(self) -> dict[str, _Array]:
        """Every array of the files."""
        if isinstance(self.files, Mapping):
            arrays = {name: _open_npy(os.fspath(path)) for name, path in self.files.items()}
        elif read_head(os.fspath(self.files)).startswith(b"PK"):
            arrays = _open_npz(os.fspath(self.files))
        else:
            arrays = {self._stem.removesuffix(".npy"): _open_npy(os.fspath(self.files))}
        if not arrays:
            raise SourceError("holds no array", self._path)
        return arrays

    @property
    def _path(self) -> str:
        first = next(iter(self.files.values()), "") if isinstance(self.files, Mapping) else self.files
        return os.fspath(first)

    @property
    def _stem(self) -> str:
        return os.path.basename(self._path)


class _Array:
    """An array of a file, mapped or in memory; read-only."""

    def __init__(self, path: str, values: NDArray[Any], file: MappedFile | None) -> None:
        self.path, self.values, self._file = path, values, file

    def places(self, numbers: NDArray[np.int64]) -> Iterator[Place]:
        """Where some rows lie, if that is in one piece each."""
        values = self.values
        if self._file is None or not values.flags.c_contiguous or not values.size:
            return
        row_bytes = values.nbytes // len(values)
        first = values.ctypes.data - self._file.data.ctypes.data
        yield Place(self._file, first + row_bytes * numbers, np.full(len(numbers), row_bytes, np.int64))

    def check_unchanged(self) -> None:
        """Raises `FileChangedError` if a mapped file was cut or replaced: what was read from it may be wrong."""
        if self._file is not None:
            self._file.check_unchanged()


def _open_npy(path: str) -> _Array:
    try:
        file = MappedFile(path)
    except OSError as error:
        raise vanished(path, error) from error
    return _Array(path, parse_npy(path, file.data), file)


def _open_npz(path: str) -> dict[str, _Array]:
    arrays = {}
    try:
        file = MappedFile(path)
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.filename.endswith(".npy"):
                    raise SourceError(f"holds {member.filename!r}, which is no array", path)
                stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
                inflated = b"" if stored else archive.read(member)
                content = _stored_member(member, file.data) if stored else np.frombuffer(inflated, np.uint8)
                values = parse_npy(f"{path}/{member.filename}", content)
                arrays[member.filename.removesuffix(".npy")] = _Array(path, values, file if stored else None)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"is a damaged .npz: {error}. Fetch it again", path) from error
    except OSError as error:
        raise vanished(path, error) from error
    return arrays


def _stored_member(member: zipfile.ZipInfo, data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of a member that is not compressed; a view."""
    start = member.header_offset
    header = data[start : start + 30].tobytes()
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no header of {member.filename} at byte {start}")
    start += 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if member.file_size > len(data) - start:
        raise zipfile.BadZipFile(f"{member.filename} ends after the file's end")
    return data[start : start + member.file_size]


def parse_npy(path: str, content: NDArray[np.uint8], *, rows: bool = True) -> NDArray[Any]:
    """The array that the bytes of a .npy file hold, with `rows` one of at least one dimension; a view of them.

    Raises:
      SourceError: The bytes are no array of a plain dtype, or no whole one.
    """
    head = content[:_MAX_HEADER_BYTES].tobytes()
    if not head.startswith(b"\x93NUMPY"):
        raise SourceError(f"is no NumPy file but {describe(head[:64])}", path)
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(stream)
    except Exception as error:  # NumPy's reader of headers also raises what Python's parser does.
        raise SourceError(f"is a damaged .npy: {error}. Fetch it again", path) from error
    if dtype.hasobject:
        raise SourceError("holds Python objects, which are pickles and are not read. Save it with a plain dtype", path)
    if rows and not shape:
        raise SourceError("holds a single value; an array of rows is due", path)
    held, due = len(content) - stream.tell(), prod(shape) * dtype.itemsize
    if held != due or min(shape, default=0) < 0:
        raise SourceError(f"holds {held} bytes of data; shape {shape} and dtype {dtype} say {due}", path)
    return np.ndarray(shape, dtype, content, stream.tell(), order="F" if is_fortran else "C")
