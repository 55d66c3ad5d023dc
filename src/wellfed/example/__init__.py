"""Examples to columns and back: what `tf.io` and `tf.train` do with tf.train.Example, without protobuf."""

from wellfed.columns import Bytes, Column, Ragged, Sparse, concat_columns
from wellfed.example.encode import (
    decode_example,
    decode_sequence_example,
    encode_example,
    encode_examples,
    encode_sequence_example,
)
from wellfed.example.features import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    VarLenFeature,
)
from wellfed.example.lists import BytesList, Feature, FloatList, Int64List
from wellfed.example.message import Example, FeatureList, FeatureLists, Features, SequenceExample
from wellfed.example.parse import FeatureParser, RecordBatch, compile_features, parse_example, parse_single_example

__all__ = [
    "Bytes",
    "BytesList",
    "Column",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "FeatureParser",
    "FeatureSpec",
    "Features",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "Int64List",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "RecordBatch",
    "SequenceExample",
    "Sparse",
    "SparseFeature",
    "VarLenFeature",
    "compile_features",
    "concat_columns",
    "decode_example",
    "decode_sequence_example",
    "encode_example",
    "encode_examples",
    "encode_sequence_example",
    "parse_example",
    "parse_single_example",
]
