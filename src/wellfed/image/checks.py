"""Options that users give, checked when they are given. `True` is no number, nor is NaN or a text of digits."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any


def whole(name: str, value: Any, unit: str = "") -> int:
    """`value` as an int of 1 or more.

    Raises:
      ValueError: It is no whole number, or less than 1.
    """
    number = _as_whole(value)
    if number is None:
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if number < 1:
        raise ValueError(f"{name} must be at least 1{unit and ' '}{unit}, got {number}")
    return number


def sides(name: str, value: Any, count: int, due: str) -> tuple[int, ...]:
    """`count` lengths in pixels, as ints of 1 or more; `due` says what they are.

    Raises:
      ValueError: There are more or fewer, or they are no whole numbers, or less than 1.
    """
    found = [side for side in map(_as_whole, _listed(value)) if side is not None]
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


def _as_whole(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
