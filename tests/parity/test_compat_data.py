"""tf.data's verbs on TensorFlow and on ours: the same elements in the same order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wellfed.compat as ours

theirs = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.tensorflow


def as_python(element):
    if isinstance(element, tuple):
        return tuple(as_python(part) for part in element)
    if isinstance(element, dict):
        return {key: as_python(part) for key, part in element.items()}
    return (str(element.dtype), element.tolist()) if hasattr(element, "tolist") else element


def elements(dataset):
    return [as_python(element) for element in dataset.as_numpy_iterator()]


# Each verb takes a module, a data set of numbers, and a small number.
VERBS = {
    "take": lambda tf, d, n: d.take(n),
    "skip": lambda tf, d, n: d.skip(n),
    "repeat": lambda tf, d, n: d.repeat(n % 3),
    "shard": lambda tf, d, n: d.shard(n + 1, n // 2),
    "map": lambda tf, d, n: d.map(lambda x: x * 2 + n),
    "filter": lambda tf, d, n: d.filter(lambda x: x % (n + 1) == 0),
    "concatenate": lambda tf, d, n: d.concatenate(tf.data.Dataset.range(n)),
    "flat_map": lambda tf, d, n: d.flat_map(lambda x: tf.data.Dataset.range(x % (n + 1))),
    "interleave": lambda tf, d, n: d.interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x % 4), cycle_length=n + 1, block_length=2
    ),
    "scan": lambda tf, d, n: d.scan(np.int64(n), lambda state, x: (state + x, state)),
    "take_while": lambda tf, d, n: d.take_while(lambda x: x < 5 * n),
    "unique": lambda tf, d, n: d.map(lambda x: x % (n + 1)).unique(),
    "batch and back": lambda tf, d, n: d.batch(n + 1).unbatch(),
    "drop and back": lambda tf, d, n: d.batch(n + 1, drop_remainder=True).unbatch(),
    "number": lambda tf, d, n: d.enumerate(n).map(lambda i, x: i * 100 + x),
    "zip": lambda tf, d, n: tf.data.Dataset.zip((d, d.skip(n))).map(lambda a, b: a - b),
    "cache": lambda tf, d, n: d.cache().prefetch(n),
    "window": lambda tf, d, n: (
        d.window(n + 1, shift=n // 2 + 1, stride=n % 2 + 1).flat_map(lambda w: w.batch(n + 1)).unbatch()
    ),
    "choose": lambda tf, d, n: tf.data.Dataset.choose_from_datasets(
        [d, tf.data.Dataset.range(100, 103 + n)], tf.data.Dataset.range(2).repeat(9), stop_on_empty_dataset=n % 2 == 0
    ),
    "rebatch": lambda tf, d, n: d.batch(n + 1).rebatch(n // 2 + 1, drop_remainder=n % 2 == 0).unbatch(),
    "rebatch in turn": lambda tf, d, n: d.batch(n + 1).rebatch([n + 1, 1, 2], drop_remainder=n % 2 == 0).unbatch(),
}
ENDS = {
    "as it is": lambda tf, d, n: d,
    "batch": lambda tf, d, n: d.batch(n + 1),
    "pairs": lambda tf, d, n: d.map(lambda x: (x, {"half": x / 2, "text": tf.strings.as_string(x)})).batch(n + 1),
    "padded": lambda tf, d, n: d.map(lambda x: tf.range(x % 5)).padded_batch(n + 1),
    "one hot": lambda tf, d, n: d.batch(n + 1).map(lambda x: tf.one_hot(x % 5, 5)),
    "sums": lambda tf, d, n: d.batch(n + 1, drop_remainder=True).map(lambda x: (tf.reduce_sum(x), tf.shape(x))),
}


@settings(max_examples=150, deadline=None)
@given(
    length=st.integers(1, 25),
    verbs=st.lists(st.tuples(st.sampled_from(sorted(VERBS)), st.integers(0, 6)), max_size=4),
    end=st.tuples(st.sampled_from(sorted(ENDS)), st.integers(0, 6)),
)
def test_a_chain_of_verbs_gives_the_same_elements(length, verbs, end):
    results = []
    for tf in (theirs, ours):
        dataset = tf.data.Dataset.range(length)
        for name, number in verbs:
            dataset = VERBS[name](tf, dataset, number)
        dataset = ENDS[end[0]](tf, dataset, end[1]).take(60)
        results.append(elements(dataset))

    assert results[1] == results[0]


@pytest.mark.parametrize("cycle", [1, 2, 3])
@pytest.mark.parametrize("block", [1, 2, 5])
def test_interleaved_files_come_in_tensorflows_order(tmp_path, cycle, block):
    paths = [str(tmp_path / f"{part}") for part in range(4)]
    for part, path in enumerate(paths):
        with ours.io.TFRecordWriter(path) as writer:
            for number in range((3, 0, 5, 2)[part]):
                writer.write(b"%d.%d" % (part, number))

    results = [
        elements(tf.data.Dataset.from_tensor_slices(paths).interleave(tf.data.TFRecordDataset, cycle, block))
        for tf in (theirs, ours)
    ]

    assert results[1] == results[0]


def test_buckets_hold_the_same_batches():
    results = []
    for tf in (theirs, ours):
        rows = tf.data.Dataset.range(30).map(lambda x, tf=tf: tf.range(x % 7))
        buckets = rows.bucket_by_sequence_length(lambda row, tf=tf: tf.shape(row)[0], [2, 5], [4, 3, 2])
        results.append(elements(buckets))

    assert results[1] == results[0]


def test_what_is_known_of_elements_is_the_same():
    specs = []
    for tf in (theirs, ours):
        pairs = tf.data.Dataset.from_tensor_slices((np.zeros((4, 2), np.float32), [1, 2, 3, 4]))
        made = pairs.map(lambda x, y, tf=tf: {"x": tf.reshape(x, [2, 1]), "y": tf.cast(y, tf.float32)}).batch(3)
        specs.append({name: (spec.dtype.name, spec.shape.as_list()) for name, spec in made.element_spec.items()})

    assert specs[1] == specs[0]
