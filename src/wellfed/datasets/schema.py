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
from typing import TYPE_CHECKING, Any

from wellfed.datasets.feature_types import ByteString, ClassLabel, FeatureType, Image, Scalar, Text
from wellfed.datasets.tensors import Sequence, Tensor
from wellfed.errors import EncodeError

if TYPE_CHECKING:
    from wellfed.example import FeatureSpec


class Schema(Mapping[str, FeatureType]):
    """An ordered, frozen mapping of a feature's name to its type.

    A name may hold slashes ("objects/box"): TensorFlow Datasets shows such features as nested.

    Args:
      types: Name to type, such as `{"image": Image((28, 28, 1)), "label": ClassLabel(["cat", "dog"])}`.

    Raises:
      ValueError: A name is empty, or two features would share a name in the Example.

    >>> schema = Schema({"x": Scalar("int64"), "y": Tensor((2,), "float32")})
    >>> schema.encode({"x": 3, "y": [0.5, 1.5]})
    {'x': np.int64(3), 'y': array([0.5, 1.5], dtype=float32)}
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    __slots__ = ("_types",)

    def __init__(self, types: Mapping[str, FeatureType]) -> None:
        self._types = dict(types)
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
        return isinstance(other, Schema) and list(self._types.items()) == list(other._types.items())

    def __hash__(self) -> int:
        return hash(tuple(self._types.items()))

    def __repr__(self) -> str:
        return f"Schema({self._types!r})"

    def features(self, names: Iterable[str] | None = None) -> dict[str, FeatureSpec]:
        """Returns what `parse_example` needs, for all features or for `names` only."""
        chosen = self._types if names is None else names
        return {stored: spec for name in chosen for stored, spec in self[name].features(name).items()}

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
        return Schema({**self._types, **types})

    def to_json(self) -> dict[str, Any]:
        """Returns the schema as plain JSON values: name to type, in order."""
        return {name: kind.to_json() for name, kind in self._types.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Schema:
        """Returns the schema that `to_json` wrote.

        Raises:
          ValueError: A type is not known, or its values do not fit it.
        """
        return cls({name: feature_type_from_json(value) for name, value in values.items()})


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
