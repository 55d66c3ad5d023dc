"""Built-in transforms of the feed's own: they work on whole columns, without a loop in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wellfed.errors import PlanError

if TYPE_CHECKING:
    from wellfed.datasets import Schema
    from wellfed.feed.mixing import UInt64s


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


@dataclass(frozen=True, slots=True)
class DecodeSchema:
    """From columns as they are stored to columns as the schema means them."""

    schema: Schema

    def apply(self, columns: Mapping[str, Any], seeds: UInt64s) -> dict[str, Any]:
        """Decodes the rows of `columns`; `seeds` is not looked at."""
        del seeds
        return self.schema.decode(columns)
