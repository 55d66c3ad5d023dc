"""Which files a name stands for: a path, a pattern, or `spec@N`.

    data.tfrecord                     that file
    train-*.tfrecord                  every file that fits, sorted by number
    train@8                           train-00000-of-00008 to train-00007-of-00008
    train.tfrecord@8                  train.tfrecord-00000-of-00008 and so on

Shards are known by one rule, whoever wrote them: a number, "-of-", their count, whatever stands around.

    mnist-train.tfrecord-00000-of-00001       TFDS                   part-00003-of-00010.tfrecord   Beam
    train-00000-of-01024                      slim, ImageNet         coco_train.record-00003-of-00100
    name_train_00982-of-01024.tfrecord                               data_00001.tfrecord  (no count: not checked)
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellfed.errors import DatasetError
from wellfed.io.attempts import Attempts
from wellfed.io.files import is_url, local_path, path_text
from wellfed.io.remote import Counts, RemoteOptions
from wellfed.io.systems import open_system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.io.files import PathLike

_SHARD = re.compile(r"^(?P<before>.*?)(?P<number>\d+)-of-(?P<count>\d+)(?P<after>[^/\\]*)$", re.DOTALL)
_SPEC = re.compile(r"^(?P<stem>.+)@(?P<count>\d+)$", re.DOTALL)
_MAGIC = re.compile(r"[*?[]")
_NAMED = 3  # Missing shards that an error names.
_MAX_SHARDS = 1_000_000  # More are a damaged name; looking for each of them would take for ever.


@dataclass(frozen=True, slots=True)
class ShardName:
    """A file name of the form BEFORE number -of- count AFTER.

    Attributes:
      before: What stands in front of the number, with folders.
      number: 0-based.
      count: How many shards there are.
      after: What stands behind the count, such as ".gz".
    """

    before: str
    number: int
    count: int
    after: str

    @classmethod
    def parse(cls, path: str) -> ShardName | None:
        """Takes a path apart; None where it names no shard of a counted set."""
        found = _SHARD.match(path)
        if found is None:
            return None
        before, number, count, after = found.groups()
        return cls(before, int(number), int(count), after)


def expand_patterns(files: PathLike | Iterable[PathLike]) -> list[str]:
    """The files that one or more names stand for.

    Args:
      files: A path, URL, pattern or `spec@N`, or several. A name that exists is that file, whatever characters it has.

    Returns:
      Paths in the order of the names; those of one pattern sorted by the numbers in them, without hidden files.

    Raises:
      FileNotFoundError: A pattern matches nothing, or no name was given.
      IsADirectoryError: A name is that of a folder here.
      TypeError: A name is no path.
      DatasetError: A pattern that asks for shards "of N" finds fewer than N; each missing one is named.
    """
    one = isinstance(files, (str, bytes, os.PathLike)) or not isinstance(files, Iterable)
    names = [path_text(name) for name in cast("Iterable[PathLike]", [files] if one else files)]
    if not names or "" in names:
        raise FileNotFoundError("no file was named" if not names else "a name is empty: a file or a pattern is due")
    return [path for name in names for path in _expand_one(name)]


def number_key(path: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which `data_10` comes after `data_9`."""
    pieces = re.split(r"(\d+)", path)
    return tuple((1, int(piece), piece) if piece.isdecimal() else (0, 0, piece) for piece in pieces)


def _expand_one(name: str) -> list[str]:
    if not is_url(name) and os.path.lexists(local_path(name)):
        if Path(local_path(name)).is_dir():
            files = f"{name.rstrip('/')}/*.tfrecord"
            raise IsADirectoryError(
                f"{name} is a folder: name the files in it, such as {files}; wf.open takes a data set"
            )
        return [name]
    spec = _SPEC.match(name)
    if spec:
        count = int(spec["count"])
        if count > _MAX_SHARDS:
            raise DatasetError(f"asks for {count:,} shards; {_MAX_SHARDS:,} at most are looked for", name)
        return [f"{spec['stem']}-{number:05d}-of-{count:05d}" for number in range(count)]
    if not _is_pattern(name):
        return [name]
    found = sorted(_glob(name), key=number_key)
    if not found:
        raise FileNotFoundError(f"no file matches {name}")
    _check_complete(name, found)
    return found


def _is_pattern(name: str) -> bool:
    if name.startswith(("http://", "https://")):
        name = name.partition("?")[0]  # A query follows, as in an address that was signed.
    return _MAGIC.search(name) is not None


def _glob(pattern: str) -> list[str]:
    if not is_url(pattern):
        return [path for path in glob.glob(local_path(pattern), recursive=True) if Path(path).is_file()]  # noqa: PTH207 -- gives the caller's own spelling.
    system, name = open_system(pattern)
    system.invalidate_cache()  # fsspec remembers listings; files may have come since.
    found = Attempts(RemoteOptions(), Counts()).make(lambda: system.glob(name), pattern)
    paths = [_spelled(pattern, name, path) or system.unstrip_protocol(path) for path in found]
    return [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]


def _spelled(pattern: str, name: str, path: str) -> str:
    """A name that a file system gives, spelled as the caller does: with its host, and as many slashes."""
    for tail in (name, name.lstrip("/")):
        if tail and pattern.endswith(tail):
            return pattern[: -len(tail)] + (path if tail == name else path.lstrip("/"))
    return ""


def _check_complete(pattern: str, found: list[str]) -> None:
    """Refuses a set with a hole: shards that the pattern would match if they were there."""
    missing = list(islice(_missing(pattern, found), _NAMED + 1))
    if missing:
        names = ", ".join(Path(name).name for name in missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        raise DatasetError(f"{len(found)} files match, but shards are missing: {names}", pattern)


def _missing(pattern: str, found: list[str]) -> Iterator[str]:
    shards = [shard for shard in map(ShardName.parse, found) if shard is not None]
    there = set(shards)
    for before, count, after in sorted({(shard.before, shard.count, shard.after) for shard in shards}):
        width = _width(found, before, after)
        for number in range(min(count, _MAX_SHARDS)):
            name = f"{before}{number:0{width}d}-of-{count:0{width}d}{after}"
            if ShardName(before, number, count, after) not in there and _fits(name, pattern):
                yield name


def _width(found: list[str], before: str, after: str) -> int:
    """Digits of the numbers in a set of shards."""
    for path in found:
        match = _SHARD.match(path)
        if match and (match["before"], match["after"]) == (before, after):
            return len(match["number"])
    return 5


def _fits(path: str, pattern: str) -> bool:
    """As glob: `*` does not match a "/"."""
    path, pattern = _without_protocol(path), _without_protocol(pattern)
    if "**" in pattern.split("/"):
        return fnmatch.fnmatchcase(path, pattern)
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _without_protocol(path: str) -> str:
    # fsspec's file systems spell a name with one slash more or less than the caller did.
    return path.rpartition("://")[2].lstrip("/")
