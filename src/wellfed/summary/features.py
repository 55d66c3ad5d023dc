"""Which features records hold: by the schema of a data set, or by looking into bare files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wellfed.datasets import scan_files
from wellfed.example import FeatureFacts, infer_spec
from wellfed.summary.target import find_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wellfed.io.files import PathLike


@dataclass(frozen=True, slots=True)
class FeatureReport:
    """One feature.

    Attributes:
      name: The feature.
      type: Its type as JSON values, of a data set with a schema; None for bare files.
      facts: What was seen of it; None where no record was read.
      reason: Which specification reads it, and why; "" where no record was read.
    """

    name: str
    type: Mapping[str, Any] | None
    facts: FeatureFacts | None
    reason: str


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """The features of a data set, or of files.

    Attributes:
      folder: The data set's folder; "" for files.
      name: The data set's name; "" for files.
      version: Its version; "" for files.
      splits: Split to its number of records; empty for files.
      scanned: How many records were read.
      features: The features: in the schema's order, then others that were seen.
    """

    folder: str
    name: str
    version: str
    splits: Mapping[str, int]
    scanned: int
    features: tuple[FeatureReport, ...]


def describe(
    path: PathLike | Iterable[PathLike], *, scan: bool | None = None, limit: int | None = None
) -> SchemaReport:
    """Says which features records hold.

    Args:
      path: A data set's folder; or a TFRecord file, a pattern of files, or several of them.
      scan: Whether to read the records. None: only where no schema tells.
      limit: Read at most this many records. [records] None for all.

    Returns:
      Types, where there is a schema; kinds, counts, ranges and what byte strings look like, where records were read.

    Raises:
      DatasetError: The folder holds no data set.
      RecordError: A record is damaged.
      MalformedExampleError: A record is no Example; it is named by its file and number.
    """
    target = find_target(path, None)
    dataset = target.dataset
    if dataset is None:
        return _of_files(target.files, limit)
    files = [file for split in dataset.splits.values() for file in split.files]
    seen = _of_files(files, limit) if scan else None
    facts = {report.name: report for report in seen.features} if seen else {}
    reports = []
    for name, kind in dataset.schema.items():
        found = facts.pop(name, None)
        reports.append(
            FeatureReport(name, kind.to_json(), found.facts if found else None, found.reason if found else "")
        )
    return SchemaReport(
        folder=dataset.folder,
        name=dataset.name,
        version=dataset.version,
        splits={name: split.records for name, split in dataset.splits.items()},
        scanned=seen.scanned if seen else 0,
        features=(*reports, *facts.values()),
    )


def _of_files(files: list[str], limit: int | None) -> SchemaReport:
    found = scan_files(files, limit=limit)
    reasons = infer_spec(found).reasons
    reports = [FeatureReport(name, None, facts, reasons[name]) for name, facts in found.features.items()]
    reports += [
        FeatureReport(name, None, facts, "a feature list of a SequenceExample")
        for name, facts in found.sequences.items()
    ]
    return SchemaReport("", "", "", {}, found.records, tuple(reports))
