"""What it costs to have: the time of the import, and the room on disk."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from harness import Row

_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Import:
    """A fresh process that runs an import, less one that runs nothing."""

    def __init__(self, program: str, _: Path) -> None:
        self._program = program

    def figure(self) -> float:
        """Seconds."""
        return self._seconds(self._program) - self._seconds("pass")

    def proof(self) -> list[Any]:
        self.figure()  # The first import after an installation compiles or reads from a cold disk.
        return ["import"]

    @staticmethod
    def _seconds(program: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        return time.perf_counter() - start


class Size:
    """The files of a distribution and of all that it needs, as they are installed."""

    def __init__(self, distribution: str, _: Path) -> None:
        self._distribution = distribution

    def figure(self) -> float:
        """Megabytes."""
        return sum(map(_installed_bytes, _closure(self._distribution))) / 1e6

    def proof(self) -> list[Any]:
        return ["size"]


def _closure(name: str) -> set[str]:
    """The distribution and, without extras, all that it requires and is installed."""
    found: set[str] = set()
    due = [name]
    while due:
        name = due.pop().lower().replace("_", "-")
        try:
            requires = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # Needed on another system or Python only.
        if name not in found:
            found.add(name)
            due += [_NAME.match(line)[0] for line in requires if "extra ==" not in line]  # type: ignore[index]
    return found


def _installed_bytes(distribution: str) -> int:
    paths = [Path(str(file.locate())) for file in importlib.metadata.files(distribution) or []]
    return sum(path.stat().st_size for path in paths if path.exists())


def row(name: str, unit: str, due: float | None, ours: Any, theirs: Any) -> Row:
    return Row(name, {"wellfed": ours, "tensorflow": theirs}, due={"tensorflow": (due, None)}, unit=unit)


ROWS = (
    row("import", "s", 30, partial(Import, "import wellfed"), partial(Import, "import tensorflow")),
    # wellfed's names are resolved on first use: this is what a program that reads pays in the end.
    row(
        "import, and ready to read",
        "s",
        None,
        partial(Import, "import wellfed; wellfed.TFRecordDataset, wellfed.parse_example"),
        partial(Import, "import tensorflow; tensorflow.data.TFRecordDataset"),
    ),
    row("installed size", "MB", 10, partial(Size, "wellfed"), partial(Size, "tensorflow-cpu")),
)
