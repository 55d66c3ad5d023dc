"""What the tests of packing ask of a folder."""

from __future__ import annotations

from pathlib import Path

from wellfed.datasets import open_dataset
from wellfed.io import TFRecordReader


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder: its path from there to its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def columns(folder: Path | str, split: str) -> dict[str, object]:
    """The decoded columns of a split, in the order of its records."""
    dataset = open_dataset(folder)
    records = [record for file in dataset.splits[split].files for record in TFRecordReader(file)]
    return dataset.schema.parse(records)


def numbers(folder: Path | str, split: str = "train") -> list[int]:
    """The feature "number" of a split's records, in order."""
    return [int(number) for number in columns(folder, split)["number"]]  # type: ignore[attr-defined]  # an array
