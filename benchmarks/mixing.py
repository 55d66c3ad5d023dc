"""How well each kind of shuffle mixes a file that is sorted by class; prints the table of docs/feed.md."""

from __future__ import annotations

import numpy as np

import wellfed as wf

ROWS, CLASSES, BATCH = 60_000, 10, 64


def measure(order: np.ndarray) -> str:
    """Neighbours kept, classes in the first batch, and where the last class first comes."""
    kept = int((np.diff(order) == 1).sum())
    labels = order * CLASSES // ROWS
    return f"{kept:,} | {len(set(labels[:BATCH].tolist()))} | {int(np.argmax(labels == CLASSES - 1)):,}"


def main() -> None:
    """Prints a line a kind of shuffle."""
    rows = wf.from_arrays(np.arange(ROWS))
    kinds = {
        "no shuffle": rows,
        "`shuffle()`": rows.shuffle(seed=0),
        "`shuffle(block=100)`": rows.shuffle(seed=0, block=100),
        "`shuffle(10000, block=100)`": rows.shuffle(10_000, seed=0, block=100),
        "`shuffle(1000)` after `filter`": rows.filter(lambda x: True).shuffle(1000, seed=0),  # noqa: ARG005 -- all pass.
        "`shuffle(10000)` after `filter`": rows.filter(lambda x: True).shuffle(10_000, seed=0),  # noqa: ARG005 -- all pass.
    }
    for name, dataset in kinds.items():
        print(f"| {name} | {measure(np.array([int(x) for x in dataset]))} |")


if __name__ == "__main__":
    main()
