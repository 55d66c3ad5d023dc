"""What a name on the command line stands for: a data set's folder, or files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.datasets import DatasetFolder, open_dataset
from wellfed.errors import DatasetError
from wellfed.io.files import is_url, local_path
from wellfed.io.patterns import expand_patterns

if TYPE_CHECKING:
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


def files_of(path: PathLike) -> list[str]:
    """Returns all files of a data set's folder, or those that a path or pattern names.

    Raises:
      DatasetError: The folder holds no data set; a pattern asks for shards that are missing.
      FileNotFoundError: The pattern matches nothing.
    """
    if not is_folder(path):
        return find_target(path, None).files
    return [file for split in open_dataset(path).splits.values() for file in split.files]


def find_target(path: PathLike, split: str | None) -> Target:
    """Returns the files of a split of a data set, or those that a path or pattern names.

    Raises:
      DatasetError: The folder holds no data set, or not this split; a pattern asks for shards that are missing.
      FileNotFoundError: The pattern matches nothing.
    """
    if not is_folder(path):
        if split is not None:
            raise DatasetError("only the folder of a data set has splits; this is no folder", str(path))
        return Target(None, "", [str(file) for file in expand_patterns(path)])
    dataset = open_dataset(path)
    name = split or next(iter(dataset.splits), "")
    if name not in dataset.splits:
        have = ", ".join(dataset.splits) or "none"
        raise DatasetError(f"has no split {name!r}; it has {have}", dataset.folder)
    return Target(dataset, name, dataset.splits[name].files)
