"""A few of MNIST's digits as a TFRecord file: what the adapters' training tests learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import wellfed as wf

FEATURES = {"image": wf.RawFeature([784], np.uint8), "label": wf.FixedLenFeature([], np.int64)}
COUNT = 640


def few_digits(folder: Path) -> wf.Dataset:
    """640 digits in `folder`, shuffled anew in each epoch, in batches of 64."""
    source = wf.sources.Mnist(Path(__file__).parents[2] / "examples" / "data")
    path = folder / "digits.tfrecord"
    if not path.exists():
        with wf.TFRecordWriter(path) as writer:
            for index in range(COUNT):
                digit = source.load(index)
                writer.write(wf.encode_example({"image": digit["image"].tobytes(), "label": digit["label"]}))
    return wf.TFRecordDataset([str(path)], features=FEATURES).shuffle(seed=3).batch(64, drop_remainder=True)
