"""Pictures in class folders, as people keep them.

root/cat/1.jpg            class "cat"            key "cat/1.jpg"
root/cat/young/2.png      class "cat", or with nested=True class "cat/young"
root/train/cat/1.jpg      split "train", class "cat", where every folder of the root is a split's name
root/.ipynb_checkpoints   hidden: skipped and counted, as are empty folders and files that are no pictures
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.datasets import ClassLabel, Image, Schema, Text
from wellfed.errors import SourceError
from wellfed.sources.base import (
    ListedSource,
    Scan,
    StrPath,
    existing_file,
    existing_path,
    printable,
    read_picture,
    vanished,
)
from wellfed.sources.listing import JoinedKeys, Listing, ListingBuilder
from wellfed.sources.sniff import describe, image_kind, read_heads, sure_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_BLOCK = 1 << 16
_LOOSE = "is a picture outside the class folders"
_SPLITS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"}


@dataclass(frozen=True)
class ClassFolders(ListedSource):
    """The pictures of a folder of class folders: `{"image": bytes, "label": int, "filename": str}` each.

    `image` holds the file's bytes as they are; pictures are known by their first bytes, whatever their name. Labels
    are positions in the class names, which are sorted by code point. Links are followed.

    Attributes:
      root: The folder that holds the class folders.
      nested: Whether the class is the whole path of the folder that holds the picture ("animals/cat"), not only its
        first part.
      labels_file: A text file of class names, one a line, whose order gives the labels.
      given_splits: Whether the root's folders are splits that hold the class folders. None: they are if each has a
        split's name ("train", "val", "test", ...) and holds folders alone.

    Raises:
      SourceError: There is no such folder; no picture is in it; a class is not in `labels_file`.

    Differs from torchvision's `ImageFolder`: content decides what is a picture, hidden files and folders are skipped,
    and a folder without pictures is no class.
    """

    root: StrPath
    nested: bool = False
    labels_file: StrPath | None = None
    given_splits: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", existing_path(self.root))
        if self.labels_file is not None:
            object.__setattr__(self, "labels_file", existing_file(self.labels_file, "a list of class names"))
        if not os.path.isdir(self.root):
            raise SourceError("is a file; a folder of class folders is due", os.fspath(self.root))

    def scan(self) -> Scan:
        """Walks the folders and looks at the first bytes of each file."""
        builder = ListingBuilder()
        splits = self._splits()
        depth = 1 if splits else 0
        classes: dict[str, int] = {}
        for folder, pictures, sizes in _pictures(os.fspath(self.root), builder):
            folders = folder.split("/")[:-1]
            if len(folders) <= depth:
                for picture in pictures:
                    builder.skip(f"{folder}{picture}", _LOOSE)
                continue
            name = "/".join(folders[depth:]) if self.nested else folders[depth]
            of_split = {"split": splits.index(folders[0])} if splits else {}
            builder.add_many(folder, pictures, size=sizes, label=classes.setdefault(name, len(classes)), **of_split)
        if not len(builder):
            raise SourceError(_nothing_found(builder), os.fspath(self.root))
        names, renumber = self._numbered(list(classes))
        listing = builder.listing(splits)
        assert listing.labels is not None
        listing.labels[:] = renumber[listing.labels]
        return Scan(Schema({"image": Image(), "label": class_label(names), "filename": Text()}), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Reads picture `index`: its bytes as they are, its label, and its path from the root."""
        listing = self.listing()
        assert listing.labels is not None
        key = listing.key(index)
        content = read_picture(os.path.join(self.root, *key.split("/")), int(listing.sizes[index]))
        return {"image": content, "label": int(listing.labels[index]), "filename": printable(key)}

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Reads the pictures from `start` to `stop` in one native call; see `ColumnSource`."""
        listing = self.listing()
        assert listing.labels is not None
        if (found := read_pictures(self.root, listing, start, stop)) is None:
            return None
        image, filename = found
        return {"image": image, "label": listing.labels[start:stop], "filename": filename}

    def _splits(self) -> tuple[str, ...]:
        """The names of the splits that the root's folders are; empty if they are classes."""
        if self.given_splits is False:
            return ()
        folders = [entry for entry in os.scandir(self.root) if entry.is_dir() and not entry.name.startswith(".")]
        names = tuple(sorted(folder.name for folder in folders))
        if self.given_splits:
            return names
        alike = all(folder.name.lower() in _SPLITS and _holds_only_folders(folder.path) for folder in folders)
        return names if alike else ()

    def _numbered(self, found: list[str]) -> tuple[list[str], np.ndarray]:
        """The class names in the order of their labels, and the label of each class in the order it was found."""
        names = sorted(found) if self.labels_file is None else read_names(os.fspath(self.labels_file))
        places = {name: label for label, name in enumerate(names)}
        unknown = sorted(set(found) - places.keys())
        if unknown:
            reason = f"has {len(unknown)} class folders that {self.labels_file} does not name, the first {unknown[0]!r}"
            raise SourceError(f"{reason}. Add them to the file, or move them away", os.fspath(self.root))
        return names, np.array([places[name] for name in found], np.int64)


def class_label(names: list[str]) -> ClassLabel:
    """The classes of these names, which may hold bytes that are no UTF-8."""
    return ClassLabel(names=tuple(printable(name) for name in names))


def _pictures(root: str, builder: ListingBuilder) -> Iterator[tuple[str, list[str], NDArray[np.int64]]]:
    """Of each folder its path from the root, its pictures' names, sorted, and sizes; notes all else in `builder`.

    Of a large folder some at a time.
    """
    with ThreadPoolExecutor(8, "wellfed-sniff") as pool:
        for folder, names in _folders(root, builder):
            found = False
            for start in range(0, len(names), _BLOCK):
                block = names[start : start + _BLOCK]
                sizes = _picture_sizes(pool, root, folder, block, builder)
                pictures = np.flatnonzero(sizes >= 0).tolist()
                if pictures:
                    found = True
                    yield folder, [block[at] for at in pictures], sizes[pictures]
            if folder and names and not found:
                builder.skip(folder, "holds no picture")


def _picture_sizes(
    pool: ThreadPoolExecutor, root: str, folder: str, names: list[str], builder: ListingBuilder
) -> NDArray[np.int64]:
    """The size of each file of a folder; -1 for what is no picture, noted in `builder`; 0 for what cannot be read."""
    place = os.path.join(root, folder)
    sizes = sure_pictures(pool, place, names)
    unsure = np.flatnonzero(sizes < 0).tolist()
    paths = [os.path.join(place, names[at]) for at in unsure]
    for at, path, head in zip(unsure, paths, read_heads(pool, paths), strict=True):
        if isinstance(head, OSError):
            sizes[at] = 0  # An item, so that it fails as one: whether it is a picture cannot be told.
        elif image_kind(head) is None:
            builder.skip(f"{folder}{names[at]}", f"is no picture but {describe(head)}")
        else:
            sizes[at] = os.stat(path).st_size
    return sizes


def _folders(root: str, builder: ListingBuilder) -> Iterator[tuple[str, list[str]]]:
    """Each folder's path from the root, with a slash at its end, and its files; parents first, sorted by name."""
    ahead: list[tuple[str, str, tuple[str, ...]]] = [("", root, (os.path.realpath(root),))]
    while ahead:
        folder, path, parents = ahead.pop()
        files, inner, others = [], [], []  # Names alone: entries of a folder of a million files would be 200 MB.
        try:
            for entry in os.scandir(path):
                reason = _no_file(entry)
                if reason:
                    others.append((entry.name, reason))
                elif not entry.is_dir():
                    files.append(entry.name)
                elif (real := os.path.realpath(entry.path)) in parents:
                    others.append((entry.name, "is a link to a folder that holds it"))
                else:
                    inner.append((f"{folder}{entry.name}/", entry.path, (*parents, real)))
        except OSError as error:
            raise vanished(path, error) from error
        for name, reason in sorted(others):
            builder.skip(f"{folder}{name}", reason)
        if folder and not (files or inner or others):
            builder.skip(folder, "is empty")
        files.sort()
        yield folder, files
        ahead.extend(sorted(inner, key=lambda one: one[0][:-1], reverse=True))  # By name: without the slash.


def _no_file(entry: os.DirEntry[str]) -> str:
    """Why an entry of a folder is left out; "" for files and folders."""
    if entry.name.startswith("."):
        return "is hidden"
    if entry.is_dir() or entry.is_file():
        return ""
    return "is a broken link" if entry.is_symlink() else "is no regular file"


def read_pictures(root: StrPath, listing: Listing, start: int, stop: int) -> tuple[Bytes, Bytes] | None:
    """The files whose paths from `root` are the keys of the items `start` to `stop`, and those paths.

    None where one cannot be read as it was listed, or its path is no UTF-8. Whether they are pictures is not asked.
    """
    keys, sizes = listing.keys, listing.sizes[start:stop]
    assert isinstance(keys, JoinedKeys)
    starts = keys.starts[start : stop + 1]
    if not hasattr(_native, "read_files") or not _is_utf8(keys.joined[starts[0] : starts[-1]]):
        return None
    content, read = _native.read_files(os.fsencode(root), keys.joined, starts, sizes)
    if read < stop - start:
        return None
    names = np.frombuffer(keys.joined, np.uint8)
    return Bytes(content, np.cumsum(sizes) - sizes, sizes), Bytes(names, starts[:-1], np.diff(starts))


def _is_utf8(names: bytes) -> bool:
    try:
        names.decode()
    except UnicodeDecodeError:
        return False
    return True


def _holds_only_folders(path: str) -> bool:
    entries = [entry for entry in os.scandir(path) if not entry.name.startswith(".")]
    return bool(entries) and all(entry.is_dir() for entry in entries)


def read_names(path: str) -> list[str]:
    """The class names of a labels file, in the order of their labels."""
    names: dict[str, int] = {}
    # Bytes that are no UTF-8 are kept, so that a name is the folder's that it means.
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, 1):
            name = line.strip()
            if not name:
                continue
            if name in names:
                raise SourceError(f"line {number} names {name!r} again, after line {names[name]}. Remove one", path)
            names[name] = number
    if not names:
        raise SourceError("names no class; one name a line is due", path)
    return list(names)


def _nothing_found(builder: ListingBuilder) -> str:
    """The sentence for a root without a single picture in a class folder."""
    due = "pictures in class folders are due, such as cat/1.jpg"
    if not builder.skipped:
        return f"is empty; {due}"
    first = builder.skipped[0]
    loose = sum(skipped.reason == _LOOSE for skipped in builder.skipped)
    if loose:
        return f"holds {loose} pictures, none of them in a class folder; {due}. For a list of labels, use ListFile"
    return f"holds no picture ({len(builder.skipped)} skipped, the first: {first.path} {first.reason}); {due}"
