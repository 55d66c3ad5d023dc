"""TensorFlow Datasets opens what wellfed packs. Runs in an environment with tensorflow-datasets.

The other way round is in tests/datasets/test_tfds.py, on a folder that TensorFlow Datasets wrote.
"""

import numpy as np
import pytest
from packed_folder import columns

from wellfed.datasets import (
    ByteString,
    ClassLabel,
    Image,
    Scalar,
    Schema,
    Sequence,
    Tensor,
    Text,
    open_dataset,
)
from wellfed.image import encode_image
from wellfed.packing import PictureOptions, pack
from wellfed.sources import Items

pytestmark = pytest.mark.tfds

TYPES = Schema(
    {
        "image": Image(),
        "raw": Image((4, 3, 3), encoding_format="raw"),
        "label": ClassLabel(("cat", "dog")),
        "flag": Scalar("bool"),
        "big": Scalar("uint64"),
        "ratio": Scalar("float32"),
        "text": Text(),
        "blob": ByteString(),
        "matrix": Tensor((2, 2), "int32"),
        "doubles": Tensor((2,), "float64", "bytes"),
        "rows": Tensor((None, 2), "float32"),
        "zipped": Tensor((None, None), "uint8", "zlib"),
        "tokens": Sequence(Scalar()),
        "nested": Sequence(Sequence(Scalar())),
        "camera/side": Text(),
    }
)


def item(n):
    rng = np.random.default_rng(n)
    return {
        "image": encode_image(rng.integers(0, 256, (5 + n, 4, 3), np.uint8)),
        "raw": rng.integers(0, 256, (4, 3, 3), np.uint8),
        "label": n % 2,
        "flag": n % 3 == 0,
        "big": np.uint64(2**63 + n),
        "ratio": n / 8,
        "text": f"row {n}",
        "blob": b"\xff\x00" * n,
        "matrix": np.full((2, 2), n, np.int32),
        "doubles": np.array([n + 0.1, n]),
        "rows": np.full((n % 3, 2), n, np.float32),
        "zipped": np.full((n % 3, 2), n, np.uint8),
        "tokens": list(range(n % 4)),
        "nested": [list(range(k)) for k in range(n % 3)],
        "camera/side": "left",
    }


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Returns a folder of a data set with every feature type, in two splits of two shards."""
    folder = tmp_path_factory.mktemp("tfds") / "out"
    items = Items([item(n) for n in range(20)], TYPES)
    pack(items, folder, name="zoo", split={"train": 0.7, "test": 0.3}, shards=2, pictures=PictureOptions())
    return folder


@pytest.fixture(scope="module")
def builder(packed):
    """Returns TensorFlow Datasets' builder of that folder."""
    import tensorflow_datasets as tfds

    return tfds.builder_from_directory(packed)


def test_name_version_and_counts_are_the_same(packed, builder):
    ours = open_dataset(packed)

    assert (builder.name, str(builder.version)) == (ours.name, ours.version)
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {
        name: split.records for name, split in ours.splits.items()
    }


def test_class_names_are_the_same(builder):
    assert builder.info.features["label"].names == ["cat", "dog"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_value_is_the_same(packed, builder, split):
    ours = columns(packed, split)
    theirs = list(builder.as_dataset(split=split, shuffle_files=False).as_numpy_iterator())

    assert len(theirs) == len(ours["label"])
    for at, row in enumerate(theirs):
        flat = {**row, "camera/side": row["camera"]["side"]}
        for name in TYPES:
            assert plain(flat[name]) == plain(ours[name][at])


def plain(value):
    """Returns arrays and ragged values, nested in any way, as lists of Python's own values."""
    if hasattr(value, "to_list"):
        value = value.to_list()
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(entry) for entry in value] if isinstance(value, list) else value
