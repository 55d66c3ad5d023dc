"""tf.train's messages as plain classes: no protobuf runtime, the same names, constructors and bytes.

    Example(features: Features)
    SequenceExample(context: Features, feature_lists: FeatureLists)
    Features(feature: {name: Feature})              FeatureLists(feature_list: {name: FeatureList})
    FeatureList(feature: [Feature])                 Feature(bytes_list | float_list | int64_list)
    BytesList, FloatList, Int64List (value: [...])

As in protobuf, `example.features.feature["x"].int64_list.value.append(1)` makes all that it passes, and what was only
looked at is not written. Serialization is always deterministic: names sorted. Fields that these messages do not have
are dropped when read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.example.lists import Feature, Message, Part, copied, decode, encode_features, field, inside, made
from wellfed.example.repeated import MessageList, MessageMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Features(Message):
    """Features by name.

    Args:
      feature: Name to Feature; copied.
    """

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature: MessageMap[Feature] = MessageMap(Feature)
        self.feature.update({key: copied(value) for key, value in (feature or {}).items()})

    def _encode(self) -> bytes:
        return inside(encode_features(self.feature))

    def _merge(self, serialized: bytes) -> None:
        features, _ = decode(field(1, serialized), "Features")
        self.feature.update({key: made(*value) for key, value in features.items()})

    def _fields(self) -> dict[str, Any]:
        return {"feature": dict(self.feature)} if self.feature else {}

    def _tree(self) -> list[tuple[str, Any]]:
        return [("feature", [("key", key), ("value", self.feature[key]._tree())]) for key in sorted(self.feature)]


class FeatureList(Message):
    """Features one after another: the steps of a sequence.

    Args:
      feature: The steps; copied.
    """

    def __init__(self, feature: Iterable[Feature] = ()) -> None:
        self.feature: MessageList[Feature] = MessageList(Feature)
        self.feature.extend(map(copied, feature))

    def _encode(self) -> bytes:
        return b"".join(field(1, step._encode()) for step in self.feature)

    def _merge(self, serialized: bytes) -> None:
        _, sequences = decode(field(2, field(1, field(2, serialized))), "FeatureList")
        self.extend_decoded(sequences[""])

    def extend_decoded(self, steps: list[Any]) -> None:
        """Adds steps as the kernel decoded them."""
        self.feature.extend(made(*step) for step in steps)

    def _fields(self) -> dict[str, Any]:
        return {"feature": list(self.feature)} if self.feature else {}

    def _tree(self) -> list[tuple[str, Any]]:
        return [("feature", step._tree()) for step in self.feature]


class FeatureLists(Message):
    """Feature lists by name.

    Args:
      feature_list: Name to FeatureList; copied.
    """

    def __init__(self, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        self.feature_list: MessageMap[FeatureList] = MessageMap(FeatureList)
        self.feature_list.update({key: copied(value) for key, value in (feature_list or {}).items()})

    def _encode(self) -> bytes:
        keys = sorted(self.feature_list, key=str.encode)
        return b"".join(field(1, field(1, key.encode()) + field(2, self.feature_list[key]._encode())) for key in keys)

    def _merge(self, serialized: bytes) -> None:
        _, sequences = decode(field(2, serialized), "FeatureLists")
        for key, steps in sequences.items():
            self.feature_list[key] = FeatureList()
            self.feature_list[key].extend_decoded(steps)

    def _fields(self) -> dict[str, Any]:
        return {"feature_list": dict(self.feature_list)} if self.feature_list else {}

    def _tree(self) -> list[tuple[str, Any]]:
        lists = self.feature_list
        return [("feature_list", [("key", key), ("value", lists[key]._tree())]) for key in sorted(lists)]


class _Whole(Message):
    """Example and SequenceExample: fields that are one message each."""

    def _give(self, **parts: Message | None) -> None:
        """Empties the message, then takes copies of the parts that are given."""
        vars(self).clear()
        self._given = set()
        for name, part in parts.items():
            if part is not None:
                getattr(self, name).CopyFrom(part)
                self._given.add(name)

    _given: set[str]

    def ClearField(self, name: str) -> None:
        """Unsets the field of that name."""
        if self.HasField(name):
            vars(self).pop(f"_{name}", None)
            self._given.discard(name)

    def _fields(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name, part in vars(type(self)).items() if isinstance(part, Part)}
        return {name: part for name, part in parts.items() if name in self._given or part._fields()}

    def _encode(self) -> bytes:
        numbers = {"features": 1, "context": 1, "feature_lists": 2}
        return b"".join(field(numbers[name], part._encode()) for name, part in self._fields().items())


class Example(_Whole):
    """Features by name.

    Args:
      features: The features; copied.

    Example:
      >>> from wellfed.example.lists import Int64List
      >>> example = Example(features=Features(feature={"x": Feature(int64_list=Int64List(value=[1]))}))
      >>> Example.FromString(example.SerializeToString()).features.feature["x"].int64_list.value
      [1]
    """

    features = Part(Features)

    def __init__(self, features: Features | None = None) -> None:
        self._give(features=features)

    def _merge(self, serialized: bytes) -> None:
        features, _ = decode(serialized)
        self.features.feature.update({key: made(*value) for key, value in features.items()})
        self._given |= {"features"} if serialized else set()


class SequenceExample(_Whole):
    """Features of the whole, and lists of features: one for each step.

    Args:
      context: The features of the whole; copied.
      feature_lists: The lists; copied.
    """

    context = Part(Features)
    feature_lists = Part(FeatureLists)

    def __init__(self, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        self._give(context=context, feature_lists=feature_lists)

    def _merge(self, serialized: bytes) -> None:
        features, sequences = decode(serialized, "SequenceExample")
        self.context.feature.update({key: made(*value) for key, value in features.items()})
        for key, steps in sequences.items():
            self.feature_lists.feature_list[key] = FeatureList()
            self.feature_lists.feature_list[key].extend_decoded(steps)
