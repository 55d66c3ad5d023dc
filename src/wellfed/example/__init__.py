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
    PresentFeature,
    RaggedFeature,
    RawFeature,
    SparseFeature,
    VarLenFeature,
)
from wellfed.example.lists import BytesList, Feature, FloatList, Int64List
from wellfed.example.message import Example, FeatureList, FeatureLists, Features, SequenceExample
from wellfed.example.parse import FeatureParser, RecordBatch, compile_features, parse_example, parse_single_example
from wellfed.example.scan import FeatureFacts, InferredSpec, Scan, infer_spec, scan_features
from wellfed.example.sequence import (
    SequenceFeatureParser,
    SequenceFeatures,
    compile_sequence_features,
    parse_sequence_example,
    parse_single_sequence_example,
)
from wellfed.example.versions import VersionedFeatures, VersionedParser

__all__ = [
    "Bytes",
    "BytesList",
    "Column",
    "Example",
    "Feature",
    "FeatureFacts",
    "FeatureList",
    "FeatureLists",
    "FeatureParser",
    "FeatureSpec",
    "Features",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "InferredSpec",
    "Int64List",
    "PresentFeature",
    "Ragged",
    "RaggedFeature",
    "RawFeature",
    "RecordBatch",
    "Scan",
    "SequenceExample",
    "SequenceFeatureParser",
    "SequenceFeatures",
    "Sparse",
    "SparseFeature",
    "VarLenFeature",
    "VersionedFeatures",
    "VersionedParser",
    "compile_features",
    "compile_sequence_features",
    "concat_columns",
    "decode_example",
    "decode_sequence_example",
    "encode_example",
    "encode_examples",
    "encode_sequence_example",
    "infer_spec",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "scan_features",
]
