"""Queues, producers, batchers, readers and runners of the deferred graph."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wellfed.compat as tf


@pytest.fixture(autouse=True)
def session():
    """A graph and a session of the test's own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def drain(session, fetch):
    """Starts the runners, and gives what `fetch` gives until the end, with the error there."""
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    got = []
    try:
        while True:
            got.append(session.run(fetch))
    except tf.errors.OutOfRangeError as end:
        error = end
    coord.request_stop()
    coord.join(threads)
    return got, error


# --- Queues --------------------------------------------------------------------------------------


def test_a_queues_state_belongs_to_the_session(session):
    queue = tf.FIFOQueue(10, [tf.int64], [[]])
    put, size = queue.enqueue([5]), queue.size()
    session.run(put)

    with tf.Session() as other:
        assert other.run(size) == 0
    assert session.run(size) == 1


def test_queues_of_one_shared_name_are_one_in_a_session(session):
    first, second = (tf.FIFOQueue(10, [tf.int64], [[]], shared_name="both") for _ in range(2))

    session.run(first.enqueue([5]))

    assert session.run(second.dequeue()) == 5


def test_components_come_as_a_list_and_with_names_as_a_dict(session):
    plain = tf.FIFOQueue(10, [tf.int64, tf.string], [[], []])
    named = tf.FIFOQueue(10, [tf.int64, tf.string], [[], []], names=["n", "s"])
    session.run([plain.enqueue([1, "a"]), named.enqueue({"n": 2, "s": b"b"})])

    assert session.run(plain.dequeue()) == [1, b"a"]
    assert session.run(named.dequeue()) == {"n": 2, "s": b"b"}


def test_static_shapes_follow_the_queues(session):
    queue = tf.FIFOQueue(10, [tf.float32], [[2, 3]])

    assert queue.dequeue().shape.as_list() == [2, 3]
    assert queue.dequeue_many(4).shape.as_list() == [4, 2, 3]
    assert queue.dequeue_up_to(4).shape.as_list() == [None, 2, 3]
    assert queue.dequeue_many(tf.placeholder(tf.int32, [])).shape.as_list() == [None, 2, 3]


def test_the_number_of_elements_may_be_a_tensor(session):
    queue, n = tf.FIFOQueue(10, [tf.int64], [[]]), tf.placeholder(tf.int32, [])
    session.run(queue.enqueue_many([[1, 2, 3]]))

    assert session.run(queue.dequeue_many(n), {n: 2}).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("vals", "error", "message"),
    [
        ([1], ValueError, "Queue takes 2 components, got 1"),
        ({"a": 1, "b": 2}, ValueError, "Queue must have names to enqueue a dictionary"),
        ([1.5, b"a"], TypeError, r"Expected int64, but got float64 values such as 1\.5"),
        ([[1, 2], b"a"], ValueError, "are not compatible"),
    ],
)
def test_an_element_that_does_not_fit_is_refused_before_a_run(vals, error, message):
    queue = tf.FIFOQueue(10, [tf.int64, tf.string], [[], []])

    with pytest.raises(error, match=message):
        queue.enqueue(vals)


def test_a_tensor_of_another_dtype_is_refused_before_a_run():
    queue = tf.FIFOQueue(10, [tf.int64], [[]])

    with pytest.raises(ValueError, match="Tensor conversion requested dtype int64"):
        queue.enqueue(tf.placeholder(tf.float32, []))


def test_other_names_are_refused():
    queue = tf.FIFOQueue(10, [tf.int64], [[]], names=["n"])

    with pytest.raises(ValueError, match="do not match names of Queue"):
        queue.enqueue({"m": 1})
    with pytest.raises(ValueError, match="You must enqueue a dictionary"):
        queue.enqueue([1])


def test_a_run_may_be_given_a_limit(session):
    wait = tf.FIFOQueue(1, [tf.int64], [[]]).dequeue()

    with pytest.raises(tf.errors.DeadlineExceededError, match="was not served within"):
        session.run(wait, options=tf.RunOptions(timeout_in_ms=1))


def test_close_and_is_closed(session):
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    before = session.run(queue.is_closed())

    session.run(queue.close())

    assert (before, session.run(queue.is_closed())) == (False, True)


def test_the_other_kinds_are_theirs(session):
    shuffled = tf.RandomShuffleQueue(100, 0, [tf.int64], [[]], seed=3)
    ranked = tf.PriorityQueue(100, [tf.string], [[]])
    padded = tf.PaddingFIFOQueue(100, [tf.int64], [[None]])
    session.run([shuffled.enqueue_many([range(50)]), ranked.enqueue_many([[2, 1], ["b", "a"]])])
    session.run([padded.enqueue([[1]])])
    session.run([padded.enqueue([[2, 3]])])

    assert session.run(shuffled.dequeue_many(50)).tolist() != list(range(50))
    assert session.run(ranked.dequeue()) == [1, b"a"]
    assert session.run(padded.dequeue_many(2)).tolist() == [[1, 0], [2, 3]]


def test_a_padding_queue_needs_its_ranks():
    with pytest.raises(ValueError, match="All shapes must have a defined rank"):
        tf.PaddingFIFOQueue(10, [tf.int64], [tf.TensorShape(None)])


def test_a_tensor_may_choose_among_queues(session):
    queues = [tf.FIFOQueue(10, [tf.int64], [[]]) for _ in range(2)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    session.run(chosen.enqueue([7]), {index: 1})

    assert session.run([queue.size() for queue in queues]) == [0, 1]
    assert session.run(chosen.dequeue(), {index: 1}) == 7


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (list, "A list of queues expected"),
        (lambda: [tf.FIFOQueue(1, [tf.int64]), tf.FIFOQueue(1, [tf.int32])], "component dtypes"),
        (lambda: [tf.FIFOQueue(1, [tf.int64], names="a"), tf.FIFOQueue(1, [tf.int64], names="b")], "component names"),
    ],
)
def test_queues_that_differ_cannot_be_chosen_among(make, message):
    with pytest.raises(TypeError, match=message):
        tf.QueueBase.from_list(0, make())


# --- Runners -------------------------------------------------------------------------------------


def test_a_runner_runs_in_whichever_session_it_is_started(session):
    source = tf.train.range_input_producer(6, num_epochs=1, shuffle=False)
    queue = tf.FIFOQueue(100, [tf.int32], [[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([source.dequeue() * 2])] * 2))
    everything = queue.dequeue_up_to(100)

    for _ in range(2):
        with tf.Session() as sess:
            got, _ = drain(sess, everything)
            assert sorted(got[0].tolist()) == [0, 2, 4, 6, 8, 10]


def test_a_cancel_operation_of_ones_own_is_done_on_stop(session):
    done = []
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    tf.py_func(lambda: done.append("cancel"), [], [], name="mark")
    mark = tf.get_default_graph().get_operation_by_name("mark")
    coord = tf.train.Coordinator()
    threads = tf.train.QueueRunner(queue, [queue.enqueue([1])], cancel_op=mark).create_threads(
        session, coord, start=True
    )
    session.run(queue.dequeue())

    coord.request_stop()
    session.run(queue.close(cancel_pending_enqueues=True))
    coord.join(threads)

    assert done == ["cancel"]


def test_a_close_operation_of_ones_own_is_done_at_the_end(session):
    source = tf.train.range_input_producer(2, num_epochs=1)
    queue, done = tf.FIFOQueue(9, [tf.int32], [[]]), []
    tf.py_func(lambda: done.append("close"), [], [], name="mark")
    mark = tf.get_default_graph().get_operation_by_name("mark")
    runner = tf.train.QueueRunner(queue, [queue.enqueue([source.dequeue()])], close_op=mark)
    tf.train.start_queue_runners(session)

    for thread in runner.create_threads(session, start=True):
        thread.join()

    assert done == ["close"]


def test_errors_without_a_coordinator_are_kept(session, caplog):
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    bad = tf.py_func(lambda: 1 // 0, [], tf.int64)
    bad.set_shape([])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([bad])])

    for thread in runner.create_threads(session, start=True):
        thread.join()

    (error,) = runner.exceptions_raised
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert "error in the queue runner" in caplog.text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "Must provide queue and enqueue_ops"),
        ({"queue_runner_def": "x"}, ValueError, "reads no QueueRunnerDef"),
    ],
)
def test_a_runner_needs_a_queue_and_operations(options, error, message):
    with pytest.raises(error, match=message):
        tf.train.QueueRunner(**options)


def test_without_a_session_no_runner_is_started():
    tf.get_default_session().close()

    with pytest.raises(ValueError, match="no session is given"):
        tf.train.start_queue_runners()


# --- Producers and batchers ----------------------------------------------------------------------


def test_epochs_need_no_initialiser_and_end(session):
    names = tf.train.string_input_producer(["a", "b"], num_epochs=2, shuffle=False)

    got, end = drain(session, names.dequeue())

    assert b"".join(got) == b"abab"
    assert end.__cause__ is None


def test_names_may_come_from_files_that_are_looked_for_in_the_session(session, tmp_path):
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name)
    found = tf.train.match_filenames_once(str(tmp_path / "*.txt"))
    names = tf.train.string_input_producer(found, num_epochs=1, shuffle=False)

    got, _ = drain(session, names.dequeue())

    assert [name.decode().rpartition("/")[2] for name in got] == ["a.txt", "b.txt"]


def test_slices_stay_together(session):
    picture, label = tf.train.slice_input_producer([np.arange(8).reshape(4, 2), ["a", "b", "c", "d"]], num_epochs=1)

    got, _ = drain(session, [picture, label])

    assert sorted((row.tolist(), name) for row, name in got) == [
        ([0, 1], b"a"),
        ([2, 3], b"b"),
        ([4, 5], b"c"),
        ([6, 7], b"d"),
    ]


def test_limit_epochs_ends_a_tensor(session):
    limited = tf.train.limit_epochs(tf.placeholder_with_default(3, []), 2)

    assert drain(session, limited)[0] == [3, 3]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.train.string_input_producer([]), "requires a non-null input tensor"),
        (lambda: tf.train.string_input_producer(["a"], num_epochs=0), "num_epochs must be > 0 not 0"),
        (lambda: tf.train.limit_epochs(1, -1), "num_epochs must be > 0 not -1"),
        (lambda: tf.train.input_producer(tf.placeholder(tf.int32)), "must have a fully defined shape"),
        (lambda: tf.train.slice_input_producer([]), "Expected at least one tensor"),
        (lambda: tf.train.batch([], 2), "Expected at least one tensor"),
        (lambda: tf.train.batch([tf.placeholder(tf.int32, [None])], 2), "All shapes must be fully defined"),
        (lambda: tf.train.batch([tf.placeholder(tf.int32)], 2, dynamic_pad=True), "must have a defined rank"),
        (lambda: tf.train.shuffle_batch([1], 2, 5, 5), "capacity 5 must be bigger than min_after_dequeue 5"),
        (
            lambda: tf.train.maybe_batch([1], tf.placeholder(tf.bool, [2]), 2),
            "`keep_input` cannot be a vector when `enqueue_many=False`",
        ),
        (lambda: tf.train.maybe_batch([1], tf.placeholder(tf.bool), 2), "dimensions must be known"),
        (
            lambda: tf.train.maybe_batch([[1]], tf.placeholder(tf.bool, [1, 1]), 2, enqueue_many=True),
            "must be 0 or 1 dimensions",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_a_run(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_lists_of_different_dtypes_are_refused():
    with pytest.raises(TypeError, match="Expected types to be consistent"):
        tf.train.batch_join([[np.int32(1)], [np.float32(1)]], 2)


def count(name="count", shape=()):
    """A tensor of the numbers from 0 on, ten of them."""
    numbers = iter(range(10))
    tensor = tf.py_func(lambda: np.full(shape, next(numbers), np.int64)[()], [], tf.int64, name=name)
    tensor.set_shape(shape)
    return tensor


def test_batches_have_the_form_of_what_is_batched(session):
    x = count()
    batches = tf.train.batch({"x": x, "square": x * x}, 4)

    got, _ = drain(session, batches)

    assert [part["square"].tolist() for part in got] == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert {name: tensor.shape.as_list() for name, tensor in batches.items()} == {"x": [4], "square": [4]}


def test_a_smaller_final_batch_and_dynamic_padding(session):
    lengths = tf.py_func(lambda n: np.arange(n % 3), [count()], tf.int64)
    lengths.set_shape([None])

    got, _ = drain(session, tf.train.batch([lengths], 4, dynamic_pad=True, allow_smaller_final_batch=True))

    assert [part.tolist() for part in got] == [
        [[0, 0], [0, 0], [0, 1], [0, 0]],
        [[0, 0], [0, 1], [0, 0], [0, 0]],
        [[0, 1], [0, 0]],
    ]


def test_a_vector_keeps_some_of_many(session):
    many = count(shape=(4,)) + np.arange(4)
    kept = tf.train.maybe_batch([many], tf.equal(many % 2, 0), 5, enqueue_many=True)

    got, _ = drain(session, kept)

    assert all((part % 2 == 0).all() for part in got)
    assert len(got) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.train.shuffle_batch([x], 5, 20, 3, num_threads=2, seed=1),
        lambda x: tf.train.shuffle_batch_join([[x], [x]], 5, 20, 3, seed=1),
        lambda x: tf.train.maybe_shuffle_batch([x], 5, 20, 3, True),
        lambda x: tf.train.maybe_shuffle_batch_join([[x]], 5, 20, 3, True),
        lambda x: tf.train.batch_join([[x], [x]], 5),
        lambda x: tf.train.maybe_batch_join([[x]], True, 5),
    ],
)
def test_every_batcher_gives_all_elements_once(session, make):
    got, _ = drain(session, make(count()))

    assert sorted(np.concatenate(got).tolist()) == list(range(10))


def test_a_sparse_tensor_is_not_batched():
    with pytest.raises(NotImplementedError, match=r"batches no sparse tensors: use tf\.sparse\.to_dense"):
        tf.train.batch([tf.SparseTensor([[0]], [1], [2])], 2)


def test_the_true_error_of_a_producer_is_the_cause_at_the_end_of_a_chain(session):
    def fail(name):
        raise LookupError(f"no sample in {name.decode()}")

    names = tf.train.string_input_producer(["file"], num_epochs=1)
    sample = tf.py_func(fail, [names.dequeue()], tf.int64)
    sample.set_shape([])
    first = tf.train.batch([sample], 1)
    second = tf.train.shuffle_batch([first], 1, 10, 2, enqueue_many=True)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)

    with pytest.raises(tf.errors.OutOfRangeError, match="is closed") as caught:
        session.run(second)
    with pytest.raises(tf.errors.UnknownError, match="no sample in file") as joined:
        coord.join(threads)

    assert caught.value.__cause__ is joined.value
    assert isinstance(joined.value.__cause__, LookupError)


# --- Readers -------------------------------------------------------------------------------------


def read_all(session, reader, paths, **options):
    names = tf.train.string_input_producer([str(path) for path in paths], num_epochs=1, shuffle=False)
    got, end = drain(session, list(reader.read(names, **options)))
    return [(key.decode().rpartition("/")[2], value) for key, value in got], end


def test_records_come_with_file_and_byte(session, tmp_path):
    for name, records in (("a", [b"one", b"", b"three"]), ("empty", []), ("b", [b"four"])):
        with tf.io.TFRecordWriter(tmp_path / name) as writer:
            for record in records:
                writer.write(record)

    got, _ = read_all(session, tf.TFRecordReader(), [tmp_path / name for name in ("a", "empty", "b")])

    assert got == [("a:0", b"one"), ("a:19", b""), ("a:35", b"three"), ("b:0", b"four")]


def test_a_damaged_record_is_a_data_loss(session, tmp_path):
    with tf.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write(b"payload")
    content = bytearray((tmp_path / "a").read_bytes())
    content[13] ^= 1
    (tmp_path / "a").write_bytes(content)
    key, _ = tf.TFRecordReader().read(tf.train.string_input_producer([str(tmp_path / "a")], num_epochs=1))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)

    with pytest.raises(tf.errors.DataLossError, match="payload CRC32C"):
        session.run(key)
    coord.request_stop()
    coord.join(threads)


def test_a_file_that_is_not_there_is_not_found(session, tmp_path):
    key, _ = tf.WholeFileReader().read(tf.train.string_input_producer([str(tmp_path / "none")], num_epochs=1))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)

    with pytest.raises(tf.errors.NotFoundError, match="none"):
        session.run(key)
    coord.request_stop()
    coord.join(threads)


def test_whole_files_and_names(session, tmp_path):
    (tmp_path / "a").write_bytes(b"\0content")

    assert read_all(session, tf.WholeFileReader(), [tmp_path / "a"])[0][0][1] == b"\0content"
    assert read_all(session, tf.IdentityReader(), ["name"])[0] == [("name", b"name")]


def test_lines_are_numbered_from_one(session, tmp_path):
    (tmp_path / "a").write_bytes(b"head\r\nfirst\r\n\nlast")

    got, _ = read_all(session, tf.TextLineReader(skip_header_lines=1), [tmp_path / "a"])

    assert got == [("a:2", b"first"), ("a:3", b""), ("a:4", b"last")]


def test_pieces_of_one_length(session, tmp_path):
    (tmp_path / "a").write_bytes(b"HHaabbccF")

    got, _ = read_all(session, tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1), [tmp_path / "a"])

    assert got == [("a:0", b"aa"), ("a:1", b"bb"), ("a:2", b"cc")]


def test_pieces_may_overlap(session, tmp_path):
    (tmp_path / "a").write_bytes(b"abcd")

    got, _ = read_all(session, tf.FixedLengthRecordReader(3, hop_bytes=1), [tmp_path / "a"])

    assert [value for _, value in got] == [b"abc", b"bcd"]


def test_a_file_that_is_no_whole_number_of_pieces_is_refused(session, tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    reader = tf.FixedLengthRecordReader(2)

    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple of the record length"):
        list(reader.pieces(str(tmp_path / "a")))


def test_read_up_to_goes_to_the_end_of_a_file(session, tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("4\n")
    names = tf.train.string_input_producer([str(tmp_path / n) for n in "ab"], num_epochs=1, shuffle=False)
    reader = tf.TextLineReader()
    _, values = reader.read_up_to(names, 2)

    got, _ = drain(session, values)

    assert [part.tolist() for part in got] == [[b"1", b"2"], [b"3"], [b"4"]]


def test_a_reader_counts_and_can_begin_anew(session, tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    reader = tf.TextLineReader()
    read_all(session, reader, [tmp_path / "a"])

    assert session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [2, 1]
    session.run(reader.reset())
    assert session.run(reader.num_records_produced()) == 0


def test_two_threads_share_one_reader(session, tmp_path):
    (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(100)))
    names = tf.train.string_input_producer([str(tmp_path / "a")], num_epochs=1)
    key, value = tf.TextLineReader().read(names)

    got, _ = drain(session, tf.train.batch([key, value], 10, num_threads=2))

    assert sorted(int(v) for _, values in got for v in values) == list(range(100))


def test_a_queue_fed_by_threads_through_a_placeholder(session):
    value = tf.placeholder(tf.int64, [])
    queue = tf.FIFOQueue(3, [tf.int64], [[]])
    put, close, take = queue.enqueue([value]), queue.close(), queue.dequeue()

    def feed():
        for n in range(50):
            session.run(put, {value: n})
        session.run(close)

    feeder = threading.Thread(target=feed)
    feeder.start()
    got = [int(session.run(take)) for _ in range(50)]
    feeder.join()

    assert got == list(range(50))


def test_a_shape_of_no_dimensions_stands_for_the_one_component():
    assert tf.FIFOQueue(3, tf.float32, shapes=[]).shapes == [tf.TensorShape([])]
