"""CSV: rows of text, whose types are decided over whole columns.

    name,age,score         offsets: where each row begins, so that a row is one small read;
    Ann,31,0.5             no row stays in memory
    "Bo, jr.",,1.25        quotes, separators and line ends inside quotes as in RFC 4180

Read with the standard library: see docs/adr/0021-csv-with-the-standard-library.md.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from array import array
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wellfed.datasets import ClassLabel, FeatureType, Scalar, Schema, Text
from wellfed.errors import SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import ListedSource, Place, Scan, vanished
from wellfed.sources.columns import BOOLS, TextColumn, cell_reader
from wellfed.sources.listing import Listing, NumberedKeys
from wellfed.sources.paths import Paths, existing_files, group_names
from wellfed.sources.sniff import describe, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO


_ROWS = 4096
_MAX_CLASSES = 100_000
# Of one cell. The standard library's own limit is 128 KiB, less than many a text has; without any, one open quote in
# a large file would be read to its end as one cell.
_MAX_CELL_BYTES = 1 << 26


class _Kept(NamedTuple):
    names: tuple[str, ...]  # Of all columns of the files.
    delimiter: str
    file_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Csv(ListedSource):
    """The rows of CSV files: a value for each column, missing numbers as NaN.

    A column's type is decided over all of its cells: `Scalar(int64)`, `Scalar(float32)`, `Scalar(bool)` or `Text`
    (also for 007 and its like, which are names and no numbers).

    Attributes:
      paths: A file, several with the same columns, or a pattern. UTF-8, with or without a byte order mark.
      label: The column that is the class: numbers from 0, or names, which are sorted by code point and become
        `ClassLabel`.
      columns: The columns to keep, all if not given.
      names: The columns' names, for files whose first row holds none.
      delimiter: What separates the cells. None: the one of `,` `;` tab and `|` that the first row has most of.
      types: Types that are not to be decided, such as `{"id": Text(), "time": Tensor((), "float64", "bytes")}`.

    Raises:
      ValueError: `delimiter` is no single character, or values of a type do not come from a cell.
      SourceError: A file is no CSV (with the line), has other columns than the first, or none of those asked for.
        A single row with too few or too many cells, or without a class, is an item that fails when it is loaded.

    Memory: 32 bytes a row.
    """

    paths: Paths
    label: str | None = None
    columns: Sequence[str] | None = None
    names: Sequence[str] | None = None
    delimiter: str | None = None
    types: Mapping[str, FeatureType] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", existing_files(self.paths))
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter must be one character, and no quote or line end, got {self.delimiter!r}")
        for kind in (self.types or {}).values():
            cell_reader(kind)

    def scan(self) -> Scan:
        """Reads all rows once, keeping where they begin."""
        paths = cast("tuple[str, ...]", self.paths)
        delimiter = self.delimiter or _told_delimiter(paths[0])
        names = tuple(self.names or _first_row(paths[0], delimiter))
        self._check_names(names)
        survey = _Survey(names, self._used(names), self.label)
        counts = {}
        for group, path in zip(group_names(paths), paths, strict=True):
            before = survey.rows
            survey.read(path, self._rows(path, names, delimiter))
            counts[group] = survey.rows - before
        if not survey.good_rows:
            found = (
                f"none of {survey.rows} rows has {len(names)} cells, as the first" if survey.rows else "holds no row"
            )
            raise SourceError(f"{found}. Check delimiter={delimiter!r}", paths[0])
        types = survey.types(self.types or {}, paths[0])
        listing = Listing(NumberedKeys.of_counts(counts), **survey.arrays())
        sizes = tuple(os.stat(path).st_size for path in paths)
        return Scan(Schema(types), listing, _Kept(names, delimiter, sizes))

    def load(self, index: int) -> dict[str, Any]:
        """Reads row `index`."""
        listing, kept = self.listing(), cast("_Kept", self.kept)
        assert isinstance(listing.keys, NumberedKeys)
        file, number = listing.keys.locate(index)
        path = cast("tuple[str, ...]", self.paths)[file]
        offset = int(listing.places["offset"][index])
        row = _read_row(path, kept.file_bytes[file], offset, int(listing.sizes[index]), kept.delimiter)
        if len(row) != len(kept.names):
            raise SourceError(f"row {number} at byte {offset} has {len(row)} cells; {len(kept.names)} are due", path)
        item = {}
        for name, (position, read) in self._readers.items():
            if name == self.label and listing.labels is not None:
                if (label := int(listing.labels[index])) < 0:
                    raise SourceError(f"row {number} at byte {offset}: column {name!r} is empty; a class is due", path)
                item[name] = label
                continue
            try:
                item[name] = read(row[position])
            except (ValueError, KeyError, OverflowError) as error:
                found = error if isinstance(error, OverflowError) else f"is no {self.schema[name]}"
                reason = f"row {number} at byte {offset}: column {name!r} holds {row[position]!r}, which {found}"
                raise SourceError(reason, path) from error
        return item

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        listing = self.listing()
        assert isinstance(listing.keys, NumberedKeys)
        for file, places, _ in listing.keys.locate_all(start, stop):
            here = start + places
            yield Place(self._files[file].mapped, listing.places["offset"][here], listing.sizes[here])

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Reads the rows from `start` to `stop`; see `ColumnSource`."""
        listing, kept = self.listing(), cast("_Kept", self.kept)
        assert isinstance(listing.keys, NumberedKeys)
        rows: list[list[str]] = [[]] * (stop - start)
        for file, places, _ in listing.keys.locate_all(start, stop):
            offsets, sizes = listing.places["offset"][start + places].tolist(), listing.sizes[start + places].tolist()
            found = self._files[file].rows(offsets, sizes, kept.file_bytes[file], kept.delimiter)
            if found is None:
                return None
            for place, row in zip(places.tolist(), found, strict=True):
                rows[place] = row
        if any(len(row) != len(kept.names) for row in rows):
            return None
        cells = list(zip(*rows, strict=True))
        columns: dict[str, Any] = {}
        for name, (position, read) in self._readers.items():
            if name == self.label and listing.labels is not None:
                columns[name] = listing.labels[start:stop]
                continue
            try:
                columns[name] = list(map(read, cells[position]))
            except (ValueError, KeyError, OverflowError):
                return None
        return None if self.label in columns and (columns[self.label] < 0).any() else columns

    @cached_property
    def _files(self) -> list[_MappedRows]:
        return [_MappedRows(path) for path in cast("tuple[str, ...]", self.paths)]

    @cached_property
    def _readers(self) -> dict[str, tuple[int, Callable[[str], Any]]]:
        return {name: (self.kept.names.index(name), cell_reader(kind)) for name, kind in self.schema.items()}

    def _used(self, names: tuple[str, ...]) -> tuple[str, ...]:
        asked = (*(self.columns or ()), *(self.types or ()), *([self.label] if self.label else []))
        if unknown := [name for name in asked if name not in names]:
            raise SourceError(f"has no column {unknown[0]!r}; it has {', '.join(names)}", self._first_path)
        used = names if self.columns is None else tuple(self.columns)
        return used if self.label is None or self.label in used else (*used, self.label)

    def _check_names(self, names: tuple[str, ...]) -> None:
        if twice := [name for name, count in Counter(names).items() if count > 1 or not name]:
            what = f"the name {twice[0]!r} for more than one column" if twice[0] else "a column without a name"
            raise SourceError(
                f"has {what}. Give all names with names=[...] (--column-names), or mend the first row", self._first_path
            )

    @property
    def _first_path(self) -> str:
        return cast("tuple[str, ...]", self.paths)[0]

    def _rows(self, path: str, names: tuple[str, ...], delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
        """Offset, size and cells of each row after the names."""
        rows = _file_rows(path, delimiter)
        if self.names is None:
            _, _, header = next(rows, (0, 0, []))
            if tuple(header) != names:
                raise SourceError(f"has the columns {header}, but {self._first_path} has {list(names)}", path)
        return rows


class _Survey:
    """What is learnt from all rows."""

    def __init__(self, names: tuple[str, ...], used: tuple[str, ...], label: str | None) -> None:
        self._names, self._used, self._label = names, used, label
        self._columns = {name: TextColumn() for name in used}
        self._classes: dict[str, int] = {}  # Names in the order they came.
        self._offsets, self._sizes, self._numbers = array("q"), array("q"), array("q")
        self.good_rows = 0

    @property
    def rows(self) -> int:
        """How many rows there were so far."""
        return len(self._offsets)

    def read(self, path: str, rows: Iterator[tuple[int, int, list[str]]]) -> None:
        """Takes the rows of a file."""
        while many := list(islice(rows, _ROWS)):
            self._offsets.extend(offset for offset, _, _ in many)
            self._sizes.extend(size for _, size, _ in many)
            good = [row for _, _, row in many if len(row) == len(self._names)]
            self.good_rows += len(good)
            cells = dict(zip(self._names, zip(*good, strict=True), strict=True)) if good else {}
            for name, column in self._columns.items():
                column.see(cells.get(name, ()))
            if self._label:
                self._see_classes(path, [row for _, _, row in many])

    def _see_classes(self, path: str, rows: list[list[str]]) -> None:
        at, width, classes = self._names.index(self._label or ""), len(self._names), self._classes
        self._numbers.extend(classes.setdefault(row[at], len(classes)) if len(row) == width else -1 for row in rows)
        if len(classes) > _MAX_CLASSES:
            reason = f"column {self._label!r} has more than {_MAX_CLASSES} different values; it cannot be the class"
            raise SourceError(reason, path)

    def types(self, given: Mapping[str, FeatureType], path: str) -> dict[str, FeatureType]:
        """The type of each column, those given unchanged; turns the classes found into numbers."""
        types = {}
        for name, column in self._columns.items():
            try:
                types[name] = given[name] if name in given else column.feature_type()
            except ValueError as error:
                reason = f"column {name!r} {error}. Fill the cells, or give the type with types={{{name!r}: Text()}}"
                raise SourceError(reason, path) from error
        if self._label:
            types[self._label] = self._class_type(types[self._label], path)
        return types

    def arrays(self) -> dict[str, Any]:
        """What the listing holds of each row."""
        labels = np.array(self._numbers, np.int64) if self._label else None
        places = {"offset": np.array(self._offsets, np.int64)}
        return {"sizes": np.array(self._sizes, np.int64), "labels": labels, "places": places}

    def _class_type(self, kind: FeatureType, path: str) -> ClassLabel:
        filled = [name for name in self._classes if name.strip()]  # A row without a class fails when it is loaded.
        if isinstance(kind, Text):
            kind = ClassLabel(tuple(sorted(filled)))
        elif isinstance(kind, Scalar) and (kind.dtype.kind in "iub" or all(map(_is_whole, filled))):
            kind = ClassLabel(num_classes=max((_number(name) for name in filled), default=0) + 1)
        if not isinstance(kind, ClassLabel):
            raise SourceError(f"column {self._label!r} is {kind}; a class is a name or a whole number", path)
        numbers = [self._class_number(kind, name, path) for name in self._classes]
        known = np.array([*numbers, -1], np.int64)  # The last is for rows that are none, whose number is -1.
        self._numbers = array("q", known[np.array(self._numbers, np.int64)].tobytes())
        return kind

    def _class_number(self, kind: ClassLabel, name: str, path: str) -> int:
        if not name.strip():
            return -1
        try:
            number = kind.names.index(name) if kind.names else _number(name)
        except ValueError as error:
            reason = f"column {self._label!r} holds {name!r}, which is none of the {len(kind.names)} classes"
            raise SourceError(reason, path) from error
        if not 0 <= number < kind.num_classes:
            raise SourceError(f"column {self._label!r} holds the class {name}; classes count from 0", path)
        return number


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdecimal()


def _number(cell: str) -> int:
    """The class that a number, or true or false, stands for."""
    text = cell.strip().lower()
    return int(BOOLS[text]) if text in BOOLS else int(text)


def _csv_reader(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    # The limit is the whole process's, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL_BYTES))
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _file_rows(path: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Offset, size and cells of each row of a file; empty lines are none."""
    try:
        with open(path, "rb") as file:
            at = 3 if file.read(3) == codecs.BOM_UTF8 else 0
            file.seek(at)
            lines = _Lines(file, at)
            reader = _csv_reader(lines, delimiter)
            for row in reader:
                if row:
                    yield at, lines.end - at, row
                at = lines.end
    except UnicodeDecodeError as error:
        found = f"0x{error.object[error.start]:02x}"
        reason = f"line {lines.count} is no UTF-8: it holds the byte {found}. Convert it, as with iconv -t utf-8"
        raise SourceError(reason, path) from error
    except csv.Error as error:
        raise SourceError(f"line {lines.count} is no CSV: {error}", path) from error
    except OSError as error:
        raise vanished(path, error) from error


class _Lines:
    """The lines of a file as text. `end` is where the last one ends, `count` how many there were."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self.end, self.count = file, start, 0

    def __iter__(self) -> Iterator[str]:
        while raw := self._file.readline(_MAX_CELL_BYTES):
            self.end += len(raw)
            self.count += 1
            yield raw.decode()


class _MappedRows:
    """A file whose rows are read some at a time. Mapped when the first are."""

    def __init__(self, path: str) -> None:
        self._path = path

    @cached_property
    def mapped(self) -> MappedFile:
        return MappedFile(self._path)

    def rows(
        self, offsets: Iterable[int], sizes: Iterable[int], file_bytes: int, delimiter: str
    ) -> list[list[str]] | None:
        """The cells of rows; None where they are not what they were, in a file of `file_bytes`, when it was listed."""
        try:
            data = self.mapped.data.data
            lines = [bytes(data[at : at + size]).removesuffix(b"\n") for at, size in zip(offsets, sizes, strict=True)]
            self.mapped.check_unchanged()
            if self.mapped.size != file_bytes:
                return None
            # Each by itself: what follows an open quote is no part of another row.
            return [next(_csv_reader(_lines(line.decode()), delimiter)) for line in lines]
        except (OSError, UnicodeDecodeError, csv.Error, StopIteration):
            return None


def _lines(text: str) -> Iterator[str]:
    r"""The lines of a row. They end at \n alone, as when the rows were found: others are part of their cell."""
    return (f"{line}\n" for line in text.split("\n"))


def _read_row(path: str, file_bytes: int, offset: int, size: int, delimiter: str) -> list[str]:
    """The cells of one row of a file that was `file_bytes` long when it was listed."""
    try:
        with open(path, "rb") as file:
            if (now := os.fstat(file.fileno()).st_size) != file_bytes:
                raise SourceError(f"has {now} bytes, but had {file_bytes} when it was listed. List again", path)
            file.seek(offset)
            text = file.read(size).decode()
    except OSError as error:
        raise vanished(path, error) from error
    return next(_csv_reader(_lines(text.removesuffix("\n")), delimiter))


def _told_delimiter(path: str) -> str:
    head = read_head(path)
    if b"\0" in head or head[:2] == b"\x1f\x8b":
        raise SourceError(f"is no CSV but {describe(head)}; UTF-8 text is due", path)
    outside = re.sub(rb'"[^"]*"', b"", head.split(b"\n", 1)[0]).decode("utf-8", "replace")
    return max(",;\t|", key=outside.count)


def _first_row(path: str, delimiter: str) -> list[str]:
    for _, _, row in _file_rows(path, delimiter):
        return row
    raise SourceError("is empty; a row of column names is due", path)
