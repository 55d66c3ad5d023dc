"""What every message can do, and the messages that hold values: BytesList, FloatList, Int64List, Feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

from wellfed import _native
from wellfed.errors import EncodeError, MalformedExampleError
from wellfed.example.repeated import Values
from wellfed.example.text import to_text
from wellfed.lossless import BYTES, FLOAT, INT64, Parts, value_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

M = TypeVar("M", bound="Message")
L = TypeVar("L", bound="_List")
Decoded = dict[str, Any]


def field(number: int, inside: bytes) -> bytes:
    """A length-delimited protobuf field; `number` is below 16."""
    size, head = len(inside), bytearray([number << 3 | 2])
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + inside


def inside(whole: bytes) -> bytes:
    """What a length-delimited field holds."""
    start = 1
    while whole[start] >= 0x80:
        start += 1
    return whole[start + 1 :]


def feature_parts(key: Any, value: Any) -> Parts:
    """As `value_parts`, also for a `Feature`, which brings its kind along."""
    return value_parts(key, value.values() if isinstance(value, Feature) else value)


def encode_features(features: Mapping[str, Any]) -> bytes:
    """An Example with these features.

    Raises:
      EncodeError: As `encode_example`.
      TypeError: They are no mapping.
    """
    if type(features) is not dict:
        if not isinstance(features, Mapping):
            raise TypeError(f'features must be a mapping such as {{"x": 1}}, got {type(features).__name__}')
        features = dict(features)
    try:
        return _native.encode_example(features, feature_parts)
    except EncodeError:
        raise
    except ValueError as error:
        raise EncodeError(str(error), "") from None


def decode(serialized: bytes, name: str = "Example") -> tuple[Decoded, Decoded]:
    """The features and feature lists of an Example or SequenceExample, as the kernel gives them.

    Raises:
      MalformedExampleError: The bytes are none.
    """
    features, sequences, offset = _native.decode_example(serialized)
    if offset is not None:
        raise MalformedExampleError(f"no {name}: byte {offset} cannot be read")
    return features, sequences


class Message:
    """What every message can do, by protobuf's names."""

    def SerializeToString(self, *, deterministic: bool = True) -> bytes:  # noqa: ARG002 -- protobuf's own switch.
        """The message as bytes.

        Raises:
          EncodeError: The message would be larger than 2 GiB - 1.
        """
        return self._encode()

    def _encode(self) -> bytes:
        raise NotImplementedError

    def MergeFromString(self, serialized: bytes) -> int:
        """Adds what `serialized` holds, as protobuf merges: entries of maps are replaced, lists go on.

        Returns:
          The number of bytes read.

        Raises:
          MalformedExampleError: The bytes are no such message.
        """
        self._merge(bytes(serialized))
        return len(serialized)

    def _merge(self, serialized: bytes) -> None:
        raise NotImplementedError

    @classmethod
    def FromString(cls: type[M], serialized: bytes) -> M:
        """A new message; as MergeFromString."""
        message = cls()
        message.MergeFromString(serialized)
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Replaces what is in the message; as MergeFromString."""
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFrom(self: M, other: M) -> None:
        """Adds what `other` holds; as MergeFromString."""
        self._merge(other._encode())

    def CopyFrom(self: M, other: M) -> None:
        """Replaces what is in the message by a copy of what `other` holds."""
        self.ParseFromString(other._encode())

    def Clear(self) -> None:
        """Empties the message."""
        self.__init__()  # type: ignore[misc]  # Every message can be made without arguments.

    def ByteSize(self) -> int:
        """The number of bytes of the serialized message."""
        return len(self._encode())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]  # Mutable, as protobuf's messages are.

    def _fields(self) -> dict[str, Any]:
        """The fields that are set, by name."""
        raise NotImplementedError

    def HasField(self, name: str) -> bool:
        """Whether the single message of that name is set.

        Raises:
          ValueError: There is no such field, or it is repeated.
        """
        kind = getattr(type(self), name, None)
        if not isinstance(kind, (Part, _Member)):
            raise ValueError(f"{type(self).__name__} has no single field {name!r}")  # noqa: TRY004 -- protobuf's.
        return name in self._fields()

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).FromString, (self._encode(),))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._fields().items())
        return f"{type(self).__name__}({fields})"

    def __str__(self) -> str:
        return to_text(self._tree())

    def _tree(self) -> list[tuple[str, Any]]:
        """The fields as protobuf's text format shows them."""
        return [(name, value._tree()) for name, value in self._fields().items()]


class Part(Generic[M]):
    """A field that is one message. It is set when it was given, or when something is in it."""

    def __init__(self, make: type[M]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, message: None, owner: type) -> Part[M]: ...
    @overload
    def __get__(self, message: Message, owner: type) -> M: ...
    def __get__(self, message: Message | None, owner: type) -> M | Part[M]:
        if message is None:
            return self
        return cast("M", vars(message).setdefault(f"_{self.name}", self.make()))

    def __set__(self, message: Message, value: M) -> None:
        raise AttributeError(f"{self.name} cannot be assigned; use {self.name}.CopyFrom(...)")


class _List(Message):
    """Values of one kind.

    Args:
      value: The values; a list or array. A bare str or bytes is refused: it would be cut into characters.

    Raises:
      TypeError: A value is of another kind.
      ValueError: An integer is beyond int64.
    """

    kind: ClassVar[int]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value = Values(self.kind, value)

    def Clear(self) -> None:
        """Empties the list; whoever holds `value` sees it."""
        self.value.clear()

    def SetInParent(self) -> None:
        """Makes the list present, also where it is empty."""
        self.value.touch()

    def _encode(self) -> bytes:
        return inside(inside(_native.encode_feature_list(value_parts("", self.value.column()), 1)))

    def _merge(self, serialized: bytes) -> None:
        self.value.extend(Feature.FromString(field(self.kind, serialized)).list_of(self.kind))

    def _fields(self) -> dict[str, Any]:
        return {"value": list(self.value)} if self.value else {}

    def _tree(self) -> list[tuple[str, Any]]:
        return [("value", item) for item in self.value]


class BytesList(_List):
    """Byte strings; `str` is stored as UTF-8."""

    kind = BYTES


class FloatList(_List):
    """Floats, rounded to float32."""

    kind = FLOAT


class Int64List(_List):
    """Integers of 64 bits."""

    kind = INT64


class _Member(Generic[L]):
    """One list of a Feature's oneof. Until it is changed, a list that is not set hangs loose."""

    def __init__(self, make: type[L]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, feature: None, owner: type) -> _Member[L]: ...
    @overload
    def __get__(self, feature: Feature, owner: type) -> L: ...
    def __get__(self, feature: Feature | None, owner: type) -> L | _Member[L]:
        if feature is None:
            return self
        if isinstance(feature._list, self.make):
            return feature._list
        loose = self.make()
        loose.value.changed = lambda: setattr(feature, "_list", loose)
        return loose

    def __set__(self, feature: Feature, value: L) -> None:
        raise AttributeError(f"{self.name} cannot be assigned; use {self.name}.CopyFrom(...)")


class Feature(Message):
    """One list of values, or none.

    Args:
      bytes_list: A BytesList; copied.
      float_list: A FloatList; copied.
      int64_list: An Int64List; copied. Of several that are given, the last one counts.
    """

    bytes_list = _Member(BytesList)
    float_list = _Member(FloatList)
    int64_list = _Member(Int64List)

    def __init__(
        self,
        *,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        given: list[_List] = [one for one in (bytes_list, float_list, int64_list) if one is not None]
        self._list: _List | None = type(given[-1])(given[-1].value) if given else None

    def WhichOneof(self, group: str = "kind") -> str | None:
        """The name of the list that is set, or None.

        Raises:
          ValueError: `group` is not "kind".
        """
        if group != "kind":
            raise ValueError(f'Feature has one group, "kind", got {group!r}')
        return next(iter(self._fields()), None)

    def ClearField(self, name: str) -> None:
        """Unsets the list of that name, if it is the one that is set."""
        if self.HasField(name):
            self._list = None

    def values(self) -> Any:
        """The values as an int64 or float32 array or `Bytes`; [] where the kind is unset."""
        return [] if self._list is None else self._list.value.column()

    def list_of(self, kind: int) -> Values | list[Any]:
        """The values, if they are of that kind; otherwise none."""
        return self._list.value if self._list is not None and self._list.kind == kind else []

    def _encode(self) -> bytes:
        return inside(_native.encode_feature_list(feature_parts("", self), 1))

    def _merge(self, serialized: bytes) -> None:
        features, _ = decode(field(1, field(1, field(2, serialized))), "Feature")
        self._add(*features[""])

    def _add(self, kind: int, values: Any) -> None:
        """Adds a list as the kernel decoded it."""
        if not kind:
            return
        own = {BYTES: self.bytes_list, FLOAT: self.float_list, INT64: self.int64_list}[kind].value
        own.extend(values if kind == BYTES else values.view("<f4" if kind == FLOAT else "=i8").tolist())
        own.touch()

    def _fields(self) -> dict[str, Any]:
        names = {BYTES: "bytes_list", FLOAT: "float_list", INT64: "int64_list"}
        return {} if self._list is None else {names[self._list.kind]: self._list}


def made(kind: int, values: Any) -> Feature:
    """A Feature as the kernel decoded it."""
    feature = Feature()
    feature._add(kind, values)
    return feature


def copied(message: M) -> M:
    """A new message with the same content."""
    return type(message).FromString(message._encode())
