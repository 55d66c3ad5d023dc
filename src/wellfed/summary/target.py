"""What a name on the command line stands for: a data set's folder, or files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.datasets import DatasetFolder, open_dataset
from wellfed.errors import DatasetError
from wellfed.io.files import is_url, local_path
from wellfed.io.patterns import expand_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wellfed.io.files import PathLike


@dataclass(frozen=True, slots=True)
class Target:
    """Files, and the data set they belong to, if any.

    Attributes:
      dataset: The data set; None for bare files.
      split: The split that was chosen; "" for bare files.
      files: Paths or URLs, in order.
    """

    dataset: DatasetFolder | None
    split: str
    files: list[str]


def is_folder(path: PathLike) -> bool:
    """Says whether a name is taken for a data set's folder: a folder, or a URL that looks like one."""
    if is_url(path):
        name = str(path).rstrip("/").rpartition("/")[2]
        return "." not in name and "*" not in name and "@" not in name
    return Path(local_path(path)).is_dir()


def groups_of(paths: Sequence[str]) -> list[list[str]]:
    """Returns what is looked at together: each data set's folder by itself, then all files as one."""
    folders = [[path] for path in paths if is_folder(path)]
    files = [path for path in paths if not is_folder(path)]
    return [*folders, files] if files else [*folders]


def files_of(path: PathLike) -> list[str]:
    """Returns all files of a data set's folder, or those that a path or pattern names.

    Raises:
      DatasetError: The folder holds no data set; a pattern asks for shards that are missing.
      FileNotFoundError: The pattern matches nothing.
    """
    if not is_folder(path):
        return find_target(path, None).files
    return [file for split in open_dataset(path).splits.values() for file in split.files]


def find_target(path: PathLike | Iterable[PathLike], split: str | None) -> Target:
    """Returns the files of a split of a data set, or those that a path or pattern, or several, name.

    Raises:
      DatasetError: The folder holds no data set, or not this split, or is one of several paths; a pattern asks for
        shards that are missing.
      FileNotFoundError: The pattern matches nothing.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    folder = next(filter(is_folder, paths), None)
    if folder is None:
        if split is not None:
            raise DatasetError("only the folder of a data set has splits; this is no folder", str(paths[0]))
        return Target(None, "", [str(file) for file in expand_patterns(paths)])
    if len(paths) > 1:
        raise DatasetError("is a folder among several paths: give it alone, or files and patterns only", str(folder))
    dataset = open_dataset(folder)
    name = split or next(iter(dataset.splits), "")
    if name not in dataset.splits:
        have = ", ".join(dataset.splits) or "none"
        raise DatasetError(f"has no split {name!r}; it has {have}", dataset.folder)
    return Target(dataset, name, dataset.splits[name].files)
