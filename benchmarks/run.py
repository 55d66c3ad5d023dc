"""Times wellfed beside other programs, prints the table of design goals and what was reached, and keeps the history.

make bench                                    every row, beside TensorFlow
make bench ROWS="'MNIST in order' import"     some rows
make bench PEERS=all PAIRS=9                  the other readers too, more pairs
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import rows
from harness import HERE, WORK, Figures, Row, compare, measure_alone, python_of
from layouts import path_of

HISTORY = HERE / "history.jsonl"
WIDTH = 132  # Of the table in a file or a pipe.


def machine() -> str:
    """Processor and number of cores this process may use."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores"


def version_in(python: Path | str, distribution: str) -> str:
    program = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return subprocess.run([str(python), "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def circumstances() -> dict[str, Any]:
    """What a figure depends on, beside the code."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, check=True, capture_output=True, text=True
    )
    return {
        "commit": commit.stdout.strip(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
    }


def make_data(row: Row) -> None:
    """Makes the row's file where it is not there yet, once for all rows that read it."""
    if row.data and not path_of(WORK, row.data).exists():
        command = [str(python_of("tensorflow")), str(HERE / "worker.py"), row.name, "make"]
        made = subprocess.run(command, check=False, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(f"{row.data} could not be made:\n{made.stderr[-4000:]}")
        print(made.stdout, end="", flush=True)


def figure(value: float, row: Row) -> str:
    if row.is_cost:
        return f"{value:,.3g} {row.unit}"
    unit = "B" if row.unit == "bytes" else ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}{unit}/s"
    return f"{value:.3g} {unit}/s"


def verdict(figures: Figures, due: float | None) -> tuple[str, str]:
    """The ratio with its spread, and what was due: green where it is met."""
    found = figures.summary()
    text = f"{found['ratio']:.3g}x ({found['ratio_min']:.3g}..{found['ratio_max']:.3g})"
    if due is None:
        return text, ""
    colour = "green" if found["ratio"] >= due else "red"
    return f"[{colour}]{text}[/]", f"{due:g}x"


def add_to(table: Table, row: Row, peer: str, columns: dict[str, Figures]) -> None:
    theirs = columns[row.columns[-1]].summary()["peer"]
    cells = [row.name, figure(theirs, row)]
    for column, due in zip(row.columns, row.due.get(peer, (None, None)), strict=False):
        cells += [figure(columns[column].summary()["wellfed"], row), *verdict(columns[column], due)]
    table.add_row(*cells)


def keep(row: Row, peer: str, columns: dict[str, Figures], facts: dict[str, Any]) -> None:
    """Appends one JSON line a case to the history."""
    with HISTORY.open("a", encoding="utf-8") as history:
        for column, figures in columns.items():
            line = {"case": row.name, "peer": peer, "column": column, "unit": row.unit, **figures.summary(), **facts}
            history.write(json.dumps(line) + "\n")


def run_alone(cases: list[Row], times: int, facts: dict[str, Any], console: Console) -> None:
    """The rows that have no peer: a figure, its spread, and what is due."""
    table = Table("job", "wellfed alone", "spread", "due", title=facts["machine"])
    for row in cases:
        make_data(row)
        found = measure_alone(row, times)
        middle = statistics.median(found)
        colour = "green" if row.holds(middle) else "red"
        spread = f"{figure(min(found), row)} .. {figure(max(found), row)}"
        due = "" if row.limit is None else f"{'at most' if row.is_cost else 'at least'} {figure(row.limit, row)}"
        table.add_row(row.name, f"[{colour}]{figure(middle, row)}[/]", spread, due)
        line = {"case": row.name, "peer": None, "column": "first", "unit": row.unit, "wellfed": middle}
        line |= {"least": min(found), "greatest": max(found), "due": row.limit, "times": times, **facts}
        with HISTORY.open("a", encoding="utf-8") as history:
            history.write(json.dumps(line) + "\n")
    console.print(table)
    print(f"{len(cases)} rows of wellfed alone")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="Rows whose names contain this; all where none is given."
    )
    parser.add_argument("--pairs", type=int, default=5, help="Pairs of passes; the median of their ratios counts.")
    parser.add_argument("--peers", nargs="*", default=["tensorflow"], help="Whom to time wellfed beside.")
    parser.add_argument("--list", action="store_true", help="Print the rows' names and stop.")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    chosen = [row for row in rows.all_rows() if not options.rows or any(part in row.name for part in options.rows)]
    if options.list:
        print(*(row.name for row in chosen), sep="\n")
        return 0
    console, facts = Console(width=None if sys.stdout.isatty() else WIDTH), circumstances()
    alone = [row for row in chosen if row.is_alone]
    if alone:
        run_alone(alone, options.pairs, facts, console)
    for peer in options.peers:
        cases = [row for row in chosen if peer in row.sides]
        if alone and not cases:
            continue
        table = Table(
            "job", peer, "wellfed, first use", "ratio", "due", "later", "ratio", "due", title=facts["machine"]
        )
        for row in cases:
            make_data(row)
            columns = compare(row, peer, options.pairs)
            add_to(table, row, peer, columns)
            keep(
                row, peer, columns, {**facts, "peer_version": version_in(row.python_of(peer), PACKAGES.get(peer, peer))}
            )
            console.print(row.name, *(f"{name} {verdict(columns[name], None)[0]}" for name in columns), highlight=False)
        console.print(table)
        print(f"{len(cases)} rows beside {peer}")
        if not cases and not alone:
            return 1
    return 0


# The distribution that stands for a peer, where it has another name.
PACKAGES = {"tensorflow": "tensorflow-cpu", "dali": "nvidia-dali-cuda120"}

if __name__ == "__main__":
    sys.exit(main())
