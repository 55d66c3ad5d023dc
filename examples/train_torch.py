"""Trains a classifier of digits in PyTorch, and goes on where it was stopped.

Usage: python examples/train_torch.py [FOLDER] [--stop-after STEPS]

Packs MNIST's test digits once, trains on nine tenths of them and counts the rest that it gets right. A checkpoint holds
the model, the optimiser and where the loader stands: after a stop, also in the middle of an epoch, the next run goes
on with the next batch and ends with the same weights.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from torch.nn import functional

import wellfed as wf
from wellfed.adapters.torch import TorchLoader

DIGITS = Path(__file__).parent / "data"
EPOCHS, BATCH, CHECKPOINT_STEPS = 2, 64, 25


def packed(folder: Path, split: str) -> wf.Dataset:
    """The data set in `folder`, packed there first if need be."""
    if not (folder / "digits").exists():
        wf.pack(wf.sources.Mnist(DIGITS), folder / "digits", name="digits", split={"train": 0.9, "test": 0.1}, seed=0)
    return wf.open(folder / "digits", split=split).map(wf.image.Normalize("image", mean=0.13, std=0.31, layout="chw"))


class Training:
    """All that a checkpoint has to keep."""

    def __init__(self, dataset: wf.Dataset) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 12 * 12, 10)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.loader = TorchLoader(dataset.shuffle(seed=0).batch(BATCH, drop_remainder=True))

    def save(self, path: Path) -> None:
        """Writes the checkpoint whole or not at all."""
        parts = {name: part.state_dict() for name, part in vars(self).items()}
        torch.save(parts, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def load(self, path: Path) -> None:
        """Goes on from a checkpoint."""
        for name, state in torch.load(path, weights_only=True).items():
            getattr(self, name).load_state_dict(state)

    def run(self, path: Path, stop_after: int | None) -> bool:
        """Trains to the end, or for `stop_after` steps; whether the end was reached."""
        step = 0
        while self.loader.epoch < EPOCHS:
            for batch in self.loader:
                loss = functional.cross_entropy(self.model(batch["image"]), batch["label"])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                step += 1
                if step % CHECKPOINT_STEPS == 0:
                    self.save(path)
                if step == stop_after:
                    return False
            print(f"epoch {self.loader.epoch} of {EPOCHS}: loss {loss.item():.3f}")
        self.save(path)
        return True


def accuracy(model: torch.nn.Module, dataset: wf.Dataset) -> float:
    """The share of digits that the model names rightly."""
    right = total = 0
    with torch.no_grad():
        for batch in TorchLoader(dataset.batch(256)):
            right += int((model(batch["image"]).argmax(dim=1) == batch["label"]).sum())
            total += len(batch["label"])
    return right / total


def main() -> None:
    """Trains from the last checkpoint on, if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the data set and the checkpoint")
    parser.add_argument("--stop-after", type=int, metavar="STEPS", help="give up then, as a job that is killed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        training, checkpoint = Training(packed(folder, "train")), folder / "torch.pt"
        if checkpoint.exists():
            training.load(checkpoint)
        if training.run(checkpoint, given.stop_after):
            print(f"{accuracy(training.model, packed(folder, 'test')):.1%} of the test digits are right")


if __name__ == "__main__":
    main()
