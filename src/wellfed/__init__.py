"""wellfed packs raw data sets into TFRecord shards, looks after them, and feeds them to training.

    raw files --sources--> items --packing--> shards --io--> records --example--> columns --feed--> batches

Names are resolved on first use, so `import wellfed` loads nothing but NumPy.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> the room that defines it. A room's own name stands for the room.
_ROOMS = {
    "errors": ("CorruptRecordError", "TruncatedRecordError", "WellfedError"),
    "io": ("RecordIndex", "Records", "RemoteOptions", "TFRecordReader", "TFRecordWriter"),
    "example": (
        "Bytes",
        "Example",
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "PresentFeature",
        "Ragged",
        "RaggedFeature",
        "RawFeature",
        "SequenceExample",
        "SequenceFeatures",
        "SparseFeature",
        "VarLenFeature",
        "VersionedFeatures",
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
    ),
    "image": (),
    "queues": (),
    "datasets": (),
    "sources": (),
    "summary": (),
    "packing": ("pack",),
    "feed": ("TFRecordDataset", "choose_from_datasets", "from_arrays", "open", "profile", "sample_from_datasets"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(["__version__", *_ROOMS, *_HOME])  # noqa: PLE0605 -- made from the table above, compared by a test.


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"wellfed.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"wellfed.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'wellfed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
