"""Opening a data set on disk, whoever wrote it.

OUT/.wellfed/manifest.json         packed by wellfed
OUT/dataset_info.json              written by TensorFlow Datasets
OUT/1.0.0/, OUT/1.1.0/             versions of either, beside each other
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.datasets.folder import Folder, open_folder
from wellfed.datasets.manifest import MANIFEST, UNFINISHED, Manifest, parse_json
from wellfed.datasets.tfds import DATASET_INFO, read_schema, read_splits
from wellfed.errors import DatasetError
from wellfed.io.files import is_url, local_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wellfed.datasets.schema import Schema

_PATTERN = re.compile(r"[*?[]|@\d+$")
_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """The shards of one split.

    Attributes:
      files: Their paths or URLs, in order.
      record_counts: How many records each holds, as the metadata says.
    """

    files: list[str]
    record_counts: list[int]

    @property
    def records(self) -> int:
        """How many records the split holds."""
        return sum(self.record_counts)


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """A data set on disk.

    Attributes:
      folder: Where its shards are; with versions, the version's own folder.
      name: Such as "mnist".
      version: Such as "1.0.0".
      schema: Features and their types.
      splits: Split to its shards, in the order of the metadata.
      compression: "", "GZIP" or "ZLIB".
      manifest: All that wellfed's manifest says; None where TensorFlow Datasets wrote the data set.
    """

    folder: str
    name: str
    version: str
    schema: Schema
    splits: Mapping[str, SplitFiles]
    compression: str
    manifest: Manifest | None


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Says whether a path or URL is to be opened as a data set: a folder of this machine, or one behind a URL.

    A URL is asked for the files that make a data set first, since some stores know no folders; three requests at most
    where it names a file.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
      RemoteError: The URL cannot be reached.
    """
    if not is_url(path):
        return Path(local_path(path)).is_dir()
    if _PATTERN.search(os.fspath(path)):
        return False
    folder = open_folder(path)
    try:
        return any(folder.size(name) is not None for name in (MANIFEST, DATASET_INFO, UNFINISHED)) or folder.is_folder()
    except PermissionError:  # Some stores answer so for what is not there; the file itself may be readable.
        return False


def open_dataset(folder: str | os.PathLike[str], *, version: str | None = None) -> DatasetFolder:
    """Reads the metadata of a data set that wellfed packed or TensorFlow Datasets wrote. No shard is opened.

    Args:
      folder: Path or URL of the data set's folder, or of the folder that holds its versions.
      version: Which version; None for the current one: the one last packed, or the highest one that TensorFlow
        Datasets wrote.

    Returns:
      The data set. It holds no open file.

    Raises:
      DatasetError: Nothing of the kind is there, it is not whole yet, or its metadata is damaged.

    Source: docs/format.md, "Data set".
    """
    root = open_folder(folder)
    found = _open_version(root, version) if version else _open_current(root)
    if found is None:
        raise DatasetError(_why_not(root, version), root.path)
    return found


def _open_current(folder: Folder) -> DatasetFolder | None:
    content = folder.read(MANIFEST)
    if content is not None:
        current = parse_json(content, folder.full(MANIFEST)).get("current")
        return _open_version(folder, str(current)) if current else _from_manifest(folder, content)
    if folder.read(UNFINISHED) is not None:
        return None
    if folder.size(DATASET_INFO) is not None:
        return _from_tfds(folder)
    versions = [name for name in folder.names() if _VERSION.fullmatch(name)]
    for name in sorted(versions, key=lambda name: [int(part) for part in name.split(".")], reverse=True):
        inner = open_folder(folder.full(name))
        if inner.size(DATASET_INFO) is not None:
            return _from_tfds(inner)
    return None


def _open_version(folder: Folder, version: str) -> DatasetFolder | None:
    inner = open_folder(folder.full(version))
    content = inner.read(MANIFEST)
    if content is not None:
        return _from_manifest(inner, content)
    if inner.size(DATASET_INFO) is not None:
        return _from_tfds(inner)
    content = folder.read(MANIFEST)  # A data set that was packed before there were versions beside it.
    if content is not None and parse_json(content, folder.full(MANIFEST)).get("version") == version:
        return _from_manifest(folder, content)
    return None


def _from_manifest(folder: Folder, content: bytes) -> DatasetFolder:
    manifest = Manifest.from_json(content, folder.full(MANIFEST))
    splits = {
        name: SplitFiles([folder.full(shard.file) for shard in shards], [shard.records for shard in shards])
        for name, shards in manifest.splits.items()
    }
    return DatasetFolder(
        folder=folder.path,
        name=manifest.name,
        version=manifest.version,
        schema=manifest.schema,
        splits=splits,
        compression=manifest.compression,
        manifest=manifest,
    )


def _from_tfds(folder: Folder) -> DatasetFolder:
    name, version, found = read_splits(folder)
    splits = {
        split: SplitFiles([folder.full(file) for file, _ in shards], [count for _, count in shards])
        for split, shards in found.items()
    }
    return DatasetFolder(
        folder=folder.path,
        name=name,
        version=version,
        schema=read_schema(folder),
        splits=splits,
        compression="",
        manifest=None,
    )


def _why_not(folder: Folder, version: str | None) -> str:
    if not is_url(folder.path) and Path(folder.path).is_file():
        return (
            "is a file; the folder of a data set is due, which holds .wellfed/manifest.json or dataset_info.json. "
            "`wellfed pack tfrecord` makes one of TFRecord files"
        )
    names = folder.names()
    if not names:
        return "no such folder, or it is empty"
    if folder.read(UNFINISHED) is not None:
        return "is not whole yet: packing began here and has not ended. Run it again with the same options to finish"
    if version:
        have = [name for name in names if _VERSION.fullmatch(name)]
        return f"has no version {version}" + (f"; it has {', '.join(have)}" if have else "")
    return (
        "holds no data set: no .wellfed/manifest.json, no dataset_info.json. "
        'Open bare TFRecord files by a pattern, such as "folder/*.tfrecord", or make a data set of them with '
        "`wellfed pack tfrecord`"
    )
