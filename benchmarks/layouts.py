"""The files that the rows read: what is in a record, how many there are, and how TensorFlow writes them.

TensorFlow writes them, so that neither reader is timed on its own writer's habits.
"""

from __future__ import annotations

import importlib
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Field:
    """One feature: `size` values a record. `raw` means one byte string of that many bytes."""

    dtype: str
    size: int = 1
    raw: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.size == 1 else (self.size,)


@dataclass(frozen=True)
class Layout:
    """The records of one file; with `copies_of`, another layout's file so many times that there are `records`."""

    records: int
    fields: dict[str, Field]
    copies_of: str = ""

    def columns(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Rows [start, stop) as arrays, the same in every run."""
        random = np.random.default_rng([start, stop])
        return {name: _values(random, field, stop - start) for name, field in self.fields.items()}

    def tensorflow_features(self) -> dict[str, Any]:
        import tensorflow as tf

        return {
            name: tf.io.FixedLenFeature([], tf.string)
            if field.raw
            else tf.io.FixedLenFeature(field.shape, tf.as_dtype(field.dtype))
            for name, field in self.fields.items()
        }

    def wellfed_features(self) -> dict[str, Any]:
        import wellfed as wf

        return {
            name: (wf.RawFeature if field.raw else wf.FixedLenFeature)(field.shape, np.dtype(field.dtype).type)
            for name, field in self.fields.items()
        }


def _values(random: np.random.Generator, field: Field, rows: int) -> np.ndarray:
    shape = (rows, *field.shape)
    if field.dtype == "float32":
        return random.standard_normal(shape, np.float32)
    top = {"uint8": 256, "int64": 1000}[field.dtype]
    return random.integers(0, top, shape, np.dtype(field.dtype))


_MNIST = {"image": Field("uint8", 784, raw=True), "label": Field("int64", 10)}
LAYOUTS = {
    "pairs": Layout(1_000_000, {"a": Field("int64"), "b": Field("int64")}),
    "mnist": Layout(100_000, _MNIST),
    "mnist-large": Layout(3_600_000, _MNIST, "mnist"),  # 3 GB: far more than any processor's cache.
    "cifar": Layout(50_000, {"image": Field("uint8", 3072, raw=True), "label": Field("int64")}),
    "floats": Layout(100_000, {"x": Field("float32", 256), "label": Field("int64")}),
    "bytes": Layout(100_000, {"data": Field("uint8", 3000, raw=True)}),
}
CHUNK = 10_000


def path_of(folder: Path, name: str) -> Path:
    return folder / name / f"{name}.tfrecord"


def tensorflow_example(field_values: dict[str, np.ndarray], fields: dict[str, Field]) -> Any:
    """One row as TensorFlow's own message."""
    import tensorflow as tf

    features = {}
    for name, value in field_values.items():
        if fields[name].raw:
            features[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.tobytes()]))
        elif value.dtype == np.float32:
            features[name] = tf.train.Feature(float_list=tf.train.FloatList(value=value.ravel()))
        else:
            features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=value.ravel()))
    return tf.train.Example(features=tf.train.Features(feature=features))


def make(folder: Path, name: str) -> None:
    """Writes the file under its final name once it is whole. Runs in TensorFlow's environment."""
    if name not in LAYOUTS:
        importlib.import_module("jpeg").make(folder, name)  # Pictures; that file needs this one.
        return
    import tensorflow as tf

    path, layout = path_of(folder, name), LAYOUTS[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    if layout.copies_of:
        write_copies(part, folder, layout)
        put_by(part)
        part.replace(path)
        return
    with tf.io.TFRecordWriter(str(part)) as writer:
        for start in range(0, layout.records, CHUNK):
            columns = layout.columns(start, min(start + CHUNK, layout.records))
            for i in range(len(next(iter(columns.values())))):
                example = tensorflow_example({key: column[i] for key, column in columns.items()}, layout.fields)
                writer.write(example.SerializeToString(deterministic=True))
    put_by(part)
    part.replace(path)
    print(f"{name}: {layout.records:,} records, {math.ceil(path.stat().st_size / 1e6)} MB")


def put_by(path: Path) -> None:
    """Takes a file out of memory, so that it lies there as who reads it first has brought it in.

    A data set is rarely read by the program that has just written it, and what is read is not what was written: the
    pieces of 4 KiB that TensorFlow writes stay such in memory, and take ten times as long to map. So a run that makes
    its files measures what the next run will.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_copies(path: Path, folder: Path, layout: Layout) -> None:
    """Writes one file again and again: TFRecord files that are joined are one."""
    once = path_of(folder, layout.copies_of)
    if not once.exists():
        make(folder, layout.copies_of)
    content = once.read_bytes()
    with path.open("wb") as file:
        for _ in range(layout.records // LAYOUTS[layout.copies_of].records):
            file.write(content)
