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
from wellfed.example.parse import FeatureParser, RecordBatch, compile_features, parse_example, parse_single_example

__all__ = [
    "Bytes",
    "Column",
    "Feature",
    "FeatureParser",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "RecordBatch",
    "Sparse",
    "SparseFeature",
    "VarLenFeature",
    "compile_features",
    "concat_columns",
    "parse_example",
    "parse_single_example",
]
