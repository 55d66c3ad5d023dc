"""Whatever was given, as a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from wellfed.sources.items import Items
from wellfed.sources.spooled import Spooled

if TYPE_CHECKING:
    from wellfed.datasets import FeatureType
    from wellfed.sources.base import Source


def as_source(given: Any, types: Mapping[str, FeatureType] | None = None) -> Source:
    """Makes a source of what holds items.

    Args:
      given: A source, which comes back as it is; a sequence of mappings (whatever has `len` and `[i]`), or any other
        iterable of mappings.
      types: The schema of a sequence's or iterable's items; found from their values if not given.

    Returns:
      The source: `given`, `Items` or `Spooled`.

    Raises:
      TypeError: It holds no items.

    Example:
      >>> as_source([{"x": 1}]).load(0)
      {'x': 1}
    """
    # Not isinstance: asking an object for its schema would read the raw data.
    if hasattr(type(given), "listing") and hasattr(type(given), "load"):
        source: Source = given
        return source
    if isinstance(given, str | bytes | Mapping) or not (hasattr(given, "__getitem__") or isinstance(given, Iterable)):
        due = 'a source such as wf.sources.ClassFolders("photos/"), or a sequence or iterable of mappings is due'
        raise TypeError(f"{due}, got {type(given).__name__}")
    return Items(given, types) if hasattr(given, "__len__") and hasattr(given, "__getitem__") else Spooled(given, types)
