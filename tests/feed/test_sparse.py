"""Sparse features in a feed: what parse_example gives of a batch's records, whatever the unit and the verbs between."""

import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import wellfed as wf
from wellfed.errors import FeatureLengthError, PlanError
from wellfed.example import Sparse
from wellfed.feed import SparseTensorSpec, TensorSpec, from_generator
from wellfed.feed.specs import spec_of_element

FEATURES = {
    "s": wf.SparseFeature(["i", "j"], "v", np.float32, [10, 4]),
    "words": wf.SparseFeature("i", "w", bytes, 10),
    "n": wf.FixedLenFeature([], np.int64),
}
PLACES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=4, unique=True)


def record(number, places):
    at = np.array(places, np.int64).reshape(-1, 2)
    words = [f"{number}-{i}".encode() for i in range(len(at))]
    values = np.arange(len(at), dtype=np.float32) + number
    strings = wf.Bytes.from_list(words)
    return wf.encode_example({"n": number, "i": at[:, 0], "j": at[:, 1], "v": values, "w": strings})


RECORDS = [record(n, [(p, n % 4) for p in range(9, 9 - n % 4, -1)]) for n in range(23)]


def from_records(records):
    return wf.from_arrays(wf.Bytes.from_list(records))


def plain(column):
    values = column.values if isinstance(column.values, np.ndarray) else column.values.to_object_array()
    return column.indices.tolist(), values.tolist(), column.dense_shape


def told(element):
    return {
        name: plain(leaf) if isinstance(leaf, Sparse) else np.asarray(leaf).tolist() for name, leaf in element.items()
    }


def due(records, size):
    return [told(wf.parse_example(records[at : at + size], FEATURES)) for at in range(0, len(records), size)]


@settings(max_examples=40)
@given(st.lists(PLACES, min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 3))
def test_a_batch_is_what_parse_example_gives(places, size, threads):
    records = [record(n, places) for n, places in enumerate(places)]
    dataset = from_records(records).parse(FEATURES).batch(size).with_options(threads=threads)

    assert [told(batch) for batch in dataset] == due(records, size)


def test_an_element_is_what_parse_single_example_gives():
    found = [told(element) for element in from_records(RECORDS).parse(FEATURES)]

    assert found == [told(wf.parse_single_example(record, FEATURES)) for record in RECORDS]


def test_files_are_read_with_sparse_features(tmp_path):
    with wf.TFRecordWriter(tmp_path / "s.tfrecord") as writer:
        writer.write_many(RECORDS)

    assert [told(b) for b in wf.TFRecordDataset(tmp_path / "s.tfrecord", FEATURES).batch(4)] == due(RECORDS, 4)


WAYS = {
    "parse batches": lambda d: d.batch(4).parse(FEATURES),
    "padded_batch": lambda d: d.parse(FEATURES).padded_batch(4),
    "ragged_batch": lambda d: d.parse(FEATURES).ragged_batch(4),
    "filter": lambda d: d.parse(FEATURES).filter(lambda e: True).batch(4),
    "filter and padded_batch": lambda d: d.parse(FEATURES).filter(lambda e: True).padded_batch(4),
    "unbatch": lambda d: d.parse(FEATURES).batch(3).filter(lambda b: True).unbatch().batch(4),
    "rebatch": lambda d: d.parse(FEATURES).batch(3).rebatch(4),
    "window": lambda d: d.parse(FEATURES).window(4),
    "cache": lambda d: d.parse(FEATURES).cache().batch(4),
    "map": lambda d: d.parse(FEATURES).map(dict).batch(4),
    "parsed by a map": lambda d: d.map(lambda r: wf.parse_single_example(r, FEATURES)).batch(4),
    "unique": lambda d: d.parse(FEATURES).unique().batch(4),
    "generator": lambda d: from_generator(lambda: [wf.parse_single_example(r, FEATURES) for r in RECORDS]).batch(4),
    "bucket": lambda d: d.parse(FEATURES).bucket_by_sequence_length(lambda e: 1, [5], [4, 4]),
    "skip": lambda d: d.parse(FEATURES).batch(4).with_options(on_error="skip"),
    "concatenate": lambda d: d.take(7).parse(FEATURES).concatenate(d.skip(7).parse(FEATURES)).batch(4),
    "processes": lambda d: d.parse(FEATURES).map(dict, processes=1).batch(4),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_verb_gives_the_same_batches(way):
    assert [told(batch) for batch in WAYS[way](from_records(RECORDS))] == due(RECORDS, 4)


def test_a_cache_in_a_file_keeps_sparse_elements(tmp_path):
    dataset = from_records(RECORDS).parse(FEATURES).cache(tmp_path / "kept").batch(4)

    assert [told(b) for b in dataset] == due(RECORDS, 4)
    assert [told(b) for b in dataset] == due(RECORDS, 4)


@pytest.mark.parametrize("way", ["parse batches", "filter", "rebatch", "unbatch"])
def test_a_shuffled_feed_resumes_in_the_middle(way):
    def build():
        return WAYS[way](from_records(RECORDS).shuffle(seed=3))

    whole = [told(batch) for batch in build().epoch(0)]
    stopping = build().epoch(0)
    for _ in range(3):
        next(stopping)
    saved = json.loads(json.dumps(stopping.state_dict()))
    stopping.close()
    resumed = iter(build())
    resumed.load_state_dict(saved)

    assert [told(batch) for batch in resumed] == whole[3:]


def test_columns_in_memory_may_be_sparse():
    column = wf.parse_example(RECORDS, FEATURES)["s"]
    dataset = wf.from_arrays({"s": column}).shuffle(seed=1)
    order = wf.from_arrays(np.arange(23)).shuffle(seed=1)

    assert [plain(b["s"]) for b in dataset.batch(5).epoch(0)] == [
        plain(column[rows]) for rows in order.batch(5).epoch(0)
    ]


@pytest.mark.parametrize(
    "chain",
    [
        lambda d: d,
        lambda d: d.batch(4, drop_remainder=True),
        lambda d: d.batch(2).batch(2),
        lambda d: d.padded_batch(4),
        lambda d: d.ragged_batch(4),
        lambda d: d.batch(4).unbatch(),
        lambda d: d.window(2),
    ],
)
def test_the_form_is_known_before(chain):
    dataset = chain(from_records(RECORDS).parse({"s": FEATURES["s"]}))
    element = next(iter(dataset))
    (found,), (told,) = spec_of_element(element).values(), dataset.element_spec.values()

    assert isinstance(told, SparseTensorSpec)
    assert (found.dtype, len(found.shape), type(found)) == (told.dtype, len(told.shape), type(told))
    assert told.shape[-2:] == (10, 4)


def test_the_form_of_a_batch_says_its_size():
    dataset = from_records(RECORDS).parse(FEATURES).batch(4, drop_remainder=True)

    assert dataset.element_spec == {
        "s": SparseTensorSpec((4, 10, 4), np.dtype(np.float32)),
        "words": SparseTensorSpec((4, 10), bytes),
        "n": TensorSpec((4,), np.dtype(np.int64)),
    }


def test_an_index_outside_names_file_and_record(tmp_path):
    with wf.TFRecordWriter(tmp_path / "s.tfrecord") as writer:
        writer.write_many([*RECORDS[:5], record(5, [(3, 4)])])

    with pytest.raises(FeatureLengthError, match=r'indices in "j" from 0 to 3, got 4 .*s\.tfrecord: record 5'):
        list(wf.TFRecordDataset(tmp_path / "s.tfrecord", FEATURES).batch(4))


def test_rows_of_different_shapes_are_no_batch():
    rows = [Sparse(np.array([[0]]), np.array([1]), (size,)) for size in (3, 4)]

    with pytest.raises(PlanError, match=r"rows of the element differ.*sparse \(3,\), sparse \(4,\)"):
        list(from_generator(lambda: rows).batch(2))


# --- Sparse as a column --------------------------------------------------------------------------


def dense_of(column):
    return column.to_dense().tolist()


@given(st.lists(PLACES, min_size=1, max_size=8), st.data())
def test_rows_of_a_sparse_column_are_those_of_the_array(places, data):
    column = wf.parse_example([record(n, p) for n, p in enumerate(places)], {"s": FEATURES["s"]})["s"]
    array = column.to_dense(-1)
    count = len(places)
    bounds = st.integers(-count - 1, count + 1) | st.none()
    keys = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, -1]))
    rows = st.lists(st.integers(0, count - 1), max_size=5).map(lambda rows: np.array(rows, np.int64))
    key = data.draw(keys | rows | st.integers(-count, count - 1))

    assert column[key].to_dense(-1).tolist() == array[key].tolist()
    assert column[key].dense_shape == array[key].shape


def test_values_that_do_not_come_by_rows_are_found_all_the_same():
    column = Sparse(np.array([[2, 0], [0, 1], [2, 3]]), np.array([7, 8, 9]), (3, 4))

    assert [dense_of(row) for row in column] == [[0, 8, 0, 0], [0, 0, 0, 0], [7, 0, 0, 9]]


def test_columns_and_rows_are_put_together():
    column = wf.parse_example(RECORDS, {"words": FEATURES["words"]})["words"]

    assert plain(Sparse.concat([column[:5], column[5:5], column[5:]])) == plain(column)
    assert plain(Sparse.stack(list(column))) == plain(column)


def test_columns_of_different_sizes_are_not_put_together():
    rows = [Sparse(np.empty((0, 1), np.int64), np.empty(0), (size,)) for size in (3, 4)]

    with pytest.raises(ValueError, match=r"rows of one shape are due, got \[\(3,\), \(4,\)\]"):
        Sparse.stack(rows)


def test_a_sparse_column_is_no_array_by_chance():
    with pytest.raises(TypeError, match=r"to_dense\(\) makes one"):
        np.asarray(Sparse(np.array([[0]]), np.array([1]), (1 << 40,)))
