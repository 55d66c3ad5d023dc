"""Files behind data sets: names and patterns, and the order of records that are interleaved from several files."""

from __future__ import annotations

from glob import glob
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import feed
from wellfed.columns import Bytes
from wellfed.compat.deferred.eager import plain
from wellfed.compat.iterators import no_match

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_FILES = 100_000  # Of more files, nobody asks how many records each has.


def file_paths(patterns: Any) -> list[str]:
    """Gives the sorted names of the files that match patterns.

    Raises:
      InvalidArgumentError: No file matches.
    """
    names = np.atleast_1d(np.asarray(plain(patterns), object)).tolist()
    texts = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    found = sorted({path for text in texts for path in glob(text)})  # noqa: PTH207 -- names, as given.
    if not found:
        raise no_match(", ".join(texts))
    return found


def named_files(filenames: Any) -> list[str]:
    """Gives the names that a string, an array or list of them, or a data set of them stands for."""
    behind = getattr(filenames, "behind", None)
    names = list(behind) if behind is not None else np.atleast_1d(np.asarray(plain(filenames), object)).tolist()
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]


def records(files: Sequence[str], compression_type: str) -> feed.Dataset:
    """Gives the records of files, in their order; of no files, none."""
    if not files:
        return feed.from_arrays(Bytes.from_list([]))
    return feed.TFRecordDataset([_literal(file) for file in files], compression_type=compression_type)


def _literal(path: str) -> str:
    """Gives a name that is no pattern."""
    return (
        "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
        if any(c in path for c in "*?[")
        else path
    )


def interleaved(
    names: feed.Dataset, make: Callable[[bytes], Any], cycle_length: int, block_length: int
) -> feed.Dataset | None:
    """Gives the records of many files in the order of `interleave`, as rows of one data set of all of them.

    Args:
      names: The files' names.
      make: The function given to `interleave`.
      cycle_length: How many files are read in turn.
      block_length: How many records are taken from one before the next.

    Returns:
      The records; None where the names have no length, or the function makes anything but plain `TFRecordDataset`s.
    """
    try:
        if len(names) > MOST_FILES:
            return None
    except TypeError:
        return None
    paths = list(names)
    made = [make(path) for path in paths]
    if not made or not all(getattr(one, "files", None) for one in made):
        return None
    counts = [len(one) for one in made]
    whole = made[0].behind.concatenate(*(one.behind for one in made[1:])) if len(made) > 1 else made[0].behind
    found: feed.Dataset = whole.select(interleave_order(counts, cycle_length, block_length))
    return found


def interleave_order(counts: Sequence[int], cycle_length: int, block_length: int) -> np.ndarray[Any, Any]:
    """Gives the row numbers, over all files end to end, in the order in which `interleave` takes them.

    While no open file ends, whole rounds follow by arithmetic; where one does, a turn is done by hand.
    """
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    order: list[np.ndarray[Any, Any]] = []
    waiting = iter(range(len(counts)))
    places: list[int | None] = [None] * cycle_length
    done = np.zeros(len(counts), np.int64)
    turn, ended, is_open = 0, False, 0
    while is_open or not ended:
        if turn == 0 and is_open == cycle_length:
            files = np.array(places)
            rounds = int(((np.array(counts)[files] - done[files]) // block_length).min())
            if rounds > 0:
                blocks = (starts[files] + done[files])[None, :, None] + np.arange(rounds)[:, None, None] * block_length
                order.append((blocks + np.arange(block_length)).reshape(-1))
                done[files] += rounds * block_length
        place = places[turn]
        if place is None and not ended:
            following = next(waiting, None)
            if following is None:
                ended = True
            else:
                places[turn], is_open = following, is_open + 1
            continue
        if place is not None:
            block = min(block_length, counts[place] - int(done[place]))
            order.append(starts[place] + done[place] + np.arange(block))
            done[place] += block
            if block < block_length:
                places[turn], is_open = None, is_open - 1
        turn = (turn + 1) % cycle_length
    return np.concatenate(order) if order else np.empty(0, np.int64)
