"""Sizes and numbers that users give to pictures, checked when they are given. NaN is no number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from wellfed.checks import as_whole


def sides(name: str, value: Any, count: int, due: str) -> tuple[int, ...]:
    """`count` lengths in pixels, as ints of 1 or more; `due` says what they are.

    Raises:
      ValueError: There are more or fewer, or they are no whole numbers, or less than 1.
    """
    found = [side for side in map(as_whole, _listed(value)) if side is not None]
    if len(found) != count or len(_listed(value)) != count:
        raise ValueError(f"{name} must be {due}, in whole numbers, got {value!r}")
    if min(found) < 1:
        raise ValueError(f"{name} must be at least 1 pixel each way, got {value!r}")
    return tuple(found)


def numbers(name: str, value: Any, counts: Iterable[int], due: str) -> tuple[float, ...]:
    """One number or several as finite floats, as many as one of `counts` says; `due` says what they are.

    Raises:
      ValueError: They are none, or too many or few.
    """
    given = _listed(value)
    good = all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in given)
    if not good or len(given) not in counts:
        raise ValueError(f"{name} must be {due}, got {value!r}")
    return tuple(float(v) for v in given)


def _listed(value: Any) -> tuple[Any, ...]:
    """What is in an array, a list and the like; any other value alone."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else (value,)
