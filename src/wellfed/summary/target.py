"""What a name on the command line stands for: a data set's folder, or files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellfed.datasets import DatasetFolder, is_dataset, open_dataset
from wellfed.errors import DatasetError
from wellfed.io.patterns import expand_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def groups_of(paths: Iterable[str]) -> list[list[str]]:
    """Returns what is looked at together: each data set's folder by itself, then all files as one."""
    groups: list[list[str]] = []
    files: list[str] = []
    for path in paths:
        if is_dataset(path):
            groups.append([path])
        else:
            files.append(path)
    return [*groups, files] if files else groups


def files_of(path: PathLike) -> list[str]:
    """Returns all files of a data set's folder, or those that a path or pattern names.

    Raises:
      DatasetError: The folder holds no data set; a pattern asks for shards that are missing.
      FileNotFoundError: The pattern matches nothing.
    """
    if not is_dataset(path):
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
    folder = next(filter(is_dataset, paths), None)
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
