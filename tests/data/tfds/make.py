"""Writes the golden data set that the tests of wellfed.datasets read: made with tensorflow-datasets 4.9.10.

Run in an environment with tensorflow-datasets: python tests/data/tfds/make.py tests/data/tfds
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds


class Zoo(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.2.0")

    def _info(self):
        f = tfds.features
        return tfds.core.DatasetInfo(
            builder=self,
            features=f.FeaturesDict(
                {
                    "image": f.Image(shape=(4, 3, 1), encoding_format="png"),
                    "photo": f.Image(shape=(None, None, 3)),
                    "label": f.ClassLabel(names=["cat", "dog", "élan"]),
                    "number": f.ClassLabel(num_classes=7),
                    "flag": f.Scalar(dtype=np.bool_),
                    "small": f.Scalar(dtype=np.int16),
                    "big": f.Scalar(dtype=np.uint64),
                    "text": f.Text(),
                    "blob": f.Tensor(shape=(), dtype=np.object_),
                    "box": f.BBoxFeature(),
                    "matrix": f.Tensor(shape=(2, 3), dtype=np.float32),
                    "rows": f.Tensor(shape=(None, 2), dtype=np.int32),
                    "doubles": f.Tensor(shape=(2,), dtype=np.float64, encoding="bytes"),
                    "zipped": f.Tensor(shape=(None, None), dtype=np.uint8, encoding="zlib"),
                    "objects": f.Sequence(
                        {"name": f.ClassLabel(names=["a", "b"]), "at": f.Tensor(shape=(2,), dtype=np.float32)}
                    ),
                    "tokens": f.Sequence(f.Sequence(np.int64)),
                    "frames": f.Sequence(f.Image(shape=(2, 2, 3)), length=2),
                    "camera": {"k": f.Tensor(shape=(2,), dtype=np.float32), "side": f.Text()},
                }
            ),
            supervised_keys=("image", "label"),
        )

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(0, 5), "test": self._generate_examples(5, 7)}

    def _generate_examples(self, start, stop):
        for i in range(start, stop):
            yield (
                i,
                {
                    "image": np.full((4, 3, 1), i, np.uint8),
                    "photo": np.full((i + 1, 2, 3), i, np.uint8),
                    "label": i % 3,
                    "number": i,
                    "flag": i % 2 == 0,
                    "small": -i,
                    "big": np.uint64(2**63 + i),
                    "text": f"row {i}",
                    "blob": b"\xff\x00" * i,
                    "box": tfds.features.BBox(0.0, 0.25, 0.5, 1.0),
                    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3) + i,
                    "rows": np.arange(2 * i, dtype=np.int32).reshape(i, 2),
                    "doubles": np.array([i + 0.1, i + 0.2]),
                    "zipped": np.full((i, 2), i, np.uint8),
                    "objects": [{"name": k % 2, "at": np.array([k, i], np.float32)} for k in range(i % 3)],
                    "tokens": [list(range(k)) for k in range(i % 4)],
                    "frames": np.full((2, 2, 2, 3), i, np.uint8),
                    "camera": {"k": np.array([i, 1], np.float32), "side": "left"},
                },
            )


Zoo(data_dir=Path(sys.argv[1])).download_and_prepare()
