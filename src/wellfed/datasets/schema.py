"""One schema for both directions: what packing writes is what the feed reads.

    schema.encode(item)        a row's values      -> what `encode_example` takes
    schema.encode_rows(items)  many rows' values   -> what `encode_examples` takes
    schema.features()          names and kinds     -> what `parse_example` needs
    schema.decode(columns)     parsed columns      -> columns as people want them, pictures decoded

A schema is stored with its data set, as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING, Any, Literal, get_args

from wellfed import example
from wellfed.datasets.feature_types import ByteString, ClassLabel, FeatureType, Image, Scalar, Text
from wellfed.datasets.steps import check_steps, from_steps, step_feature, to_steps
from wellfed.datasets.tensors import Sequence, Tensor
from wellfed.errors import EncodeError

if TYPE_CHECKING:
    from wellfed.example import FeatureSpec, RecordBatch

Records = Literal["Example", "SequenceExample"]


class Schema(Mapping[str, FeatureType]):
    """An ordered, frozen mapping of a feature's name to its type.

    A name may hold slashes ("objects/box"): TensorFlow Datasets shows such features as nested.

    Args:
      types: Name to type, such as `{"image": Image((28, 28, 1)), "label": ClassLabel(["cat", "dog"])}`.
      records: "Example", or "SequenceExample": then each `Sequence` is a feature list, and all else context. None: that
        of `types` where it is a schema, else "Example".

    Raises:
      ValueError: A name is empty, two features would share a name in the record, or a sequence is nested deeper than
        the records can hold.

    >>> schema = Schema({"x": Scalar("int64"), "y": Tensor((2,), "float32")})
    >>> schema.encode({"x": 3, "y": [0.5, 1.5]})
    {'x': np.int64(3), 'y': array([0.5, 1.5], dtype=float32)}
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    __slots__ = ("_types", "records")

    def __init__(self, types: Mapping[str, FeatureType], records: Records | None = None) -> None:
        self._types = dict(types)
        self.records: Records = records or (types.records if isinstance(types, Schema) else "Example")
        if self.records not in get_args(Records):
            raise ValueError(f'records must be "Example" or "SequenceExample", got {self.records!r}')
        for name, sequence in self._lists(self._types).items():
            check_steps(name, sequence)
        owner: dict[str, str] = {}
        for name, kind in self._types.items():
            if not name:
                raise ValueError("a feature's name must not be empty")
            for stored in kind.features(name):
                if stored in owner:
                    raise ValueError(f'features "{owner[stored]}" and "{name}" would both be stored as "{stored}"')
                owner[stored] = name

    def __getitem__(self, name: str) -> FeatureType:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema) or self.records != other.records:
            return False
        return list(self._types.items()) == list(other._types.items())

    def __hash__(self) -> int:
        return hash(tuple(self._types.items()))

    def __repr__(self) -> str:
        return f"Schema({self._types!r}{'' if self.records == 'Example' else ', records=' + repr(self.records)})"

    def features(self, names: Iterable[str] | None = None) -> dict[str, FeatureSpec]:
        """Returns what `parse_example` needs, for all features or for `names` only.

        Raises:
          ValueError: The records are SequenceExamples; `parse` reads both.
        """
        if self.records != "Example":
            raise ValueError("the records are SequenceExamples, which parse_example does not read: use schema.parse")
        return self._plain_features(self._types if names is None else names)

    def encode(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what `encode_example` takes for one item.

        Raises:
          EncodeError: A feature is missing, not in the schema, or does not fit its type.
        """
        if unknown := [name for name in item if name not in self._types]:
            raise EncodeError(f"is not in the schema, which has {', '.join(self._types)}", str(unknown[0]))
        encoded: dict[str, Any] = {}
        for name, kind in self._types.items():
            if name not in item:
                raise EncodeError("is in the schema, but the item has no value for it", name)
            encoded.update(kind.encode(name, item[name]))
        return encoded

    def encode_record(self, item: Mapping[str, Any]) -> bytes:
        """Returns one item as the record that is stored: a serialized Example or SequenceExample.

        Raises:
          EncodeError: As `encode`.
        """
        encoded = self.encode(item)
        lists = self._lists(self._types)
        if self.records == "Example":
            return example.encode_example(encoded)
        context = {stored: encoded[stored] for stored in self._plain_features(self._types.keys() - lists.keys())}
        steps = {name: to_steps(name, kind, encoded) for name, kind in lists.items()}
        return example.encode_sequence_example(context, steps)

    def encode_rows(self, items: SequenceOf[Mapping[str, Any]]) -> dict[str, Any]:
        """Returns what `encode_examples` takes for many items: equal to `encode` of each, in a fraction of the time.

        Raises:
          EncodeError: As `encode`, without saying which of the items is at fault.
        """
        for item in items:
            if item.keys() != self._types.keys():
                self.encode(item)  # Which says what is missing or unknown.
        return self.encode_columns({name: [item[name] for item in items] for name in self._types})

    def encode_columns(self, columns: Mapping[str, SequenceOf[Any]]) -> dict[str, Any]:
        """Returns what `encode_examples` takes for many rows that are given by column.

        Args:
          columns: For each feature an array (B, ...), `Bytes`, or a sequence of B values.

        Raises:
          EncodeError: As `encode_rows`.
        """
        if columns.keys() != self._types.keys():
            self.encode(dict.fromkeys(columns))  # Which says what is missing or unknown.
        encoded: dict[str, Any] = {}
        for name, kind in self._types.items():
            encoded.update(kind.encode_column(name, columns[name]))
        return encoded

    def parse(self, records: RecordBatch, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Parses records, Examples or SequenceExamples, and decodes them.

        Args:
          records: B serialized records: `Bytes` or a sequence of bytes.
          names: The features to read; None for all.

        Raises:
          ExampleError: A record does not fit the schema.
          ImageError: A picture cannot be decoded.
        """
        return self.decode(self.parse_stored(records, names), names)

    def parse_stored(self, records: RecordBatch, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Parses records into what `decode` takes: pictures stay encoded.

        Raises:
          ExampleError: A record does not fit the schema.
        """
        chosen = list(self._types if names is None else names)
        lists = self._lists(chosen)
        plain = self._plain_features([name for name in chosen if name not in lists])
        if self.records == "Example":
            return example.parse_example(records, plain)
        steps = {name: step_feature(kind) for name, kind in lists.items()}
        columns, found, _ = example.parse_sequence_example(records, plain, steps)
        for name, kind in lists.items():
            columns.update(from_steps(name, kind, found[name]))
        return columns

    def decode(self, columns: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
        """Returns the columns people want, made from what `parse_example` gives for `features(names)`.

        Args:
          columns: Parsed columns. They may be returned as they are; nothing is written to them.
          names: The features to decode; None for all.

        Raises:
          ImageError: A picture cannot be decoded.
          ExampleError: Stored bytes do not fit the declared shape.
        """
        return {name: self[name].decode(name, columns) for name in (self._types if names is None else names)}

    def replace(self, types: Mapping[str, FeatureType]) -> Schema:
        """Returns a schema with the types of some features replaced, and new ones added at the end."""
        return Schema({**self._types, **types}, self.records)

    def to_json(self) -> dict[str, Any]:
        """Returns the schema as plain JSON values: name to type, in order."""
        return {name: kind.to_json() for name, kind in self._types.items()}

    def _plain_features(self, names: Iterable[str]) -> dict[str, FeatureSpec]:
        return {stored: spec for name in names for stored, spec in self[name].features(name).items()}

    def _lists(self, names: Iterable[str]) -> dict[str, Sequence]:
        """Returns those features that are feature lists of a SequenceExample."""
        if self.records == "Example":
            return {}
        return {name: kind for name in names if isinstance(kind := self[name], Sequence)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], records: Records = "Example") -> Schema:
        """Returns the schema that `to_json` wrote.

        Raises:
          ValueError: A type is not known, or its values do not fit it.
        """
        return cls({name: feature_type_from_json(value) for name, value in values.items()}, records)


def feature_type_from_json(values: Mapping[str, Any]) -> FeatureType:
    """Returns the feature type that `to_json` wrote.

    Raises:
      ValueError: The type is not known, or its values do not fit it.
    """
    fields = dict(values)
    name = fields.pop("type", None)
    if name not in _TYPES:
        raise ValueError(f"unknown feature type {name!r}: expected one of {', '.join(_TYPES)}")
    if name == "Sequence":
        fields["feature"] = feature_type_from_json(fields["feature"])
    try:
        return _TYPES[name](**fields)
    except TypeError as error:
        raise ValueError(f"feature type {name} cannot be made of {fields}: {error}") from error


_TYPES: dict[str, Callable[..., FeatureType]] = {
    "Image": Image,
    "ClassLabel": ClassLabel,
    "Scalar": Scalar,
    "Text": Text,
    "ByteString": ByteString,
    "Tensor": Tensor,
    "Sequence": Sequence,
}
