"""TFRecord files of Examples or SequenceExamples: to shard and shuffle them anew, or to change what they hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.datasets import ByteString, ClassLabel, FeatureType, Image, Scalar, Schema, Sequence, Tensor, Text
from wellfed.errors import DatasetError, ExampleError, FileFormatError, RecordError, SourceError
from wellfed.example import FixedLenFeature, compile_features, decode_example, scan_features
from wellfed.io import Records, expand_patterns
from wellfed.io.files import is_url
from wellfed.sources.base import ListedSource, Scan
from wellfed.sources.listing import Listing, NumberedKeys, Skipped
from wellfed.sources.paths import Paths, group_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from wellfed.example import FeatureFacts, FeatureParser

_FRAMING_BYTES = 16
_PICTURES = {"jpeg", "png", "gif", "webp"}
_BATCH = 1024


@dataclass(frozen=True)
class TFRecords(ListedSource):
    """The Examples or SequenceExamples of TFRecord files: a value for each feature; or as they are, `record(i)`.

    Without `types`, all records are read once to find which features there are. One value in each record is a number,
    `Text`, `Image` or `ByteString`; several are a `Tensor` or `Sequence`, whose length is None where it differs or
    where a record lacks the feature. Feature lists are `Sequence`s.

    Attributes:
      paths: A file, several, or a pattern, as `wellfed.io.Records` takes them; URLs too.
      types: The schema that the records were written with.
      label: The feature that is the class; one int64 from 0 in each record.
      on_damage: "raise", or "skip" to leave damaged regions out and list them as skipped.

    Raises:
      SourceError: A file is missing, damaged or no TFRecord; a record is no Example; a feature is of different kinds
        in different records.

    Memory: 24 bytes a record, and the files' indexes, mapped.
    """

    paths: Paths
    types: Mapping[str, FeatureType] | None = None
    label: str | None = None
    on_damage: Literal["raise", "skip"] = "raise"

    def __post_init__(self) -> None:
        try:
            paths = expand_patterns(self.paths)
        except (FileNotFoundError, DatasetError) as error:
            raise SourceError(f"cannot be found: {error}", _shown(self.paths)) from error
        object.__setattr__(self, "paths", tuple(path if is_url(path) else os.path.abspath(path) for path in paths))

    def scan(self) -> Scan:
        """Opens the indexes, or makes them; finds the schema."""
        paths = cast("tuple[str, ...]", self.paths)
        try:
            indexes = self._records.indexes
            if not len(self._records):
                raise SourceError("holds no record", paths[0])
            damage = self._records.damage
            skipped = [Skipped(one.path, f"bytes [{one.start}..{one.end}): {one.reason}") for one in damage]
            schema = self._guessed(skipped) if self.types is None else Schema(self.types)
            labels = None
            if self.label is not None:
                kind, labels = self._classes(self.label, schema)
                schema = schema.replace({self.label: kind})
        except (RecordError, FileFormatError) as error:
            raise SourceError(_told(error), error.path) from error
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}", str(error.filename or paths[0])) from error
        sizes = [np.diff(index.offsets.astype(np.int64)) - _FRAMING_BYTES for index in indexes]
        counts = dict(zip(group_names(paths), map(len, indexes), strict=True))
        return Scan(schema, Listing(NumberedKeys.of_counts(counts), np.concatenate(sizes), labels, skipped))

    def record(self, index: int) -> bytes:
        """Record `index` of the listing as it is.

        Raises:
          SourceError: It is damaged.
        """
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        try:
            return self._records[int(keys.rows[index])]
        except (RecordError, FileFormatError) as error:
            raise SourceError(_told(error), error.path) from error
        except IndexError as error:
            raise SourceError(f"held more records when it was listed: {error}", self._first_path) from error

    def records(self, start: int, stop: int) -> Bytes | None:
        """Records `start` to `stop` of the listing as they are, copied; see `RecordSource`."""
        keys = self.listing().keys
        assert isinstance(keys, NumberedKeys)
        try:
            found = self._records.take(keys.rows[start:stop])
            copied = Bytes.from_list(found.to_list())
            for path, index in zip(self._records.paths, self._records.indexes, strict=True):
                # What was a mapping of a file that was cut since reads as zeros.
                if not (index.compression or is_url(path)) and os.stat(path).st_size != index.stream_bytes:
                    return None
        except (RecordError, FileFormatError, IndexError, OSError):
            return None
        return copied

    def load(self, index: int) -> dict[str, Any]:
        """The features of record `index`; pictures as they are."""
        record, schema = self.record(index), self.schema
        try:
            is_example = schema.records == "Example"
            columns = self._parser.parse([record]) if is_example else schema.parse_stored([record])
            others = [name for name, kind in schema.items() if not _holds_pictures(kind)]
            values = {**columns, **schema.decode(columns, others)}
        except ExampleError as error:
            raise SourceError(f"{error.feature or 'record'}: {error.reason}", self.listing().key(index)) from error
        return {name: _row(values[name]) for name in schema}

    @cached_property
    def _records(self) -> Records:
        return Records(cast("tuple[str, ...]", self.paths), on_damage=self.on_damage)

    @cached_property
    def _parser(self) -> FeatureParser:
        specs: Any = self.schema.features()
        return compile_features(specs)

    def _guessed(self, skipped: list[Skipped]) -> Schema:
        """The schema that all records fit."""
        try:
            found = scan_features(self._records)
        except ExampleError as error:
            raise self._no_example() from error
        if not found.features and not found.sequences:
            raise SourceError("holds records in which no feature is found; Examples are due", self._first_path)
        types: dict[str, FeatureType] = {}
        for name, facts in found.features.items():
            kind = self._kind(name, facts, skipped)
            context_list = found.sequences and kind == "bytes" and facts.counts != (1, 1)
            if context_list:  # The records keep it; no type of the schema holds it beside feature lists.
                skipped.append(
                    Skipped(f"feature {name}", "is a list of byte strings in the context: not in the schema")
                )
            elif kind:
                types[name] = _feature_type(kind, facts, found.records)
        for name, facts in found.sequences.items():
            if kind := self._kind(name, facts, skipped):
                types[name] = _sequence_type(kind, facts)
        return Schema(types, "SequenceExample" if found.sequences else "Example")

    def _kind(self, name: str, facts: FeatureFacts, skipped: list[Skipped]) -> str:
        """What a feature's values are; "" if it never has any."""
        kinds = [kind for kind in facts.kinds if kind != "unset"]
        if len(kinds) > 1:
            seen = " and ".join(f"{kind} (first in record {facts.first[kind]})" for kind in kinds)
            raise SourceError(f"feature {name!r} is {seen}. Give types=Schema(...)", self._first_path)
        if not kinds:
            skipped.append(Skipped(f"feature {name}", "has no kind in any record"))
        return kinds[0] if kinds else ""

    def _no_example(self) -> SourceError:
        """The error for the first record that is no Example."""
        for row, record in enumerate(self._records):
            try:
                decode_example(record)
            except ExampleError as error:
                path, number = self._records.locate(row)
                return SourceError(f"record {number}: {error.reason}; Examples are due", path)
        return SourceError("holds a record that is no Example; Examples are due", self._first_path)

    def _classes(self, label: str, schema: Schema) -> tuple[ClassLabel, NDArray[np.int64]]:
        """The type of the class, and the class of each record."""
        parser = compile_features({label: FixedLenFeature((), np.int64)})
        parts = []
        for start in range(0, len(self._records), _BATCH):
            try:
                parts.append(parser.parse(self._records[start : start + _BATCH])[label])
            except ExampleError as error:
                path, number = self._records.locate(start + error.example_index)
                reason = f"record {number}: {error.reason}; the class {label!r} is one int64 in each record"
                raise SourceError(reason, path) from error
        labels = np.concatenate([*parts, np.zeros(0, np.int64)])
        kind = schema.get(label)
        if not isinstance(kind, ClassLabel):
            kind = ClassLabel(num_classes=int(labels.max(initial=0)) + 1)
        if labels.size and not 0 <= labels.min() <= labels.max() < kind.num_classes:
            reason = f"feature {label!r} holds classes from {labels.min()} to {labels.max()}"
            raise SourceError(f"{reason}; 0 to {kind.num_classes - 1} are due", self._first_path)
        return kind, labels

    @property
    def _first_path(self) -> str:
        return cast("tuple[str, ...]", self.paths)[0]


def _feature_type(kind: str, facts: FeatureFacts, records: int) -> FeatureType:
    """The type of a feature whose values are of one kind."""
    low, high = facts.counts or (0, 0)
    count = low if low == high and facts.kinds[kind] == records and low > 0 else None
    single = _single_type(kind, facts)
    if count == 1:
        return single
    return Tensor((count,), single.dtype) if isinstance(single, Scalar) else Sequence(single, count)


def _single_type(kind: str, facts: FeatureFacts) -> FeatureType:
    """The type of one value of a feature."""
    if kind != "bytes":
        return Scalar(np.int64 if kind == "int64" else np.float32)
    looks = facts.looks.keys()
    if looks and looks <= _PICTURES:
        return Image()
    return Text() if looks and looks <= {"text", "empty"} else ByteString()


def _sequence_type(kind: str, facts: FeatureFacts) -> FeatureType:
    """The type of a feature list: a value a step, an array of one length a step, or a list a step."""
    single = _single_type(kind, facts)
    low, high = facts.counts or (0, 0)
    if low == high == 1:
        return Sequence(single)
    if low == high and isinstance(single, Scalar):
        return Sequence(Tensor((low,), single.dtype))
    return Sequence(Sequence(single))


def _holds_pictures(kind: FeatureType) -> bool:
    return isinstance(kind.unnested()[1] if isinstance(kind, Sequence) else kind, Image)


def _row(column: Any) -> Any:
    """The only row of a column."""
    row = column[0]
    return row.to_list() if isinstance(row, Bytes | Ragged) else row


def _told(error: RecordError | FileFormatError) -> str:
    """What an error says beside the file's name."""
    if isinstance(error, RecordError):
        due = 'on_damage="skip" (--on-damage skip) leaves damage out and lists it'
        return f"record {error.record_index} at byte {error.offset}: {error.reason}. {due}"
    return error.reason


def _shown(paths: Paths) -> str:
    return os.fspath(paths) if isinstance(paths, str | os.PathLike) else ", ".join(os.fspath(path) for path in paths)
