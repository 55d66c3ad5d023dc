"""tf.data in TensorFlow 2's names: interleaved files, padded batches, buckets of work, and values looked at at once."""

import os

import numpy as np
from reporting import facts, start

tf, folder = start()
paths = []
for part in range(3):
    paths.append(os.path.join(folder, f"part-{part:05d}-of-00003.tfrecord"))
    with tf.io.TFRecordWriter(paths[-1]) as writer:
        for i in range(4 + part):
            value = [part * 10 + i] * (1 + i % 3)
            features = {"values": tf.train.Feature(int64_list=tf.train.Int64List(value=value))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())

SPEC = {"values": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
files = tf.data.Dataset.list_files(os.path.join(folder, "part-*"), shuffle=False)
records = files.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=2)
numbers = records.map(lambda text: tf.io.parse_single_example(text, SPEC)["values"], num_parallel_calls=2)

padded = [batch.tolist() for batch in numbers.padded_batch(4, padding_values=np.int64(-1)).as_numpy_iterator()]
lengths = [int(n) for n in numbers.map(lambda values: tf.shape(values)[0])]
evens = [int(v[0]) for v in numbers.filter(lambda values: values[0] % 2 == 0)]
pairs = tf.data.Dataset.zip((numbers, tf.data.Dataset.range(100))).map(lambda values, n: tf.reduce_sum(values) + n)
running = tf.data.Dataset.range(5).scan(np.int64(0), lambda state, n: (state + n, state + n))
looked = [float(x.numpy().sum()) for x, y in tf.data.Dataset.from_tensor_slices((np.eye(3), ["a", "b", "c"]))]
text = [y.numpy().decode() for _, y in tf.data.Dataset.from_tensor_slices((np.eye(3), ["a", "b", "c"]))]
made = tf.data.Dataset.from_generator(lambda: ((i, b"x" * i) for i in range(4)), output_types=(tf.int32, tf.string))
python = tf.data.Dataset.range(4).map(lambda n: tf.py_function(lambda v: v.numpy() ** 2, [n], tf.int64))
windows = list(tf.data.Dataset.range(7).batch(3, drop_remainder=True).as_numpy_iterator())
total = tf.data.Dataset.range(10).skip(2).take(5).shard(2, 1).reduce(np.int64(0), lambda state, n: state + n)

facts(
    padded=padded,
    lengths=lengths,
    evens=evens,
    pairs=[int(n) for n in pairs],
    running=[int(n) for n in running],
    looked=looked,
    text=text,
    made=[[int(n), len(x.numpy())] for n, x in made],
    python=[int(n) for n in python],
    windows=[window.tolist() for window in windows],
    total=int(total),
    spec=[str(numbers.element_spec.dtype.name), numbers.element_spec.shape.as_list()],
    cardinality=int(tf.data.Dataset.range(10).batch(3).cardinality()),
    eager=[
        int(tf.reduce_sum(tf.constant([1, 2, 3]))),
        tf.constant("a").numpy().decode(),
        (tf.constant(2) * 3).numpy().item(),
    ],
)
