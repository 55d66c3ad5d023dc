"""Values that users give, checked when a plan is made."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from wellfed import checks
from wellfed.errors import PlanError


def whole(verb: str, name: str, value: Any, least: int | None = None, unit: str = "") -> int:
    """The whole number that was given for an argument.

    Args:
      verb: Whose argument it is.
      name: The argument's name.
      value: What was given.
      least: The least that it may be.
      unit: What it counts, such as "elements".

    Raises:
      PlanError: It is no whole number, or less than `least`.
    """
    try:
        return checks.whole(name, value, least, unit)
    except ValueError as error:
        raise PlanError(verb, str(error)) from None


def check_wish(verb: str, name: str, value: Any) -> None:
    """Proves that an argument is True, False, or None for "as it comes".

    Raises:
      PlanError: It is something else.
    """
    if not isinstance(value, (bool, np.bool_, NoneType)):
        raise PlanError(verb, f"{name} must be True, False or None, got {value!r}")


def check_whole(
    node: Any, verb: str, name: str, least: int | None = None, unit: str = "", *, optional: bool = False
) -> None:
    """Makes a node's field the whole number that it should be; None stays where it is `optional`.

    Raises:
      PlanError: As `whole`.
    """
    value = getattr(node, name)
    if value is not None or not optional:
        object.__setattr__(node, name, whole(verb, name, value, least, unit))
