"""Transforms of columns of numbers, such as labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.errors import ExampleError
from wellfed.image.checks import whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from wellfed.image.seeds import Seeds
    from wellfed.image.transforms import ColumnSpecs, RowSpec


def column_of(columns: Any, name: str) -> Any:
    """The column that a transform works on.

    Raises:
      ExampleError: There is none of that name.
    """
    if not isinstance(columns, Mapping):
        raise ExampleError(f"a transform needs elements with names, got {type(columns).__name__}", name)
    if name not in columns:
        raise ExampleError(f"there is no such column; there are {sorted(columns)}", name)
    return columns[name]


@dataclass(frozen=True, slots=True)
class Cast:
    """Converts a column to another type, as `astype` and `tf.cast` do: fractions are cut off.

    Attributes:
      column: Name of the column.
      dtype: NumPy dtype of the result.
    """

    column: str
    dtype: Any

    def __post_init__(self) -> None:
        np.dtype(self.dtype)

    def apply(self, columns: Mapping[str, Any], seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows; `out` (B, *shape) is filled where it is given."""
        del seeds
        value = np.asarray(column_of(columns, self.column))
        result = np.empty(value.shape, self.dtype) if out is None else out
        np.copyto(result, value, casting="unsafe")
        return {**columns, self.column: result}

    def static_output(self, columns: ColumnSpecs) -> RowSpec | None:
        """Shape and dtype of a row of the result; None where those of the column are not known."""
        given = columns.get(self.column)
        return None if given is None or given[1] is bytes else (given[0], np.dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class OneHot:
    """Makes class numbers rows of zeros with a one in the class's place.

    Attributes:
      column: Name of a column of integers, any shape.
      classes: How many classes there are; a new last dimension.
      dtype: NumPy dtype of the result.

    Differs from `tf.one_hot`:
      A number outside of [0, classes) is an error, not a row of zeros.
    """

    column: str
    classes: int
    dtype: Any = np.float32

    def __post_init__(self) -> None:
        np.dtype(self.dtype)
        object.__setattr__(self, "classes", whole("classes", self.classes))

    def apply(self, columns: Mapping[str, Any], seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows; `out` (B, *shape, classes) is filled where it is given.

        Raises:
          ExampleError: A row holds no integer, or one outside of [0, classes).
        """
        del seeds
        labels = np.asarray(column_of(columns, self.column))
        if labels.dtype.kind not in "iu":
            raise ExampleError(f"OneHot needs integers, found {labels.dtype}", self.column)
        outside = np.argwhere((labels < 0) | (labels >= self.classes))
        if len(outside):
            where = tuple(outside[0])
            raise ExampleError(f"class {labels[where]} is outside of [0, {self.classes})", self.column, int(where[0]))
        result = np.empty((*labels.shape, self.classes), self.dtype) if out is None else out
        result[...] = 0
        np.put_along_axis(result, labels[..., None], 1, axis=-1)
        return {**columns, self.column: result}

    def static_output(self, columns: ColumnSpecs) -> RowSpec | None:
        """Shape and dtype of a row of the result; None where the shape of the column is not known."""
        given = columns.get(self.column)
        return None if given is None or given[1] is bytes else ((*given[0], self.classes), np.dtype(self.dtype))
