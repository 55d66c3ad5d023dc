"""Items that come one after another, from a generator or a stream: kept on disk until they are packed.

    item  ->  4 bytes: length of the JSON | JSON of the names and plain values | bytes and arrays, end to end

In the JSON `{"b": 5}` stands for the next 5 bytes and `{"a": ["<f4", [2, 3]]}` for the next array. No pickles.
"""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wellfed.datasets import Schema
from wellfed.errors import SourceError
from wellfed.io.files import MappedFile
from wellfed.sources.base import ListedSource, Place, Scan, vanished
from wellfed.sources.infer import ClassGuess, SchemaGuess, checked_mapping
from wellfed.sources.listing import Listing, NumberedKeys
from wellfed.sources.ownedfile import OwnedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from numpy.typing import NDArray

    from wellfed.datasets import FeatureType


@dataclass(frozen=True)
class Spooled(ListedSource):
    """The items of an iterable without a length: mappings, all with the same features.

    They are written to a file in the temporary folder when they are listed, and the iterable is read once. The file
    goes with the source; pickled copies read it while the source lives, on the same machine.

    Attributes:
      items: The iterable.
      types: The schema; found from the values of all items if it is not given.
      label: The feature that is the class: an integer, or a name.

    Raises:
      SourceError: There is no item; one is no mapping, or has other features or kinds of values than the first; the
        temporary folder is full.

    Memory: 32 bytes an item. Disk: all items.

    Example:
      >>> source = Spooled({"x": at, "text": "a" * at} for at in range(3))
      >>> len(source.listing()), source.load(2)
      (3, {'x': 2, 'text': 'aa'})
    """

    items: Iterable[Mapping[str, Any]]
    types: Mapping[str, FeatureType] | None = None
    label: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether the iterable was read and its items written down."""
        return "_found" in self.__dict__

    def scan(self) -> Scan:
        """Writes the items down."""
        guess, classes = SchemaGuess(), ClassGuess(self.label)
        with contextlib.closing(Spool()) as spool:
            for number, item in enumerate(self.items):
                path = f"item {number}"
                checked_mapping(item, path)
                if self.types is None:
                    guess.see(item)
                classes.see(item)
                spool.add(item, path)
            if not len(spool):
                raise no_item()
            schema, labels = classes.applied(guess.schema() if self.types is None else Schema(self.types))
            listing, file = spool.finish(NumberedKeys.of_counts({"item": len(spool)}), labels)
        return Scan(schema, listing, file)

    def load(self, index: int) -> dict[str, Any]:
        """Reads item `index`; arrays are copies, in the machine's byte order."""
        listing, path = self.listing(), cast("OwnedFile", self.kept).path
        try:
            offset = int(listing.places["offset"][index])
            content = self._mapped.data[offset : offset + int(listing.sizes[index])].tobytes()
        except OSError as error:
            raise vanished(path, error) from error
        item = _load(content)
        if self.label is not None and listing.labels is not None:
            item[self.label] = int(listing.labels[index])
        return item

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        listing = self.listing()
        yield Place(self._mapped, listing.places["offset"][start:stop], listing.sizes[start:stop])

    @cached_property
    def _mapped(self) -> MappedFile:
        return MappedFile(cast("OwnedFile", self.kept).path)

    def __getstate__(self) -> dict[str, Any]:
        self.listing()  # An iterable does not travel; what it gave does.
        return {**super().__getstate__(), "items": ()}


class Spool:
    """A file in the temporary folder to which items are written, one after another.

    Attributes:
      bytes: How large it is so far. [bytes]
    """

    def __init__(self) -> None:
        self._file, self._ends = OwnedFile(), array("q", [0])
        self._out = open(self._file.path, "wb")  # noqa: SIM115 -- `close` closes it.

    def __len__(self) -> int:
        return len(self._ends) - 1

    @property
    def bytes(self) -> int:
        """How many bytes the items so far take."""
        return self._ends[-1]

    def add(self, item: Mapping[str, Any], path: str) -> None:
        """Writes an item, which errors call `path`.

        Raises:
          SourceError: It holds what no feature holds, or the temporary folder is full.
        """
        self._ends.append(self._ends[-1] + _write(self._out, _dump(item, path), self._file.path, path))

    def close(self) -> None:
        """Closes the file, which can be read as long as what `finish` gave lives; may be called again."""
        self._out.close()

    def finish(self, keys: NumberedKeys, labels: NDArray[np.int64] | None = None) -> tuple[Listing, OwnedFile]:
        """Closes the file; returns it and the listing of its items.

        Raises:
          SourceError: The temporary folder is full.
        """
        _write(self._out, b"", self._file.path, "the last item")
        self.close()
        bounds = np.array(self._ends, np.int64)
        return Listing(keys, np.diff(bounds), labels, places={"offset": bounds[:-1]}), self._file


def spooled(spool: Spool, keys: NumberedKeys, schema: Schema) -> Spooled:
    """The source of the items that were written to a spool."""
    source = Spooled((), schema)
    source.__dict__["_found"] = Scan(schema, *spool.finish(keys))
    return source


def no_item() -> SourceError:
    """The error for an iterable that gives nothing."""
    return SourceError("gives no item; at least one is due", "items")


def _write(out: BinaryIO, content: bytes, file: str, path: str) -> int:
    """Writes an item, or what is still in memory of those before; gives back how many bytes it has."""
    try:
        out.write(content)
        if not content:
            out.flush()
    except OSError as error:
        folder = os.path.dirname(file)
        reason = f"cannot be written down in {folder}: {error.strerror}. TMPDIR names another folder"
        raise SourceError(reason, path) from error
    return len(content)


def _dump(item: Mapping[str, Any], path: str) -> bytes:
    """The bytes of an item."""
    blobs: list[bytes] = []

    def plain(value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            blobs.append(bytes(value))
            return {"b": len(blobs[-1])}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        values = np.asarray(value)
        if values.dtype.hasobject or not hasattr(value, "__array__"):
            raise SourceError(f"holds a {type(value).__name__}, which no feature holds", path)
        blobs.append(values.tobytes())
        return {"a": [values.dtype.str, values.shape]}

    head = json.dumps([[str(name), plain(value)] for name, value in item.items()]).encode()
    return len(head).to_bytes(4, "little") + head + b"".join(blobs)


def _load(content: bytes) -> dict[str, Any]:
    """The item that `_dump` made bytes of."""
    at = 4 + int.from_bytes(content[:4], "little")

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        return content[at - size : at]

    def value_of(stored: Any) -> Any:
        if isinstance(stored, list):
            return [value_of(inner) for inner in stored]
        if not isinstance(stored, dict):
            return stored
        if "b" in stored:
            return take(stored["b"])
        dtype, shape = np.dtype(stored["a"][0]), tuple(stored["a"][1])
        stored_values = np.frombuffer(take(dtype.itemsize * prod(shape)), dtype).reshape(shape)
        values = stored_values.astype(dtype.newbyteorder("="))
        return values if shape else values[()]

    return {name: value_of(stored) for name, stored in json.loads(content[4:at])}
