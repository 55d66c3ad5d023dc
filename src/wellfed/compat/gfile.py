"""Files of this machine under TensorFlow's names: `tf.gfile` and `tf.io.gfile`."""

from __future__ import annotations

import functools
import glob as globbing
import os
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wellfed.compat.missing import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator


def GFile(name: str, mode: str = "r") -> IO[Any]:
    """Opens a file, as Python's `open` does; "rb" gives bytes."""
    return Path(name).open(mode)


FastGFile = Open = GFile


def exists(path: str) -> bool:
    """Says whether a file or folder is there."""
    return Path(path).exists()


def isdir(path: str) -> bool:
    """Says whether a folder is there."""
    return Path(path).is_dir()


def glob(pattern: str | list[str]) -> list[str]:
    """Gives the sorted names of the files that match a pattern, or several."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return [path for one in patterns for path in sorted(globbing.glob(one))]  # noqa: PTH207 -- names, as given.


def listdir(path: str) -> list[str]:
    """Gives the names of what is in a folder, sorted."""
    return sorted(entry.name for entry in Path(path).iterdir())


def mkdir(path: str) -> None:
    """Makes a folder inside one that is there."""
    Path(path).mkdir()


def makedirs(path: str) -> None:
    """Makes a folder, and those around it; one that is there already stays."""
    Path(path).mkdir(parents=True, exist_ok=True)


def copy(src: str, dst: str, overwrite: bool = False) -> None:
    """Copies a file.

    Raises:
      FileExistsError: There is one already, and `overwrite` is not set.
    """
    if Path(dst).exists() and not overwrite:
        raise FileExistsError(f"{dst} exists already")
    shutil.copyfile(src, dst)


def rename(src: str, dst: str, overwrite: bool = False) -> None:
    """Gives a file another name.

    Raises:
      FileExistsError: There is one already, and `overwrite` is not set.
    """
    if Path(dst).exists() and not overwrite:
        raise FileExistsError(f"{dst} exists already")
    Path(src).replace(dst)


def remove(path: str) -> None:
    """Deletes a file."""
    Path(path).unlink()


def rmtree(path: str) -> None:
    """Deletes a folder with all that is in it."""
    shutil.rmtree(path)


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Gives each folder below `top` with the names of its folders and files."""
    return os.walk(top)


Exists, IsDirectory, Glob, ListDirectory, MkDir, MakeDirs = exists, isdir, glob, listdir, mkdir, makedirs
Copy, Rename, Remove, DeleteRecursively, Walk = copy, rename, remove, rmtree, walk

__getattr__ = functools.partial(refuse, "gfile")

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Walk",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "walk",
]
