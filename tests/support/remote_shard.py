"""What the tests of stores read: a shard of 100 records of 100 KB behind a URL, with its index."""

from __future__ import annotations

import numpy as np

import wellfed as wf

MIB = 1 << 20
RNG = np.random.default_rng(0)
PAYLOADS = [RNG.bytes(100_000) for _ in range(100)]


def put_shard(folder: str) -> str:
    """Writes the shard into a folder, and gives its URL."""
    with wf.TFRecordWriter(f"{folder}/x.tfrecord", index=True) as writer:
        writer.write_many(PAYLOADS)
    return f"{folder}/x.tfrecord"
