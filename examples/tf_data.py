"""A tf.data pipeline with one changed line: the import.

Usage: python examples/tf_data.py [FOLDER]

Pictures in shards: listed, read, parsed, decoded, resized, shuffled, batched. The function given to `map` is traced
once, so that records are parsed by columns and each picture goes into its batch in one pass. At the end, the same
batches in wellfed's own names.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import wellfed as wf
import wellfed.compat as tf  # was: import tensorflow as tf

SIDE, SHARDS, RECORDS, BATCH = 32, 3, 100, 16
SPEC = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def write(folder: Path) -> None:
    """Writes shards of grey pictures, each as bright as its label."""
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(folder / f"photos-{shard:05d}-of-{SHARDS:05d}.tfrecord")) as writer:
            for n in range(shard * RECORDS, (shard + 1) * RECORDS):
                picture = tf.io.encode_jpeg(np.full((48 + n % 5, 64, 3), n % 256, np.uint8)).numpy()
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[picture])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[n % 256])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(serialized: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """One record to one picture and its label."""
    parsed = tf.io.parse_single_example(serialized, SPEC)
    picture = tf.io.decode_jpeg(parsed["image"], channels=3)
    picture = tf.image.resize(picture, [SIDE, SIDE])
    return (tf.cast(picture, tf.float32) - 127.5) / 127.5, parsed["label"]


def pipeline(folder: Path) -> tf.data.Dataset:
    """The chain that every tutorial has."""
    files = tf.data.Dataset.list_files(str(folder / "photos-*.tfrecord"), shuffle=False)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=tf.data.AUTOTUNE)
    pictures = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return pictures.shuffle(100, seed=1).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def in_own_names(folder: Path) -> int:
    """The same without TensorFlow's names: a plan with a length, a state, and an exact shuffle."""
    spec = {"image": wf.FixedLenFeature([], bytes), "label": wf.FixedLenFeature([], np.int64)}
    pixels = wf.image.fuse(
        [
            wf.image.Decode("image", dct="fast"),
            wf.image.Resize("image", (SIDE, SIDE), dtype="float32"),
            wf.image.Normalize("image", mean=127.5, std=127.5, scale=1.0),
        ]
    )
    batches = wf.TFRecordDataset(folder / "photos-*.tfrecord", spec).shuffle(seed=1).map(pixels).batch(BATCH)
    return sum(check(batch["image"], batch["label"]) for batch in batches)


def check(pictures: np.ndarray, labels: np.ndarray) -> int:
    """Holds a batch to what its labels say, and gives its size."""
    assert pictures.shape[1:] == (SIDE, SIDE, 3)
    assert np.abs(pictures[:, 5, 5, 0] * 127.5 + 127.5 - labels).max() < 3
    return len(labels)


def main() -> None:
    """Writes, reads, and does it again."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        write(folder)
        dataset = pipeline(folder)
        print("an element is", dataset.element_spec)
        seen = sum(check(pictures.numpy(), labels.numpy()) for pictures, labels in dataset)
        print(f"tf.data: {seen} pictures in {len(dataset)} batches")
        assert seen == in_own_names(folder) == SHARDS * RECORDS
        print(f"feed: the same {seen} pictures in wellfed's own names")


if __name__ == "__main__":
    main()
