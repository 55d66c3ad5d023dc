"""What it costs to have more data: 10^4 to 10^8 records of two int64; prints the table of docs/profile.md.

    make curves
    python benchmarks/curves.py --most 6      # up to 10^6 records only

Each size is written, indexed, measured and removed again; 10^8 records take 5.4 GB meanwhile. A measurement is a
process of its own that has read a small file before, so that imports are outside; the median of several counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import wellfed as wf

WORK = Path(__file__).parent / "work" / "curves"
CHUNK = 1_000_000
BATCH, BATCHES = 64, 500
SPEC = {"a": wf.FixedLenFeature([], np.int64), "b": wf.FixedLenFeature([], np.int64)}
HEADINGS = (
    "records",
    "file",
    "index, once",
    "first batch",
    "after resuming",
    "in file order",
    "memory",
    "mapped pages",
)


def write(path: Path, records: int) -> None:
    """Both numbers of a record tell which it is, so that a wrong row would be seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wf.TFRecordWriter(path, overwrite=True) as writer:
        for start in range(0, records, CHUNK):
            numbers = np.arange(start, min(start + CHUNK, records))
            writer.write_examples({"a": numbers, "b": -numbers})


def dataset(path: Path, *, shuffled: bool) -> Any:
    records = wf.TFRecordDataset(str(path), SPEC)
    return (records.shuffle(seed=0) if shuffled else records).batch(BATCH)


def resident(field: str) -> int:
    """Memory of this process: `RssAnon` is its own, `RssFile` pages of mapped files. [bytes]."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def first_batch(path: Path, *, shuffled: bool, position: int) -> float:
    """Time from the path to a batch, from the start or from a saved state. [s]."""
    state = dataset(path, shuffled=shuffled).epoch(0).state_dict() | {"position": position}
    began = time.perf_counter()
    iterator = dataset(path, shuffled=shuffled).epoch(0)
    if position:
        iterator.load_state_dict(state)
    batch = next(iterator)
    seconds = time.perf_counter() - began
    iterator.close()
    assert (batch["a"] == -batch["b"]).all()
    return seconds


def measure(path: Path, what: str, records: int) -> float:
    """One figure, in a process that did nothing but warm up: seconds, or bytes for memory."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.tfrecord"
        write(small, 5000)
        for shuffled in (False, True):
            for _ in dataset(small, shuffled=shuffled):
                pass
        if what.startswith("Rss"):
            before = resident(what)
            iterator = dataset(path, shuffled=True).repeat().epoch(0)
            for _ in range(BATCHES):
                next(iterator)
            grown = resident(what) - before
            iterator.close()
            return grown
        position = records // BATCH // 2 if what == "resume" else 0
        return first_batch(path, shuffled=what != "order", position=position)


def median(path: Path, what: str, records: int, times: int) -> float:
    command = [sys.executable, __file__, "--measure", what, "--path", str(path), "--records", str(records)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(times)]
    return statistics.median(json.loads(run.stdout) for run in runs)


def line(exponent: int, times: int) -> tuple[str, ...]:
    records, path = 10**exponent, WORK / "curves.tfrecord"
    try:
        write(path, records)
        began = time.perf_counter()
        assert len(wf.RecordIndex.for_file(str(path))) == records
        indexed = time.perf_counter() - began
        first, resumed, order = (median(path, what, records, times) for what in ("first", "resume", "order"))
        own, mapped = (median(path, what, records, 1) for what in ("RssAnon", "RssFile"))
        size = path.stat().st_size
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    return (
        f"10^{exponent}",
        f"{size / 1e6:,.1f} MB",
        f"{indexed:.2f} s",
        *(f"{seconds * 1e3:.1f} ms" for seconds in (first, resumed, order)),
        f"{own / 1e6:.1f} MB",
        f"{mapped / 1e6:,.0f} MB",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=8, help="Up to ten to the power of this many records.")
    parser.add_argument("--least", type=int, default=4, help="From ten to the power of this many records on.")
    parser.add_argument("--times", type=int, default=5, help="Processes that are timed for a figure.")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--records", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.path, options.measure, options.records)))
        return
    print("| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS), flush=True)
    for exponent in range(options.least, options.most + 1):
        print("| " + " | ".join(line(exponent, options.times)) + " |", flush=True)


if __name__ == "__main__":
    main()
