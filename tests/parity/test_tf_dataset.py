"""A feed as a tf.data.Dataset: the same elements, with their types."""

from __future__ import annotations

import numpy as np
import pytest

import wellfed as wf
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import PlanError

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")
columns_of = pytest.importorskip("tensorflow_columns")

NAMES = [b"pig", b"cow\x00", b"", b"\xff", b"ant"]
COLUMNS = {
    "x": np.arange(5),
    "image": np.arange(20, dtype=np.uint8).reshape(5, 2, 2),
    "name": Bytes.from_list(NAMES),
    "tokens": Ragged(np.arange(5, dtype=np.float32), [0, 2, 2, 3, 4, 5]),
    "tags": Ragged(Bytes.from_list(NAMES), [0, 2, 2, 3, 4, 5]),
}


@pytest.fixture
def to_tf_dataset():
    from wellfed.adapters.tensorflow import to_tf_dataset

    return to_tf_dataset


def test_the_signature_leaves_the_batch_open(to_tf_dataset):
    assert to_tf_dataset(wf.from_arrays(COLUMNS).batch(2)).element_spec == {
        "x": tf.TensorSpec([None], tf.int64),
        "image": tf.TensorSpec([None, 2, 2], tf.uint8),
        "name": tf.TensorSpec([None], tf.string),
        "tokens": tf.RaggedTensorSpec([None, None], tf.float32),
        "tags": tf.RaggedTensorSpec([None, None], tf.string),
    }


@pytest.mark.parametrize("name", COLUMNS)
def test_elements_hold_the_columns_values(to_tf_dataset, name):
    column = COLUMNS[name]
    batches = [batch[name] for batch in to_tf_dataset(wf.from_arrays({name: column}).batch(2))]
    rows = [row for b in batches for row in (b.to_list() if isinstance(b, tf.RaggedTensor) else b.numpy().tolist())]

    assert len(batches) == 3
    assert rows == (column.tolist() if isinstance(column, np.ndarray) else column.to_list())


def test_an_array_of_another_order_of_bytes_holds_its_values(to_tf_dataset):
    (batch,) = to_tf_dataset(wf.from_arrays(np.arange(3, dtype=">i4")).batch(3))

    assert batch.numpy().tolist() == [0, 1, 2]


def test_rows_have_their_own_shapes(to_tf_dataset):
    rows = to_tf_dataset(wf.from_arrays({"x": COLUMNS["x"], "name": COLUMNS["name"]}))

    assert rows.element_spec == {"x": tf.TensorSpec([], tf.int64), "name": tf.TensorSpec([], tf.string)}
    assert [row["name"].numpy() for row in rows] == NAMES


SPARSE = Sparse(np.array([[0, 2], [0, 5], [2, 1], [4, 0]]), np.array([20, 50, 10, 1]), (5, 10))
WORDS = Sparse(SPARSE.indices, Bytes.from_list(NAMES[:4]), (5, 10))


def test_sparse_columns_become_sparse_tensors(to_tf_dataset):
    batches = to_tf_dataset(wf.from_arrays({"s": SPARSE, "w": WORDS}).batch(2))
    dense = [row.tolist() for batch in batches for row in tf.sparse.to_dense(batch["s"]).numpy()]

    assert batches.element_spec["w"] == tf.SparseTensorSpec([None, 10], tf.string)
    assert dense == SPARSE.to_dense().tolist()
    assert [word for batch in batches for word in batch["w"].values.numpy()] == NAMES[:4]


SPARSE_FEATURES = {
    "s": wf.SparseFeature(["i", "j"], "v", np.float32, [10, 4]),
    "n": wf.FixedLenFeature([], np.int64),
}


@pytest.mark.parametrize("single", [False, True], ids=["parse_example after batch", "parse_single_example in map"])
def test_a_feed_with_sparse_features_gives_what_tf_data_gives(tmp_path, single):
    path = str(tmp_path / "s.tfrecord")
    with wf.TFRecordWriter(path) as writer:
        for n in range(11):
            places = [(9 - p, (n + p) % 4) for p in range(n % 4)]
            at = np.array(places, np.int64).reshape(-1, 2)
            writer.write(wf.encode_example({"n": n, "i": at[:, 0], "j": at[:, 1], "v": np.float32(n) + at[:, 0]}))
    theirs = {name: columns_of.to_tensorflow(feature) for name, feature in SPARSE_FEATURES.items()}
    records = tf.data.TFRecordDataset(path)
    if single:
        expected = records.map(lambda record: tf.io.parse_single_example(record, theirs)).batch(4)
    else:
        expected = records.batch(4).map(lambda batch: tf.io.parse_example(batch, theirs))
    found = list(wf.TFRecordDataset(path, SPARSE_FEATURES).batch(4))

    assert [columns_of.all_plain(batch) for batch in found] == [columns_of.all_plain(batch) for batch in expected]


def test_each_iteration_is_the_next_epoch(to_tf_dataset):
    def numbers():
        return wf.from_arrays({"x": np.arange(20)}).shuffle(seed=1).batch(7)

    theirs = to_tf_dataset(numbers())

    for epoch in range(2):
        assert [b["x"].numpy().tolist() for b in theirs] == [b["x"].tolist() for b in numbers().epoch(epoch)]


def test_a_signature_that_is_given_is_taken(to_tf_dataset):
    given = {"x": tf.TensorSpec([2], tf.int64)}

    assert to_tf_dataset(wf.from_arrays({"x": np.arange(4)}).batch(2), given).element_spec == given


def test_rows_of_any_shape_have_an_open_signature(to_tf_dataset, tmp_path):
    rows = [{"picture": np.full((n + 1, n + 2, 3), n, np.uint8), "list": [n] * n} for n in range(3)]
    wf.pack(rows, tmp_path / "data", shuffle=False)
    elements = to_tf_dataset(wf.open(tmp_path / "data"))

    assert elements.element_spec == {
        "picture": tf.TensorSpec([None, None, 3], tf.uint8),
        "list": tf.TensorSpec([None], tf.int64),
    }
    assert [element["picture"].shape.as_list() for element in elements] == [[1, 2, 3], [2, 3, 3], [3, 4, 3]]


def test_an_empty_data_set_has_the_signature_that_its_plan_tells(to_tf_dataset):
    empty = to_tf_dataset(wf.from_arrays({"x": np.zeros((0, 2))}))

    assert empty.element_spec == {"x": tf.TensorSpec([None], tf.float64)}
    assert list(empty) == []


def test_an_empty_data_set_behind_a_function_needs_its_signature(to_tf_dataset):
    with pytest.raises(PlanError, match="there is none to look at") as caught:
        to_tf_dataset(wf.from_arrays({"x": np.zeros(0)}).map(lambda row: row))

    assert caught.value.__notes__ == ["output_signature= tells the form of elements that cannot be made."]


def test_what_is_no_data_set_is_refused(to_tf_dataset):
    with pytest.raises(PlanError, match="to_tf_dataset: a data set is due, got list"):
        to_tf_dataset([1])


@pytest.mark.parametrize("dtype", ["M8[s]", [("a", "i4")]], ids=["datetimes", "fields"])
def test_a_dtype_that_tensorflow_has_not_is_refused_by_name(to_tf_dataset, dtype):
    with pytest.raises(PlanError, match=r"to_tf_dataset: TensorFlow has no tensor for x \(.*\): .*select_columns\(\)"):
        to_tf_dataset(wf.from_arrays({"x": np.zeros(4, dtype)}).batch(2))


def test_an_iterator_that_is_dropped_half_way_leaves_no_thread(to_tf_dataset):
    elements = iter(to_tf_dataset(wf.from_arrays({"x": np.arange(100_000)}).map(lambda row: row).batch(8)))
    next(elements)

    del elements  # conftest.py looks for threads.
