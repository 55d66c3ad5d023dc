"""Pictures in folders by tf.data, as TensorFlow 2's tutorials have it: a held-out part, labels from paths, windows."""

import os

import numpy as np
from PIL import Image
from reporting import facts, start

tf, folder = start()
rng = np.random.RandomState(3)
for name in ("cats", "dogs", "birds"):
    os.makedirs(os.path.join(folder, name))
    for i in range(8):
        pixels = rng.randint(0, 256, (20 + i, 30, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(os.path.join(folder, name, f"{i}.png"))

paths = tf.data.Dataset.list_files(os.path.join(folder, "*", "*.png"), shuffle=False)
paths = paths.shuffle(24, reshuffle_each_iteration=False)
names = np.array(sorted(os.listdir(folder)))
held, rest = paths.take(6), paths.skip(6)


def load(path):
    label = tf.argmax(tf.strings.split(path, os.path.sep)[-2] == names)
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), channels=3), [18, 18]), label


def held_paths():
    return sorted(path.numpy() for path in held)


sums, counts = np.zeros(3), np.zeros(3, int)
for image, label in rest.map(load).concatenate(held.map(load)):
    sums[label.numpy()] += image.numpy().astype(np.float64).sum()
    counts[label.numpy()] += 1
image, label = next(iter(held.map(load).cache().shuffle(100).batch(4).prefetch(tf.data.AUTOTUNE)))
rows = tf.data.Dataset.range(7).window(3, shift=2, drop_remainder=True).flat_map(lambda window: window.batch(3))
words = tf.data.Dataset.from_generator(
    lambda: iter([["a", "b"], [], ["c"]]), output_signature=tf.TensorSpec([None], tf.string)
)

facts(
    sizes=[int(part.cardinality()) for part in (held, rest)],
    stays=held_paths() == held_paths(),
    shares=len(set(held_paths()) & {path.numpy() for path in rest}),
    sums=[float(np.round(total)) for total in sums],
    counts=counts.tolist(),
    batch=[list(image.shape), list(label.shape), image.numpy().dtype.name, label.numpy().dtype.name],
    rows=[row.numpy().tolist() for row in rows],
    words=[[word.decode() for word in row] for batch in words.padded_batch(3) for row in batch.numpy()],
    saturated=int(tf.image.adjust_saturation(np.full((2, 2, 3), [200, 100, 50], np.uint8), 0.5).numpy()[0, 0, 2]),
    fitted=list(tf.image.resize_with_pad(np.ones((4, 8, 3), np.float32), 6, 6).shape),
    at_once=tf.py_function(lambda value: value.numpy() + 1, [2], tf.int32).numpy().item(),
)
