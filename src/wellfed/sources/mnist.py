"""MNIST's idx files, and those of its kin (Fashion-MNIST, KMNIST, EMNIST).

    images: 00 00 08 03 | count | rows | columns | count * rows * columns bytes
    labels: 00 00 08 01 | count | count bytes                 (numbers are 32 bits, big-endian)

Each file may be gzipped, whatever its name says. Source: http://yann.lecun.com/exdb/mnist/, "file formats".
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wellfed.datasets import ClassLabel, Image, Schema
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Scan, StrPath, existing_path
from wellfed.sources.inflate import WholeFile
from wellfed.sources.listing import Listing, NumberedKeys, Skipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

_IMAGES, _LABELS = 0x0803, 0x0801
_NAME = re.compile(r"(?P<stem>.*?)[-_.]?(?P<kind>images|labels)[-_.]idx(?P<rank>\d)[-_.]ubyte(\.gz)?", re.IGNORECASE)


class _Idx(NamedTuple):
    values: NDArray[np.uint8]
    file: WholeFile


@dataclass(frozen=True)
class Mnist(ListedSource):
    """The digits of a folder of idx files: `{"image": uint8 (28, 28, 1), "label": int}` each.

    Pairs of files are found by name (`train-images-idx3-ubyte`, with or without .gz); what they hold, and whether
    it is gzipped, is told by content. `train...` is the split "train", `t10k...` and `test...` the split "test".

    Attributes:
      root: The folder that holds the files.
      names: The class names, in the order of their labels; the numbers themselves if not given.

    Raises:
      SourceError: No idx files are there; one lacks its partner; a magic number, a count or a length is wrong.

    Memory: a file that is not gzipped is mapped, a gzipped one inflated once in each process (47 MB for MNIST).
    """

    root: StrPath
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", existing_path(self.root))
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
        if not os.path.isdir(self.root):
            raise SourceError("is a file; the folder that holds the idx files is due", os.fspath(self.root))

    def scan(self) -> Scan:
        """Reads the headers and the labels, and checks that the counts agree."""
        pairs, skipped = self._pairs
        labels = np.concatenate([self._labels(split) for split in pairs])
        counts = {split: len(images.values) for split, images in self._images.items()}
        shapes = {images.values.shape[1:] for images in self._images.values()}
        if len(shapes) > 1:
            raise SourceError(
                f"holds images of different sizes, {sorted(shapes)}. Put them in folders apart", os.fspath(self.root)
            )
        (shape,) = shapes
        names = self.names or tuple(str(label) for label in range(max(10, int(labels.max(initial=0)) + 1)))
        if labels.size and labels.max() >= len(names):
            reason = f"holds the label {labels.max()}, but only {len(names)} class names are given"
            raise SourceError(f"{reason}. Give a name for each label from 0", os.fspath(self.root))
        listing = Listing(
            NumberedKeys.of_counts(counts),
            np.full(len(labels), prod(shape), np.int64),
            labels.astype(np.int64),
            skipped,
            split_names=tuple(pairs),
            split_ids=np.repeat(np.arange(len(counts)), list(counts.values())),
        )
        return Scan(Schema({"image": Image(shape=(*shape, 1)), "label": ClassLabel(names=names)}), listing)

    def load(self, index: int) -> dict[str, Any]:
        """Copies digit `index` out of its file."""
        listing = self.listing()
        assert isinstance(listing.keys, NumberedKeys)
        assert listing.labels is not None
        split, number = listing.keys.locate(index)
        images = self._images[listing.keys.groups[split]]
        if number >= len(images.values):
            raise SourceError(f"holds {len(images.values)} images, but held more when it was listed", images.file.path)
        image = np.array(images.values[number])[:, :, None]
        images.file.check_unchanged()
        return {"image": image, "label": int(listing.labels[index])}

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Copies the digits from `start` to `stop`; see `ColumnSource`."""
        listing = self.listing()
        assert isinstance(listing.keys, NumberedKeys)
        assert listing.labels is not None
        shape = cast("Image", self.schema["image"]).shape
        found = np.empty((stop - start, *cast("tuple[int, int, int]", shape)), np.uint8)
        for split, places, numbers in listing.keys.locate_all(start, stop):
            images = self._images[listing.keys.groups[split]]
            if numbers.max() >= len(images.values):
                return None
            found[places] = images.values[numbers][..., None]
            images.file.check_unchanged()
        return {"image": found, "label": listing.labels[start:stop]}

    @cached_property
    def _images(self) -> dict[str, _Idx]:
        """The images of each split."""
        return {split: _read_idx(images, _IMAGES) for split, (images, _) in self._pairs[0].items()}

    def _labels(self, split: str) -> NDArray[np.uint8]:
        """The labels of a split, one for each of its images."""
        _, path = self._pairs[0][split]
        labels, images = _read_idx(path, _LABELS).values, self._images[split]
        if len(images.values) != len(labels):
            reason = f"holds {len(labels)} labels for the {len(images.values)} images of {images.file.path}"
            raise SourceError(f"{reason}. Fetch both files again", path)
        return labels

    @cached_property
    def _pairs(self) -> tuple[dict[str, tuple[str, str]], list[Skipped]]:
        """The two files of each split, and the files that are none of them."""
        stems: dict[str, dict[str, str]] = {}
        skipped = []
        for name in sorted(os.listdir(self.root)):
            match = _NAME.fullmatch(name)
            if not match:
                skipped.append(Skipped(name, "has no idx file's name"))
                continue
            kinds = stems.setdefault(match["stem"], {})
            kind = match["kind"].lower()
            if kind in kinds:  # Sorted: the plain file came first.
                skipped.append(Skipped(name, f"is {os.path.basename(kinds[kind])} once more"))
                continue
            kinds[kind] = os.path.join(self.root, name)
        if not stems:
            raise SourceError(
                "holds no idx files; train-images-idx3-ubyte.gz and its kin are due", os.fspath(self.root)
            )
        pairs: dict[str, tuple[str, str]] = {}
        for stem, kinds in stems.items():
            if len(kinds) < 2:
                (there,) = kinds.values()
                missing = "labels" if "images" in kinds else "images"
                raise SourceError(f"has no {missing} file beside it. Fetch that, or move this one away", there)
            split = _split_name(stem)
            if split in pairs:
                reason = f"holds two sets of the split {split!r}, {os.path.basename(pairs[split][0])} and {stem}"
                raise SourceError(f"{reason}. Put them in folders apart", os.fspath(self.root))
            pairs[split] = kinds["images"], kinds["labels"]
        return dict(sorted(pairs.items(), key=lambda pair: (pair[0] != "train", pair[0]))), skipped


def _split_name(stem: str) -> str:
    lower = stem.lower()
    if "train" in lower:
        return "train"
    return "test" if "t10k" in lower or "test" in lower else stem or "all"


def _read_idx(path: str, magic: int) -> _Idx:
    """The array of an idx file: `(n, rows, columns)` or `(n,)`; read-only."""
    file = WholeFile(path)
    content = file.data
    rank = magic & 0xFF
    header = 4 + 4 * rank
    if len(content) < header:
        raise SourceError(f"has {len(content)} bytes; an idx header alone has {header}. Fetch it again", path)
    found, *shape = (int(number) for number in content[:header].view(">u4"))
    if found != magic:
        raise SourceError(
            f"begins with 0x{found:08x}; an idx file of {rank} dimensions begins with 0x{magic:08x}", path
        )
    held, due = len(content) - header, prod(shape)
    if held != due:
        raise SourceError(f"holds {held} bytes of data; its header {tuple(shape)} says {due}. Fetch it again", path)
    return _Idx(content[header:].reshape(shape), file)
