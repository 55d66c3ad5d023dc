"""The manifest: what a packed data set is, in one JSON file that appears last.

    OUT/
      digits-train.tfrecord-00000-of-00003     shards
      dataset_info.json, features.json, ...    the same facts for TensorFlow Datasets
      .wellfed/
        manifest.json                          the truth, and the switch: no manifest, no data set
        digits-train....index                  one index a shard

With versions beside each other, OUT/1.0.0 and OUT/1.1.0 are such folders, and OUT/.wellfed/manifest.json holds
`{"current": "1.1.0"}`: one rename switches what opening OUT gives. See docs/adr/0030-the-manifest-is-the-switch.md.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from wellfed.datasets.schema import Schema
from wellfed.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MANIFEST = ".wellfed/manifest.json"
UNFINISHED = ".wellfed/pack/plan.json"  # There while packing has not ended.
FORMAT = "wellfed data set"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a split.

    Attributes:
      file: Its name, relative to the data set's folder.
      records: How many records it holds.
      bytes: Its size on disk. [bytes]
      crc32c: The CRC-32C of those bytes, as 8 hexadecimal digits. (Each record has sums of its own; this one tells
        the whole file from another, at memory speed.)
    """

    file: str
    records: int
    bytes: int
    crc32c: str


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something that was not packed.

    Attributes:
      item: The item's key, or the path of what is no item.
      reason: Why, as a phrase.
      split: The split it would have been in; "" for what is no item.
    """

    item: str
    reason: str
    split: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All facts of a packed data set. The same input and options give the same manifest: it holds no time or place.

    Attributes:
      name: The data set's name, also in the shards' names.
      version: Such as "1.0.0".
      schema: Features and their types.
      splits: Split to its shards, in order.
      compression: "", "GZIP" or "ZLIB"; seekable GZIP is "GZIP" with an index that knows the members.
      seed: What the shuffle was drawn from; None where the source's order was kept.
      options: All options the bytes depend on, as JSON values.
      listing: Fingerprint of the source's listing.
      skipped: What was left out, and why.
    """

    name: str
    version: str
    schema: Schema
    splits: Mapping[str, Sequence[Shard]]
    compression: str = ""
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    listing: str = ""
    skipped: Sequence[SkippedItem] = ()

    def to_json(self) -> str:
        """Returns the manifest as JSON text, one line a shard and a skipped item."""
        head = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "version": self.version,
            "records": self.schema.records,
            "compression": self.compression,
            "seed": self.seed,
            "listing": self.listing,
            "options": dict(self.options),
            "schema": self.schema.to_json(),
        }
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        splits = [f"    {json.dumps(name)}: {_lines(shards, 6)}" for name, shards in self.splits.items()]
        lines.append('  "splits": {\n' + ",\n".join(splits) + "\n  }")
        lines.append(f'  "skipped": {_lines(self.skipped, 4)}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str | bytes, path: str) -> Manifest:
        """Returns the manifest that `to_json` wrote.

        Args:
          text: The JSON.
          path: Where it was read, for errors.

        Raises:
          DatasetError: It is damaged, of a later wellfed, or something else.
        """
        values = parse_json(text, path)
        if values.get("format") != FORMAT:
            raise DatasetError(f"is no manifest of wellfed: expected format {FORMAT!r}", path)
        if values.get("format_version") != FORMAT_VERSION:
            found = values.get("format_version")
            raise DatasetError(f"has format version {found}, this wellfed reads {FORMAT_VERSION}: upgrade it", path)
        try:
            return cls(
                name=values["name"],
                version=values["version"],
                schema=Schema.from_json(values["schema"], values["records"]),
                splits={
                    plain_name(name): tuple(_shard(**shard) for shard in shards)
                    for name, shards in values["splits"].items()
                },
                compression=values["compression"],
                seed=values["seed"],
                options=values["options"],
                listing=values["listing"],
                skipped=tuple(SkippedItem(**item) for item in values["skipped"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"is damaged: {error!r}. Pack the data set again", path) from error


def is_plain_name(name: str) -> bool:
    """Whether a name is that of a file right in its folder: metadata may be damaged, or name what lies elsewhere."""
    return bool(name) and not name.startswith(".") and not set(name) & {"/", "\\", "\0"}


def plain_name(name: str) -> str:
    """Returns the name of a shard or a split, which is part of a file's name; raises ValueError for any other."""
    if not is_plain_name(name):
        raise ValueError(f"{name!r} is no plain file name")
    return name


def _shard(file: str, **facts: Any) -> Shard:
    return Shard(plain_name(file), **facts)


def pointer_to_json(version: str) -> str:
    """Returns the manifest of a folder of versions: which one is current."""
    return json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, "current": version}) + "\n"


def parse_json(text: str | bytes, path: str) -> dict[str, Any]:
    """Returns a JSON object; raises `DatasetError` for anything else."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"is no JSON: {error}", path) from error
    if not isinstance(values, dict):
        raise DatasetError(f"expected a JSON object, got {type(values).__name__}", path)
    return values


def _lines(entries: Sequence[Shard] | Sequence[SkippedItem], indent: int) -> str:
    if not entries:
        return "[]"
    pad = " " * indent
    rows = ",\n".join(pad + json.dumps(asdict(entry)) for entry in entries)
    return f"[\n{rows}\n{pad[2:]}]"
