"""Static shapes: what is known of a deferred tensor's shape before it has a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Dimension:
    """One size, or None where it is not known. Counts as the number in arithmetic and comparisons.

    Attributes:
      value: The size.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        value = value.value if isinstance(value, Dimension) else value
        self.value: int | None = None if value is None else int(value)

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("this dimension is not known before the run")
        return self.value

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dimension) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def _with(self, other: Any, compute: Any) -> Dimension:
        other = Dimension(other)
        known = self.value is not None and other.value is not None
        return Dimension(compute(self.value, other.value) if known else None)

    def __add__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a // b)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        return int(self) < int(other)

    def __gt__(self, other: Any) -> bool:
        return int(self) > int(other)

    def __le__(self, other: Any) -> bool:
        return int(self) <= int(other)

    def __ge__(self, other: Any) -> bool:
        return int(self) >= int(other)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


class TensorShape:
    """A shape of which any dimension, or the rank itself, may not be known.

    Args:
      dims: The sizes, None for one that is not known; None as a whole for a rank that is not known.
    """

    __slots__ = ("sizes",)

    def __init__(self, dims: Any) -> None:
        self.sizes: tuple[int | None, ...] | None
        if isinstance(dims, TensorShape):
            self.sizes = dims.sizes
        elif dims is None:
            self.sizes = None
        elif isinstance(dims, Iterable):
            self.sizes = tuple(Dimension(None if size == -1 else size).value for size in dims)
        else:
            self.sizes = (Dimension(dims).value,)

    @property
    def rank(self) -> int | None:
        """How many dimensions there are, or None."""
        return None if self.sizes is None else len(self.sizes)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None."""
        return None if self.sizes is None else [Dimension(size) for size in self.sizes]

    def as_list(self) -> list[int | None]:
        """Gives the sizes.

        Raises:
          ValueError: The rank is not known.
        """
        if self.sizes is None:
            raise ValueError("as_list() is not defined on a shape of unknown rank")
        return list(self.sizes)

    def is_fully_defined(self) -> bool:
        """Says whether every size is known."""
        return self.sizes is not None and None not in self.sizes

    def num_elements(self) -> int | None:
        """Gives the product of the sizes, or None where one is not known."""
        if self.sizes is None or None in self.sizes:
            return None
        product = 1
        for size in self.sizes:
            product *= size or 0
        return product

    def is_compatible_with(self, other: Any) -> bool:
        """Says whether one value can have both shapes."""
        other = TensorShape(other)
        if self.sizes is None or other.sizes is None:
            return True
        return len(self.sizes) == len(other.sizes) and all(
            a is None or b is None or a == b for a, b in zip(self.sizes, other.sizes, strict=True)
        )

    def merge_with(self, other: Any) -> TensorShape:
        """Gives what both shapes know together.

        Raises:
          ValueError: They contradict each other.
        """
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self.sizes is None or other.sizes is None:
            return other if self.sizes is None else self
        return TensorShape([b if a is None else a for a, b in zip(self.sizes, other.sizes, strict=True)])

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError where no value can have both shapes."""
        self.merge_with(other)

    def concatenate(self, other: Any) -> TensorShape:
        """Gives the dimensions of this shape, then those of the other."""
        other = TensorShape(other)
        if self.sizes is None or other.sizes is None:
            return TensorShape(None)
        return TensorShape([*self.sizes, *other.sizes])

    def with_rank(self, rank: int) -> TensorShape:
        """Gives this shape with that many dimensions.

        Raises:
          ValueError: It has another rank.
        """
        return self.merge_with([None] * rank)

    def __len__(self) -> int:
        return len(self.as_list())

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        return iter([Dimension(size) for size in self.as_list()])

    def __getitem__(self, key: Any) -> Any:
        if self.sizes is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        return TensorShape(self.sizes[key]) if isinstance(key, slice) else Dimension(self.sizes[key])

    def __eq__(self, other: object) -> bool:
        try:
            return self.sizes == TensorShape(other).sizes
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        return str(self.sizes)

    def __repr__(self) -> str:
        return f"TensorShape({None if self.sizes is None else list(self.sizes)})"
