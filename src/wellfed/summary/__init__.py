"""Facts about files and data sets as dataclasses: the one source for the command line and the viewer."""

from wellfed.summary.datasets import DatasetReport, ShardReport, verify_dataset
from wellfed.summary.features import FeatureReport, SchemaReport, describe
from wellfed.summary.files import FileReport, verify, verify_file
from wellfed.summary.records import FeatureView, Head, RecordView, head
from wellfed.summary.target import Target, files_of, find_target, groups_of

__all__ = [
    "DatasetReport",
    "FeatureReport",
    "FeatureView",
    "FileReport",
    "Head",
    "RecordView",
    "SchemaReport",
    "ShardReport",
    "Target",
    "describe",
    "files_of",
    "find_target",
    "groups_of",
    "head",
    "verify",
    "verify_dataset",
    "verify_file",
]
