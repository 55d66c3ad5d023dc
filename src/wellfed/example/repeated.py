"""The containers of messages: repeated values that check what comes in, and maps that make what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar

import numpy as np

from wellfed.columns import Bytes
from wellfed.lossless import BYTES, INT64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
_INT64 = range(-(2**63), 2**63)


def _checked(kind: int, item: Any) -> Any:
    """The item as Python's own value of that kind."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = np.asarray(item)[()]
    if kind == BYTES:
        if isinstance(item, (bytes, bytearray, memoryview)):
            return bytes(item)
        if isinstance(item, str):
            return item.encode()
        raise TypeError(f"value: bytes are due, got {type(item).__name__}")
    if kind == INT64:
        if not isinstance(item, (int, np.integer, np.bool_)):
            raise TypeError(f"value: an int is due, got {type(item).__name__}")
        if int(item) not in _INT64:
            raise ValueError(f"value: {item} is beyond int64")
        return int(item)
    if not isinstance(item, (int, float, np.integer, np.floating, np.bool_)):
        raise TypeError(f"value: a number is due, got {type(item).__name__}")
    with np.errstate(over="ignore"):  # As protobuf: what float32 cannot hold becomes infinite.
        return float(np.float32(item))


class Values(list[Any]):
    """The values of one list message; a list that holds Python ints, floats (rounded to float32) or bytes only.

    Attributes:
      kind: BYTES, FLOAT or INT64.
      changed: Called, once, when something comes in; for the owner that has only been looked at so far.
    """

    def __init__(self, kind: int, items: Iterable[Any] = ()) -> None:
        self.kind = kind
        self.changed: Callable[[], None] | None = None
        super().__init__(self._all(items))

    def _all(self, items: Iterable[Any]) -> list[Any]:
        if isinstance(items, (str, bytes, bytearray, memoryview)):
            # Iterating it would give its characters, one by one.
            raise TypeError(f"value: a list is due, got {type(items).__name__}; put it into [ ]")
        if isinstance(items, np.ndarray):
            items = items.reshape(-1).tolist()
        return [_checked(self.kind, item) for item in items]

    def touch(self) -> None:
        """Tells the owner that the list is used."""
        if self.changed is not None:
            changed, self.changed = self.changed, None
            changed()

    def append(self, item: Any) -> None:
        """Adds one value."""
        super().append(_checked(self.kind, item))
        self.touch()

    def extend(self, items: Iterable[Any]) -> None:
        """Adds values."""
        super().extend(self._all(items))
        self.touch()

    def insert(self, at: SupportsIndex, item: Any) -> None:
        """Puts one value before place `at`."""
        super().insert(at, _checked(self.kind, item))
        self.touch()

    def __setitem__(self, at: Any, item: Any) -> None:
        super().__setitem__(at, self._all(item) if isinstance(at, slice) else _checked(self.kind, item))
        self.touch()

    def __iadd__(self, items: Iterable[Any]) -> Values:  # type: ignore[misc]  # list's own takes fewer types.
        self.extend(items)
        return self

    def column(self) -> Any:
        """The values as an array of their kind, or `Bytes`."""
        if self.kind == BYTES:
            return Bytes.from_list(self)
        return np.array(self, np.int64 if self.kind == INT64 else np.float32)


class MessageMap(dict[str, T], Generic[T]):
    """Name to message; asking for a name that is not there makes it, as protobuf's maps do."""

    def __init__(self, make: Callable[[], T]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: str) -> T:
        if not isinstance(key, str):
            raise TypeError(f"a name (str) is due, got {key!r}")
        self[key] = message = self.make()
        return message

    def get_or_create(self, key: str) -> T:
        """The message of that name, made where it is not there."""
        return self[key]


class MessageList(list[T], Generic[T]):
    """Repeated messages."""

    def __init__(self, make: Callable[[], T]) -> None:
        super().__init__()
        self.make = make

    def add(self) -> T:
        """Adds an empty message and returns it."""
        self.append(self.make())
        return self[-1]
