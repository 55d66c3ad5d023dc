"""Examples to columns and back: what `tf.io` and `tf.train` do with tf.train.Example, without protobuf."""

from wellfed.columns import Bytes, Column, Ragged, Sparse, concat_columns
from wellfed.example.features import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    VarLenFeature,
)

__all__ = [
    "Bytes",
    "Column",
    "Feature",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "Sparse",
    "SparseFeature",
    "VarLenFeature",
    "concat_columns",
]
