"""Every row of the table: each family of jobs has a file of its own with its `ROWS`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness import Row

FAMILIES = ("records", "feed", "write", "pack", "jpeg", "queues", "footprint", "remote")


def all_rows() -> list[Row]:
    return [row for family in FAMILIES for row in importlib.import_module(family).ROWS]


def by_name(name: str) -> Row:
    return next(row for row in all_rows() if row.name == name)
