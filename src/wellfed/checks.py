"""Options that users give, checked when they are given. `True` is no number, nor is a text of digits."""

from __future__ import annotations

import operator
from typing import Any


def as_whole(value: Any) -> int | None:
    """The whole number that a value is; None where it is none. True is an int to Python, and a mistake here."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def whole(name: str, value: Any, least: int | None = None, unit: str = "") -> int:
    """The whole number that was given for an option.

    Args:
      name: The option's name.
      value: What was given.
      least: The least that it may be.
      unit: What it counts, such as "elements".

    Raises:
      ValueError: It is no whole number, or less than `least`.
    """
    number = as_whole(value)
    if number is None:
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}{unit and ' '}{unit}, got {number}")
    return number


def flag(name: str, value: Any) -> None:
    """Proves that an option is True or False.

    Raises:
      ValueError: It is neither.
    """
    if value is not True and value is not False:
        raise ValueError(f"{name} must be True or False, got {value!r}")


def one_of(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Proves that an option is one of its choices.

    Raises:
      ValueError: It is none of them.
    """
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise ValueError(f"{name} must be one of {shown}, got {value!r}")
