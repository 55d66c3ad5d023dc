"""tf.data in TensorFlow's names: verbs, traced functions, errors."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import wellfed.compat as tf
from wellfed.compat.dataset_files import interleave_order
from wellfed.compat.tracing import trace
from wellfed.errors import StageError

Dataset = tf.data.Dataset


def values(dataset):
    """The elements as plain Python."""
    return [as_python(element) for element in dataset.as_numpy_iterator()]


def as_python(element):
    if isinstance(element, tuple):
        return tuple(as_python(part) for part in element)
    if isinstance(element, dict):
        return {key: as_python(part) for key, part in element.items()}
    return element.tolist() if hasattr(element, "tolist") else element


# --- Making --------------------------------------------------------------------------------------


def test_slices_of_arrays_tuples_and_dicts():
    assert values(Dataset.from_tensor_slices([1, 2])) == [1, 2]
    assert values(Dataset.from_tensor_slices(([1, 2], ["a", "b"]))) == [(1, b"a"), (2, b"b")]
    assert values(Dataset.from_tensor_slices({"x": np.eye(2), "y": [[1], [2]]})) == [
        {"x": [1, 0], "y": [1]},
        {"x": [0, 1], "y": [2]},
    ]


def test_python_numbers_have_tensorflows_dtypes():
    assert Dataset.from_tensor_slices([1, 2]).element_spec == tf.TensorSpec([], tf.int32)
    assert Dataset.from_tensor_slices([1.5]).element_spec.dtype == tf.float32
    assert Dataset.range(3).element_spec.dtype == tf.int64
    assert Dataset.range(3, output_type=tf.int32).element_spec.dtype == tf.int32


def test_one_element_of_tensors():
    assert values(Dataset.from_tensors(([1, 2], "a"))) == [([1, 2], b"a")]


def test_a_generator_in_the_dtypes_that_were_promised():
    made = Dataset.from_generator(
        lambda stop: ((n, str(n)) for n in range(stop)), (tf.float32, tf.string), ([], []), args=[2]
    )

    assert values(made) == [(0.0, b"0"), (1.0, b"1")]
    assert values(made) == [(0.0, b"0"), (1.0, b"1")]
    assert made.element_spec == (tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.string))


def test_a_generator_that_breaks_its_promise_is_named():
    made = Dataset.from_generator(lambda: [[1, 2]], output_signature=tf.TensorSpec([3], tf.int32))

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"of shape \(2,\) where \(3,\) was promised"):
        values(made)


def test_files_are_listed_in_order_or_shuffled(tmp_path):
    for name in "cab":
        (tmp_path / name).write_text(name)
    pattern = str(tmp_path / "*")

    assert [v[-1:] for v in values(Dataset.list_files(pattern, shuffle=False))] == [b"a", b"b", b"c"]
    assert sorted(values(Dataset.list_files(pattern, seed=1))) == values(Dataset.list_files(pattern, shuffle=False))
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern"):
        Dataset.list_files(str(tmp_path / "none*"))


def test_lines_and_pieces_of_files(tmp_path):
    (tmp_path / "a").write_bytes(b"one\ntwo\n")

    assert values(tf.data.TextLineDataset(str(tmp_path / "a"))) == [b"one", b"two"]
    assert values(tf.data.FixedLengthRecordDataset([str(tmp_path / "a")], 4)) == [b"one\n", b"two\n"]


def test_strings_keep_every_byte():
    assert values(Dataset.from_tensor_slices([b"a\0", b"\0"])) == [b"a\0", b"\0"]
    assert tf.constant([b"a\0"]).numpy().tolist() == [b"a\0"]
    made = Dataset.range(1).map(lambda n: tf.numpy_function(lambda _: [b"a\0"], [n], tf.string))
    assert values(made) == [[b"a\0"]]


# --- Verbs ---------------------------------------------------------------------------------------

SMALL = Dataset.range(7)


def _no_three(n):
    if n == 3:
        raise ValueError("three")
    return n


@pytest.mark.parametrize(
    ("make", "due"),
    [
        (lambda d: d.take(2), [0, 1]),
        (lambda d: d.take(-1).skip(5), [5, 6]),
        (lambda d: d.skip(-1), []),
        (lambda d: d.shard(3, 1), [1, 4]),
        (lambda d: d.take(2).repeat(2), [0, 1, 0, 1]),
        (lambda d: d.take(2).repeat().take(5), [0, 1, 0, 1, 0]),
        (lambda d: d.batch(3), [[0, 1, 2], [3, 4, 5], [6]]),
        (lambda d: d.batch(3, drop_remainder=True), [[0, 1, 2], [3, 4, 5]]),
        (lambda d: d.batch(3).unbatch(), [0, 1, 2, 3, 4, 5, 6]),
        (lambda d: d.batch(3).rebatch(4), [[0, 1, 2, 3], [4, 5, 6]]),
        (lambda d: d.batch(3).rebatch([4, 1]), [[0, 1, 2, 3], [4], [5, 6]]),
        (lambda d: d.take(1).concatenate(d.skip(6)), [0, 6]),
        (lambda d: d.take(2).enumerate(5), [(5, 0), (6, 1)]),
        (lambda d: Dataset.zip((d.take(2), d.skip(3))), [(0, 3), (1, 4)]),
        (lambda d: Dataset.zip(d.take(1), d), [(0, 0)]),
        (lambda d: Dataset.zip({"a": d.take(1), "b": (d, d)}), [{"a": 0, "b": (0, 0)}]),
        (lambda d: d.filter(lambda n: n % 3 == 0), [0, 3, 6]),
        (lambda d: d.take_while(lambda n: n < 2), [0, 1]),
        (lambda d: d.take(3).flat_map(Dataset.range), [0, 0, 1]),
        (lambda d: d.take(2).interleave(lambda n: Dataset.from_tensors(n).repeat(3), 2, 2), [0, 0, 1, 1, 0, 1]),
        (lambda d: d.map(lambda n: n % 3).unique(), [0, 1, 2]),
        (lambda d: d.scan(np.int64(10), lambda s, n: (s + n, s)), [10, 10, 11, 13, 16, 20, 25]),
        (lambda d: d.prefetch(tf.data.AUTOTUNE).cache().with_options(tf.data.Options()), [0, 1, 2, 3, 4, 5, 6]),
        (lambda d: d.apply(lambda inner: inner.take(1)), [0]),
        (lambda d: d.apply(tf.data.experimental.map_and_batch(lambda n: n + 1, 4)), [[1, 2, 3, 4], [5, 6, 7]]),
        (lambda d: Dataset.sample_from_datasets([d.take(2), d.skip(5)], [0, 1]), [5, 6]),
        (lambda d: Dataset.choose_from_datasets([d.take(2), d.skip(5)], Dataset.range(2).repeat()), [0, 5, 1, 6]),
        (
            lambda d: d.window(3, 2, 1, True).flat_map(lambda w: w.batch(3)),
            [[0, 1, 2], [2, 3, 4], [4, 5, 6]],
        ),
        (lambda d: d.window(3).flat_map(lambda w: w), [0, 1, 2, 3, 4, 5, 6]),
        (
            lambda d: d.enumerate().window(4).flat_map(lambda i, x: Dataset.zip((i.batch(4), x.batch(4)))),
            [([0, 1, 2, 3], [0, 1, 2, 3]), ([4, 5, 6], [4, 5, 6])],
        ),
        (lambda d: d.map(lambda n: tf.py_function(_no_three, [n], tf.int64)).ignore_errors(), [0, 1, 2, 4, 5, 6]),
        (lambda d: d.apply(tf.data.experimental.ignore_errors()), [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_verb_means_what_it_means_in_tensorflow(make, due):
    assert values(make(SMALL)) == due


def test_rows_are_padded_to_the_longest_of_a_batch_or_to_a_shape():
    rows = SMALL.take(4).map(tf.range)

    assert values(rows.padded_batch(2)) == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]
    assert values(rows.take(2).padded_batch(2, [3], -1)) == [[[-1, -1, -1], [0, -1, -1]]]


def test_elements_of_like_length_are_batched_together():
    rows = SMALL.take(4).map(tf.range)

    batches = rows.bucket_by_sequence_length(lambda row: tf.shape(row)[0], [2], [2, 2])

    assert values(batches) == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]
    with pytest.raises(NotImplementedError, match="no_padding"):
        rows.bucket_by_sequence_length(len, [2], [2, 2], no_padding=True)


def test_shuffling_is_exact_and_differs_from_epoch_to_epoch():
    shuffled = Dataset.range(100).shuffle(2, seed=1)
    first, second = values(shuffled), values(shuffled)

    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert max(abs(a - b) for a, b in enumerate(first)) > 50  # A buffer of two could not.
    fixed = Dataset.range(100).shuffle(100, seed=1, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)


def test_the_global_seed_fixes_a_shuffle():
    orders = []
    for _ in range(2):
        with tf.Graph().as_default():
            tf.random.set_seed(4)
            orders.append(values(Dataset.range(50).shuffle(50)))

    assert orders[0] == orders[1]


def test_take_and_skip_of_one_order_share_nothing():
    """The usual way to keep elements for validation."""
    mixed = Dataset.range(40).shuffle(40, reshuffle_each_iteration=False)
    held, rest = mixed.take(10), mixed.skip(10)

    assert [int(n) for n in held] == [int(n) for n in held]
    assert sorted(int(n) for part in (held, rest) for n in part) == [*range(40)]
    assert sorted(int(n) for n in rest.concatenate(held)) == [*range(40)]


def test_reduce_joins_all_elements():
    assert SMALL.reduce(np.int64(0), lambda state, n: state + n).numpy() == 21


def test_cardinality_and_length():
    assert (int(SMALL.batch(2).cardinality()), len(SMALL)) == (4, 7)
    assert int(SMALL.repeat().cardinality()) == tf.data.INFINITE_CARDINALITY
    assert int(SMALL.filter(lambda n: n > 1).cardinality()) == tf.data.UNKNOWN_CARDINALITY


def test_what_is_known_of_elements_goes_through_verbs():
    pairs = Dataset.from_tensor_slices((np.zeros((4, 2), np.float32), ["a"] * 4)).map(lambda x, y: {"x": x * 2, "y": y})

    assert pairs.batch(3).element_spec == {
        "x": tf.TensorSpec([None, 2], tf.float32),
        "y": tf.TensorSpec([None], tf.string),
    }
    assert pairs.batch(3, True).output_shapes["x"].as_list() == [3, 2]
    assert pairs.output_types == {"x": tf.float32, "y": tf.string}
    assert Dataset.zip((SMALL, SMALL)).enumerate().element_spec[1][0].dtype == tf.int64


def test_what_does_not_follow_is_taken_from_the_first_element():
    assert SMALL.flat_map(lambda n: Dataset.from_tensors(np.zeros(2))).element_spec == tf.TensorSpec([2], tf.float64)


# --- Traced functions ----------------------------------------------------------------------------


def test_a_function_is_called_once_with_tensors_and_then_by_columns():
    seen = []

    def double(n):
        seen.append(type(n).__name__)
        return n * 2

    assert values(SMALL.map(double)) == [0, 2, 4, 6, 8, 10, 12]
    assert seen == ["Tensor"]


def test_a_function_that_looks_at_values_is_called_for_each_element():
    seen = []

    def odd(n):
        seen.append(type(n).__name__)
        return "odd" if n % 2 else "even"

    assert values(SMALL.take(3).map(odd)) == [b"even", b"odd", b"even"]
    assert seen.count("EagerTensor") == 3


def test_the_parts_of_a_tuple_are_arguments():
    pairs = Dataset.from_tensor_slices(([1, 2], [10, 20]))

    assert values(pairs.map(lambda a, b: a + b)) == [11, 22]
    assert values(pairs.map(lambda a, b: (b, {"a": a, "one": 1}))) == [
        (10, {"a": 1, "one": 1}),
        (20, {"a": 2, "one": 1}),
    ]


def test_equality_is_of_values_in_a_function_given_to_map():
    names = np.array(["cats", "dogs"])
    paths = Dataset.from_tensor_slices(["x/dogs/1.png", "x/cats/2.png"])

    labels = paths.map(lambda path: tf.argmax(tf.strings.split(path, "/")[-2] == names))
    others = Dataset.range(3).map(lambda n: (n == 1, n != 1, np.array(1) == n))

    assert [int(label) for label in labels] == [1, 0]
    assert [tuple(map(bool, row)) for row in others] == [
        (False, True, False),
        (True, False, True),
        (False, True, False),
    ]


def test_a_list_is_an_array():
    assert values(Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda a, b: [a, b])) == [[1, 10], [2, 20]]


def test_broadcasting_is_between_rows_not_between_columns():
    pairs = Dataset.from_tensor_slices((np.ones((2, 2)), np.arange(8.0).reshape(2, 2, 2)))

    assert values(pairs.map(lambda a, b: a + b)) == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert values(pairs.map(lambda a, b: b - [1.0, 2.0])) == [[[-1, -1], [1, 1]], [[3, 3], [5, 5]]]


def test_after_batch_a_function_gets_batches():
    sums = Dataset.range(6).batch(3).map(lambda n: (tf.reduce_sum(n), tf.shape(n)[0]))

    assert values(sums) == [(3, 3), (12, 3)]


def test_random_numbers_differ_from_row_to_row_and_hold_for_a_seed():
    noisy = Dataset.range(50).shuffle(50, seed=1).map(lambda n: tf.random.uniform([]))
    batches = Dataset.range(8).shuffle(8, seed=1).batch(4).map(lambda n: tf.random.uniform([2]))

    assert len(set(values(noisy))) == 50
    first, again = (values(Dataset.range(5).shuffle(5, seed=2).map(lambda n: tf.random.normal([]))) for _ in range(2))
    assert first == again
    assert len({str(row) for row in values(batches)}) == 2


def test_cond_and_python_functions_work_in_a_traced_function():
    chosen = SMALL.take(3).map(lambda n: tf.cond(n > 0, lambda: n * 10, lambda: n - 1))
    called = SMALL.take(3).map(lambda n: tf.py_function(lambda v: v.numpy() + 1, [n], tf.int64))
    numpy = SMALL.take(2).map(lambda n: tf.numpy_function(lambda v: v * 3, [n], tf.int64))

    assert (values(chosen), values(called), values(numpy)) == ([-1, 10, 20], [1, 2, 3], [0, 3])


def test_a_function_of_tensors_keeps_no_state():
    count = tf.Variable(0)

    with pytest.raises(tf.errors.OpError, match="no value before a run"):
        values(SMALL.map(lambda n: n + tf.cast(count, tf.int64)))


def test_rows_of_different_shapes_stay_rows():
    rows = SMALL.take(3).map(tf.range).map(lambda row: row * 2)

    assert values(rows) == [[], [0], [0, 2]]


def test_a_sparse_feature_becomes_dense_inside():
    def example(n):
        feature = {"v": tf.train.Feature(int64_list=tf.train.Int64List(value=range(n)))}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    def parse(text):
        sparse = tf.io.parse_single_example(text, {"v": tf.io.VarLenFeature(tf.int64)})["v"]
        return tf.sparse.to_dense(sparse), sparse.dense_shape

    dataset = Dataset.from_tensor_slices([example(n) for n in (2, 0, 1)])

    assert values(dataset.map(parse)) == [([0, 1], [2]), ([], [0]), ([0], [1])]


def test_items_of_a_sequence_feature_keep_their_own_number():
    feature = {"v": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3, 4]))}
    text = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    spec = {"v": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True)}
    dataset = Dataset.from_tensor_slices([text, b""])

    assert values(dataset.map(lambda t: tf.io.parse_single_example(t, spec)["v"])) == [[[1, 2], [3, 4]], []]


def png(number, size):
    out = io.BytesIO()
    Image.fromarray(np.full((*size, 3), number, np.uint8)).save(out, "PNG")
    return out.getvalue()


CHAINS = {
    "scaled after": lambda p: (tf.cast(tf.image.resize(p, [3, 4]), tf.float32) - 127.5) / 127.5,
    "scaled before": lambda p: tf.image.resize(tf.image.convert_image_dtype(p, tf.float32), [3, 4]) * 2.0 - 1.0,
    "channel by channel": lambda p: tf.image.resize(p, [3, 4]) - np.array([1.0, 2.0, 3.0], np.float32),
    "only resized": lambda p: tf.image.resize(p, (3, 4), method="area"),
    "from a constant": lambda p: 255.0 - tf.image.resize(p, [3, 4]),
    "flipped": lambda p: tf.image.flip_left_right(tf.image.resize(p, [3, 4])) / 255.0,
    "one number of three dimensions": lambda p: tf.image.resize(p, [3, 4]) * np.full((1, 1, 1), 2, np.float32),
    "made NaN": lambda p: tf.image.resize(p, [3, 4]) - np.float32(np.nan),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize(
    "decode",
    [
        tf.io.decode_png,
        tf.image.decode_jpeg,
        lambda t, channels: tf.io.decode_image(t, channels, expand_animations=False),
    ],
)
def test_pictures_in_one_pass_are_those_of_one_step_after_another(chain, decode):
    encoded = [png(n * 20, (6 + n, 9)) for n in range(8)]

    got = np.stack(
        list(Dataset.from_tensor_slices(encoded).map(lambda t: chain(decode(t, channels=3))).as_numpy_iterator())
    )

    due = np.stack([chain(decode(text, channels=3)).numpy() for text in encoded])
    assert (got.dtype, got.shape) == (due.dtype, due.shape)
    np.testing.assert_allclose(got, due, atol=1e-4)


def test_a_picture_that_is_also_wanted_whole_is_not_swallowed():
    def parse(text):
        picture = tf.io.decode_png(text, channels=3)
        return tf.image.resize(picture, [2, 2]), tf.shape(picture)

    assert [size for _, size in values(Dataset.from_tensor_slices([png(9, (6, 9))]).map(parse))] == [[6, 9, 3]]


def test_what_cannot_be_traced_has_no_graph():
    assert trace(lambda n: 1 if n else 0, tf.TensorSpec([], tf.int64)) is None
    assert trace(lambda n: n + 1, tf.TensorSpec([], tf.int64)).spec == tf.TensorSpec([], tf.int64)


# --- Errors --------------------------------------------------------------------------------------


def test_a_functions_error_has_tensorflows_name_and_itself_as_cause():
    def fail(n):
        if n.numpy() == 3:
            raise ValueError("no such sample")
        return n

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"fail at .*test_data\.py:\d+\) failed at row 3"
    ) as caught:
        values(SMALL.map(fail))
    assert isinstance(caught.value.__cause__, StageError)
    assert str(caught.value.__cause__.__cause__) == "no such sample"


def test_a_functions_error_on_a_batch_names_it_too():
    def fail(batch):
        raise ValueError(f"no such batch: {batch.numpy().tolist()}")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"fail at .*test_data\.py:\d+\).*no such batch: \[0, 1\]"):
        values(SMALL.batch(2).map(fail))


def test_a_damaged_record_is_a_data_loss(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
        writer.write(b"payload")
    content = bytearray((tmp_path / "a").read_bytes())
    content[13] ^= 1
    (tmp_path / "a").write_bytes(content)

    with pytest.raises(tf.errors.DataLossError, match="CRC32C"):
        values(tf.data.TFRecordDataset(str(tmp_path / "a")))


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        values(tf.data.TFRecordDataset(str(tmp_path / "nowhere")))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        list(tf.data.TFRecordDataset(str(tmp_path / "nowhere")))


def test_a_missing_feature_is_an_invalid_argument():
    parsed = Dataset.from_tensor_slices([b""]).map(
        lambda t: tf.io.parse_single_example(t, {"x": tf.io.FixedLenFeature([], tf.int64)})
    )

    with pytest.raises(tf.errors.InvalidArgumentError, match='feature "x"'):
        values(parsed)


# --- Records -------------------------------------------------------------------------------------


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


def test_records_of_names_of_a_data_set_of_names(files):
    listed = Dataset.from_tensor_slices(files)

    assert values(tf.data.TFRecordDataset(listed.shard(3, 1))) == [b"1.%d" % n for n in range(5)]
    assert values(tf.data.TFRecordDataset(listed.take(0))) == []
    assert len(tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)) == 15


@pytest.mark.parametrize(("cycle", "block"), [(1, 1), (2, 1), (2, 2), (3, 2), (5, 3)])
def test_interleaved_files_have_an_order_by_arithmetic_and_a_length(files, cycle, block):
    names = Dataset.from_tensor_slices(files)

    arithmetic = names.interleave(tf.data.TFRecordDataset, cycle, block)
    by_hand = names.interleave(lambda name: tf.data.TFRecordDataset(name).map(lambda t: t), cycle, block)

    assert values(arithmetic) == values(by_hand)
    assert len(arithmetic) == 15


@given(counts=st.lists(st.integers(0, 12), min_size=1, max_size=6), cycle=st.integers(1, 5), block=st.integers(1, 4))
def test_the_order_of_interleaving_is_that_of_taking_turns(counts, cycle, block):
    starts = np.cumsum([0, *counts])
    rows = [list(range(a, b)) for a, b in pairwise(starts)]
    waiting, places, due, turn = list(range(len(counts))), [None] * cycle, [], 0
    while waiting or any(place is not None for place in places):
        if places[turn] is None and waiting:
            places[turn] = waiting.pop(0)
        if places[turn] is not None:
            part, rows[places[turn]] = rows[places[turn]][:block], rows[places[turn]][block:]
            due += part
            if len(part) < block:
                places[turn] = None
        turn = (turn + 1) % cycle

    assert interleave_order(counts, cycle, block).tolist() == due


def test_a_cache_in_a_file_outlasts_its_data_set(tmp_path):
    calls = []

    def counted(n):
        calls.append(int(n))
        return n

    for _ in range(2):
        dataset = SMALL.map(lambda n: tf.py_function(counted, [n], tf.int64)).cache(str(tmp_path / "cache"))
        assert values(dataset) == [0, 1, 2, 3, 4, 5, 6]
    assert sorted(calls) == [0, 1, 2, 3, 4, 5, 6]


def test_a_cache_has_the_length_of_what_is_below_it_and_is_shuffled_whole():
    dataset = SMALL.map(lambda n: n + 1).cache().shuffle(2, seed=0)

    assert len(dataset) == int(dataset.cardinality()) == 7
    assert sorted(values(dataset)) == [1, 2, 3, 4, 5, 6, 7]


def test_a_ragged_batch_keeps_rows_as_long_as_they_are():
    (batch,) = SMALL.take(3).map(tf.range).ragged_batch(3)

    assert batch.to_list() == [[], [0], [0, 1]]
