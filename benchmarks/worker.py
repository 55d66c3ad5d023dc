"""One side of one row: does a pass for each word on its standard input, and answers with one line of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import rows
from checksum import Checksum
from harness import WORK, Batch, Row, Side

if TYPE_CHECKING:
    from collections.abc import Callable

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


def proof(side: Side, row: Row) -> Any:
    """What the side delivers, as a sum of it; this pass is its warm-up too."""
    own = getattr(side, "proof", None)
    if own is not None:
        return own()
    checksum = Checksum(ordered=row.ordered)
    for batch in side.later():
        checksum.add(batch)
    return checksum.result()


def figure(side: Side, row: Row) -> dict[str, Callable[[], Any]]:
    """The words that a worker understands."""
    own = getattr(side, "figure", None)
    return {
        "prove": lambda: proof(side, row),
        "first": own or (lambda: timed(side, "first")),
        "later": own or (lambda: timed(side, "later")),
    }


def main() -> None:
    row = rows.by_name(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever else prints goes to standard error.
    side = row.sides[sys.argv[2]](WORK)
    words = figure(side, row)
    for line in sys.stdin:
        print(json.dumps(words[line.strip()]()), file=answers, flush=True)


if __name__ == "__main__":
    main()
