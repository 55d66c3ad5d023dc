"""A feed as a tf.data.Dataset: the same elements, with their types."""

from __future__ import annotations

import numpy as np
import pytest

import wellfed as wf
from wellfed.columns import Bytes, Ragged
from wellfed.errors import PlanError

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")

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


def test_rows_have_their_own_shapes(to_tf_dataset):
    rows = to_tf_dataset(wf.from_arrays({"x": COLUMNS["x"], "name": COLUMNS["name"]}))

    assert rows.element_spec == {"x": tf.TensorSpec([], tf.int64), "name": tf.TensorSpec([], tf.string)}
    assert [row["name"].numpy() for row in rows] == NAMES


def test_each_iteration_is_the_next_epoch(to_tf_dataset):
    def numbers():
        return wf.from_arrays({"x": np.arange(20)}).shuffle(seed=1).batch(7)

    theirs = to_tf_dataset(numbers())

    for epoch in range(2):
        assert [b["x"].numpy().tolist() for b in theirs] == [b["x"].tolist() for b in numbers().epoch(epoch)]


def test_a_signature_that_is_given_is_taken(to_tf_dataset):
    given = {"x": tf.TensorSpec([2], tf.int64)}

    assert to_tf_dataset(wf.from_arrays({"x": np.arange(4)}).batch(2), given).element_spec == given


def test_an_empty_data_set_needs_its_signature(to_tf_dataset):
    with pytest.raises(PlanError, match="empty, so its output_signature must be given"):
        to_tf_dataset(wf.from_arrays({"x": np.arange(0)}).batch(2))
