"""Raw data to shards: beside a plain script with TensorFlow that does the same in one process.

    arrays    100,000 images of 28 x 28 and their labels, in .npy files
    files     100,000 PNG files of 300 bytes in class folders
    kept      5,000 JPEG files of 55 KB, their bytes as they are
    encoded   the same, decoded, resized to 256 pixels and encoded again

wellfed lists, splits, shuffles, writes indexes and a manifest within its time; the script only writes records.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import jpeg
from harness import Batch, Row
from layouts import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

ITEMS = {"arrays": 100_000, "files": 100_000, "kept": 5000, "encoded": 5000}
CLASSES = 10
SIDE = 256
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Packing:
    """Both sides pack the same raw data into a folder of their own: as many records, as many bytes of pictures."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.raw = kind, raw_data(kind, folder)
        self.out = folder / "pack" / f"{kind}-{type(self).__name__}"

    def forget(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)

    def first(self) -> Iterable[Batch]:
        self.pack()
        return [{"packed": np.zeros(ITEMS[self.kind])}]

    def pack(self) -> None:
        raise NotImplementedError

    def proof(self) -> list[Any]:
        """Returns how many records were written, and where pictures are kept, how many bytes they hold."""
        import wellfed as wf

        self.forget()
        self.pack()
        records = wf.Records(str(self.out / "*.tfrecord*"))
        pictures = wf.parse_example(records[:], {"image": wf.FixedLenFeature((), bytes)})["image"]
        return [len(records), int(pictures.sizes.sum()) if self.kind != "encoded" else 0]


class Wellfed(Packing):
    """`wf.pack`, with its defaults."""

    def pack(self) -> None:
        import wellfed as wf

        if self.kind == "arrays":
            source = wf.sources.Numpy({"image": self.raw / "x.npy", "label": self.raw / "y.npy"}, label="label")
        else:
            source = wf.sources.ClassFolders(self.raw)
        encoded = wf.packing.PictureOptions(encoding="jpeg", resize=SIDE)
        pictures = encoded if self.kind == "encoded" else wf.packing.PictureOptions()
        wf.pack(source, self.out, name="packed", shards=2 * CORES, pictures=pictures)


class TensorFlow(Packing):
    """A loop over the raw data that writes a message each."""

    def pack(self) -> None:
        import tensorflow as tf

        self.out.mkdir(parents=True)
        with tf.io.TFRecordWriter(str(self.out / "packed.tfrecord")) as writer:
            for image, label in self._items():
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())

    def _items(self) -> Iterator[tuple[bytes, int]]:
        if self.kind == "arrays":
            images, labels = np.load(self.raw / "x.npy"), np.load(self.raw / "y.npy")
            yield from ((images[row].tobytes(), int(labels[row])) for row in range(len(images)))
            return
        for folder in sorted(self.raw.iterdir()):
            for path in sorted(folder.iterdir()):
                content = path.read_bytes()
                yield (reencoded(content) if self.kind == "encoded" else content), int(folder.name)


def reencoded(content: bytes) -> bytes:
    """Decodes a JPEG, resizes its shorter side, and encodes it again."""
    import tensorflow as tf

    pixels = tf.io.decode_jpeg(content, channels=3)
    height, width, _ = pixels.shape
    size = round(height * SIDE / min(height, width)), round(width * SIDE / min(height, width))
    resized = tf.cast(tf.round(tf.image.resize(pixels, size, "area")), tf.uint8)
    return bytes(tf.io.encode_jpeg(resized, quality=95).numpy())


def raw_data(kind: str, folder: Path) -> Path:
    """Makes the raw data where it is not there yet: arrays, or the pictures of a file of the bench as files."""
    name = {"files": "digits", "kept": "photos", "encoded": "photos"}.get(kind, kind)
    raw = folder / "pack" / f"raw-{name}-{ITEMS[kind]}"
    if raw.exists():
        return raw
    if kind != "arrays":
        return picture_files(path_of(folder, name), raw, ITEMS[kind])
    with _whole(raw) as part:
        np.save(part / "x.npy", np.random.default_rng(0).integers(0, 256, (ITEMS["arrays"], 28, 28, 1), np.uint8))
        np.save(part / "y.npy", np.arange(ITEMS["arrays"]) % CLASSES)
    return raw


def picture_files(source: Path, folder: Path, count: int) -> Path:
    """`count` pictures of a TFRecord file as files in class folders, made where they are not there yet."""
    if not folder.exists():
        with _whole(folder) as part:
            _write_files(part, source, count)
    return folder


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    part = folder.with_suffix(f".{os.getpid()}.part")  # Both sides may begin at once.
    part.mkdir(parents=True)
    yield part
    with contextlib.suppress(OSError):  # The other side was first.
        part.replace(folder)
    shutil.rmtree(part, ignore_errors=True)


def _write_files(folder: Path, source: Path, count: int) -> None:
    """Writes `count` files in class folders: the pictures of a TFRecord file, over again where it holds fewer."""
    import wellfed as wf

    records = wf.Records(str(source))
    pictures = wf.parse_example(records[:], {"image": wf.FixedLenFeature((), bytes)})["image"]
    for number in range(count):
        content = pictures[number % len(pictures)]
        path = folder / str(number % CLASSES) / f"{number:06d}.{'jpg' if content[:2] == bytes((0xFF, 0xD8)) else 'png'}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def row(name: str, kind: str, due: float, data: str = "") -> Row:
    sides: dict[str, Callable[[Path], Packing]] = {
        "wellfed": partial(Wellfed, kind),
        "tensorflow": partial(TensorFlow, kind),
    }
    return Row(name, sides, data=data, due={"tensorflow": (due, None)}, make=jpeg.make, unit="items", later=False)


ROWS = (
    row("pack small images from arrays", "arrays", 8),
    row("pack small images from files", "files", 2, "digits"),
    row("pack photos, bytes kept", "kept", 1, "photos"),
    row("pack photos, encoded again", "encoded", 0.9 * CORES, "photos"),
)
