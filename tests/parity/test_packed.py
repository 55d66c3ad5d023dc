"""TensorFlow reads what wellfed packs: records, features, pictures, compression."""

import numpy as np
import pytest
from packed_folder import columns
from tiny_source import TinySource

from wellfed.datasets import Image, Scalar, Schema, Sequence, Tensor, Text, open_dataset
from wellfed.image import encode_image
from wellfed.packing import pack
from wellfed.sources import Items

pytestmark = pytest.mark.tensorflow

RNG = np.random.default_rng(1)
ITEMS = [
    {
        "image": encode_image(RNG.integers(0, 256, (6, 5, 3), np.uint8)),
        "number": n,
        "ratio": n / 4,
        "text": f"row {n}",
        "tokens": list(range(n % 4)),
        "box": np.arange(4, dtype=np.float32) + n,
        "pixels": np.full((2, 3), n, np.uint8),
    }
    for n in range(12)
]
TYPES = Schema(
    {
        "image": Image(),
        "number": Scalar(),
        "ratio": Scalar("float32"),
        "text": Text(),
        "tokens": Sequence(Scalar("int32")),
        "box": Tensor((4,), "float32"),
        "pixels": Tensor((2, 3), "uint8", "bytes"),
    }
)


def tf_rows(folder, compression):
    """Returns the rows as TensorFlow's own parser and decoders give them."""
    import tensorflow as tf

    spec = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "number": tf.io.FixedLenFeature([], tf.int64),
        "ratio": tf.io.FixedLenFeature([], tf.float32),
        "text": tf.io.FixedLenFeature([], tf.string),
        "tokens": tf.io.RaggedFeature(tf.int64),
        "box": tf.io.FixedLenFeature([4], tf.float32),
        "pixels": tf.io.FixedLenFeature([], tf.string),
    }
    files = open_dataset(folder).splits["train"].files
    rows = []
    for record in tf.data.TFRecordDataset(files, compression):
        row = tf.io.parse_single_example(record, spec)
        row["image"] = tf.io.decode_png(row["image"])
        row["pixels"] = tf.reshape(tf.io.decode_raw(row["pixels"], tf.uint8), (2, 3))
        rows.append({name: value.numpy() for name, value in row.items()})
    return rows


@pytest.mark.parametrize(
    ("compression", "theirs"), [("", ""), ("GZIP", "GZIP"), ("ZLIB", "ZLIB"), ("GZIP_SEEKABLE", "GZIP")]
)
def test_tensorflow_parses_what_was_packed(tmp_path, compression, theirs):
    pack(Items(ITEMS, TYPES), tmp_path, name="items", shards=2, compression=compression)

    ours = columns(tmp_path, "train")
    rows = tf_rows(tmp_path, theirs)
    assert len(rows) == len(ITEMS)
    for at, row in enumerate(rows):
        assert row["text"] == ours["text"][at]
        for name in ("image", "number", "ratio", "box", "pixels", "tokens"):
            np.testing.assert_array_equal(row[name], ours[name][at])


def test_tensorflow_parses_sequence_examples_that_were_packed(tmp_path):
    import tensorflow as tf

    types = Schema(
        {"number": Scalar(), "tokens": Sequence(Scalar()), "words": Sequence(Sequence(Scalar()))}, "SequenceExample"
    )
    items = [{"number": n, "tokens": list(range(n)), "words": [list(range(k)) for k in range(n)]} for n in range(5)]
    pack(Items(items, types), tmp_path, name="sequences", shuffle=False)
    files = open_dataset(tmp_path).splits["train"].files
    lists = {"tokens": tf.io.FixedLenSequenceFeature([], tf.int64), "words": tf.io.RaggedFeature(tf.int64)}
    for item, record in zip(items, tf.data.TFRecordDataset(files), strict=True):
        context, steps = tf.io.parse_single_sequence_example(
            record, {"number": tf.io.FixedLenFeature([], tf.int64)}, lists
        )
        assert context["number"].numpy() == item["number"]
        assert steps["tokens"].numpy().tolist() == item["tokens"]
        assert steps["words"].to_list() == item["words"]


def test_tensorflow_writes_the_same_bytes_for_the_same_example(tmp_path):
    import tensorflow as tf

    from wellfed.io import TFRecordReader

    pack(TinySource(5), tmp_path, name="tiny")
    (file,) = open_dataset(tmp_path).splits["train"].files
    for record in TFRecordReader(file):
        example = tf.train.Example.FromString(record)
        assert example.SerializeToString(deterministic=True) == record
