"""Built-in transforms of the feed's own: they work on whole columns, without a loop in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.datasets import Image, Schema
from wellfed.errors import PlanError
from wellfed.feed.specs import TensorSpec, spec_of_rows
from wellfed.feed.tree import Tree, leaves, map_tree
from wellfed.image import Decode
from wellfed.image.values import OneColumn, column_of

if TYPE_CHECKING:
    from wellfed.feed.mixing import UInt64s


def row_numbers(transform: Any, batch: Tree) -> UInt64s:
    """The numbers of the rows of a batch that a transform gets: uint64 (B,).

    Raises:
      ExampleError: The transform works on a column, and the batch has no names.
    """
    if isinstance(transform, OneColumn):
        column_of(batch, transform.column)  # Which says what is due.
    several = (column for _, column in leaves(batch) if isinstance(column, (Bytes, Ragged)) or np.ndim(column))
    return np.arange(len(next(several, ())), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class SelectColumns:
    """The columns of these names."""

    names: tuple[str, ...]

    def apply(self, columns: Any, seeds: UInt64s) -> dict[str, Any]:
        """The columns of `names`, in that order; `seeds` is not looked at."""
        del seeds
        if not isinstance(columns, Mapping):
            raise PlanError("select_columns", f"elements must be mappings, got {type(columns).__name__}")
        for name in self.names:
            if name not in columns:
                raise PlanError("select_columns", f"there is no column {name!r}; there are {sorted(columns)}")
        return {name: columns[name] for name in self.names}

    def element_spec(self, spec: Any) -> Any:
        """The form of an element, from that of one before it."""
        known = isinstance(spec, Mapping) and all(name in spec for name in self.names)
        return {name: spec[name] for name in self.names} if known else None


@dataclass(frozen=True, slots=True)
class ParseSchema:
    """From records to columns as they are stored, Examples or SequenceExamples."""

    schema: Schema

    def apply(self, records: Any, seeds: UInt64s) -> dict[str, Any]:
        """Parses the rows of `records`; `seeds` is not looked at."""
        del seeds
        return self.schema.parse_stored(records)

    def element_spec(self, spec: Any) -> Any:
        """The form of a row, as no rows at all show it."""
        return map_tree(spec_of_rows, self.schema.parse_stored([])) if spec == TensorSpec((), bytes) else None


@dataclass(frozen=True, slots=True)
class DecodeSchema:
    """From columns as they are stored to columns as the schema means them; encoded pictures are left as they are."""

    schema: Schema

    def apply(self, columns: Mapping[str, Any], seeds: UInt64s) -> dict[str, Any]:
        """Decodes the rows of `columns`; `seeds` is not looked at."""
        del seeds
        encoded = {decode.column for decode in picture_decoders(self.schema)}
        decoded = self.schema.decode(columns, [name for name in self.schema if name not in encoded])
        return {name: columns[name] if name in encoded else decoded[name] for name in self.schema}

    def element_spec(self, spec: Any) -> Any:
        """The form of a row, as no rows at all show it; of arrays of any size, as the schema says."""
        del spec
        none = self.apply(self.schema.parse_stored([]), np.empty(0, np.uint64))
        return {name: _spec_of_feature(self.schema[name], column) for name, column in none.items()}


def _spec_of_feature(kind: Any, column: Any) -> TensorSpec:
    several = isinstance(column, np.ndarray) and column.dtype.hasobject
    return TensorSpec(kind.shape, kind.dtype) if several else spec_of_rows(column)


def picture_decoders(schema: Schema) -> list[Decode]:
    """The transforms that decode the encoded pictures of a schema: steps of their own, so that others join them."""
    decoders = []
    for name, kind in schema.items():
        if isinstance(kind, Image) and kind.encoding_format != "raw":
            channels: Any = kind.shape[2] if kind.shape[2] in (1, 3, 4) else 0
            dtype: Any = kind.dtype.name
            shape: Any = None if None in kind.shape else tuple(kind.shape)
            decoders.append(Decode(name, channels=channels, dtype=dtype, shape=shape))
    return decoders
