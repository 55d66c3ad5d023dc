"""Records to columns inside a plan: what `features=` and `parse` put into it.

features that the reader parses as it reads       Records(features)
all others                                        Records -> map(ParseRecords(features))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from wellfed.columns import Bytes, Ragged
from wellfed.errors import PlanError
from wellfed.example import (
    FeatureSpec,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RawFeature,
    SequenceFeatures,
    VarLenFeature,
    VersionedFeatures,
    compile_features,
)
from wellfed.example.partitions import require
from wellfed.feed import plan
from wellfed.feed.ragged import Steps
from wellfed.feed.specs import TensorSpec, spec_of_features

if TYPE_CHECKING:
    from wellfed.example import SequenceFeatureParser
    from wellfed.feed.mixing import UInt64s
    from wellfed.feed.tree import Tree

Features: TypeAlias = Mapping[str, FeatureSpec] | SequenceFeatures | VersionedFeatures

# Verbs that only say which rows come when: parsing before them or after them is the same.
_ORDER = (plan.Shuffle, plan.Shard, plan.Take, plan.Skip, plan.Part, plan.Repeat, plan.Select, plan.Sample)


@dataclass(frozen=True, slots=True)
class ParseRecords:
    """Serialized Examples or SequenceExamples to columns.

    Attributes:
      features: What they are parsed into.
    """

    features: Features
    _parse: Callable[[Bytes], Tree] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parse", _parser_of(self.features))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ParseRecords, (self.features,))

    def apply(self, columns: Any, seeds: UInt64s) -> Tree:
        """Parses the records of `columns`, in whose memory byte strings stay; `seeds` is not looked at."""
        del seeds
        if not isinstance(columns, Bytes):
            raise PlanError("parse", f"elements must be records (bytes), got {type(columns).__name__}")
        return self._parse(columns)

    def element_spec(self, spec: Any) -> Tree | None:
        """The form of an element, of such a record or of a batch of them."""
        return spec_of_features(self.features) if spec == TensorSpec((), bytes) else None


def _parser_of(features: Any) -> Callable[[Bytes], Tree]:
    if isinstance(features, SequenceFeatures):
        return partial(_parse_sequences, features.compile())
    if isinstance(features, VersionedFeatures):
        unpadded = replace(features, features=_unpadded(features.features))
        return partial(_parse_examples, unpadded.compile(), _padded(features.features))
    return partial(_parse_examples, compile_features(_unpadded(features)), _padded(features))


def _padded(features: Mapping[str, FeatureSpec]) -> dict[str, FixedLenSequenceFeature]:
    return {name: feature for name, feature in features.items() if isinstance(feature, FixedLenSequenceFeature)}


def _unpadded(features: Mapping[str, FeatureSpec]) -> dict[str, FeatureSpec]:
    """The features with each that would be padded to the longest row of the unit as rows of any length.

    Raises:
      ValueError: They cannot be compiled.
    """
    compile_features(features)
    return {**features, **{name: VarLenFeature(feature.dtype) for name, feature in _padded(features).items()}}


def _parse_examples(parser: Any, padded: Mapping[str, FixedLenSequenceFeature], records: Bytes) -> dict[str, Any]:
    columns: dict[str, Any] = parser.parse(records)
    for name, feature in padded.items():
        columns[name] = _steps(name, feature, columns[name])
    return columns


def _steps(name: str, feature: FixedLenSequenceFeature, column: Ragged) -> Steps:
    stride = math.prod(feature.shape)
    require(column.lengths % stride == 0, column.lengths, name, f"a multiple of {stride} values")
    values: Any = column.values
    return Steps(values.reshape(-1, *feature.shape), column.row_splits // stride, feature.default_value)


def _parse_sequences(parser: SequenceFeatureParser, records: Bytes) -> tuple[dict[str, Any], ...]:
    context, lists, lengths = parser.parse(records, pad=False)
    for name in lengths:
        lists[name] = Steps(lists[name].values, lists[name].row_splits)
    return context, lists, lengths


def parse_records(node: plan.Node, features: Features) -> plan.Node:
    """The node's records parsed: by their reader, where it stands below verbs of order only, else by a map over it.

    Parsing before `batch` is the same as after it, and the reader does it.
    """
    if not isinstance(features, (Mapping, SequenceFeatures, VersionedFeatures)):
        due = 'a mapping such as {"x": FixedLenFeature([], np.int64)}, SequenceFeatures or VersionedFeatures is due'
        raise PlanError("parse", f"{due}, got {features!r}")
    if isinstance(features, Mapping):
        compile_features(features)  # What cannot be compiled is told now.
    if isinstance(node, plan.Batch):
        return replace(node, source=parse_records(node.source, features))
    reader = _at_the_reader(node, features) if isinstance(features, Mapping) and not _special(features) else None
    return plan.Map(node, ParseRecords(features)) if reader is None else reader


def _special(features: Mapping[str, FeatureSpec]) -> bool:
    plain = (FixedLenFeature, RawFeature, VarLenFeature, RaggedFeature)
    return not all(isinstance(feature, plain) for feature in features.values())


def _at_the_reader(node: plan.Node, features: Mapping[str, FeatureSpec]) -> plan.Node | None:
    if isinstance(node, plan.Records):
        return replace(node, features=dict(features)) if node.features is None else None
    if isinstance(node, _ORDER):
        below = _at_the_reader(node.source, features)
        return None if below is None else replace(node, source=below)
    return None
