"""ImageNet's input of 2016: shards of JPEGs with boxes, several readers into one shuffling queue, batch_join."""

import io
import os

import numpy as np
from PIL import Image
from reporting import facts, start

tf, folder = start()
rng = np.random.RandomState(2)
CORNERS = ("ymin", "xmin", "ymax", "xmax")


def ints(*value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def strings(*value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))


def example(label):
    encoded = io.BytesIO()
    Image.fromarray(rng.randint(0, 256, (40, 50, 3)).astype(np.uint8)).save(encoded, "JPEG")
    features = {"image/class/label": ints(label), "image/encoded": strings(encoded.getvalue())}
    for number, corner in enumerate(CORNERS):
        boxes = tf.train.FloatList(value=[0.1 * (number + 1)] * (label % 3))
        features[f"image/object/bbox/{corner}"] = tf.train.Feature(float_list=boxes)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


for shard in range(4):
    with tf.python_io.TFRecordWriter(os.path.join(folder, f"train-{shard:05d}-of-00004")) as writer:
        for i in range(6):
            writer.write(example(shard * 6 + i))


def parse(serialized):
    spec = {
        "image/encoded": tf.FixedLenFeature([], tf.string, default_value=""),
        "image/class/label": tf.FixedLenFeature([1], tf.int64, default_value=-1),
    }
    spec.update({f"image/object/bbox/{corner}": tf.VarLenFeature(tf.float32) for corner in CORNERS})
    features = tf.parse_single_example(serialized, spec)
    corners = [tf.expand_dims(features[f"image/object/bbox/{corner}"].values, 0) for corner in CORNERS]
    boxes = tf.transpose(tf.expand_dims(tf.concat(axis=0, values=corners), 0), [0, 2, 1])
    return features["image/encoded"], tf.cast(features["image/class/label"], tf.int32), boxes


def decode(encoded):
    image = tf.image.convert_image_dtype(tf.image.decode_jpeg(encoded, channels=3), tf.float32)
    image = tf.expand_dims(tf.image.central_crop(image, central_fraction=0.875), 0)
    return tf.multiply(tf.subtract(tf.squeeze(tf.image.resize_bilinear(image, [24, 20]), [0]), 0.5), 2.0)


files = sorted(tf.gfile.Glob(os.path.join(folder, "train-*")))
names = tf.train.string_input_producer(files, shuffle=True, capacity=16, num_epochs=1)
examples = tf.RandomShuffleQueue(capacity=30, min_after_dequeue=5, dtypes=[tf.string])
puts = [examples.enqueue([tf.TFRecordReader().read(names)[1]]) for _ in range(2)]
tf.train.queue_runner.add_queue_runner(tf.train.queue_runner.QueueRunner(examples, puts))
parts = []
for _ in range(2):
    encoded, label, boxes = parse(examples.dequeue())
    parts.append([decode(encoded), label])
images, labels = tf.train.batch_join(parts, batch_size=4, capacity=16)
part = tf.strided_slice(tf.decode_raw(tf.constant(bytes(range(9))), tf.uint8), [1], [5])

seen, total = [], 0.0
with tf.Session() as session:
    session.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = []
    for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        threads.extend(runner.create_threads(session, coord=coord, daemon=True, start=True))
    sliced = session.run(part).tolist()
    while not coord.should_stop():
        try:
            pixels, found = session.run([images, tf.reshape(labels, [4])])
        except tf.errors.OutOfRangeError:
            break
        seen += found.tolist()
        total += float(pixels.astype(np.float64).sum())
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)

facts(
    files=len(files),
    shapes=[images.shape.as_list(), labels.shape.as_list(), boxes.shape.ndims],
    runners=len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)),
    seen=sorted(seen),
    total=round(total / 100),
    sliced=sliced,
)
