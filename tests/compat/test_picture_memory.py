"""Traced pictures lie in the feed's memory: an epoch fills what the last one left."""

from __future__ import annotations

import numpy as np

import wellfed.compat as tf
from wellfed.feed.memory import pool


def test_the_pictures_of_a_traced_function_are_in_memory_that_is_used_again():
    encoded = [tf.io.encode_jpeg(np.full((32, 32, 3), row, np.uint8)).numpy() for row in range(8)]

    def parse(contents):
        return tf.image.resize(tf.io.decode_jpeg(contents, channels=3), [300, 300]) / 255.0

    dataset = tf.data.Dataset.from_tensor_slices(encoded).map(parse).batch(8)
    before = pool().leased_bytes
    batches = list(dataset)

    assert batches[0].shape == (8, 300, 300, 3)
    assert pool().leased_bytes - before >= 8 * 300 * 300 * 3 * 4
    del batches
    assert pool().leased_bytes == before
