"""The way back: a data set's records as files that other tools read.

    folders   out/train/cat/1.jpg      the stored bytes, unchanged, by split and class
    csv       out/train.csv            a column a feature; lists and arrays as JSON
    parquet   out/train.parquet        the same with their types (needs pyarrow)

All is written to a temporary folder beside `out`, or in it where it is there, and renamed when it is whole.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from wellfed import image
from wellfed.columns import Bytes, Ragged
from wellfed.datasets import ByteString, ClassLabel, DatasetFolder, FeatureType, Image, Schema, Text, open_dataset
from wellfed.errors import ExampleError, PackError, WellfedError
from wellfed.io import TFRecordReader
from wellfed.io.files import is_url, local_path
from wellfed.packing.parquet import write_parquet

if TYPE_CHECKING:
    from wellfed.io.files import PathLike

ExportFormat = Literal["folders", "csv", "parquet"]

_BATCH = 256
_SUFFIXES = {"jpeg": ".jpg", "tiff": ".tif"}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote.

    Attributes:
      folder: Where.
      records: Split to how many records were written.
      files: How many files there are.
      bytes: How large they are together. [bytes]
    """

    folder: str
    records: Mapping[str, int]
    files: int
    bytes: int


def export(
    dataset: PathLike,
    out: PathLike,
    *,
    to: ExportFormat = "folders",
    split: str | None = None,
    features: tuple[str, ...] | None = None,
) -> ExportReport:
    """Writes the records of a data set as files.

    Args:
      dataset: Folder or URL of a data set that wellfed packed or TensorFlow Datasets wrote.
      out: A folder of this machine that is not there yet, or is empty.
      to: "folders" for pictures by split and class, their stored bytes unchanged (pixels become PNG); "csv" or
        "parquet" for a table a split.
      split: Only this one; None for all.
      features: Only these; None for all. For folders, the picture to write where there are several.

    Returns:
      Counts and bytes.

    Raises:
      DatasetError: The folder holds no data set.
      PackError: `out` is not empty, or the format cannot hold the features.
      MissingExtraError: "parquet" and pyarrow is not installed.
      RecordError: A record is damaged; nothing is left in `out` then.
    """
    if to not in get_args(ExportFormat):
        raise ValueError(f"to must be one of {', '.join(get_args(ExportFormat))}, got {to!r}")
    found = open_dataset(dataset)
    place = _checked_place(out)
    schema = _chosen(found, features)
    write = _writer(to, schema, found.folder)
    splits = {name: files for name, files in found.splits.items() if split in (None, name)}
    if not splits:
        raise PackError(f"has no split {split!r}; it has {', '.join(found.splits)}", found.folder)
    # A folder that is there stays: it may be a mount, a link, or where the user stands.
    inside = place.exists()
    partial = (place if inside else place.parent) / f".{place.name}.{os.getpid()}.partial"
    try:
        partial.mkdir(parents=True)
        records = {name: write(partial, name, _rows(files.files, schema)) for name, files in splits.items()}
        if inside:
            for made in list(partial.iterdir()):
                made.replace(place / made.name)
        else:
            partial.replace(place)
    except OSError as error:
        # A full disk has no name of its own, and nobody knows the temporary folder's.
        if error.filename in (None, str(partial)) and not isinstance(error, WellfedError):
            error.filename = str(place)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    written = [path for path in place.rglob("*") if path.is_file()]
    return ExportReport(str(place), records, len(written), sum(path.stat().st_size for path in written))


Row = Mapping[str, Any]
Write = Callable[[Path, str, Iterator[Row]], int]


def _checked_place(out: PathLike) -> Path:
    if is_url(out):
        raise PackError("is a URL: export to a folder of this machine", str(out))
    place = Path(local_path(out))
    if place.is_symlink() and not place.exists():
        raise PackError("is a broken link: choose another folder, or remove it", str(place))
    if place.exists() and not place.is_dir():
        raise PackError("is a file: give a folder", str(place))
    if place.exists() and any(place.iterdir()):
        raise PackError("is there already: choose another folder, or empty this one", str(place))
    return place


def _chosen(dataset: DatasetFolder, features: tuple[str, ...] | None) -> Schema:
    if features is None:
        return dataset.schema
    if unknown := [name for name in features if name not in dataset.schema]:
        have = ", ".join(dataset.schema)
        raise PackError(f"has no feature {unknown[0]!r}; it has {have}", dataset.folder)
    return Schema({name: dataset.schema[name] for name in features}, dataset.schema.records)


def _writer(to: str, schema: Schema, folder: str) -> Write:
    if to == "folders":
        return _Folders(schema, folder)
    if to == "parquet":
        return lambda place, split, rows: write_parquet(place / f"{split}.parquet", schema, rows)
    unfit = [name for name, kind in schema.items() if isinstance(kind, Image | ByteString)]
    if unfit:
        raise PackError(
            f"feature {unfit[0]!r} is bytes, which CSV cannot hold: leave it out with features=... (--features), or "
            "export to folders or parquet",
            folder,
        )
    return lambda place, split, rows: _write_csv(place / f"{split}.csv", schema, rows)


def _rows(files: list[str], schema: Schema) -> Iterator[Row]:
    """Gives each record's values: pictures as they are stored, classes as numbers, text as `str`."""
    for file in files:
        records, before = iter(TFRecordReader(file)), 0
        while batch := list(islice(records, _BATCH)):
            try:
                columns = schema.parse_stored(batch)
            except ExampleError as error:
                number = error.example_index
                raise type(error)(error.reason, error.feature, number, file, before + number) from None
            before += len(batch)
            names = [name for name, kind in schema.items() if not _is_encoded(kind)]
            values = {**columns, **schema.decode(columns, names)}
            yield from (
                {name: _value(kind, values[name], at) for name, kind in schema.items()} for at in range(len(batch))
            )


def _is_encoded(kind: FeatureType) -> bool:
    return isinstance(kind, Image) and kind.encoding_format != "raw"


def _value(kind: FeatureType, column: Any, at: int) -> Any:
    value = column[at]
    if isinstance(kind, Text):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Ragged | Bytes):
        return value.to_list()
    return value


# --- Folders -------------------------------------------------------------------------------------


class _Folders:
    """Writes pictures by split and class."""

    def __init__(self, schema: Schema, folder: str) -> None:
        pictures = [name for name, kind in schema.items() if isinstance(kind, Image)]
        if len(pictures) != 1:
            several = f"{len(pictures)}, {', '.join(pictures)}: name one with features=... (--features)"
            found = several if pictures else 'none: export it to="csv" or "parquet" (--to)'
            raise PackError(f"folders hold one picture a record, this data set has {found}", folder)
        labels = [name for name, kind in schema.items() if isinstance(kind, ClassLabel)]
        self._picture = pictures[0]
        self._label = labels[0] if len(labels) == 1 else None
        self._schema = schema

    def __call__(self, place: Path, split: str, rows: Iterator[Row]) -> int:
        count = 0
        for row in rows:
            folder = place / split / self._class(row)
            folder.mkdir(parents=True, exist_ok=True)
            content = row[self._picture]
            encoded = image.encode_image(content) if isinstance(content, np.ndarray) else content
            self._free_name(folder, row, encoded, count).write_bytes(encoded)
            count += 1
        return count

    def _class(self, row: Row) -> Path:
        if self._label is None:
            return Path()
        kind = self._schema[self._label]
        assert isinstance(kind, ClassLabel)
        number = int(row[self._label])
        name = _nameable(kind.names[number] if 0 <= number < len(kind.names) else str(number))
        # A class may be a path, as nested class folders are; it must not lead out of the folder.
        return Path(*(part for part in PurePosixPath(name).parts if part not in ("/", "..")))

    def _free_name(self, folder: Path, row: Row, encoded: bytes, number: int) -> Path:
        kind = image.sniff_format(encoded) or "bin"
        given = PurePosixPath(_nameable(str(row.get("filename", "")))).name
        path = folder / (given or f"{number:08d}{_SUFFIXES.get(kind, '.' + kind)}")
        again = 1
        while path.exists():
            path = folder / f"{Path(given or str(number)).stem}-{again}{path.suffix}"
            again += 1
        return path


def _nameable(text: str) -> str:
    """A name as a file can have it: byte 0 is the one that none can."""
    return text.replace("\0", "\\0")


# --- CSV -----------------------------------------------------------------------------------------


def _write_csv(path: Path, schema: Schema, rows: Iterator[Row]) -> int:
    count = 0
    with ExitStack() as stack:
        file = stack.enter_context(path.open("w", newline="", encoding="utf-8", errors="surrogateescape"))
        table = csv.writer(file)
        table.writerow(schema)
        for row in rows:
            table.writerow([_cell(kind, row[name]) for name, kind in schema.items()])
            count += 1
    return count


def _cell(kind: FeatureType, value: Any) -> Any:
    if isinstance(kind, ClassLabel):
        return kind.names[int(value)] if 0 <= int(value) < len(kind.names) else int(value)
    if isinstance(value, str):
        return value
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return json.dumps(plain, default=_text) if isinstance(plain, list) else plain


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise TypeError(f"{type(value).__name__} has no JSON form")
