"""Records of several kinds of features through TensorFlow 1's reader, and the same file through tf.data's iterator."""

import os

import numpy as np
from reporting import facts, start

tf, folder = start()
path = os.path.join(folder, "mixed.tfrecord")


def feature(**kind):
    (name, value), *_ = kind.items()
    lists = {"bytes_list": tf.train.BytesList, "float_list": tf.train.FloatList, "int64_list": tf.train.Int64List}
    return tf.train.Feature(**{name: lists[name](value=value)})


options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
with tf.python_io.TFRecordWriter(path, options) as writer:
    for i in range(10):
        features = {
            "id": feature(int64_list=[i]),
            "raw": feature(bytes_list=[np.arange(i, i + 4, dtype=np.int16).tobytes()]),
            "tags": feature(bytes_list=[b"t%d" % n for n in range(i % 3)]),
            "weights": feature(float_list=[0.5 * i, 1.5]),
        }
        writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())

SPEC = {
    "id": tf.FixedLenFeature([], tf.int64),
    "raw": tf.FixedLenFeature([], tf.string),
    "tags": tf.VarLenFeature(tf.string),
    "weights": tf.FixedLenFeature([2], tf.float32),
    "missing": tf.FixedLenFeature([], tf.float32, default_value=7.0),
}


def parse(serialized):
    parsed = tf.parse_single_example(serialized, SPEC)
    raw = tf.reshape(tf.decode_raw(parsed["raw"], tf.int16), [2, 2])
    tags = tf.sparse_tensor_to_dense(parsed["tags"], default_value="")
    return {
        "id": parsed["id"],
        "raw": raw,
        "count": tf.size(tags),
        "total": tf.reduce_sum(parsed["weights"]) + parsed["missing"],
    }


names = tf.train.string_input_producer([path], num_epochs=2, shuffle=False)
key, serialized = tf.TFRecordReader(options=options).read(names)
batch = tf.train.batch(parse(serialized), batch_size=4, enqueue_many=False)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    queued = [sess.run(batch) for _ in range(5)]
    coord.request_stop()
    coord.join(threads)

dataset = tf.data.TFRecordDataset(path, compression_type="GZIP").map(parse).repeat(2).batch(4)
iterator = tf.data.make_one_shot_iterator(dataset)
following = iterator.get_next()
with tf.Session() as sess:
    streamed, ended = [], None
    try:
        while True:
            streamed.append(sess.run(following))
    except tf.errors.OutOfRangeError as error:
        ended = type(error).__name__

facts(
    ids=[int(n) for part in queued for n in part["id"]],
    raw=queued[1]["raw"][0].tolist(),
    counts=queued[0]["count"].tolist(),
    totals=[round(float(n), 3) for n in queued[2]["total"]],
    same=all(np.array_equal(a[name], b[name]) for a, b in zip(queued, streamed) for name in a),
    batches=len(streamed),
    ended=ended,
    static={name: tensor.shape.as_list() for name, tensor in batch.items()},
    kinds={name: tensor.dtype.name for name, tensor in following.items()},
)
