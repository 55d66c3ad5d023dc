"""A data set on disk: its schema, its manifest, and the layout of TensorFlow Datasets over it."""

from wellfed.datasets.dataset import DatasetFolder, SplitFiles, is_dataset, open_dataset
from wellfed.datasets.feature_types import ByteString, ClassLabel, FeatureType, Image, Scalar, Text
from wellfed.datasets.manifest import Manifest, Shard, SkippedItem
from wellfed.datasets.scan import scan_files
from wellfed.datasets.schema import Schema
from wellfed.datasets.tensors import Sequence, Tensor

__all__ = [
    "ByteString",
    "ClassLabel",
    "DatasetFolder",
    "FeatureType",
    "Image",
    "Manifest",
    "Scalar",
    "Schema",
    "Sequence",
    "Shard",
    "SkippedItem",
    "SplitFiles",
    "Tensor",
    "Text",
    "is_dataset",
    "open_dataset",
    "scan_files",
]
