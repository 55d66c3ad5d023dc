"""Python threads that feed a queue by placeholder, a coordinator that stops them, and what everyone sees."""

import threading

import numpy as np
from reporting import facts, start

tf, folder = start()
row_in = tf.placeholder(tf.float32, [None, 3], name="rows")
id_in = tf.placeholder(tf.int32, [None])
queue = tf.PaddingFIFOQueue(20, [tf.float32, tf.int32], [[None], []], names=["row", "id"], name="padded")
put = queue.enqueue_many({"row": row_in, "id": id_in})
taken = queue.dequeue_many(5)
double = {name: value * 2 for name, value in taken.items()}
close = queue.close(cancel_pending_enqueues=True)
counter = tf.Variable(0, trainable=False)
count_up = tf.assign_add(counter, 1)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    told = []

    def feed(first):
        with coord.stop_on_exception():
            while not coord.should_stop():
                ids = np.arange(first, first + 4)
                try:
                    sess.run(put, {row_in: np.tile(ids[:, None], (1, 3)), id_in: ids})
                except tf.errors.CancelledError as error:
                    told.append(type(error).__name__)
                    return
                sess.run(count_up)

    threads = [threading.Thread(target=feed, args=(100 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    matches = []
    for _ in range(20):
        values = sess.run(double)
        matches.append(bool((values["row"][:, 0] == values["id"]).all()) and values["row"].shape == (5, 3))
    coord.request_stop()
    sess.run(close)
    coord.join(threads)
    enough = int(sess.run(counter)) >= 20

    refused = []
    for wrong in (lambda: sess.run(put, {row_in: np.zeros((2, 4)), id_in: [1, 2]}),):
        try:
            wrong()
        except (ValueError, tf.errors.OpError) as error:
            refused.append(type(error).__name__)
    unfed = None
    try:
        sess.run(row_in)
    except tf.errors.InvalidArgumentError as error:
        unfed = "must feed a value for placeholder" in str(error)

coord = tf.train.Coordinator()


def fail():
    with coord.stop_on_exception():
        raise ValueError("broken feeder")


thread = threading.Thread(target=fail)
thread.start()
try:
    coord.join([thread])
    joined = None
except ValueError as error:
    joined = str(error)

facts(
    matches=all(matches),
    freed=sorted(set(told)) in ([], ["CancelledError"]),
    enough=enough,
    refused=refused,
    unfed=unfed,
    joined=joined,
    names=[row_in.name, queue.name, put.name],
    shapes=[double["row"].shape.as_list(), double["id"].shape.as_list()],
)
