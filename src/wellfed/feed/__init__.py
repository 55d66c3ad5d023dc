"""The feed: elements in an exact order, made by threads ahead of the one who takes them. Start at `dataset.py`."""

from wellfed.feed.dataset import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from wellfed.feed.iterator import DatasetIterator
from wellfed.feed.open import (
    TFRecordDataset,
    choose_from_datasets,
    from_arrays,
    from_generator,
    list_files,
    open,  # noqa: A004 -- as gzip.open.
    range,  # noqa: A004 -- tf.data's name.
    sample_from_datasets,
)
from wellfed.feed.profiling import Profile, open_to_profile, profile
from wellfed.feed.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from wellfed.feed.stages import row_seeds
from wellfed.feed.stats import FeedStats, ReplacedRow, SkippedRow, StageStats

__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetIterator",
    "FeedStats",
    "Profile",
    "RaggedTensorSpec",
    "ReplacedRow",
    "SkippedRow",
    "SparseTensorSpec",
    "StageStats",
    "TFRecordDataset",
    "TensorSpec",
    "choose_from_datasets",
    "from_arrays",
    "from_generator",
    "list_files",
    "open",
    "open_to_profile",
    "profile",
    "range",
    "row_seeds",
    "sample_from_datasets",
]
