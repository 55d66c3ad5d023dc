"""The whole way: from a folder of digits to a trained classifier, as a new user would go it.

Usage: python examples/demo.py [FOLDER]

Everything it makes lies in FOLDER; `make demo` takes .demo, in this repository.
"""

from __future__ import annotations

import collections
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

# The matrices are small: threads of NumPy's BLAS would gain nothing and fight with the feed's for the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import wellfed as wf

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
WORK = sys.argv[1] if len(sys.argv) > 1 else ".demo"
DIGITS, OUT, STATE = f"{WORK}/digits", f"{WORK}/packed", f"{WORK}/state.json"
COMMANDS = (
    f"python examples/make_digits.py {DIGITS}",
    f"wellfed pack images {DIGITS} {OUT} --name digits --split train=0.9,test=0.1 --shard-size 1MB --seed 0",
    f"wellfed verify {OUT}",
    f"wellfed head {OUT}",
    f"wellfed schema {OUT}",
)
EPOCHS = 6
BATCH = 64
LEAST_ACCURACY = 0.93


def say(text: str) -> None:
    """Prints at once, so that the commands' own output stands in its place."""
    print(text, flush=True)


def run(command: str) -> None:
    """Echoes a command and runs it with the interpreter's own environment; ends the demo where it fails."""
    say(f"\n$ {command}")
    program, *arguments = shlex.split(command)
    done = subprocess.run([str(Path(sys.executable).parent / program), *arguments], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"demo: the command above ended with exit code {done.returncode}")


class Classifier:
    """One hidden layer, trained by stochastic gradient descent: just enough to read digits."""

    def __init__(self, hidden: int = 256) -> None:
        random = np.random.default_rng(0)
        self.rate = 0.0
        self.w1 = (random.standard_normal((784, hidden)) * np.sqrt(2 / 784)).astype(np.float32)
        self.w2 = (random.standard_normal((hidden, 10)) * np.sqrt(2 / hidden)).astype(np.float32)
        self.b1, self.b2 = np.zeros(hidden, np.float32), np.zeros(10, np.float32)

    @staticmethod
    def pixels(images: np.ndarray) -> np.ndarray:
        return images.reshape(len(images), -1).astype(np.float32) / 255

    def scores(self, images: np.ndarray) -> np.ndarray:
        return np.maximum(self.pixels(images) @ self.w1 + self.b1, 0) @ self.w2 + self.b2

    def learn(self, images: np.ndarray, labels: np.ndarray) -> None:
        """One step down the gradient of the cross-entropy."""
        x = self.pixels(images)
        hidden = np.maximum(x @ self.w1 + self.b1, 0)
        scores = hidden @ self.w2 + self.b2
        error = np.exp(scores - scores.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(labels)), labels] -= 1
        error /= len(labels)
        back = (error @ self.w2.T) * (hidden > 0)
        self.w2 -= self.rate * (hidden.T @ error)
        self.b2 -= self.rate * error.sum(axis=0)
        self.w1 -= self.rate * (x.T @ back)
        self.b1 -= self.rate * back.sum(axis=0)

    def accuracy(self, dataset: wf.Dataset) -> float:
        right = total = 0
        for batch in dataset:
            right += int((self.scores(batch["image"]).argmax(axis=1) == batch["label"]).sum())
            total += len(batch["label"])
        return right / total


def training_set() -> wf.Dataset:
    """The plan of training: exact shuffle, full batches. Nothing runs until someone iterates."""
    return wf.open(ROOT / OUT, split="train").shuffle(seed=0).batch(BATCH)


def train() -> float:
    """Trains for a few epochs; returns the accuracy on the digits that were held out."""
    say("\nTraining one hidden layer on batches from the feed:")
    dataset, classifier = training_set(), Classifier()
    accuracy = 0.0
    for epoch in range(EPOCHS):
        digits, start = 0, time.perf_counter()
        classifier.rate = 0.5 * (1 - epoch / EPOCHS)
        loader = iter(dataset)
        for batch in loader:
            classifier.learn(batch["image"], batch["label"])
            digits += len(batch["label"])
        seconds, waited = time.perf_counter() - start, loader.stats().waited_seconds
        accuracy = classifier.accuracy(wf.open(ROOT / OUT, split="test").batch(BATCH))
        say(
            f"  epoch {epoch}: {digits:,} digits, {digits / seconds:,.0f} records/s, "
            f"waited {waited:.3f} s of {seconds:.3f} s for data, held-out accuracy {accuracy:.1%}"
        )
    return accuracy


def fingerprints(batches: Iterator[dict[str, np.ndarray]]) -> Iterator[bytes]:
    """The pixels and label of each digit: no two of MNIST's are equal."""
    for batch in batches:
        for image, label in zip(batch["image"], batch["label"], strict=True):
            yield image.tobytes() + bytes([label])


def stop_and_resume() -> int:
    """Stops in mid-epoch and goes on from the saved state; returns how many digits were lost or repeated."""
    say("\nStopping in the middle of an epoch and going on from the saved state:")
    due = list(fingerprints(training_set().epoch(0)))

    loader = training_set().epoch(0)
    stop_after = len(due) // BATCH // 2
    before = list(fingerprints(next(loader) for _ in range(stop_after)))
    (ROOT / STATE).write_text(json.dumps(loader.state_dict()), encoding="utf-8")
    loader.close()

    resumed = iter(training_set())
    resumed.load_state_dict(json.loads((ROOT / STATE).read_text(encoding="utf-8")))
    after = list(fingerprints(resumed))

    delivered = collections.Counter(before + after)
    lost = sum((collections.Counter(due) - delivered).values())
    repeated = sum((delivered - collections.Counter(due)).values())
    same_order = before + after == due
    say(f"  state: {(ROOT / STATE).stat().st_size} bytes of JSON after {stop_after} batches")
    say(f"  {len(before):,} digits before the stop, {len(after):,} after it, {len(due):,} in the epoch")
    say(f"  {lost} lost, {repeated} repeated, same order: {same_order}")
    return lost + repeated + (not same_order)


def main() -> int:
    """Runs the demo; returns 1 where it does not show what it should."""
    shutil.rmtree(ROOT / WORK, ignore_errors=True)
    start = time.perf_counter()
    for command in COMMANDS:
        run(command)
    accuracy = train()
    faults = stop_and_resume()
    say(f"\nDone in {time.perf_counter() - start:.1f} s. What it made is in {WORK}.")
    return 0 if accuracy >= LEAST_ACCURACY and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
