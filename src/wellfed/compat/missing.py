"""What TensorFlow has and wellfed.compat has not: said by name, with what wellfed has instead."""

from __future__ import annotations

from typing import NoReturn

_MODELS = "wellfed feeds models and has none: take batches to PyTorch, JAX or TensorFlow through wellfed.adapters"
_FEED = "see wellfed.feed: shuffle, shard, map, batch and their like on wellfed.TFRecordDataset and wellfed.open"
_FILES = "open, glob and pathlib do it; records at a URL are read by wellfed.TFRecordReader through fsspec"

# Name (or the beginning of one that ends in ".") -> what to use instead.
INSTEAD = {
    "distribute": "each process takes its own part: Dataset.shard(num_shards, index), or wellfed's shard() by rank",
    "keras": _MODELS,
    "nn": _MODELS,
    "layers": _MODELS,
    "losses": _MODELS,
    "metrics": _MODELS,
    "estimator": _MODELS,
    "contrib": "its parts went elsewhere in TensorFlow 2; of tf.contrib.data, wellfed.feed has what input needs",
    "gradients": _MODELS,
    "GradientTape": _MODELS,
    "get_variable": "tf.Variable(value) is kept for counters; models' variables belong to your framework",
    "summary": "wellfed.summary and Dataset.stats say what an input pipeline does",
    "saved_model": _MODELS,
    "Print": "tf.py_func(print, [x], [])",
    "print": "tf.py_func(print, [x], [])",
    "while_loop": "a Python loop over Session.run, or a function given to tf.data's map",
    "scan": "Dataset.scan of wellfed.feed",
    "lookup": "a dict, in tf.py_func or in a function given to Dataset.map",
    "audio": "tf.py_func with a library for sound",
    "train.Saver": "Dataset iterators have state_dict() and load_state_dict()",
    "train.Checkpoint": "Dataset iterators have state_dict() and load_state_dict()",
    "train.MonitoredTrainingSession": "tf.Session, with tf.train.start_queue_runners after it",
    "train.MonitoredSession": "tf.Session, with tf.train.start_queue_runners after it",
    "train.Supervisor": "tf.Session and tf.train.Coordinator",
    "train.Server": "each process takes its own part: wellfed's shard() by rank",
    "train.ClusterSpec": "each process takes its own part: wellfed's shard() by rank",
    "train.*Optimizer": _MODELS,
    "train.": _MODELS,
    "data.Dataset.snapshot": "`wellfed pack` stores a data set once",
    "data.Dataset.save": "`wellfed pack` stores a data set once",
    "data.Dataset.load": "wellfed.open reads what `wellfed pack` stored",
    "data.Dataset.group_by_window": "Dataset.bucket_by_sequence_length",
    "data.Dataset.rejection_resample": "balance of wellfed.feed",
    "data.Dataset.random": "Dataset.range with a function that draws: tf.random.uniform in map",
    "data.Dataset.counter": "Dataset.range(2**62)",
    "data.Dataset.sparse_batch": "Dataset.padded_batch",
    "data.experimental.make_csv_dataset": "TextLineDataset and tf.io.decode_csv; `wellfed pack csv`",
    "data.experimental.CsvDataset": "TextLineDataset and tf.io.decode_csv; `wellfed pack csv`",
    "data.experimental.": _FEED,
    "data.Dataset.": _FEED,
    "data.": _FEED,
    "gfile.": _FILES,
    "image.": "wellfed.image, or tf.py_func with Pillow or OpenCV",
    "io.": "wellfed.io and wellfed.example",
    "strings.": "tf.py_func with Python's own strings",
    "math.": "NumPy, in tf.numpy_function or in a function given to Dataset.map",
    "linalg": "NumPy, in tf.numpy_function or in a function given to Dataset.map",
    "signal": "NumPy or SciPy, in tf.numpy_function or in a function given to Dataset.map",
    "random.": "numpy.random; Dataset.map of wellfed.feed gives a function a generator of its own (rng=True)",
    "sparse.": "wellfed.Ragged and wellfed.example.Sparse",
    "ragged": "wellfed.Ragged",
    "feature_column": "wellfed.parse_example reads features; NumPy makes buckets and crosses of them",
    "contrib.": "its parts went elsewhere in TensorFlow 2; of tf.contrib.data, wellfed.feed has what input needs",
}


def refuse(space: str, name: str) -> NoReturn:
    """Raises the AttributeError of a name that is not here.

    Args:
      space: Where it was asked for, such as "train"; "" for the top.
      name: The name.

    Raises:
      AttributeError: Always.
    """
    full = f"{space}.{name}" if space else name
    if name.startswith("__"):
        raise AttributeError(f"module 'wellfed.compat' has no attribute {full!r}")
    found = INSTEAD.get(full)
    if found is None and full.endswith("Optimizer"):
        found = INSTEAD["train.*Optimizer"]
    if found is None:
        found = INSTEAD.get(f"{space}.") if space else None
    hint = f": {found}" if found else "; docs/compat.md lists the names that it has"
    raise AttributeError(f"wellfed.compat has no tf.{full}{hint}")
