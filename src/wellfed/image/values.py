"""Transforms of columns of numbers, such as labels."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wellfed.checks import whole
from wellfed.columns import Ragged
from wellfed.errors import ExampleError
from wellfed.image.passes import all_known

if TYPE_CHECKING:
    import numpy.typing as npt

    from wellfed.image.passes import RowForm, RowSpec
    from wellfed.image.seeds import Seeds
    from wellfed.image.transforms import ColumnSpecs


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


def _with_values(column: Ragged, values: Any) -> Ragged:
    """The same rows of other values, and whatever else the column is."""
    changed = copy(column)
    changed.values = values
    return changed


class OneColumn:
    """What the transforms of this room share: each changes one column and passes the others on.

    Attributes:
      column: Name of the column.
      of_values: Whether each value is changed by itself, so that a row may have any number of them.
    """

    __slots__ = ()
    column: str
    of_values: ClassVar[bool] = False

    def static_output(self, columns: ColumnSpecs) -> RowSpec | None:
        """Shape and dtype of a row of the result, where they are the same for all rows; else None.

        Args:
          columns: For each column known beforehand the shape and dtype of a row; dtype `bytes` for encoded pictures.
        """
        return all_known(self.row_form(columns.get(self.column)))

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, from those of the column; None for sides that may differ."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Cast(OneColumn):
    """Converts a column to another type, as `astype` and `tf.cast` do: fractions are cut off.

    Attributes:
      column: Name of the column.
      dtype: NumPy dtype of the result.
    """

    of_values = True

    column: str
    dtype: Any

    def __post_init__(self) -> None:
        np.dtype(self.dtype)

    def apply(self, columns: Mapping[str, Any], seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows, also of any size; `out` (B, *shape) is filled where it is given.

        Raises:
          ExampleError: The column holds no numbers.
        """
        del seeds
        changed = self._cast(column_of(columns, self.column), out)
        return {**columns, self.column: changed}

    def _cast(self, value: Any, out: npt.NDArray[Any] | None = None) -> Any:
        if isinstance(value, Ragged):
            return _with_values(value, self._cast(value.values))
        array = np.asarray(value)
        if array.dtype.hasobject and all(isinstance(row, np.ndarray) for row in array):
            rows = np.empty(len(array), object)
            for number, row in enumerate(array):
                rows[number] = self._cast(row)
            return rows
        if array.dtype.kind in "OSU":
            raise ExampleError(f"Cast needs numbers, found {type(value).__name__}", self.column)
        result = np.empty(array.shape, self.dtype) if out is None else out
        np.copyto(result, array, casting="unsafe")
        return result

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, from those of the column; None where they are not known."""
        return None if given is None or given[1] is bytes else (given[0], np.dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class OneHot(OneColumn):
    """Makes class numbers rows of zeros with a one in the class's place.

    Attributes:
      column: Name of a column of integers, any shape, also `Ragged`.
      classes: How many classes there are; a new last dimension.
      dtype: NumPy dtype of the result.

    Differs from `tf.one_hot`:
      A number outside of [0, classes) is an error, not a row of zeros.
    """

    of_values = True

    column: str
    classes: int
    dtype: Any = np.float32

    def __post_init__(self) -> None:
        np.dtype(self.dtype)
        object.__setattr__(self, "classes", whole("classes", self.classes, 1))

    def apply(self, columns: Mapping[str, Any], seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows; `out` (B, *shape, classes) is filled where it is given.

        Raises:
          ExampleError: A row holds no integer, or one outside of [0, classes).
        """
        del seeds
        changed = self._one_hot(column_of(columns, self.column), out)
        return {**columns, self.column: changed}

    def _one_hot(self, value: Any, out: npt.NDArray[Any] | None = None) -> Any:
        if isinstance(value, Ragged):
            return _with_values(value, self._one_hot(value.values))
        labels = np.asarray(value)
        if labels.dtype.kind not in "iu":
            raise ExampleError(f"OneHot needs integers, found {labels.dtype}", self.column)
        outside = np.argwhere((labels < 0) | (labels >= self.classes))
        if len(outside):
            where = tuple(outside[0])
            raise ExampleError(f"class {labels[where]} is outside of [0, {self.classes})", self.column, int(where[0]))
        result = np.empty((*labels.shape, self.classes), self.dtype) if out is None else out
        result[...] = 0
        np.put_along_axis(result, labels[..., None], 1, axis=-1)
        return result

    def static_output(self, columns: ColumnSpecs) -> RowSpec | None:
        """Shape and dtype of a row of the result; None where the shape of the column is not known."""
        return all_known(self.row_form(columns.get(self.column)))

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, from those of the column; None where they are not known."""
        return None if given is None or given[1] is bytes else ((*given[0], self.classes), np.dtype(self.dtype))
