"""Trains a classifier of digits in JAX, and goes on where it was stopped.

Usage: python examples/train_jax.py [FOLDER] [--stop-after STEPS]

Packs MNIST's test digits once, trains on nine tenths of them and counts the rest that it gets right. Batches are put on
the devices ahead of the step that needs them, and spread over all devices there are. A checkpoint holds the weights
and where the loader stands: the next run goes on with the next batch and ends with the same weights.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import wellfed as wf
from wellfed.adapters.jax import JaxLoader

DIGITS = Path(__file__).parent / "data"
EPOCHS, BATCH, CHECKPOINT_STEPS, RATE = 2, 64, 25, 0.1
Weights = dict[str, jax.Array]


def packed(folder: Path, split: str) -> wf.Dataset:
    """The data set in `folder`, packed there first if need be."""
    if not (folder / "digits").exists():
        wf.pack(wf.sources.Mnist(DIGITS), folder / "digits", name="digits", split={"train": 0.9, "test": 0.1}, seed=0)
    return wf.open(folder / "digits", split=split).map(wf.image.Normalize("image", mean=0.13, std=0.31))


def scores(weights: Weights, images: jax.Array) -> jax.Array:
    """(B, 10): one hidden layer."""
    hidden = jax.nn.relu(images.reshape(len(images), -1) @ weights["in"])
    return hidden @ weights["out"]


def loss_of(weights: Weights, batch: dict[str, jax.Array]) -> jax.Array:
    """The mean cross entropy of a batch."""
    chances = jax.nn.log_softmax(scores(weights, batch["image"]))
    return -jnp.take_along_axis(chances, batch["label"][:, None], axis=1).mean()


@jax.jit
def learn(weights: Weights, batch: dict[str, jax.Array]) -> tuple[Weights, jax.Array]:
    """The weights after one step, and the loss before it."""
    loss, slopes = jax.value_and_grad(loss_of)(weights, batch)
    return jax.tree.map(lambda weight, slope: weight - RATE * slope, weights, slopes), loss


def first_weights() -> Weights:
    """The same in each run."""
    one, two = jax.random.split(jax.random.key(0))
    return {"in": 0.05 * jax.random.normal(one, (784, 64)), "out": 0.1 * jax.random.normal(two, (64, 10))}


def save(path: Path, weights: Weights, loader: JaxLoader) -> None:
    """Writes the checkpoint whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, state=json.dumps(loader.state_dict()), **weights)
    part.replace(path)


def load(path: Path, loader: JaxLoader) -> Weights:
    """The weights of a checkpoint; the loader stands where it did."""
    with np.load(path) as saved:
        loader.load_state_dict(json.loads(str(saved["state"])))
        return {name: jnp.asarray(saved[name]) for name in saved.files if name != "state"}


def train(loader: JaxLoader, path: Path, stop_after: int | None) -> Weights | None:
    """Trains to the end, or for `stop_after` steps; the weights, where the end was reached."""
    weights = load(path, loader) if path.exists() else first_weights()
    step = 0
    while loader.epoch < EPOCHS:
        for batch in loader:
            weights, loss = learn(weights, batch)
            step += 1
            if step % CHECKPOINT_STEPS == 0:
                save(path, weights, loader)
            if step == stop_after:
                return None
        print(f"epoch {loader.epoch} of {EPOCHS}: loss {float(loss):.3f}")
    save(path, weights, loader)
    return weights


def accuracy(weights: Weights, dataset: wf.Dataset) -> float:
    """The share of digits that are named rightly."""
    right = [scores(weights, batch["image"]).argmax(axis=1) == batch["label"] for batch in dataset.batch(256)]
    return float(np.concatenate(right).mean())


def main() -> None:
    """Trains from the last checkpoint on, if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the data set and the checkpoint")
    parser.add_argument("--stop-after", type=int, metavar="STEPS", help="give up then, as a job that is killed")
    given = parser.parse_args()
    spread = jax.sharding.PartitionSpec("data")
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("data",)), spread)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        batches = packed(folder, "train").shuffle(seed=0).batch(BATCH, drop_remainder=True)
        weights = train(JaxLoader(batches, sharding), folder / "jax.npz", given.stop_after)
        if weights is not None:
            print(f"{accuracy(weights, packed(folder, 'test')):.1%} of the test digits are right")


if __name__ == "__main__":
    main()
