"""Tars as WebDataset lays them out: an item is the members that share a name up to its first dot.

    000017.jpg  000017.cls  000017.json      item "shard-0.tar/000017": {"image": b"...", "label": 3, "json": "{...}"}

Nothing is ever unpacked to a path. Source: https://github.com/webdataset/webdataset, "The WebDataset Format".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wellfed.columns import Bytes
from wellfed.datasets import ByteString, ClassLabel, FeatureType, Image, Scalar, Schema, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources.arrays import parse_npy
from wellfed.sources.base import ListedSource, Place, Scan
from wellfed.sources.paths import Paths, existing_files, group_names
from wellfed.sources.sniff import HEAD_BYTES, describe, image_kind
from wellfed.sources.tarindex import IMAGES, IndexedTar, TarIndex
from wellfed.sources.types import type_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from wellfed.sources.listing import Listing

_TEXTS = {"txt", "text", "json", "caption", "html", "md", "csv", "xml"}


class _Kept(NamedTuple):
    tars: tuple[IndexedTar, ...]
    fields: dict[str, str]  # Feature to field.


@dataclass(frozen=True)
class Tar(ListedSource):
    """The items of WebDataset's tars: a value for each field.

    A picture (.jpg, .png, ...) is the feature "image", .cls is "label" (numbers, or names, which are sorted by code
    point); .txt, .json and their kin are `Text`, .npy is a `Tensor`, all else `ByteString`, each named by its field.
    Pickles are not read: their bytes are kept as they are.

    Attributes:
      paths: A tar, several, or a pattern. A compressed one is inflated once, into the temporary folder.
      fields: Which fields to read, such as `["jpg", "cls"]`; all if not given.

    Raises:
      SourceError: A file is no tar, is damaged or cut; two members are the same field of one item; a name leads out
        of its folder. An item that lacks a field that others have fails when it is loaded, and says which.

    Memory: the keys, and 24 bytes and 16 for each field an item.
    """

    paths: Paths
    fields: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", existing_files(self.paths))

    def scan(self) -> Scan:
        """Reads the headers of all members, and what .cls and .npy hold."""
        paths = cast("tuple[str, ...]", self.paths)
        tars = tuple(IndexedTar(path) for path in paths)
        index = TarIndex(None if self.fields is None else {field.lower() for field in self.fields})
        for number, (group, tar) in enumerate(zip(group_names(paths), tars, strict=True)):
            index.add(number, group, tar)
        listing, kept = index.listing(), _Kept(tars, index.features)
        if not len(listing):
            others = "".join(f" ({one.path} {one.reason})" for one in listing.skipped[:1])
            raise SourceError(f"holds no item{others}. Members such as 0001.jpg and 0001.cls are due", paths[0])
        types = {name: _feature_type(name, field, listing, kept) for name, field in index.features.items()}
        if "label" in types:
            types["label"], labels = _classes(listing, kept)
            listing = replace(listing, labels=labels)
        return Scan(Schema(types), listing, kept)

    def load(self, index: int) -> dict[str, Any]:
        """Reads the fields of item `index`."""
        listing, kept = self.listing(), cast("_Kept", self.kept)
        item = {}
        for name, kind in self.schema.items():
            content = _read(name, index, listing, kept)
            if content is None:
                there = ", ".join(
                    f".{field}" for name, field in kept.fields.items() if _offset(name, index, listing) >= 0
                )
                missing = f"has {there}, but no .{kept.fields[name]}"
                reason = f"{missing}. Add it, or leave the field out with fields=[...] (--tar-fields)"
                raise SourceError(reason, listing.key(index))
            if name == "label" and listing.labels is not None:
                if (label := int(listing.labels[index])) < 0:
                    raise SourceError("is empty; a class is due", f"{listing.key(index)}.{kept.fields[name]}")
                item[name] = label
            else:
                item[name] = _value(content, kind, f"{listing.key(index)}.{kept.fields[name]}")
        return item

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        listing, kept = self.listing(), cast("_Kept", self.kept)
        files = listing.places["file"][start:stop]
        for number in np.unique(files):
            here = start + np.flatnonzero(files == number)
            for name in self.schema:
                found = here[listing.places[f"offset {name}"][here] >= 0]
                starts, sizes = (listing.places[f"{what} {name}"][found] for what in ("offset", "size"))
                yield Place(kept.tars[number].mapped(), starts, sizes)

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Reads the fields of the items from `start` to `stop`; see `ColumnSource`."""
        listing, kept = self.listing(), cast("_Kept", self.kept)
        columns: dict[str, Any] = {}
        for name, kind in self.schema.items():
            if (listing.places[f"offset {name}"][start:stop] < 0).any():
                return None
            if name == "label" and listing.labels is not None:
                columns[name] = listing.labels[start:stop]
                continue
            found = _gathered(name, start, stop, listing, kept)
            try:
                plain = isinstance(kind, Image | ByteString)  # What is no picture is found where pictures are read.
                columns[name] = found if plain else [_value(content, kind, name) for content in found.to_list()]
            except SourceError:
                return None
        return columns


def _gathered(name: str, start: int, stop: int, listing: Listing, kept: _Kept) -> Bytes:
    """The contents of a field of the items `start` to `stop`, all of which have it."""
    offsets = listing.places[f"offset {name}"][start:stop].tolist()
    sizes = listing.places[f"size {name}"][start:stop]
    files = listing.places["file"][start:stop]
    starts = np.cumsum(sizes) - sizes
    joined = np.empty(int(sizes.sum()), np.uint8)
    for number in np.unique(files):
        rows = np.flatnonzero(files == number).tolist()
        content = kept.tars[number].read_all([offsets[row] for row in rows], sizes[rows].tolist())
        if len(rows) == stop - start:
            joined = content
            continue
        at = 0
        for row in rows:
            size = int(sizes[row])
            joined[starts[row] : starts[row] + size] = content[at : at + size]
            at += size
    return Bytes(joined, starts, sizes)


def _value(content: bytes, kind: FeatureType, path: str) -> Any:
    """What a member holds."""
    if isinstance(kind, Image) and image_kind(content[:HEAD_BYTES]) is None:
        raise SourceError(f"is no picture but {describe(content[:HEAD_BYTES])}", path)
    if isinstance(kind, Tensor | Scalar):
        array = np.array(parse_npy(path, np.frombuffer(content, np.uint8), rows=False), kind.dtype)
        return array if array.ndim else array[()]
    if isinstance(kind, Text):
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise SourceError(f"is no UTF-8: {error}", path) from error
    return content


def _feature_type(name: str, field: str, listing: Listing, kept: _Kept) -> FeatureType:
    ending = field.rpartition(".")[2]
    if name == "image" or ending in IMAGES:
        return Image()
    if ending in _TEXTS:
        return Text()
    return _array_type(name, listing, kept) if ending == "npy" else ByteString()


def _array_type(name: str, listing: Listing, kept: _Kept) -> FeatureType:
    """The type of all arrays of a field: sizes that differ become None."""
    shape: list[int | None] | None = None
    dtype = None
    for index in range(len(listing)):
        if (content := _read(name, index, listing, kept)) is None:
            continue
        path = f"{listing.key(index)}.{name}"
        array = parse_npy(path, np.frombuffer(content, np.uint8), rows=False)
        if array.dtype.kind not in "biuf":
            raise SourceError(f"is an array of {array.dtype}; numbers are due", path)
        if shape is None:
            shape, dtype = list(array.shape), array.dtype
        elif array.dtype != dtype or array.ndim != len(shape):
            raise SourceError(f"is an array of {array.dtype} {array.shape}; others are {dtype} {tuple(shape)}", path)
        shape = [mine if mine == its else None for mine, its in zip(shape, array.shape, strict=True)]
    assert shape is not None
    assert dtype is not None
    try:
        return type_of_array(shape, dtype)
    except ValueError as error:
        raise SourceError(f"field .{name}: {error}", listing.key(0)) from error


def _classes(listing: Listing, kept: _Kept) -> tuple[ClassLabel, NDArray[np.int64]]:
    """The type of .cls, and the class of each item; -1 where it has none."""
    have = np.flatnonzero(listing.places["offset label"] >= 0)
    some = listing.take(have)
    contents = _gathered("label", 0, len(have), some, kept).to_list()
    texts = [""] * len(listing)
    for index, content in zip(have.tolist(), contents, strict=True):
        texts[index] = content.decode("utf-8", "replace").strip()
    found = sorted(set(texts) - {""})
    if all(text.isdecimal() and len(text) < 10 for text in found):
        labels = np.array([int(text or -1) for text in texts], np.int64)
        return ClassLabel(num_classes=int(labels.max()) + 1), labels
    numbers = {text: number for number, text in enumerate(found)}
    return ClassLabel(tuple(found)), np.array([numbers.get(text, -1) for text in texts], np.int64)


def _offset(name: str, index: int, listing: Listing) -> int:
    return int(listing.places[f"offset {name}"][index])


def _read(name: str, index: int, listing: Listing, kept: _Kept) -> bytes | None:
    """The content of an item's field; None if it has none."""
    if (offset := _offset(name, index, listing)) < 0:
        return None
    tar = kept.tars[int(listing.places["file"][index])]
    return tar.read(offset, int(listing.places[f"size {name}"][index]))
