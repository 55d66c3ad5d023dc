"""TensorFlow's dtypes over NumPy's; `string` is kept as `bytes`, in arrays as dtype `object`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import builtins


class DType:
    """A kind of value. Equal to its NumPy type and to its name.

    Attributes:
      name: TensorFlow's name, such as "float32" or "string".
      as_numpy_dtype: NumPy's type; `object` for strings.
    """

    __slots__ = ("as_numpy_dtype", "name")

    def __init__(self, name: str, as_numpy_dtype: type[Any]) -> None:
        self.name, self.as_numpy_dtype = name, as_numpy_dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """What `numpy.dtype(self)` gives."""
        return np.dtype(self.as_numpy_dtype)

    @property
    def base_dtype(self) -> DType:
        """Itself: there are no reference types here."""
        return self

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a kind of real number with fractions."""
        return self.dtype.kind == "f"

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is a kind of integer."""
        return self.dtype.kind in "iu"

    @property
    def is_bool(self) -> builtins.bool:
        """Whether it is the kind of truths."""
        return self.dtype.kind == "b"

    @property
    def size(self) -> int:
        """Bytes of one value; 1 for strings, as in TensorFlow."""
        return 1 if self is string else self.dtype.itemsize

    @property
    def min(self) -> Any:
        """The lowest value."""
        return np.iinfo(self.dtype).min if self.is_integer else np.finfo(self.dtype).min

    @property
    def max(self) -> Any:
        """The highest value."""
        return np.iinfo(self.dtype).max if self.is_integer else np.finfo(self.dtype).max

    def __eq__(self, other: object) -> builtins.bool:
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


string = DType("string", object)
_NUMBERS = {
    name: DType(name, getattr(np, "bool_" if name == "bool" else name))
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_BY_NAME = {**_NUMBERS, "string": string, "double": _NUMBERS["float64"], "float": _NUMBERS["float32"]}

bool = _NUMBERS["bool"]
int8, int16, int32, int64 = (_NUMBERS[name] for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_NUMBERS[name] for name in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (_NUMBERS[name] for name in ("float16", "float32", "float64"))
half, double = float16, float64
complex64, complex128 = _NUMBERS["complex64"], _NUMBERS["complex128"]


def as_dtype(dtype: Any) -> DType:
    """Gives the dtype that a name, a NumPy or Python type, or a dtype itself stands for.

    Raises:
      TypeError: Nothing here is kept under that name.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    if dtype is float:  # TensorFlow's meaning of Python's own types.
        return float32
    if dtype is int:
        return int32
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r} is no dtype") from None
    if found.kind in "OSU":
        return string
    if found.name not in _NUMBERS:
        raise TypeError(f"{dtype!r} is no dtype that is kept here: there are {', '.join(sorted(_BY_NAME))}")
    return _NUMBERS[found.name]
