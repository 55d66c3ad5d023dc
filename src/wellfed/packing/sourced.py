"""What may be packed: a source, or anything that gives mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.sources import Items, Spooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wellfed.sources import Source


def as_source(source: Source | Iterable[Mapping[str, Any]]) -> Source:
    """Returns a source as it is, a sequence as `Items`, and any other iterable as `Spooled`."""
    # Not isinstance: asking an object for its schema would read the raw data.
    if hasattr(type(source), "listing"):
        return source  # type: ignore[return-value]  # It has the methods of one.
    if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        return Items(source)  # type: ignore[arg-type]  # It has what a sequence needs.
    return Spooled(source)  # type: ignore[arg-type]  # No source, so an iterable.
