"""Feeds for a long time with early breaks, errors, forks and resumes; threads, descriptors and memory may not grow.

    python scripts/soak.py --seconds 1800 --seed 7

Each round draws a plan and something to do to it. The seed is printed: the same seed draws the same rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wellfed as wf

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UP_ROUNDS = 200  # Allocators and lazily imported modules settle in these.
GROWTH_BYTES = 64 << 20  # An allocator's own ups and downs stay below this; a leaked unit a round does not.
RECORDS = 5000


@dataclass(frozen=True)
class Footprint:
    """What a leak would make grow."""

    threads: int
    descriptors: int
    memory_bytes: int

    @classmethod
    def now(cls) -> Footprint:
        """Measures this process, after a garbage collection."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        return cls(threading.active_count(), descriptors, pages * os.sysconf("SC_PAGE_SIZE"))


def write_records(path: Path) -> None:
    """Writes a file of Examples that the plans read."""
    with wf.TFRecordWriter(path) as writer:
        for i in range(RECORDS):
            writer.write(wf.encode_example({"x": i, "text": "a" * (i % 50)}))


def draw_plan(random: np.random.Generator, path: Path) -> wf.Dataset:
    """Draws a source, up to four verbs and a batch size."""
    features = {"x": wf.FixedLenFeature([], np.int64)}
    sources: list[Callable[[], wf.Dataset]] = [
        lambda: wf.from_arrays({"x": np.arange(RECORDS)}),
        lambda: wf.TFRecordDataset([str(path)], features=features),
    ]
    verbs: list[Callable[[wf.Dataset], wf.Dataset]] = [
        lambda dataset: dataset.shuffle(seed=int(random.integers(100))),
        lambda dataset: dataset.take(int(random.integers(1, RECORDS))),
        lambda dataset: dataset.skip(int(random.integers(0, 100))),
        lambda dataset: dataset.shard(3, int(random.integers(3))),
        lambda dataset: dataset.repeat(2),
        lambda dataset: dataset.map(lambda element: {"x": element["x"] + 1}),
    ]
    dataset = sources[random.integers(len(sources))]()
    for _ in range(random.integers(5)):
        dataset = verbs[random.integers(len(verbs))](dataset)
    return dataset.batch(int(random.integers(1, 200)))


def values(batches: Any) -> list[int]:
    """The numbers that were delivered, in order."""
    return [int(x) for batch in batches for x in batch["x"]]


def read_all(dataset: wf.Dataset, _: np.random.Generator) -> None:
    """Two passes over one epoch are equal."""
    assert values(dataset.epoch(1)) == values(dataset.epoch(1))


def break_early(dataset: wf.Dataset, random: np.random.Generator) -> None:
    """Leaves an iterator where it stands, closed or not."""
    iterator = iter(dataset)
    for _, _batch in zip(range(random.integers(1, 5)), iterator, strict=False):
        pass
    if random.integers(2):
        iterator.close()


def resume(dataset: wf.Dataset, random: np.random.Generator) -> None:
    """A stop at any place, and the rest from the saved state, give the whole epoch."""
    due = values(dataset.epoch(0))
    iterator = dataset.epoch(0)
    before = values(batch for _, batch in zip(range(random.integers(1, 5)), iterator, strict=False))
    state = json.loads(json.dumps(iterator.state_dict()))
    resumed = dataset.epoch(0)
    resumed.load_state_dict(state)
    assert before + values(resumed) == due


def fail(dataset: wf.Dataset, random: np.random.Generator) -> None:
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


def fork(dataset: wf.Dataset, _: np.random.Generator) -> None:
    """A child that was forked in the middle of an epoch can read, and ends by itself."""
    iterator = iter(dataset)
    next(iterator, None)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if values(dataset.epoch(0)) is not None else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


ACTS = (read_all, break_early, resume, fail, fork)


def main() -> int:
    """Runs rounds until the time is over; returns 1 where something grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    random, end = np.random.default_rng(options.seed), time.monotonic() + options.seconds
    done: Counter[str] = Counter()
    start: Footprint | None = None
    print(f"soak: seed {options.seed}, {options.seconds:g} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soak.tfrecord"
        write_records(path)
        while time.monotonic() < end or start is None:
            act = ACTS[random.integers(len(ACTS))]
            act(draw_plan(random, path), random)
            done[act.__name__] += 1
            if done.total() == WARM_UP_ROUNDS:
                start = Footprint.now()
    now = Footprint.now()
    print(f"soak: {done.total()} rounds {dict(done)}\n  after warm-up {start}\n  at the end    {now}")
    grown = now.threads > start.threads or now.descriptors > start.descriptors
    return 1 if grown or now.memory_bytes > start.memory_bytes + GROWTH_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
