"""Picture files by name and label: only those of one class are kept, resized by TensorFlow 1's rule and batched."""

import os

import numpy as np
from PIL import Image
from reporting import facts, start

tf, folder = start()
paths, labels = [], []
for i in range(12):
    path = os.path.join(folder, f"{i:02d}.png")
    pixels = np.zeros((6 + i % 2, 9, 3), np.uint8)
    pixels[..., 0], pixels[3:, :, 1], pixels[:, 4:, 2] = i * 20, 200, 90
    Image.fromarray(pixels).save(path)
    paths.append(path)
    labels.append(i % 3)

name, label = tf.train.slice_input_producer([tf.constant(paths), tf.constant(labels)], num_epochs=1, shuffle=False)
picture = tf.image.decode_png(tf.read_file(name), channels=3)
small = tf.image.resize_images(picture, [4, 5])
small.set_shape([4, 5, 3])
flipped = tf.image.flip_left_right(small)
pair = tf.stack([small, flipped]) / 255.0
batch = tf.train.maybe_batch(
    {"pair": pair, "label": label, "rows": tf.shape(picture)[0]},
    keep_input=tf.equal(label, 1),
    batch_size=2,
)

with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    got = [sess.run(batch) for _ in range(2)]
    try:
        sess.run(batch)
        end = None
    except tf.errors.OutOfRangeError as error:
        end = type(error).__name__
    coord.request_stop()
    coord.join(threads)

first = got[0]["pair"]
facts(
    shapes=[list(part["pair"].shape) for part in got],
    labels=[part["label"].tolist() for part in got],
    rows=[part["rows"].tolist() for part in got],
    mirrored=bool(np.allclose(first[:, 0], first[:, 1, :, ::-1])),
    pixels=np.round(got[1]["pair"][1, 0, :, :, 1], 4).tolist(),
    static=batch["pair"].shape.as_list(),
    dtypes=sorted(str(value.dtype) for value in got[0].values()),
    end=end,
)
