"""The feed: elements in an exact order, made by threads ahead of the one who takes them. Start at `dataset.py`."""

from wellfed.feed.dataset import Dataset
from wellfed.feed.iterator import DatasetIterator, FeedStats
from wellfed.feed.open import TFRecordDataset, from_arrays, open, range  # noqa: A004 -- tf.data's and gzip's names.
from wellfed.feed.stages import row_seeds

__all__ = [
    "Dataset",
    "DatasetIterator",
    "FeedStats",
    "TFRecordDataset",
    "from_arrays",
    "open",
    "range",
    "row_seeds",
]
