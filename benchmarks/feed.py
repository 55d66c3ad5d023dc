"""Records to batches of arrays: in file order, and shuffled."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

from grain_reader import GRAIN_RECORDS, Grain
from harness import Batch, Row
from layouts import LAYOUTS, Layout, path_of, put_by
from other_readers import TFRECORD_RECORDS, Dali, TfrecordPackage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

SHUFFLE_BUFFER = 10_000
TUTORIAL_RECORDS = 40_000  # At 20,000 a second a whole file would take a minute a pass.


class Wellfed:
    """The plan of README.md, over one file. `batch_size` rows; shuffled exactly where `shuffled`."""

    def __init__(self, path: Path, layout: Layout, *, batch_size: int, shuffled: bool) -> None:
        self._path, self._features = path, layout.wellfed_features()
        self._batch_size, self._shuffled = batch_size, shuffled
        self._dataset: Any = None

    def _open(self, limit: int | None = None) -> Any:
        import wellfed as wf

        dataset = wf.TFRecordDataset([str(self._path)], features=self._features)
        if limit is not None:
            dataset = dataset.take(limit)
        return (dataset.shuffle(seed=0) if self._shuffled else dataset).batch(self._batch_size)

    def forget(self) -> None:
        self._dataset = None
        shutil.rmtree(self._path.parent / ".wellfed", ignore_errors=True)

    def first(self) -> Iterable[Batch]:
        return iter(self._open())

    def later(self) -> Iterable[Batch]:
        if self._dataset is None:
            self._dataset = self._open()
        return iter(self._dataset)

    def prefix(self, records: int) -> Iterable[Batch]:
        return iter(self._open(records))


class TensorFlow:
    """tf.data as its performance guide writes it: batch, then parse whole batches in parallel, then prefetch."""

    def __init__(self, path: Path, layout: Layout, *, batch_size: int, shuffled: bool) -> None:
        import tensorflow as tf

        self._layout, self._batch_size, self._shuffled = layout, batch_size, shuffled
        self._dataset = self._pipeline(tf.data.TFRecordDataset([str(path)])).prefetch(tf.data.AUTOTUNE)

    def _pipeline(self, dataset: Any) -> Any:
        import tensorflow as tf

        if self._shuffled:
            dataset = dataset.shuffle(SHUFFLE_BUFFER)
        parse = self._parser(tf.io.parse_example)
        return dataset.batch(self._batch_size).map(parse, num_parallel_calls=tf.data.AUTOTUNE)

    def _parser(self, parse: Callable[..., dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
        import tensorflow as tf

        features = self._layout.tensorflow_features()
        raw = [name for name, field in self._layout.fields.items() if field.raw]

        def parser(serialized: Any) -> dict[str, Any]:
            columns = parse(serialized, features)
            return {**columns, **{name: tf.io.decode_raw(columns[name], tf.uint8) for name in raw}}

        return parser

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return self._dataset.as_numpy_iterator()

    later = first


class Tutorial(TensorFlow):
    """tf.data as tutorials teach it: parse one record at a time, then shuffle, then batch."""

    def _pipeline(self, dataset: Any) -> Any:
        import tensorflow as tf

        parsed = dataset.take(TUTORIAL_RECORDS).map(self._parser(tf.io.parse_single_example))
        return parsed.shuffle(SHUFFLE_BUFFER).batch(self._batch_size)

    def prefix(self, records: int) -> Iterable[Batch]:
        assert records == TUTORIAL_RECORDS
        return self.first()


class WellfedFromDisk(Wellfed):
    """The file is not in memory at the start of a first pass, and has no index."""

    def forget(self) -> None:
        super().forget()
        put_by(self._path)


class TensorFlowFromDisk(TensorFlow):
    """The file is not in memory at the start of a first pass."""

    def __init__(self, path: Path, layout: Layout, **options: Any) -> None:
        super().__init__(path, layout, **options)
        self._path = path

    def forget(self) -> None:
        put_by(self._path)


WORDS = {"pairs": "two int64", "mnist": "MNIST", "cifar": "CIFAR-10", "floats": "256 floats"}
LARGE = {"mnist-large": "MNIST, a file of 3 GB,"}
IN_ORDER = {"pairs": (20, 30), "mnist": (8, 15), "cifar": (6, 9), "floats": (8, 12)}
SHUFFLED = {"pairs": (40, 50), "mnist": (15, 25), "cifar": (10, 14), "floats": (15, 20)}
TUTORIAL = dict.fromkeys(WORDS, (75, 100))
OTHERS_DUE = {"dali": (None, 40), "tfrecord": (None, 300)}  # On small records; more bytes a record bring all nearer.


def sides(data: str, classes: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Each program's way over the same layout with the same options."""
    return {program: partial(_side, cls, data, **options) for program, cls in classes.items()}


def _side(cls: Any, data: str, folder: Path, **options: Any) -> Any:
    return cls(path_of(folder, data), LAYOUTS[data], **options)


def in_order(data: str) -> Row:
    classes = {"wellfed": Wellfed, "tensorflow": TensorFlow}
    if data not in LARGE:
        classes |= {"dali": Dali, "tfrecord": TfrecordPackage}
    due = {"tensorflow": IN_ORDER.get(data, (None, None)), **(OTHERS_DUE if data == "pairs" else {})}
    prefix = {"dali": 40 * 1024, "tfrecord": TFRECORD_RECORDS}
    ways = sides(data, classes, batch_size=1024, shuffled=False)
    return Row(f"{(WORDS | LARGE)[data]} in order", ways, data, due=due, prefix=prefix)


def shuffled(data: str) -> Row:
    classes = {"wellfed": Wellfed, "tensorflow": TensorFlow, "grain": Grain}
    ways = sides(data, classes, batch_size=64, shuffled=True)
    due, prefix = {"tensorflow": SHUFFLED[data]}, {"grain": GRAIN_RECORDS}
    return Row(f"{WORDS[data]} shuffled, batches of 64", ways, data, due=due, prefix=prefix, ordered=False)


def tutorial(data: str) -> Row:
    ways = sides(data, {"wellfed": Wellfed, "tensorflow": Tutorial}, batch_size=64, shuffled=True)
    prefix, due = {"tensorflow": TUTORIAL_RECORDS}, {"tensorflow": TUTORIAL[data]}
    return Row(f"{WORDS[data]} as tutorials teach", ways, data, due=due, prefix=prefix, ordered=False)


def from_disk(data: str, *, shuffled: bool) -> Row:
    classes = {"wellfed": WellfedFromDisk, "tensorflow": TensorFlowFromDisk}
    ways = sides(data, classes, batch_size=64 if shuffled else 1024, shuffled=shuffled)
    name = f"{WORDS[data]} {'shuffled' if shuffled else 'in order'}, first from the disk"
    return Row(name, ways, data, ordered=not shuffled)


FROM_DISK = (from_disk("cifar", shuffled=False), from_disk("cifar", shuffled=True))
ROWS = (*map(in_order, WORDS), *map(in_order, LARGE), *map(shuffled, WORDS), *map(tutorial, WORDS), *FROM_DISK)
