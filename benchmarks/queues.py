"""Elements through a queue between two threads, and through programs in TensorFlow's names.

    one at a time     a thread enqueues int64 numbers, this one dequeues them
    by 64             the same with enqueue_many and dequeue_many
    compat's names    one tf.data program, run by TensorFlow and by wellfed.compat

The row "beside queue.Queue" times Python's own queue where the others time TensorFlow's: what a queue costs in Python.
"""

from __future__ import annotations

import importlib
import queue
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Batch, Row
from layouts import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

CAPACITY = 1000
MANY = 64
TENSORFLOW_ONE, TENSORFLOW_MANY = 2_000, 64 * 500  # A second or so.
SIDE = 224


class Passage:
    """One producer thread, one consumer, one queue between them."""

    def __init__(self, elements: int, put: Callable[[Any], object], take: Callable[[], Any], many: int = 1) -> None:
        self._elements, self._put, self._take, self._many = elements, put, take, many

    def _produce(self) -> None:
        put, many = self._put, self._many
        for start in range(0, self._elements, many):
            put(np.int64(start) if many == 1 else np.arange(start, start + many))

    def figure(self) -> float:
        """Elements a second."""
        producer, take = threading.Thread(target=self._produce), self._take
        start = time.perf_counter()
        producer.start()
        for _ in range(0, self._elements, self._many):
            take()
        producer.join()
        return self._elements / (time.perf_counter() - start)

    def proof(self) -> list[Any]:
        """The sum of what came through, in order."""
        producer = threading.Thread(target=self._produce)
        producer.start()
        taken = [np.atleast_1d(self._take()) for _ in range(0, self._elements, self._many)]
        producer.join()
        numbers = np.concatenate(taken)[: min(TENSORFLOW_ONE, self._elements)]
        return [int((numbers * (np.arange(len(numbers)) + 1)).sum())]


def ours(_: Path, *, many: int) -> Passage:
    from wellfed.queues import FIFOQueue

    fifo = FIFOQueue(CAPACITY, [np.int64], shapes=[[]])
    if many == 1:
        return Passage(200_000, fifo.enqueue, fifo.dequeue)
    return Passage(64 * 20_000, lambda rows: fifo.enqueue_many([rows]), lambda: fifo.dequeue_many(many), many)


def tensorflows(_: Path, *, many: int) -> Passage:
    import tensorflow as tf

    fifo = tf.queue.FIFOQueue(CAPACITY, [tf.int64], shapes=[[]])
    if many == 1:
        return Passage(TENSORFLOW_ONE * 10, fifo.enqueue, lambda: fifo.dequeue().numpy())
    return Passage(
        TENSORFLOW_MANY, lambda rows: fifo.enqueue_many([rows]), lambda: fifo.dequeue_many(many).numpy(), many
    )


def pythons(_: Path) -> Passage:
    plain: queue.Queue[Any] = queue.Queue(CAPACITY)
    return Passage(200_000, plain.put, plain.get)


class Program:
    """A tf.data program as tutorials write it; the module is the one line that differs."""

    def __init__(self, module: str, data: str, folder: Path) -> None:
        self._tf = importlib.import_module(module)
        self._data, self._path = data, str(path_of(folder, data))
        self._dataset: Any = None

    def forget(self) -> None:
        self._dataset = None

    def first(self) -> Iterable[Batch]:
        if self._dataset is None:
            self._dataset = getattr(self, self._data)(self._tf.data.TFRecordDataset([self._path]))
        for left, right in self._dataset.as_numpy_iterator():
            yield {"left": left, "right": right}

    later = first

    def pairs(self, records: Any) -> Any:
        tf = self._tf
        spec = {"a": tf.io.FixedLenFeature([], tf.int64), "b": tf.io.FixedLenFeature([], tf.int64)}

        def parse(serialized: Any) -> Any:
            parsed = tf.io.parse_single_example(serialized, spec)
            return parsed["a"], parsed["b"]

        # The first of a million: TensorFlow would take minutes.
        mapped = records.take(50_000).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        return mapped.shuffle(10_000).batch(64).prefetch(tf.data.AUTOTUNE)

    def photos(self, records: Any) -> Any:
        tf = self._tf
        spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

        def parse(serialized: Any) -> Any:
            parsed = tf.io.parse_single_example(serialized, spec)
            pixels = tf.io.decode_jpeg(parsed["image"], channels=3)
            pixels = tf.cast(tf.image.resize(pixels, [SIDE, SIDE]), tf.float32)
            return (pixels - 127.5) / 127.5, parsed["label"]

        mapped = records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        return mapped.shuffle(1000).batch(64).prefetch(tf.data.AUTOTUNE)

    def proof(self) -> list[Any]:
        """What two shuffled passes have in common."""
        batches = list(self.later())
        numbers = np.concatenate([batch["right"] for batch in batches])
        mean = float(np.mean([batch["left"].mean(dtype=np.float64) for batch in batches[:-1]]))
        shape = list(batches[0]["left"].shape)
        return [len(numbers), int(numbers.sum()), shape, round(mean, 2) if self._data == "photos" else None]


def passage(words: str, many: int) -> Row:
    sides = {"wellfed": partial(ours, many=many), "tensorflow": partial(tensorflows, many=many)}
    return Row(f"FIFOQueue, {words}", sides, due={"tensorflow": (3, None)}, unit="elements")


def program(words: str, data: str, due: float) -> Row:
    sides = {
        "wellfed": partial(Program, "wellfed.compat", data),
        "tensorflow": partial(Program, "tensorflow", data),
    }
    return Row(f"{words}, compat's names", sides, data, {"tensorflow": (None, due)}, ordered=False)


ROWS = (
    passage("one at a time", 1),
    passage("64 at a time", MANY),
    Row(
        "FIFOQueue beside queue.Queue, one at a time",
        {"wellfed": partial(ours, many=1), "tensorflow": pythons},
        unit="elements",
    ),
    program("two int64", "pairs", 20),
    program("JPEG 500x375", "photos", 1.3),
)
