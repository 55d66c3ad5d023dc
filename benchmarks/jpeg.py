"""Encoded pictures to batches of pixels.

    python benchmarks/jpeg.py            # the transforms alone, without a feed around them, beside TensorFlow
    make bench ROWS="JPEG PNG"           # the rows of the bench, through the feed

The photos are pieces of one photo of the corpus, in as many variations as there are records.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import WORK, Batch, Row
from layouts import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PHOTO = Path(__file__).parent.parent / "tests/data/corpus/photos/good/pillow/flower.jpg"
SIDE = 224
BATCH = 64
OTHER_PIXELS = 16  # Pillow's resize averages where TensorFlow's takes samples: the same photos, other pixels.
# Name: records, height, width, quality; about 55 KB, 2 MB and 300 bytes each.
KINDS = {"photos": (2000, 375, 500, 87), "large": (64, 3000, 4000, 85), "digits": (20_000, 28, 28, 0)}


def make(folder: Path, name: str) -> None:
    """Writes the file under its final name once it is whole. Runs in TensorFlow's environment."""
    import tensorflow as tf

    records, height, width, quality = KINDS[name]
    path = path_of(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    photo = tf.io.decode_jpeg(PHOTO.read_bytes())
    with tf.io.TFRecordWriter(str(part)) as writer:
        for number in range(records):
            picture = digit(number) if name == "digits" else piece(photo, number, height, width)
            encoded = tf.io.encode_jpeg(picture, quality=quality) if quality else tf.io.encode_png(picture)
            features = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded.numpy()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    part.replace(path)
    print(f"{name}: {records:,} records, {path.stat().st_size / records / 1e3:.1f} KB each")


def piece(photo: Any, number: int, height: int, width: int) -> np.ndarray:
    """A random part of the photo at the size due, with grain, as a camera gives it."""
    import tensorflow as tf

    random = np.random.default_rng(number)
    top, left = random.integers(0, 120, 2)
    part = photo[top : top + 240, left : left + 320]
    smooth = tf.image.resize(part, (height, width), "bicubic").numpy()
    grain = random.normal(0, 5, (height, width, 1)).astype(np.float32)
    return np.clip(smooth + grain, 0, 255).astype(np.uint8)


def digit(number: int) -> np.ndarray:
    """A thick broken line, grey, as handwriting is."""
    random = np.random.default_rng(number)
    places = np.stack(np.mgrid[0:28, 0:28], axis=-1)
    distance = np.full((28, 28), np.inf)
    for start, end in pairwise(random.uniform(5, 23, (4, 2))):
        line = end - start
        along = np.clip(((places - start) @ line) / (line @ line), 0, 1)
        distance = np.minimum(distance, np.linalg.norm(places - start - along[..., None] * line, axis=-1))
    return np.clip((2.2 - distance) * 200, 0, 255).astype(np.uint8)[..., None]


def wellfed_transform(name: str) -> Any:
    from wellfed import image

    if name == "digits":
        return image.Decode("image", channels=1, shape=(28, 28, 1))
    decode = image.Decode("image", dct="fast", scaled_decode=name == "large")  # TensorFlow's pixels.
    return image.fuse([decode, image.Resize("image", (SIDE, SIDE), dtype="float32")])


class Wellfed:
    """The feed: exact shuffle, pictures decoded and resized by its threads."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name, self._path = name, path_of(folder, name)
        self.forget()

    def forget(self) -> None:
        import wellfed as wf

        features = {"image": wf.FixedLenFeature([], bytes), "label": wf.FixedLenFeature([], np.int64)}
        records = wf.TFRecordDataset(str(self._path), features)
        self._dataset = records.shuffle(seed=0).map(wellfed_transform(self._name)).batch(BATCH, drop_remainder=True)

    def first(self) -> Iterable[Batch]:
        return iter(self._dataset)

    later = first

    def proof(self) -> list[Any]:
        return proof(self.later())


class Parts(Wellfed):
    """The transform by itself: parts of 8 pictures on two threads, into batches that are used again."""

    def forget(self) -> None:
        from wellfed import Bytes, Records, parse_example
        from wellfed.example import FixedLenFeature

        features = {"image": FixedLenFeature([], bytes), "label": FixedLenFeature([], np.int64)}
        columns = parse_example(Records(str(self._path))[:], features)
        self._images, self._labels = columns["image"], columns["label"]
        self._transform = wellfed_transform(self._name)
        shape, dtype = self._transform.static_output({"image": ((), bytes)})
        self._batches = [np.empty((BATCH, *shape), dtype) for _ in range(4)]
        assert isinstance(self._images, Bytes)

    def first(self) -> Iterable[Batch]:
        order = np.random.default_rng(0).permutation(len(self._labels))
        with ThreadPoolExecutor(2) as pool:
            waiting: list[Any] = []
            for start in range(0, len(order) - BATCH + 1, BATCH):
                waiting.append(self._begin(pool, order[start : start + BATCH], start // BATCH))
                if len(waiting) == 3:
                    yield self._end(*waiting.pop(0))
            for begun in waiting:
                yield self._end(*begun)

    later = first

    def _begin(self, pool: ThreadPoolExecutor, rows: np.ndarray, number: int) -> Any:
        out = self._batches[number % 4]
        parts = [slice(at, at + 8) for at in range(0, BATCH, 8)]
        return rows, out, [pool.submit(self._part, rows[part], out[part]) for part in parts]

    def _part(self, rows: np.ndarray, out: np.ndarray) -> None:
        self._transform.apply({"image": self._images[rows]}, rows.astype(np.uint64), out)

    def _end(self, rows: np.ndarray, out: np.ndarray, parts: list[Any]) -> Batch:
        for part in parts:
            part.result()
        return {"image": out, "label": self._labels[rows]}


class TensorFlow:
    """tf.data: shuffled, decoded and resized in parallel, batched, prefetched."""

    def __init__(self, name: str, folder: Path) -> None:
        import tensorflow as tf

        features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

        def load(serialized: Any) -> dict[str, Any]:
            example = tf.io.parse_single_example(serialized, features)
            if name == "digits":
                return {**example, "image": tf.ensure_shape(tf.io.decode_png(example["image"], 1), (28, 28, 1))}
            image = tf.io.decode_jpeg(example["image"], channels=3)
            return {**example, "image": tf.image.resize(image, (SIDE, SIDE))}

        self._name = name
        files = tf.data.TFRecordDataset([str(path_of(folder, name))]).shuffle(10_000)
        loaded = files.map(load, num_parallel_calls=tf.data.AUTOTUNE)
        self._dataset = loaded.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return self._dataset.as_numpy_iterator()

    later = first

    def proof(self) -> list[Any]:
        return proof(self.later())


def proof(batches: Iterable[Batch], levels: int = 4) -> list[Any]:
    """What two shuffled passes have in common: shape, type, and the mean of the pixels in steps of `levels`."""
    shapes, means = set(), []
    for batch in batches:
        shapes.add(f"{batch['image'].dtype} {batch['image'].shape}")
        means.append(float(batch["image"].mean()))
    return [sorted(shapes), len(means), round(float(np.mean(means)) / levels)]


class BesideFiles(Wellfed):
    """The same feed, where the peer reads the pictures as files: writes those first."""

    def __init__(self, name: str, folder: Path) -> None:
        import wellfed as wf
        from pack import picture_files

        source = path_of(folder, name)
        picture_files(source, source.parent / "files", len(wf.Records(str(source))))
        super().__init__(name, folder)

    def proof(self) -> list[Any]:
        return proof(self.later(), OTHER_PIXELS)


def sides(name: str) -> dict[str, Callable[[Path], Any]]:
    ways: dict[str, Callable[[Path], Any]] = {
        "wellfed": partial(Wellfed, name),
        "tensorflow": partial(TensorFlow, name),
    }
    if name == "photos":
        ways["dali"] = partial(_peer, "Dali", name)
    return ways


def _peer(cls: str, *arguments: Any) -> Any:
    import photo_readers  # That file needs this one.

    return getattr(photo_readers, cls)(*arguments)


DUE = {"tensorflow": (None, 1.5), "dali": (None, 2)}
ROWS = (
    Row("JPEG 500x375 to 224x224, shuffled", sides("photos"), "photos", DUE, unit="images"),
    Row(
        "JPEG 500x375 to 224x224, beside PyTorch's files",
        {"wellfed": partial(BesideFiles, "photos"), "torch": partial(_peer, "TorchFolder")},
        "photos",
        unit="images",
    ),
    Row("JPEG 4000x3000 to 224x224, shuffled", sides("large"), "large", {"tensorflow": (None, 1.5)}, unit="images"),
    Row("PNG digits, shuffled", sides("digits"), "digits", unit="images"),
)


def main() -> None:
    """The transforms alone, in this process, in turn with TensorFlow."""
    names = sys.argv[1:] or list(KINDS)
    for name in names:
        if not path_of(WORK, name).exists():
            make(WORK, name)
        ours, theirs = Parts(name, WORK), TensorFlow(name, WORK)
        assert ours.proof() == theirs.proof()
        figures = [(rate(ours), rate(theirs)) for _ in range(5)]
        ratios = sorted(a / b for a, b in figures)
        ours_rate, theirs_rate = np.median(figures, axis=0)
        spread = f"{ratios[2]:.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})"
        print(f"{name}: wellfed {ours_rate:,.0f}, TensorFlow {theirs_rate:,.0f} images/s, ratio {spread}")


def rate(side: Any) -> float:
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < 1:
        for batch in side.later():
            done += len(batch["label"])
    return done / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
