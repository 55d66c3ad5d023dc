"""The iterators of tf.data in TensorFlow 1: of placeholders, of one structure for several data sets, by handles."""

import numpy as np
from reporting import facts, start

tf, folder = start()
names = [f"{folder}/part-{part}" for part in range(2)]
for part, name in enumerate(names):
    with tf.python_io.TFRecordWriter(name) as writer:
        for i in range(3):
            writer.write(b"%d.%d" % (part, i))


def take_all(session, fetches, feed_dict=None):
    """Every element until the end."""
    found = []
    while True:
        try:
            found.append(session.run(fetches, feed_dict))
        except tf.errors.OutOfRangeError:
            return found


x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.int64, [None])
size = tf.placeholder(tf.int64, [])
pairs = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a + 1, b * 2)).batch(size)
fed = pairs.make_initializable_iterator()
pair = fed.get_next()

filenames = tf.placeholder(tf.string, [None])
records = tf.data.Dataset.from_tensor_slices(filenames).flat_map(tf.data.TFRecordDataset)
of_files = records.make_initializable_iterator()
record = of_files.get_next()

train, test = tf.data.Dataset.range(4).map(lambda n: n * 10), tf.data.Dataset.range(2)
either = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
from_either = either.get_next()
starts = [either.make_initializer(train), either.make_initializer(test)]

handle = tf.placeholder(tf.string, [])
by_handle = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes).get_next()
endless, few = train.repeat().make_one_shot_iterator(), test.make_initializable_iterator()

found = {"batches": [], "epochs": []}
with tf.Session() as session:
    try:
        session.run(pair)
    except tf.errors.FailedPreconditionError:
        found["early"] = "not initialized"
    for rows in (3, 2):
        session.run(fed.initializer, {x: np.ones((3, 2)), y: np.arange(3), size: rows})
        found["batches"] += [[a.tolist(), b.tolist()] for a, b in take_all(session, pair)]
    session.run(of_files.initializer, {filenames: names})
    found["records"] = [text.decode() for text in take_all(session, record)]
    for _ in range(2):
        for start_it in starts:
            session.run(start_it)
            found["epochs"].append([int(n) for n in take_all(session, from_either)])
    one, other = session.run([endless.string_handle(), few.string_handle()])
    session.run(few.initializer)
    turns = [session.run(by_handle, {handle: h}) for h in (one, one, other, one, other, one, one)]
    found["turns"] = [int(n) for n in turns]

facts(shapes=[part.shape.as_list() for part in pair], dtypes=[part.dtype.name for part in pair], **found)
