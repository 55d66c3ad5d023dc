"""A data set on disk: its schema, its manifest, and the layout of TensorFlow Datasets over it."""

from wellfed.datasets.feature_types import ByteString, ClassLabel, FeatureType, Image, Scalar, Text
from wellfed.datasets.schema import Schema
from wellfed.datasets.tensors import Sequence, Tensor

__all__ = [
    "ByteString",
    "ClassLabel",
    "FeatureType",
    "Image",
    "Scalar",
    "Schema",
    "Sequence",
    "Tensor",
    "Text",
]
