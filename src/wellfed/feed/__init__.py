"""The feed: elements in an exact order, made by threads ahead of the one who takes them. Start at `dataset.py`."""

from wellfed.feed.dataset import Dataset
from wellfed.feed.iterator import DatasetIterator
from wellfed.feed.open import (
    TFRecordDataset,
    from_arrays,
    from_generator,
    list_files,
    open,  # noqa: A004 -- as gzip.open.
    range,  # noqa: A004 -- tf.data's name.
)
from wellfed.feed.profiling import Profile, open_to_profile, profile
from wellfed.feed.stages import row_seeds
from wellfed.feed.stats import FeedStats, ReplacedRow, StageStats

__all__ = [
    "Dataset",
    "DatasetIterator",
    "FeedStats",
    "Profile",
    "ReplacedRow",
    "StageStats",
    "TFRecordDataset",
    "from_arrays",
    "from_generator",
    "list_files",
    "open",
    "open_to_profile",
    "profile",
    "range",
    "row_seeds",
]
