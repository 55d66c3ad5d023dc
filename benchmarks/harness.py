"""How two programs are timed beside each other.

    run.py (parent)                     worker.py wellfed        worker.py tensorflow
      pair 1:  "first"  -------------->  a timed pass
               "later"  -------------->  a timed pass
               "later"  --------------------------------------->  a timed pass
      pair 2:  ...

Each side is a process that stays alive, so imports and warm-up are outside every time, and one side rests while the
other runs. A command is a line on the worker's standard input, its answer one line of JSON. Before the first pair each
side makes one untimed pass whose arrays are summed up; the sums must be equal, or the row fails: both deliver the same.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import layouts

HERE = Path(__file__).parent
WORK = HERE / "work"

Batch = Mapping[str, Any]


class Side(Protocol):
    """One program's way of doing a row's job.

    A side may have a `proof()` of its own, where its batches are not what is compared, and a `prefix(records)`, the job
    on the first records only. One whose job is no stream of batches has a `figure()` in place of the methods below.
    """

    def forget(self) -> None:
        """Drops everything that an earlier pass left: open files, mappings, indexes. Not timed."""

    def first(self) -> Iterable[Batch]:
        """The job for someone who does it the first time: opening, mapping and indexing are inside."""

    def later(self) -> Iterable[Batch]:
        """The job once more, with everything that is kept between epochs in place."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
      name: What is done, unique.
      sides: Program to the function that makes its `Side` from the work folder.
      data: Name of the file that the row reads; "" for none.
      due: Peer to the ratios that are due on first use and later; None where none is.
      make: Makes the file, from the work folder and its name, in TensorFlow's environment.
      prefix: Peer to the number of records it is timed on, where the whole file would take it minutes.
      unit: What the figure counts; "s" and "MB" are costs, where less is better, anything else is a rate per second.
      ordered: Whether both sides deliver in the same order.
      limit: For a row without a peer: the least rate, or the highest cost, that is due.
      later: Whether there is a later epoch to time: what is read has one, what is written or paid once has none.
      environment: The environment that both sides run in, where the peer has none of its own; see `python_of`.
    """

    name: str
    sides: Mapping[str, Callable[[Path], Side]]
    data: str = ""
    due: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    prefix: Mapping[str, int] = field(default_factory=dict)
    make: Callable[[Path, str], None] = layouts.make
    unit: str = "records"
    ordered: bool = True
    limit: float | None = None
    later: bool = True
    environment: str = ""

    def python_of(self, side: str) -> Path | str:
        """The interpreter a side runs in."""
        return python_of(self.environment or side)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is timed."""
        return ("first", "later") if self.data and self.later else ("first",)

    @property
    def is_cost(self) -> bool:
        return self.unit in {"s", "MB"}

    @property
    def is_alone(self) -> bool:
        return set(self.sides) == {"wellfed"}

    def holds(self, figure: float) -> bool:
        """Whether a figure of a row without a peer is what is due."""
        return self.limit is None or (figure <= self.limit if self.is_cost else figure >= self.limit)

    def ratio(self, ours: float, theirs: float) -> float:
        return theirs / ours if self.is_cost else ours / theirs


@dataclass
class Figures:
    """What the pairs of one column gave."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float, ratio: float) -> None:
        self.ours.append(ours)
        self.theirs.append(theirs)
        self.ratios.append(ratio)

    def summary(self) -> dict[str, float]:
        """Medians of the figures and of the ratios, and the ratios' spread."""
        return {
            "wellfed": statistics.median(self.ours),
            "peer": statistics.median(self.theirs),
            "ratio": statistics.median(self.ratios),
            "ratio_min": min(self.ratios),
            "ratio_max": max(self.ratios),
            "pairs": len(self.ratios),
        }


class Worker:
    """A side in a process of its own. A context manager: leaving it ends the process."""

    def __init__(self, python: Path | str, row: Row, side: str) -> None:
        command = [str(python), str(HERE / "worker.py"), row.name, side]
        # Libraries greet; only what a worker said before it failed is worth a line.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 -- ends with it.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
        )

    def ask(self, command: str) -> Any:
        """Sends one line, waits for its answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            self._said.seek(0)
            said = self._said.read()[-4000:]
            raise RuntimeError(f"the worker ended at {command!r} with exit code {code}; it said:\n{said}")
        return json.loads(answer)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # Closing its input ends it.
        self._said.close()


# A peer that has no environment of its own name.
ENVIRONMENTS = {"torch": "partners"}


def python_of(side: str) -> Path | str:
    """The interpreter a side runs in: this one for wellfed, the one of .venvs/NAME for a peer."""
    name = side.partition(" ")[0]
    environment = HERE.parent / ".venvs" / ENVIRONMENTS.get(name, name) / "bin" / "python"
    return sys.executable if side == "wellfed" else environment


def measure_alone(row: Row, times: int) -> list[float]:
    """Times wellfed on a row that has no peer."""
    with Worker(python_of("wellfed"), row, "wellfed") as ours:
        ours.ask("prove")
        return [ours.ask(row.columns[-1]) for _ in range(times)]


def compare(row: Row, peer: str, pairs: int) -> dict[str, Figures]:
    """Times wellfed and a peer in turn; returns the figures of each of the row's columns."""
    with Worker(row.python_of("wellfed"), row, "wellfed") as ours, Worker(row.python_of(peer), row, peer) as theirs:
        prove = f"prove {row.prefix[peer]}" if peer in row.prefix else "prove"
        sums = ours.ask(prove), theirs.ask(prove)
        if sums[0] != sums[1]:
            raise RuntimeError(f"{row.name}: wellfed delivers {sums[0]}, {peer} {sums[1]}")
        figures = {column: Figures() for column in row.columns}
        for _ in range(pairs):
            their_figure = theirs.ask(row.columns[-1])
            for column in row.columns:
                our_figure = ours.ask(column)
                figures[column].add(our_figure, their_figure, row.ratio(our_figure, their_figure))
    return figures
