"""Rows from a file that memory does not hold; prints the table of docs/feed.md. Linux, and root, for the limit.

    make larger

A file of 4 GB is written and read by processes that may use 512 MB of memory, files that the system keeps for them
included. For each order 1,000 batches of 64 are timed after the first, with the file not in memory at the start and an
index beside it. The median of three counts; what was read from the disk is the system's count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import wellfed as wf
from wellfed.io import RecordIndex
from wellfed.io.usable import usable_memory

WORK = Path(__file__).parent / "work" / "larger"
GROUPS = Path("/sys/fs/cgroup")
LIMIT = 512 << 20
BATCH, BATCHES, REPEATS = 64, 1000, 3
ROW_BYTES, CHUNK = 3072, 10_000
ORDERS = {
    "in file order": lambda rows: rows,
    "`shuffle(seed=0, block=1024)`": lambda rows: rows.shuffle(seed=0, block=1024),
    "`shuffle(seed=0)`": lambda rows: rows.shuffle(seed=0),
}


def write(path: Path, nbytes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    with wf.TFRecordWriter(path, overwrite=True) as writer:
        for _ in range(nbytes // (ROW_BYTES * CHUNK)):
            images = random.integers(0, 256, (CHUNK, ROW_BYTES), np.uint8)
            writer.write_examples({"image": [image.tobytes() for image in images], "label": np.arange(CHUNK)})
    RecordIndex.for_file(path)


def group() -> Path:
    """A control group of this process's own that may use `LIMIT` bytes."""
    version_1 = GROUPS / "memory"
    made = (version_1 if version_1.is_dir() else GROUPS) / f"wellfed-larger-{os.getpid()}"
    try:
        made.mkdir()
        (made / ("memory.limit_in_bytes" if version_1.is_dir() else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        raise SystemExit(
            f"no group with a limit of memory can be made: {error}; root may where groups are mounted"
        ) from None
    return made


def measure(path: Path, order: str, members: Path) -> dict[str, float]:
    """Runs in a process of its own, which joins the group first."""
    members.write_text(str(os.getpid()))
    assert usable_memory() <= LIMIT
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    features = {"image": wf.RawFeature([ROW_BYTES], np.uint8), "label": wf.FixedLenFeature([], np.int64)}
    batches = iter(ORDERS[order](wf.TFRecordDataset([path], features=features)).batch(BATCH))
    next(batches)
    start, before = time.perf_counter(), read_bytes()
    for _ in range(BATCHES):
        next(batches)
    rows, seconds = BATCH * BATCHES, time.perf_counter() - start
    return {"rows": rows / seconds, "bytes": (read_bytes() - before) / rows}


def read_bytes() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def measured(path: Path, order: str, members: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", str(path), order, str(members)]
    found = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(REPEATS)]
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        path, order, members = arguments.measure
        print(json.dumps(measure(Path(path), order, Path(members))))
        return
    path, made = WORK / "larger.tfrecord", group()
    table = Table(
        "order", "rows/s", "read from the disk, a row of 3.1 KB", title=f"{arguments.gigabytes:g} GB, memory 0.5 GB"
    )
    try:
        write(path, int(arguments.gigabytes * 1e9))
        for order in ORDERS:
            found = measured(path, order, made / "cgroup.procs")
            table.add_row(order, f"{found['rows']:,.0f}", f"{found['bytes'] / 1e3:.1f} KB")
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
        made.rmdir()
    Console().print(table)


if __name__ == "__main__":
    main()
