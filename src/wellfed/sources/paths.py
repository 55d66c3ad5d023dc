"""The files that a source was given: one, several, or a pattern."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from wellfed.errors import SourceError
from wellfed.sources.base import StrPath, existing_path

Paths = StrPath | Iterable[StrPath]


def existing_files(paths: Paths) -> tuple[str, ...]:
    """The absolute paths of the files, in the order given; those of a pattern (`*`, `?`, `[...]`) sorted.

    Raises:
      SourceError: A file is missing, is a folder, a pipe or a URL, or is given twice; a pattern matches nothing.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: dict[str, None] = {}
    for path in given:
        for match in _matches(os.fspath(path)):
            if os.path.isdir(match):
                raise SourceError(f"is a folder; files are due, such as {os.path.join(match, '*')}", match)
            if not os.path.isfile(match):  # Opening a pipe may wait for ever.
                raise SourceError("is a pipe or device; rows are read from files, so write it to one first", match)
            if match in found:
                raise SourceError("is given twice. Name each file once", match)
            found[match] = None
    if not found:
        raise SourceError("no files are given; at least one is due", "")
    return tuple(found)


def group_names(paths: tuple[str, ...]) -> tuple[str, ...]:
    """A short, unique name for each file: its path from the folder that holds them all."""
    if len(paths) == 1:
        return (os.path.basename(paths[0]),)
    parent = os.path.commonpath([os.path.dirname(path) for path in paths])
    return tuple(os.path.relpath(path, parent).replace(os.sep, "/") for path in paths)


def _matches(path: str) -> list[str]:
    # A file whose name holds brackets is meant itself.
    if "://" in path or os.path.exists(path) or not glob.has_magic(path):
        return [existing_path(path)]
    matches = sorted(os.path.abspath(match) for match in glob.glob(path))
    if not matches:
        raise SourceError("matches no file. Check the pattern", path)
    return matches
