"""TFRecord files: read as a stream or at random, written, indexed, and saved from damage."""

from __future__ import annotations

from wellfed.io.access import file_versions, fingerprint
from wellfed.io.files import MappedFile
from wellfed.io.giving_up import give_up_when
from wellfed.io.index import GrowingIndex, RecordIndex
from wellfed.io.patterns import expand_patterns
from wellfed.io.reader import TFRecordReader
from wellfed.io.records import Records
from wellfed.io.remote import RemoteOptions, RemoteStats
from wellfed.io.salvage import SalvageReport, salvage
from wellfed.io.streams import is_plain
from wellfed.io.text_index import read_text_index, write_text_index
from wellfed.io.walk import Damage
from wellfed.io.writer import TFRecordWriter

__all__ = [
    "Damage",
    "GrowingIndex",
    "MappedFile",
    "RecordIndex",
    "Records",
    "RemoteOptions",
    "RemoteStats",
    "SalvageReport",
    "TFRecordReader",
    "TFRecordWriter",
    "expand_patterns",
    "file_versions",
    "fingerprint",
    "give_up_when",
    "is_plain",
    "read_text_index",
    "salvage",
    "write_text_index",
]
