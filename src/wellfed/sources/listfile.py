"""A list of pictures with their labels, as text or CSV.

    img/a cat.jpg 3             label="index": the last word is the label, so paths may hold spaces
    "img/b, c.jpg",3            the same as CSV, with quotes where due
    img/a.jpg 0 0 1             label="onehot" or "multihot"
    img/a.jpg 0.5 1.25          label="float": one number or several
    img/a.jpg,cat               label="name"

What separates the columns is told from the first line: a tab; a comma that no space follows up to the line's end;
else white space, from the right.
"""

from __future__ import annotations

import csv
import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from wellfed.datasets import ClassLabel, FeatureType, Image, Scalar, Schema, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Scan, StrPath, existing_file, existing_path, printable, read_picture
from wellfed.sources.folders import class_label, read_names, read_pictures
from wellfed.sources.listing import ListingBuilder
from wellfed.sources.sniff import describe, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

Label = Literal["index", "name", "onehot", "multihot", "float"]

_HEADER_WORDS = {"path", "file", "filename", "file_name", "filepath", "image", "image_path", "img", "name", "id"}
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class _Line(NamedTuple):
    number: int  # 1-based.
    offset: int  # [bytes]
    path: str
    labels: list[str]


@dataclass(frozen=True)
class ListFile(ListedSource):
    """The pictures that a file lists: `{"image": bytes, "label": ..., "filename": str}` each.

    Attributes:
      path: The list: one picture a line, its path and its label or labels. Empty lines count for nothing, nor does a
        first line of column names ("path", "label").
      root: The folder that the paths start from; the list's own if not given.
      label: What the labels are, and what `label` becomes:
        "index": one class number; `ClassLabel`.
        "name": one class name; `ClassLabel`, names sorted by code point.
        "onehot": a 1 among 0s; `ClassLabel`, the place of the 1.
        "multihot": 0s and 1s; `Tensor((k,), int64)`.
        "float": numbers; `Tensor((k,), float32)`, or `Scalar(float32)` where there is one.
      labels_file: A text file of class names, one a line, whose order gives the numbers.
      label_offset: The list's number of the first class: 1 for lists that count classes from 1.

    Raises:
      SourceError: A line cannot be read as asked for, or lists a picture again (with its number); none of the
        pictures is there. A single picture that is missing is an item that fails when it is loaded.

    Memory: class numbers are kept; other labels are read again from the list, each with its picture.
    """

    path: StrPath
    root: StrPath | None = None
    label: Label = "index"
    labels_file: StrPath | None = None
    label_offset: int = 0

    def __post_init__(self) -> None:
        if self.label not in get_args(Label):
            raise ValueError(f"label must be one of {', '.join(get_args(Label))}, got {self.label!r}")
        object.__setattr__(self, "path", existing_file(self.path, "a list of pictures"))
        root = os.path.dirname(self.path) if self.root is None else existing_path(self.root)
        object.__setattr__(self, "root", root)
        if self.labels_file is not None:
            object.__setattr__(self, "labels_file", existing_file(self.labels_file, "a list of class names"))

    def scan(self) -> Scan:
        """Reads the list, and looks up the size of each picture."""
        builder, labels, missing = ListingBuilder(), _LabelReader(self), 0
        for line in self._lines():
            label = labels.class_number(line)
            size = _size(self._picture(line.path))
            missing += size < 0
            values = {} if label is None else {"label": label}
            builder.add(line.path, size=max(size, 0), line=line.number, offset=line.offset, **values)
        if not len(builder):
            raise self._error("lists nothing; a picture's path and its label on each line are due")
        listing = builder.listing()
        if twice := builder.repeated():
            first, again = (listing.places["line"][row] for row in twice)
            raise self._error(f"line {again} lists {listing.key(twice[1])} again, after line {first}. Remove one")
        if missing == len(builder):
            lost = self._picture(listing.key(0))
            raise self._error(f"none of the {missing} pictures it lists is there, such as {lost}. Check root")
        kind, numbers = labels.finish()
        if listing.labels is not None:
            listing.labels[:] = numbers[listing.labels] if len(numbers) else listing.labels
        return Scan(Schema({"image": Image(), "label": kind, "filename": Text()}), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Reads picture `index`: its bytes as they are, its label, and its path as listed."""
        listing = self.listing()
        key, line = listing.key(index), listing.places["line"][index]
        path = self._picture(key)
        if not os.path.exists(path):
            raise SourceError(f"is no file, though line {line} of {self.path} lists it. Check the path and root", path)
        image = read_picture(path, int(listing.sizes[index]))
        label = self._values(index, key) if listing.labels is None else int(listing.labels[index])
        return {"image": image, "label": label, "filename": printable(key)}

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Reads the pictures from `start` to `stop` in one native call; see `ColumnSource`."""
        listing = self.listing()
        assert self.root is not None
        found = None if listing.labels is None else read_pictures(self.root, listing, start, stop)
        if found is None or listing.labels is None:
            return None
        image, filename = found
        return {"image": image, "label": listing.labels[start:stop], "filename": filename}

    def _values(self, index: int, key: str) -> Any:
        """The labels of item `index`, read from the list once more."""
        with open(self.path, "rb") as file:
            file.seek(self.listing().places["offset"][index])
            text = _decoded(file.readline())
        path, labels = self._split(text)
        if path != key:
            raise self._error(f"lists {path!r} where it listed {key!r}. List again")
        values = [float(label) for label in labels]
        if self.label == "multihot":
            return np.array(values, np.int64)
        return np.array(values, np.float32) if isinstance(self.schema["label"], Tensor) else values[0]

    def _lines(self) -> Iterator[_Line]:
        """The lines that list a picture."""
        offset, first = 0, True
        with open(self.path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if text := _decoded(raw):
                    try:
                        path, labels = self._split(text)
                    except csv.Error as error:
                        raise self._error(f"line {number} is no CSV: {error}") from error
                    if not (first and self._is_header(path)):
                        yield _Line(number, offset, path, labels)
                    first = False
                offset += len(raw)

    def _split(self, text: str) -> tuple[str, list[str]]:
        """A line's path and labels."""
        if self._delimiter:
            path, *labels = next(csv.reader([text], delimiter=self._delimiter, skipinitialspace=True, strict=True))
            return path, labels
        if self.label in ("index", "name"):
            path, _, label = text.replace("\t", " ").rpartition(" ")
            return _unquoted(path), [label]
        words, labels = text.split(" "), []
        while words and (not words[-1] or _NUMBER.fullmatch(words[-1])):
            if word := words.pop():
                labels.insert(0, word)
        return _unquoted(" ".join(words)), labels

    @cached_property
    def _delimiter(self) -> str:
        """What separates the columns; "" for white space."""
        if b"\0" in (head := read_head(os.fspath(self.path))):
            raise self._error(f"is no list but {describe(head)}; UTF-8 text is due")
        with open(self.path, "rb") as file:
            first = next((text for raw in file if (text := _decoded(raw))), "")
        if "\t" in first:
            return "\t"
        _, comma, rest = first.rpartition(",")
        return "," if comma and " " not in rest.strip() else ""

    def _is_header(self, path: str) -> bool:
        return path.split(" ", maxsplit=1)[0].lower() in _HEADER_WORDS and not os.path.exists(self._picture(path))

    def _picture(self, path: str) -> str:
        assert self.root is not None
        return os.path.join(self.root, path)

    def _error(self, reason: str) -> SourceError:
        return SourceError(reason, os.fspath(self.path))


class _LabelReader:
    """Checks the labels line by line, and finds their type."""

    def __init__(self, source: ListFile) -> None:
        self._label, self._offset, self._path = source.label, source.label_offset, os.fspath(source.path)
        self._names = None if source.labels_file is None else read_names(os.fspath(source.labels_file))
        self._found: dict[str, int] = {}  # Names, or numbers as text, in the order they came.
        self._most = -1
        self._count = 0

    def class_number(self, line: _Line) -> int | None:
        """The number of the line's class, of a name the place at which it was first met; None if it is no class."""
        if not line.path:
            raise self._error(line, "should hold a path and its label, but one is missing")
        self._check_count(line)
        if self._label == "name":
            return self._found.setdefault(line.labels[0], len(self._found))
        if self._label == "float":
            if wrong := [text for text in line.labels if not _NUMBER.fullmatch(text)]:
                raise self._error(line, f"should end with numbers, got {wrong[0]!r}")
            return None
        if wrong := [text for text in line.labels if not _INTEGER.fullmatch(text)]:
            raise self._error(
                line, f'should end with class numbers (for names: label="name", --label name), got {wrong[0]!r}'
            )
        numbers = [int(text) for text in line.labels]
        if self._label == "index":
            return self._in_range(numbers[0] - self._offset, line)
        if any(number not in (0, 1) for number in numbers):
            raise self._error(line, f"should hold 0s and 1s, got {' '.join(line.labels)}")
        if self._label == "multihot":
            return None
        if sum(numbers) != 1:
            raise self._error(line, f"should hold a single 1, got {sum(numbers)}")
        return self._in_range(numbers.index(1), line)

    def finish(self) -> tuple[FeatureType, np.ndarray]:
        """The labels' type; and for names, the number of each in the order they came."""
        none = np.zeros(0, np.int64)
        if self._label == "float":
            return (Tensor((self._count,), np.float32) if self._count > 1 else Scalar(np.float32)), none
        if self._label == "multihot":
            return Tensor((self._count,), np.int64), none
        if self._label != "name":
            count = self._count if self._label == "onehot" else self._most + 1
            return (class_label(self._names) if self._names else ClassLabel(num_classes=count)), none
        names = self._names or sorted(self._found)
        places = {name: number for number, name in enumerate(names)}
        if unknown := [name for name in self._found if name not in places]:
            raise SourceError(f"labels a picture {unknown[0]!r}, which labels_file does not name. Add it", self._path)
        return class_label(names), np.array([places[name] for name in self._found], np.int64)

    def _check_count(self, line: _Line) -> None:
        one = self._label in ("index", "name")
        self._count = self._count or (1 if one else len(line.labels))
        if len(line.labels) != self._count or not self._count:
            due = "one label" if one else f"{self._count or 'at least 1'} labels, as the first line has"
            raise self._error(line, f"should hold {due}, got {len(line.labels)}")

    def _in_range(self, number: int, line: _Line) -> int:
        if number < 0:
            raise self._error(line, f"gives class {number + self._offset}; the first is {self._offset} (label_offset)")
        if self._names and number >= len(self._names):
            raise self._error(line, f"gives class {number + self._offset}, but labels_file names {len(self._names)}")
        self._most = max(self._most, number)
        return number

    def _error(self, line: _Line, reason: str) -> SourceError:
        return SourceError(f"line {line.number} {reason}", self._path)


def _decoded(raw: bytes) -> str:
    # Bytes that are no UTF-8 are kept, so that a path names the file it means.
    return raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff").strip()


def _unquoted(path: str) -> str:
    path = path.rstrip()
    return path[1:-1] if len(path) > 1 and path[0] == path[-1] == '"' else path


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):  # A path may hold NUL.
        return -1
