"""A program of TensorFlow 1's queue age, with one changed line: the import.

Usage: python examples/tf1_queues.py [FOLDER]

Names of files in a queue, records and Examples read from them, shuffled batches made by threads, a loop until the end
of the input. At the end, the same batches in wellfed's own names.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import wellfed as wf
import wellfed.compat as tf  # was: import tensorflow as tf

BATCH, EPOCHS, FILES, RECORDS = 32, 2, 4, 250


def write(folder: Path) -> list[str]:
    """Writes files of pairs (n, -n), as scripts of that age did."""
    paths = []
    for part in range(FILES):
        paths.append(str(folder / f"pairs_{part}.tfrecords"))
        writer = tf.python_io.TFRecordWriter(paths[-1])
        for n in range(part * RECORDS, (part + 1) * RECORDS):
            features = {
                "x": tf.train.Feature(int64_list=tf.train.Int64List(value=[n])),
                "raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[np.full(4, -n, np.float32).tobytes()])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
        writer.close()
    return paths


def pipeline(paths: list[str]) -> list[tf.Tensor]:
    """Gives the tensors of a batch."""
    names = tf.train.string_input_producer(paths, num_epochs=EPOCHS)
    _, serialized = tf.TFRecordReader().read(names)
    parsed = tf.parse_single_example(
        serialized, {"x": tf.FixedLenFeature([], tf.int64), "raw": tf.FixedLenFeature([], tf.string)}
    )
    vector = tf.decode_raw(parsed["raw"], tf.float32)
    vector.set_shape([4])
    return tf.train.shuffle_batch([parsed["x"], vector], BATCH, capacity=400, min_after_dequeue=200, num_threads=2)


def train(paths: list[str]) -> int:
    """Goes through all batches, and gives how many pairs came."""
    x, vector = pipeline(paths)
    seen = 0
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                numbers, vectors = sess.run([x, vector])
                assert (vectors == -numbers[:, None]).all()
                seen += len(numbers)
        except tf.errors.OutOfRangeError:
            print(f"queues: the input has ended after {seen} pairs")
        finally:
            coord.request_stop()
        coord.join(threads)
    return seen


def in_own_names(paths: list[str]) -> int:
    """The same without TensorFlow's names: exact shuffling, and no session, runner or coordinator."""
    spec = {"x": wf.FixedLenFeature([], np.int64), "raw": wf.RawFeature([4], np.float32)}
    batches = wf.TFRecordDataset(paths, spec).repeat(EPOCHS).shuffle().batch(BATCH, drop_remainder=True)
    seen = 0
    for batch in batches:
        assert (batch["raw"] == -batch["x"][:, None]).all()
        seen += len(batch["x"])
    print(f"feed: the same {seen} pairs in wellfed's own names")
    return seen


def main() -> None:
    """Writes, trains, and does it again."""
    with tempfile.TemporaryDirectory() as temporary:
        paths = write(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
        due = FILES * RECORDS * EPOCHS // BATCH * BATCH
        assert train(paths) == due
        assert in_own_names(paths) == due


if __name__ == "__main__":
    main()
