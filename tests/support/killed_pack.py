"""Packs in a process that kills itself with SIGKILL at the k-th operation on the packed folder.

    python killed_pack.py OUT K [--overwrite] [--two-workers] [--stream]
    python killed_pack.py OUT MARKER --from-worker
    python killed_pack.py OUT threads|processes --timed
    python killed_pack.py OUT - --interrupted

An operation is a file opened for writing, renamed, removed, or a folder made or removed. With K too large the pack
ends; the exit code is then 0 and the number of operations is printed. With one worker k means the same each time. In
the second form it is the pack's own worker process that kills it. In the third it says when it begins and when it ends,
and whoever started it kills it. In the fourth a Ctrl-C comes that ends the worker processes too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_source import ManyItems, TinySource

from wellfed.datasets.folder import open_folder
from wellfed.packing import PackOptions, pack
from wellfed.packing.job import Job
from wellfed.packing.packer import Packer
from wellfed.packing.run import LocalPool

WATCHED = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}
OPTIONS = {"name": "tiny", "split": {"train": 0.7, "test": 0.3}, "shards": 3, "seed": 4}
SOURCE = TinySource(60)
LONG_SOURCE = TinySource(3000)
LONG_OPTIONS = {**OPTIONS, "shards": 12}


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


@dataclass(frozen=True)
class KillsItsParent(TinySource):
    """Kills the process that packs from one of its worker processes, then goes on loading for ever.

    Attributes:
      marker: A file that gets the worker's process id first.
    """

    marker: str = ""

    def load(self, index: int) -> dict[str, Any]:
        """Never comes back."""
        parent = multiprocessing.parent_process()
        assert parent is not None
        Path(self.marker).write_text(str(os.getpid()), encoding="utf-8")
        os.kill(parent.pid, signal.SIGKILL)
        threading.Event().wait()
        raise AssertionError("waited for nothing, for ever")


def interrupt(_progress: object) -> None:
    """Does what Ctrl-C does on a terminal, where it reaches the workers while they start."""
    for worker in multiprocessing.active_children():
        worker.kill()
    raise KeyboardInterrupt


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


def pack_stream(out: str | os.PathLike[str]) -> None:
    """Packs an iterable as it comes, into several shards of two splits."""
    rows = ({"number": number, "text": "a" * (number % 50)} for number in range(60))
    pack(rows, out, name="s", split={"train": 0.7, "test": 0.3}, shuffle=False, shard_size=1500, workers=1)


def main(out: str, argument: str, *flags: str) -> None:
    """Packs until it is killed."""
    if "--from-worker" in flags:
        source = KillsItsParent(10, marker=argument)
        job = Job.plan(source, PackOptions(name="tiny"))
        pool = LocalPool(1, processes=True)
        Packer(job, out, open_folder(out), on_error="raise", overwrite=False, progress=None).run(pool)
    if "--interrupted" in flags:
        # Tasks larger than a pipe: they are being sent when the workers end.
        job = Job.plan(ManyItems(200_000), PackOptions(name="many", shards=16))
        packer = Packer(job, out, open_folder(out), on_error="raise", overwrite=False, progress=interrupt)
        packer.run(LocalPool(2, processes=True))
    if "--timed" in flags:
        source, options = LONG_SOURCE, PackOptions(**LONG_OPTIONS)  # type: ignore[arg-type]  # They are its fields.
        print("begin", flush=True)
        packer = Packer(
            Job.plan(source, options), out, open_folder(out), on_error="raise", overwrite=False, progress=None
        )
        packer.run(LocalPool(2, processes=argument == "processes"))
        print("end", flush=True)
        return
    countdown = Countdown(out, int(argument))
    sys.addaudithook(countdown)
    if "--stream" in flags:
        pack_stream(out)
        print(countdown.seen)
        return
    workers = 2 if "--two-workers" in flags else 1
    pack(SOURCE, out, workers=workers, overwrite="--overwrite" in flags, **OPTIONS)
    print(countdown.seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
