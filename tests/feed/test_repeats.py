"""Records that hold a feature more than once: the last counts, as in TensorFlow, and none goes by in silence."""

import logging
import warnings

import numpy as np
import pytest

import wellfed as wf

X = {"x": wf.FixedLenFeature([], np.int64)}


def once(number):
    return wf.encode_example({"x": number, "y": 1.5})


def twice(number):
    """Two Examples end to end, which is one that holds all features of both."""
    return once(0) + once(number)


@pytest.fixture(params=["", "GZIP"], ids=["plain", "compressed"])
def path(request, tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord", request.param) as writer:
        writer.write_many(twice(n) if n in (300, 301, 900) else once(n) for n in range(1000))
    return tmp_path / "a.tfrecord"


def test_they_are_counted_and_one_is_named(path):
    iterator = iter(wf.TFRecordDataset(path, X).batch(10).with_options(threads=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.concatenate([batch["x"] for batch in iterator]).tolist() == list(range(1000))

    assert iterator.stats().repeated == 3
    assert iterator.stats().repeated_at == f"{path}: record 300"


def test_the_first_one_is_logged_and_no_other(path, caplog):
    dataset = wf.TFRecordDataset(path, X).shuffle(seed=0).batch(10)
    with caplog.at_level(logging.WARNING, "wellfed.feed"):
        for _ in range(2):
            list(dataset)

    (record,) = caplog.records
    assert "record " in record.getMessage()
    assert "holds a feature more than once: the last one counts" in record.getMessage()


def test_a_feature_that_nobody_reads_may_be_there_twice(path):
    iterator = iter(wf.TFRecordDataset(path, {"z": wf.VarLenFeature(np.int64)}).batch(10))
    list(iterator)

    assert (iterator.stats().repeated, iterator.stats().repeated_at) == (0, "")


def test_two_data_sets_with_the_same_features_count_their_own(path, tmp_path):
    with wf.TFRecordWriter(tmp_path / "b.tfrecord") as writer:
        writer.write_many(map(once, range(10)))
    list(wf.TFRecordDataset(path, X))
    iterator = iter(wf.TFRecordDataset(tmp_path / "b.tfrecord", X))
    list(iterator)

    assert iterator.stats().repeated == 0
