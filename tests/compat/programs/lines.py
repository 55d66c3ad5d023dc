"""Two text files of comma-separated values, read by two threads into batches; empty fields take their defaults."""

import os

from reporting import facts, start

tf, folder = start()
paths = []
for part in range(2):
    paths.append(os.path.join(folder, f"part{part}.csv"))
    with open(paths[-1], "w") as out:
        out.write("name,height,count\n")
        for i in range(part * 10, part * 10 + 10):
            out.write(f'"row {i}",{i / 2 if i % 3 else ""},{i}\n')

names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
reader = tf.TextLineReader(skip_header_lines=1)
rows = []
for _ in range(2):
    key, line = reader.read(names)
    rows.append([key, *tf.decode_csv(line, [["none"], [-1.0], [0]])])
keys, texts, heights, counts = tf.train.batch_join(rows, batch_size=3, capacity=12, allow_smaller_final_batch=True)
produced, finished = reader.num_records_produced(), reader.num_work_units_completed()

seen = {}
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    sizes = []
    try:
        while not coord.should_stop():
            k, t, h, c = sess.run([keys, texts, heights, counts])
            sizes.append(len(k))
            for key_, text, height, count in zip(k, t, h, c):
                place = os.path.basename(key_.decode())
                seen[int(count)] = [place, text.decode(), float(height)]
    except tf.errors.OutOfRangeError:
        pass
    coord.request_stop()
    coord.join(threads)
    totals = [int(n) for n in sess.run([produced, finished])]

facts(
    rows=[seen[n] for n in sorted(seen)],
    most=max(sizes),
    total=sum(sizes),
    produced=totals[0],
    dtypes=[str(h.dtype), str(c.dtype), t.dtype.name],
    static=[str(heights.dtype.name), heights.shape.as_list()],
)
