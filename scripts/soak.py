"""Feeds for a long time with early breaks, errors, damage, forks and resumes; nothing may grow, and nothing may hang.

    python scripts/soak.py --seconds 1800 --seed 7

Each round draws a plan and something to do to it. The seed is printed: the same seed draws the same rounds. What a leak
would make grow is measured after a warm-up and at the end, and printed ten times in between. A round that does not end
within two minutes prints the stack of every thread and ends the program.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wellfed as wf
from wellfed.adapters.loader import Loader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S, SETTLE_S = 120, 5
RECORDS = 5000
PROCESSES_EVERY = 20  # Plans of which one has processes: they take long to start.
FEATURES = {"x": wf.FixedLenFeature([], np.int64)}
# How much more there may be at the end. An allocator's ups and downs stay below 64 MB; a leaked unit a round does not.
ALLOWED = {"threads": 0, "descriptors": 0, "memory_bytes": 64 << 20, "children": 0, "shared_memory": 0, "files": 0}


@dataclass(frozen=True)
class Footprint:
    """What a leak would make grow.

    Attributes:
      threads: Of this process, by the system's count.
      descriptors: Open files.
      memory_bytes: Of this process alone, without mapped files. [bytes]
      children: Processes that it started and that are not gone, zombies too.
      shared_memory: Mappings of /dev/shm in this process.
      files: In the folder where the rounds work, and in the folder for temporary files of this program.
    """

    threads: int
    descriptors: int
    memory_bytes: int
    children: int
    shared_memory: int
    files: int

    @classmethod
    def now(cls, folder: Path) -> Footprint:
        """Measures this process, after a garbage collection and the end of threads that are about to end."""
        gc.collect()
        for thread in threading.enumerate():
            if thread.name.startswith("wellfed"):  # Nobody waited for it where it was collected in another such thread.
                thread.join(SETTLE_S)
        facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        tasks = Path("/proc/self/task").iterdir()
        children = sum(len((task / "children").read_text(encoding="ascii").split()) for task in tasks)
        children += len(multiprocessing.active_children())  # Those of Python's forkserver.
        return cls(
            threads=int(facts["Threads"]),
            descriptors=len(list(Path("/proc/self/fd").iterdir())),
            memory_bytes=int(facts["RssAnon"].split()[0]) << 10,
            children=children,
            shared_memory=sum("/dev/shm/" in line for line in maps),  # noqa: S108 -- it is looked at, not written to.
            files=sum(1 for path in folder.rglob("*") if path.is_file()),
        )

    def __str__(self) -> str:
        """The figures in one line."""
        return ", ".join(
            f"{self.memory_bytes / 1e6:.0f} MB" if name == "memory_bytes" else f"{count} {name.replace('_', ' ')}"
            for name, count in asdict(self).items()
        )


def grown(start: Footprint, now: Footprint) -> list[str]:
    """One sentence for each figure that grew more than it may."""
    before, after = asdict(start), asdict(now)
    return [
        f"{name} grew from {before[name]:,} to {after[name]:,}; {most:,} more are allowed"
        for name, most in ALLOWED.items()
        if after[name] > before[name] + most
    ]


@dataclass(frozen=True)
class Files:
    """What the plans read: whole, compressed, and with one record damaged."""

    whole: str
    compressed: str
    damaged: str

    @classmethod
    def write(cls, folder: Path) -> Files:
        """Writes a file of Examples three times."""
        rows = [wf.encode_example({"x": i, "text": "a" * (i % 50)}) for i in range(RECORDS)]
        paths = [str(folder / name) for name in ("whole.tfrecord", "compressed.tfrecord.gz", "damaged.tfrecord")]
        for path, compression in zip(paths, ("", "GZIP", ""), strict=True):
            with wf.TFRecordWriter(path, compression) as writer:
                writer.write_many(rows)
        content = bytearray(Path(paths[2]).read_bytes())
        content[len(content) // 2] ^= 1
        Path(paths[2]).write_bytes(content)
        return cls(*paths)


def draw_source(random: np.random.Generator, files: Files) -> wf.feed.Dataset:
    """Draws where elements come from."""
    sources: list[Callable[[], wf.feed.Dataset]] = [
        lambda: wf.from_arrays({"x": np.arange(RECORDS)}),
        lambda: wf.TFRecordDataset([files.whole], FEATURES),
        lambda: wf.TFRecordDataset([files.compressed], FEATURES),
        lambda: wf.TFRecordDataset([files.damaged], FEATURES, on_damage="skip"),
        lambda: wf.TFRecordDataset([files.damaged], FEATURES).with_options(on_error="replace"),
        lambda: wf.TFRecordDataset([files.damaged], FEATURES).with_options(on_error="skip"),
    ]
    return sources[random.integers(len(sources))]()


def add_one(element: dict[str, Any]) -> dict[str, Any]:
    """A function that pickles, for processes."""
    return {"x": element["x"] + 1}


def fail_at_some(element: dict[str, Any]) -> dict[str, Any]:
    """Fails on about one element of a hundred."""
    if element["x"] % 97 == 5:
        raise ValueError(int(element["x"]))
    return {"x": element["x"]}


def draw_errors(random: np.random.Generator, dataset: wf.feed.Dataset) -> wf.feed.Dataset:
    """In one plan of four, a function that fails at times, and what becomes of its rows."""
    how = random.choice(["replace", "skip"])
    return dataset.map(fail_at_some).with_options(on_error=str(how)) if not random.integers(4) else dataset


def draw_plan(random: np.random.Generator, files: Files, *, processes: bool = True) -> wf.feed.Dataset:
    """Draws a source, up to four addressable verbs, up to two that are not, what fails, an order and a batch size."""
    seed, count = int(random.integers(100)), int(random.integers(100, RECORDS))
    addressable: list[Callable[[wf.feed.Dataset], wf.feed.Dataset]] = [
        lambda dataset: dataset.shuffle(seed=seed),
        lambda dataset: dataset.take(count),
        lambda dataset: dataset.skip(seed),
        lambda dataset: dataset.shard(3, seed % 3),
        lambda dataset: dataset.repeat(2),
        lambda dataset: dataset.map(add_one),
    ]
    streams: list[Callable[[wf.feed.Dataset], wf.feed.Dataset]] = [
        lambda dataset: dataset.filter(lambda element: element["x"] % 3 != 0),
        lambda dataset: dataset.filter(lambda element: element["x"] % 5 != 0).shuffle(100, seed=seed),
        lambda dataset: dataset.batch(7).unbatch(),
        lambda dataset: dataset.take_while(lambda element: element["x"] < RECORDS + 9),
    ]
    dataset = draw_source(random, files)
    for _ in range(random.integers(5)):
        dataset = addressable[random.integers(len(addressable))](dataset)
    dataset = draw_errors(random, dataset)
    for _ in range(max(0, random.integers(-2, 3))):
        dataset = streams[random.integers(len(streams))](dataset)
    if processes and not random.integers(PROCESSES_EVERY):
        dataset = dataset.map(add_one, processes=int(random.integers(1, 3)))
    if not random.integers(4):
        dataset = dataset.with_options(deterministic=False)
    return dataset.batch(int(random.integers(1, 200)))


def values(batches: Any) -> list[int]:
    """The numbers that were delivered, in order."""
    return [int(x) for batch in batches for x in batch["x"]]


def check_same(dataset: wf.feed.Dataset, one: list[int], other: list[int]) -> None:
    """Two passes gave the same; in the same order, where the data set keeps one."""
    if "ahead" in dataset.epoch(0).state_dict():
        one, other = sorted(one), sorted(other)
    assert one == other


# --- What is done to a plan ------------------------------------------------------------------------


def read_all(dataset: wf.feed.Dataset, _: np.random.Generator) -> None:
    """Two passes over one epoch are equal."""
    check_same(dataset, values(dataset.epoch(1)), values(dataset.epoch(1)))


def break_early(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """Leaves an iterator where it stands, closed or not."""
    iterator = iter(dataset)
    for _ in islice(iterator, random.integers(1, 5)):
        pass
    if random.integers(2):
        iterator.close()


def leave_in_a_cycle(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """Leaves an iterator to the garbage collector."""
    cycle: list[Any] = [iter(dataset)]
    cycle.append(cycle)
    for _ in islice(cycle[0], random.integers(1, 5)):
        pass


def fail_outside(dataset: wf.feed.Dataset, _: np.random.Generator) -> None:
    """The one who takes the elements raises, and its traceback holds the iterator for a while."""

    def take() -> None:
        for batch in dataset:
            raise KeyError(len(batch["x"]))

    with contextlib.suppress(KeyError):
        take()


def resume(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """A stop at any place, and the rest from the saved state, twice, give the whole epoch."""
    due = values(dataset.epoch(0))
    iterator = dataset.epoch(0)
    before = values(islice(iterator, random.integers(1, 5)))
    state = json.loads(json.dumps(iterator.state_dict()))
    for _ in range(2):
        resumed = dataset.epoch(0)
        resumed.load_state_dict(state)
        check_same(dataset, before + values(resumed), due)


def fail(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """A user's function that raises ends the iteration with its own error."""
    at = int(random.integers(3))

    def raise_at(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if int(batch["x"][0]) % 3 == at:
            raise KeyError("drawn to fail")
        return batch

    try:
        values(dataset.map(raise_at))
    except wf.errors.StageError as error:
        assert isinstance(error.__cause__, KeyError)  # noqa: PT017 -- no test: a round that does not fail is one, too.


def side_by_side(dataset: wf.feed.Dataset, _: np.random.Generator) -> None:
    """Three threads read the same epoch of the same data set at a time."""
    found: list[list[int]] = []
    readers = [threading.Thread(target=lambda: found.append(values(dataset.epoch(0)))) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(found) == 3
    for other in found[1:]:
        check_same(dataset, found[0], other)


def profile(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """An account with its trace."""
    steps = int(random.integers(1, 20))
    assert wf.profile(dataset, steps).stats.elements <= steps


class Plain(Loader[Any]):
    """A loader that moves nothing."""

    def _start(self, element: Any) -> Any:
        return element


def load(dataset: wf.feed.Dataset, random: np.random.Generator) -> None:
    """A loader gives an epoch, a part of the next one, and the rest of that from its state."""
    loader = Plain(dataset, ahead=int(random.integers(3)))
    due, whole = values(loader), values(dataset.epoch(1))
    assert len(due) or not whole
    before = values(islice(loader, random.integers(1, 5)))
    loader.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    if loader.epoch == 1:  # Else that was all of it.
        check_same(dataset, before + values(loader), whole)


def fork(dataset: wf.feed.Dataset, _: np.random.Generator) -> None:
    """A child that was forked in the middle of an epoch reads what its parent does, and ends by itself."""
    dataset = dataset.with_options(deterministic=True)
    due = values(dataset.epoch(0))
    iterator = iter(dataset)
    next(iterator, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork beside threads, which is tried here.
        child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if values(dataset.epoch(0)) == due else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


ACTS = (read_all, break_early, leave_in_a_cycle, fail_outside, resume, fail, side_by_side, profile, load, fork)


def rounds(random: np.random.Generator, files: Files) -> Iterator[str]:
    """Does one thing after another; yields what was done."""
    while True:
        act = ACTS[random.integers(len(ACTS))]
        dataset = draw_plan(random, files, processes=act is not fork)  # A child has no use of a parent's forkserver.
        faulthandler.dump_traceback_later(PATIENCE_S, exit=True)
        try:
            act(dataset, random)
        except BaseException:
            print(f"soak: {act.__name__} failed on {dataset!r}", flush=True)
            raise
        faulthandler.cancel_dump_traceback_later()
        del dataset  # It has files open.
        yield act.__name__


def main(arguments: list[str] | None = None) -> int:
    """Runs rounds until the time is over; returns 1 where something grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--warm-up", type=int, default=200, help="Rounds in which allocators and late imports settle.")
    options = parser.parse_args(arguments)
    print(f"soak: seed {options.seed}, {options.seconds:g} s", flush=True)
    done: Counter[str] = Counter()
    start: Footprint | None = None
    began = time.monotonic()
    told = 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Python's own two processes, with a folder of theirs, stay for the whole program.
        values(wf.from_arrays({"x": np.arange(9)}).map(add_one, processes=1).batch(2))
        tempfile.tempdir = name
        files = Files.write(folder)
        for act in rounds(np.random.default_rng(options.seed), files):
            done[act] += 1
            if done.total() == options.warm_up:
                start = Footprint.now(folder)
                print(f"  after {options.warm_up} rounds: {start}", flush=True)
            share = (time.monotonic() - began) / max(options.seconds, 1e-9)
            if start is not None and 1 > share >= told / 10:
                told = int(share * 10) + 1
                print(f"  after {done.total()} rounds: {Footprint.now(folder)}", flush=True)
            if share >= 1 and start is not None:
                break
        assert start is not None
        now = Footprint.now(folder)
        tempfile.tempdir = None
    found = grown(start, now)
    print(f"  after {done.total()} rounds: {now}\n  {', '.join(f'{act} {count}' for act, count in done.items())}")
    print(*(f"soak: {sentence}" for sentence in found or ["nothing grew"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
