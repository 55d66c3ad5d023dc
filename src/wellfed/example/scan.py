"""What is in Examples of an unknown kind, and the specification that reads them.

records --scan_features--> Scan (facts a feature) --infer_spec--> InferredSpec (features, reasons)
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import MalformedExampleError
from wellfed.example.features import FeatureSpec, FixedLenFeature, VarLenFeature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CHUNK = 1024  # Records given to the kernel at a time.
_KINDS = ("unset", "bytes", "float", "int64")
_LOOKS = ("empty", "text", "jpeg", "png", "gif", "webp", "binary")
_DTYPES: Mapping[str, Any] = {"bytes": bytes, "float": np.float32, "int64": np.int64}


@dataclass(frozen=True, slots=True)
class FeatureFacts:
    """What was seen of one feature. A range is (min, max), or None where nothing was seen.

    Attributes:
      present: Records that have the key.
      kinds: "int64", "float", "bytes", "unset" -> records (for a feature list: steps) whose list is of that kind.
      first: The same names -> 0-based number of the first such record.
      counts: Range of the number of values in a list; an unset kind counts as 0.
      steps: Range of the number of steps; of a SequenceExample's feature list only.
      ints: Range of the integers.
      floats: Range of the finite floats.
      nonfinite: How many floats are infinite or NaN.
      sizes: Range of the byte strings' sizes. [bytes]
      repeated: Records that have the key more than once; the last counts.
      looks: "text", "jpeg", "png", "gif", "webp", "empty", "binary" -> how many byte strings look like it.
    """

    present: int
    kinds: Mapping[str, int]
    first: Mapping[str, int]
    counts: tuple[int, int] | None
    steps: tuple[int, int] | None
    ints: tuple[int, int] | None
    floats: tuple[float, float] | None
    nonfinite: int
    sizes: tuple[int, int] | None
    looks: Mapping[str, int]
    repeated: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What was seen in records.

    Attributes:
      records: How many were read.
      features: Name to facts, in order of first appearance; of a SequenceExample, its context.
      sequences: Name to facts of a SequenceExample's feature lists.
    """

    records: int
    features: Mapping[str, FeatureFacts]
    sequences: Mapping[str, FeatureFacts]


@dataclass(frozen=True, slots=True)
class InferredSpec:
    """A specification that reads the records that were scanned.

    Attributes:
      features: Name to feature, for `parse_example`. A name whose kind differs between records is left out.
      reasons: Name to one sentence: why it is that feature, or why there is none.
    """

    features: Mapping[str, FeatureSpec]
    reasons: Mapping[str, str]


def scan_features(records: Bytes | Iterable[bytes]) -> Scan:
    """Finds which features Examples (or SequenceExamples) have: kinds, counts, ranges, what byte strings look like.

    Args:
      records: `Bytes`, or any iterable of serialized protos, such as a TFRecordReader; read once, a few at a time.

    Returns:
      The facts. Of a key that comes twice in a record, the last counts.

    Raises:
      TypeError: `records` is a path or one record.
      MalformedExampleError: A record is no Example; `example_index` is its number.

    Example:
      >>> from wellfed.example.encode import encode_example
      >>> scan = scan_features(encode_example({"x": x, "name": "a"}) for x in range(3))
      >>> scan.features["x"].ints, scan.features["name"].looks
      ((0, 2), {'text': 3})
    """
    if isinstance(records, (bytes, str, os.PathLike)):
        raise TypeError(f"records are due, such as TFRecordReader(path) gives, got {type(records).__name__}")
    scanner = _native.ExampleScanner()
    if isinstance(records, Bytes):
        flat = records.reshape(-1)
        starts, sizes = np.ascontiguousarray(flat.starts), np.ascontiguousarray(flat.sizes)
        _check(scanner.add(flat.data.data, starts, sizes), 0)
    else:
        iterator = iter(records)
        while chunk := list(itertools.islice(iterator, _CHUNK)):
            before = scanner.records
            _check(scanner.add_list(chunk), before)
    return Scan(
        scanner.records,
        {facts[0]: _facts(*facts[1:]) for facts in scanner.features},
        {facts[0]: _facts(*facts[1:]) for facts in scanner.sequences},
    )


def infer_spec(scan: Scan) -> InferredSpec:
    """Turns facts into the features that read these records.

    Returns:
      FixedLenFeature where every record has the same number of values, VarLenFeature otherwise; with reasons. Of
      SequenceExamples, the features of the context.

    Raises:
      TypeError: `scan` is no `Scan`.

    Example:
      >>> from wellfed.example.encode import encode_example
      >>> spec = infer_spec(scan_features([encode_example({"x": 1}), encode_example({"x": [1, 2]})]))
      >>> spec.reasons["x"]
      '1 to 2 int64 values in each of 2 records'
    """
    if not isinstance(scan, Scan):
        raise TypeError(f"infer_spec takes what scan_features(records) found, got {type(scan).__name__}")
    inferred = {name: _infer(facts, scan.records) for name, facts in scan.features.items()}
    return InferredSpec(
        {name: feature for name, (feature, _) in inferred.items() if feature is not None},
        {name: reason for name, (_, reason) in inferred.items()},
    )


def _check(failure: Any, before: int) -> None:
    if failure is not None:
        record, offset = failure
        raise MalformedExampleError(f"no Example: byte {offset} cannot be read", "", before + record)


def _facts(present: int, kinds: Any, first: Any, *ranges: Any) -> FeatureFacts:
    counts, steps, ints, floats, nonfinite, sizes, looks, repeated = ranges
    seen = [at for at, count in enumerate(kinds) if count]
    return FeatureFacts(
        present,
        {_KINDS[at]: kinds[at] for at in seen},
        {_KINDS[at]: first[at] for at in seen},
        counts,
        steps,
        ints,
        floats,
        nonfinite,
        sizes,
        {name: count for name, count in zip(_LOOKS, looks, strict=True) if count},
        repeated,
    )


def _infer(facts: FeatureFacts, records: int) -> tuple[FeatureSpec | None, str]:
    kinds = [kind for kind in facts.kinds if kind != "unset"]
    if not kinds:
        return None, f"no record says its kind ({facts.present} of {records} have the key)"
    if len(kinds) > 1:
        seen = " and ".join(f"{kind} (first in record {facts.first[kind]})" for kind in kinds)
        return None, f"its kind differs between records: {seen}"
    kind, dtype = kinds[0], _DTYPES[kinds[0]]
    low, high = facts.counts or (0, 0)
    values = f"{low} {kind} value{'' if low == 1 else 's'}" if low == high else f"{low} to {high} {kind} values"
    found = facts.kinds[kind]
    if found < records:
        return VarLenFeature(dtype), f"{values} in {found} of {records} records; absent in the others"
    if low != high or low == 0:
        return VarLenFeature(dtype), f"{values} in each of {records} records"
    reason = f"{values} in each of {records} records"
    if facts.sizes and facts.sizes[0] == facts.sizes[1] and facts.looks.get("binary", 0) and low == 1:
        reason += f", always {facts.sizes[0]} bytes: RawFeature reads it as an array"
    return FixedLenFeature([] if low == 1 else [low], dtype), reason
