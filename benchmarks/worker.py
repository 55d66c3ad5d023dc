"""One side of one row: does a pass for each line on its standard input, and answers with one line of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import rows
from checksum import Checksum
from harness import WORK, Batch, Row, Side

LEAST_SECONDS = 0.25  # A shorter pass is repeated: one alone would measure the clock and the scheduler.


def rows_of(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def timed(side: Side, column: str) -> float:
    """Rows per second over at least `LEAST_SECONDS` of passes."""
    done, seconds = 0, 0.0
    while seconds < LEAST_SECONDS:
        if column == "first":
            side.forget()
        start = time.perf_counter()
        for batch in getattr(side, column)():
            done += rows_of(batch)
        seconds += time.perf_counter() - start
    return done / seconds


def proof(side: Any, row: Row, records: int | None) -> Any:
    """What the side delivers, as a sum of it; this pass is its warm-up too."""
    if hasattr(side, "proof"):
        return side.proof()
    checksum = Checksum(ordered=row.ordered)
    for batch in side.later() if records is None else side.prefix(records):
        checksum.add(batch)
    timed(side, "later")
    return checksum.result()


def answer(side: Any, row: Row, command: str) -> Any:
    """Does what one line asks for."""
    word, _, records = command.partition(" ")
    if word == "prove":
        return proof(side, row, int(records) if records else None)
    return side.figure() if hasattr(side, "figure") else timed(side, word)


def main() -> None:
    row = rows.by_name(sys.argv[1])
    if sys.argv[2] == "make":
        row.make(WORK, row.data)
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever else prints goes to standard error, which is shown where the worker fails.
    side = row.sides[sys.argv[2]](WORK)
    for line in sys.stdin:
        print(json.dumps(answer(side, row, line.strip())), file=answers, flush=True)


if __name__ == "__main__":
    main()
