"""Packs in a process that kills itself with SIGKILL at the k-th operation on the packed folder.

    python killed_pack.py OUT K [--overwrite]

An operation is a file opened for writing, renamed, removed, or a folder made or removed. With K too large the pack
ends; the exit code is then 0 and the number of operations is printed. One worker, so that k means the same each time.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_source import TinySource

from wellfed.packing import pack

WATCHED = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 3, "seed": 4}
SOURCE = TinySource(60)


@dataclass(frozen=True)
class KillsItsProcess(TinySource):
    """Kills the process that reads it, the first time item 3 is read.

    Attributes:
      marker: A file that is made by then.
    """

    marker: str = ""

    def load(self, index: int) -> dict[str, Any]:
        """Gives an item, or ends."""
        if int(self.listing().places["number"][index]) == 3 and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().load(index)


class Countdown:
    """Counts the operations under a folder and kills the process at the one it was told."""

    def __init__(self, folder: str, last: int) -> None:
        self.folder, self.last, self.seen = str(Path(folder).absolute()), last, 0

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """Is called by Python before each audited operation."""
        if event not in WATCHED or not isinstance(args[0], str | os.PathLike):
            return
        if event == "open" and not int(args[2]) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):  # type: ignore[call-overload]
            return
        if not str(Path(args[0]).absolute()).startswith(self.folder):
            return
        self.seen += 1
        if self.seen == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    out, last = sys.argv[1], int(sys.argv[2])
    countdown = Countdown(out, last)
    sys.addaudithook(countdown)
    pack(SOURCE, out, workers=1, overwrite="--overwrite" in sys.argv, **OPTIONS)
    print(countdown.seen)
