"""The feed: elements in an exact order, made by threads ahead of the one who takes them. Start at `dataset.py`."""

from wellfed.feed.dataset import Dataset
from wellfed.feed.iterator import DatasetIterator, FeedStats
from wellfed.feed.open import from_arrays, range  # noqa: A004 -- tf.data's name.
from wellfed.feed.stages import row_seeds

__all__ = ["Dataset", "DatasetIterator", "FeedStats", "from_arrays", "range", "row_seeds"]
