"""How elements leave data sets: at once, through iterators that sessions run, and as windows."""

from __future__ import annotations

import numpy as np
import pytest

import wellfed.compat as tf

Dataset = tf.data.Dataset


def values(dataset):
    """The elements as plain Python."""
    return [element.tolist() if hasattr(element, "tolist") else element for element in dataset.as_numpy_iterator()]


@pytest.fixture
def files(tmp_path):
    """Three files of 4, 5 and 6 records, which say where they are."""
    paths = []
    for part in range(3):
        paths.append(str(tmp_path / f"part{part}"))
        with tf.io.TFRecordWriter(paths[-1]) as writer:
            for number in range(4 + part):
                writer.write(b"%d.%d" % (part, number))
    return paths


# --- Iterators -----------------------------------------------------------------------------------


def test_elements_are_eager_and_end(files):
    iterator = iter(tf.data.TFRecordDataset(files).take(1))

    assert next(iterator).numpy() == b"0.0"
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()


def test_an_iterator_can_be_left_early_and_resumed():
    dataset = Dataset.range(100).shuffle(100, seed=3)
    iterator = dataset.as_numpy_iterator()
    first = [next(iterator) for _ in range(10)]
    state = iterator.state_dict()
    rest = list(iterator)

    again = dataset.as_numpy_iterator()
    again.load_state_dict(state)

    assert [int(n) for n in again] == [int(n) for n in rest]
    assert len(first) == 10


def test_a_deferred_iterator_has_a_place_in_each_session():
    with tf.Graph().as_default():
        x, y = Dataset.from_tensor_slices(([1, 2], ["a", "b"])).make_one_shot_iterator().get_next()
        with tf.Session() as one, tf.Session() as two:
            assert one.run([x, y]) == [1, b"a"]
            assert one.run([y, x]) == [b"b", 2]
            assert two.run(x) == 1
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                one.run(x)


def test_an_initializable_iterator_begins_anew():
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(Dataset.range(2).batch(2))
        following = iterator.get_next()
        assert following.shape.as_list() == [None]
        session.run(iterator.initializer)
        first = session.run(following)
        session.run(iterator.initializer)

        assert session.run(following).tolist() == first.tolist() == [0, 1]


def test_a_data_set_of_placeholders_takes_their_values_when_it_begins(files):
    with tf.Graph().as_default(), tf.Session() as session:
        names, size = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [])
        late = tf.data.TFRecordDataset(names).map(tf.strings.length).repeat(2).batch(size)
        iterator = late.make_initializable_iterator()
        lengths = iterator.get_next()
        assert (lengths.dtype, lengths.shape.as_list()) == (tf.int32, [None])

        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(lengths)
        for count in (3, 5):
            session.run(iterator.initializer, {names: files[:1], size: count})
            assert len(session.run(lengths)) == count


def test_arrays_that_are_fed_become_slices_and_go_through_all_verbs():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, None, 2]), tf.placeholder(tf.int64, [None])
        pairs = Dataset.zip((Dataset.from_tensor_slices(x), Dataset.from_tensor_slices({"y": y}))).skip(1)
        assert pairs.output_shapes[0].as_list() == [None, 2]
        assert pairs.output_types == (tf.float32, {"y": tf.int64})
        iterator = pairs.make_initializable_iterator()
        element = iterator.get_next()

        session.run(iterator.initializer, {x: np.ones((2, 3, 2)), y: [7, 8]})
        pixels, label = session.run(element)

        assert (pixels.shape, int(label["y"])) == ((3, 2), 8)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


def test_a_data_set_of_placeholders_has_no_elements_before_a_run():
    with tf.Graph().as_default():
        late = Dataset.range(tf.placeholder(tf.int64, []))

        with pytest.raises(TypeError, match="no elements before a run: make_initializable_iterator"):
            iter(late)
        with pytest.raises(ValueError, match="make_one_shot_iterator: the data set waits for the value of a tensor"):
            late.make_one_shot_iterator()


def test_one_iterator_goes_through_several_data_sets_of_one_structure():
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = Dataset.range(3), Dataset.range(10, 12)
        iterator = tf.data.Iterator.from_structure(first.output_types, first.output_shapes)
        following = iterator.get_next()
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
        starts = iterator.make_initializer(first), iterator.make_initializer(second)

        for start, due in zip(starts, ([0, 1, 2], [10, 11]), strict=True):
            session.run(start)
            assert [int(session.run(following)) for _ in due] == due


def test_a_handle_that_is_fed_says_which_iterator_goes_on():
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = (Dataset.range(start, 9).make_one_shot_iterator() for start in (0, 5))
        handle = tf.placeholder(tf.string, [])
        following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
        one, other = session.run([first.string_handle(), second.string_handle()])

        assert [int(session.run(following, {handle: h})) for h in (one, other, one, other)] == [0, 5, 1, 6]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no handle of an iterator"):
            session.run(following, {handle: b"?"})


# --- Windows


def test_windows_are_data_sets_that_flat_map_makes_rows_of():
    rows = Dataset.range(6).window(3, shift=2, drop_remainder=True).flat_map(lambda window: window.batch(3))

    assert [row.numpy().tolist() for row in rows] == [[0, 1, 2], [2, 3, 4]]
    assert [[int(n) for n in window] for window in Dataset.range(5).window(2)] == [[0, 1], [2, 3], [4]]


def test_windows_of_pairs_are_pairs_of_data_sets():
    pairs = Dataset.zip((Dataset.range(4), Dataset.range(10, 14))).window(2)

    rows = pairs.flat_map(lambda x, y: Dataset.zip((x.batch(2), y.skip(1))))

    assert [(x.numpy().tolist(), int(y)) for x, y in rows] == [([0, 1], 11), ([2, 3], 13)]


def test_windows_keep_what_they_are_through_verbs_of_order():
    windows = Dataset.range(8).window(2, stride=2, shift=1, drop_remainder=True).skip(1).take(2)

    assert [[int(n) for n in window] for window in windows] == [[1, 3], [2, 4]]
    turns = windows.interleave(lambda window: window, cycle_length=2)
    assert [int(n) for n in turns] == [1, 2, 3, 4]
