"""CIFAR-10 and CIFAR-100, as they are handed out: Python pickles or plain binary, in a folder or a tar.

    pickle     {b"data": uint8 (n, 3072), b"labels": [...], b"batch_label": b"testing batch 1 of 1"}
               CIFAR-100: b"fine_labels" and b"coarse_labels"; batches.meta and meta hold the class names
    binary     n times: label | 3072 bytes         CIFAR-100: coarse label | fine label | 3072 bytes
               batches.meta.txt, fine_label_names.txt and coarse_label_names.txt: a class name a line

The 3072 bytes are 32 x 32 red ones, then the green, then the blue. Source: https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import lzma
import os
import re
import tarfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ClassLabel, Image, Schema
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Scan, StrPath, existing_path, read_listed
from wellfed.sources.listing import Listing, NumberedKeys, Skipped
from wellfed.sources.sniff import HEAD_BYTES, describe, read_head
from wellfed.sources.unpickle import unpickle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_PIXELS = 3 * 32 * 32
# Beyond what any file of either set has (31 MB): nothing larger is read into memory.
_MAX_FILE_BYTES = 1 << 30
_LABELS = {b"labels": "label", b"fine_labels": "label", b"coarse_labels": "coarse_label"}
_NAMES = {b"label_names": "label", b"fine_label_names": "label", b"coarse_label_names": "coarse_label"}
_TEXTS = {"batches.meta.txt": "label", "fine_label_names.txt": "label", "coarse_label_names.txt": "coarse_label"}
_CLASSES = {("CIFAR-10", "label"): 10, ("CIFAR-100", "label"): 100, ("CIFAR-100", "coarse_label"): 20}


@dataclass(frozen=True)
class _Batch:
    """The pictures of one file."""

    name: str
    split: str
    form: str
    pixels: NDArray[np.uint8]  # (n, 3072)
    labels: dict[str, NDArray[np.int64]]


@dataclass
class _Found:
    """What the files hold."""

    batches: list[_Batch] = field(default_factory=list)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True)
class Cifar(ListedSource):
    """The pictures of CIFAR: `{"image": uint8 (32, 32, 3), "label": int}` each, `coarse_label` too for CIFAR-100.

    What a file is, and whether it is for training or for testing, is told by content; of binary files, which do not
    say it, by name. Pickles are read without running anything that they name.

    Attributes:
      root: The folder that holds the files (or one folder that holds them), or the tar, compressed or not.

    Raises:
      SourceError: No batches are there; a file is damaged, or of another set than the rest; counts do not agree.

    Memory: all pictures once in each process (184 MB).
    """

    root: StrPath

    def __post_init__(self) -> None:
        root = existing_path(self.root)
        if not (os.path.isdir(root) or os.path.isfile(root)):  # Opening a pipe may wait for ever.
            raise SourceError("is a pipe or device; a tar is read from a file, so write it to one first", root)
        object.__setattr__(self, "root", root)

    def scan(self) -> Scan:
        """Reads all files."""
        found, path = self._found_files, os.fspath(self.root)
        if len(forms := sorted({batch.form for batch in found.batches})) > 1:
            raise SourceError(f"holds files of {' and of '.join(forms)}. Put them in folders apart", path)
        labels = {
            kind: np.concatenate([batch.labels[kind] for batch in found.batches]) for kind in found.batches[0].labels
        }
        types = {kind: self._classes(kind, values) for kind, values in labels.items()}
        counts = dict.fromkeys((batch.split for batch in found.batches), 0)
        for batch in found.batches:
            counts[batch.split] += len(batch.pixels)
        listing = Listing(
            NumberedKeys.of_counts(counts),
            np.full(len(labels["label"]), _PIXELS, np.int64),
            labels["label"],
            found.skipped,
            split_names=tuple(counts),
            split_ids=np.repeat(np.arange(len(counts)), list(counts.values())),
        )
        return Scan(Schema({"image": Image((32, 32, 3)), **types}), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Copies picture `index` out of its file, its channels last."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        row = int(keys.rows[index])
        at = int(np.searchsorted(self._ends, row, side="right"))
        batch = self._found_files.batches[at]
        number = row - int(self._ends[at]) + len(batch.pixels)
        planes = batch.pixels[number].reshape(3, 32, 32)
        labels = {kind: int(values[number]) for kind, values in batch.labels.items()}
        return {"image": np.ascontiguousarray(planes.transpose(1, 2, 0)), **labels}

    def load_columns(self, start: int, stop: int) -> dict[str, Any]:
        """Copies the pictures from `start` to `stop`; see `ColumnSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        batches = self._found_files.batches
        rows = keys.rows[start:stop]
        at = np.searchsorted(self._ends, rows, side="right")
        image = np.empty((len(rows), 32, 32, 3), np.uint8)
        labels = {kind: np.empty(len(rows), np.int64) for kind in batches[0].labels}
        for number in np.unique(at):
            batch, places = batches[number], np.flatnonzero(at == number)
            inside = rows[places] - int(self._ends[number]) + len(batch.pixels)
            image[places] = batch.pixels[inside].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            for kind, values in batch.labels.items():
                labels[kind][places] = values[inside]
        return {"image": image, **labels}

    def _classes(self, kind: str, values: NDArray[np.int64]) -> ClassLabel:
        """The type of a label: named classes where the names were found."""
        names = self._found_files.names.get(kind, ())
        count = len(names) or _CLASSES[self._found_files.batches[0].form.split()[0], kind]
        if values.size and not 0 <= values.min() <= values.max() < count:
            reason = f"holds {kind}s from {values.min()} to {values.max()}, but has {count} classes"
            raise SourceError(f"{reason}. Fetch the files again", os.fspath(self.root))
        return ClassLabel(names, count)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where each file's pictures end among all."""
        return np.cumsum([len(batch.pixels) for batch in self._found_files.batches])

    @cached_property
    def _found_files(self) -> _Found:
        """All that the files hold, training before testing, each in the order of the numbers in their names."""
        found = _Found()
        files = _folder_files(self.root, found.skipped) if os.path.isdir(self.root) else _tar_files(self.root)
        for name, content in files:
            _read(name, content, found)
        if not found.batches:
            first = found.skipped[:1]
            others = "".join(f"; of {len(found.skipped)} other files, {one.path} {one.reason}" for one in first)
            reason = f"holds no batches of CIFAR{others}. data_batch_1, train, test.bin and their kin are due"
            raise SourceError(reason, os.fspath(self.root))
        found.batches.sort(key=lambda batch: (batch.split != "train", _natural(batch.name)))
        return found


def _folder_files(root: StrPath, skipped: list[Skipped]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file of a folder and of the folders in it."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if folder == root and not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.startswith("."):
                skipped.append(Skipped(path, "is hidden"))
            elif not os.path.isfile(path):
                skipped.append(Skipped(path, "is no regular file"))
            elif read_head(path).startswith(b"\x1f\x8b"):
                skipped.append(Skipped(path, "is gzip, where its files are due. To read a tar, give its path"))
            else:
                size = os.stat(path).st_size
                _check_size(path, size)
                yield path, read_listed(path, size)


def _tar_files(root: StrPath) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in a tar, compressed or not."""
    path = os.fspath(root)
    try:
        with tarfile.open(path, "r:*") as tar:
            for member in tar:
                name = f"{path}/{member.name}"
                _check_size(name, member.size)
                if member.isreg() and (file := tar.extractfile(member)):
                    yield name, file.read()
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        reason = str(error).partition(":\n")[0]  # What follows is what each way of opening it says.
        raise SourceError(f"is no tar that can be read: {reason}. Fetch it again, or give a folder", path) from error


def _read(path: str, content: bytes, found: _Found) -> None:
    """Adds what a file holds."""
    base = os.path.basename(path)
    if content[:1] in (b"\x80", b"(", b"}"):  # No label of a binary file is as large.
        _read_pickle(path, content, found)
    elif base in _TEXTS:
        found.names[_TEXTS[base]] = tuple(content.decode("utf-8", "replace").split())
    elif (labels := _binary_labels(content)) is not None:
        rows = np.frombuffer(content, np.uint8).reshape(-1, len(labels) + _PIXELS)
        values = {kind: rows[:, labels.index(kind)].astype(np.int64) for kind in sorted(labels, reverse=True)}
        set_name = "CIFAR-100" if len(labels) == 2 else "CIFAR-10"
        found.batches.append(_Batch(path, _split("", path), f"{set_name} in binary", rows[:, len(labels) :], values))
    elif base.endswith(".bin"):
        raise SourceError(f"has {len(content)} bytes, which are no rows of 3073 or 3074 with labels in front", path)
    else:
        found.skipped.append(Skipped(path, f"is {describe(content[:HEAD_BYTES])}"))


def _binary_labels(content: bytes) -> tuple[str, ...] | None:
    """What stands in front of each picture of a binary file; None if it is none."""
    for labels, highest in ((("label",), (10,)), (("coarse_label", "label"), (20, 100))):
        size = len(labels) + _PIXELS
        if content and len(content) % size == 0:
            rows = np.frombuffer(content, np.uint8).reshape(-1, size)
            if (rows[:, : len(labels)] < highest).all():
                return labels
    return None


def _read_pickle(path: str, content: bytes, found: _Found) -> None:
    values = unpickle(content, path)
    if not isinstance(values, dict):
        raise SourceError(f"is a pickle of a {type(values).__name__}; a dict is due", path)
    values = {key.encode() if isinstance(key, str) else key: value for key, value in values.items()}
    for key, kind in _NAMES.items():
        if key in values:
            found.names[kind] = tuple(_text(name) for name in values[key])
    if b"data" in values:
        pixels = _array(values[b"data"], path)
        if not pixels.size:
            pixels = np.zeros((0, _PIXELS), np.uint8)
        if pixels.dtype != np.uint8 or (pixels.ndim, *pixels.shape[1:]) != (2, _PIXELS):
            reason = f"holds data of shape {pixels.shape} and dtype {pixels.dtype}; (n, {_PIXELS}) and uint8 are due"
            raise SourceError(reason, path)
        labels = {kind: _array(values[key], path) for key, kind in _LABELS.items() if key in values}
        set_name = "CIFAR-100" if "coarse_label" in labels else "CIFAR-10"
        if "label" not in labels or any(value.shape != (len(pixels),) for value in labels.values()):
            counts = ", ".join(f"{value.size} {kind}s" for kind, value in labels.items()) or "no labels"
            raise SourceError(f"holds {len(pixels)} pictures, but {counts}. Fetch it again", path)
        integers = {kind: value.astype(np.int64) for kind, value in labels.items()}
        split = _split(_text(values.get(b"batch_label", "")), path)
        found.batches.append(_Batch(path, split, f"{set_name} in pickles", pixels, integers))
    elif not _NAMES.keys() & values.keys():
        found.skipped.append(Skipped(path, "is a pickle without pictures or class names"))


def _split(batch_label: str, path: str) -> str:
    """Whether a batch is for training or for testing: as it says itself, else by its name."""
    for text in (batch_label, os.path.basename(path)):
        if "test" in text:
            return "test"
        if "train" in text or "data_batch" in text:
            return "train"
    raise SourceError("says neither train nor test. Name it data_batch_1, test_batch or the like", path)


def _array(values: Any, path: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise SourceError(f"holds rows of different lengths: {error}", path) from error


def _check_size(path: str, size: int) -> None:
    if size > _MAX_FILE_BYTES:
        raise SourceError(f"has {size} bytes; no file of CIFAR has more than 31 MB", path)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which batch 10 comes after batch 9."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
