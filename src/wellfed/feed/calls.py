"""Calls of users' functions: what they raise arrives as a StageError that names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wellfed.errors import StageError, WellfedError

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818 -- no error: a unit was given up because its owner closed.
    """Work on a unit was given up because nobody waits for it any more."""


def attempt(function: Callable[..., T], *arguments: Any) -> T | Exception:
    """What a call gives, or the error that it raises.

    The error's traceback holds this frame, all below it, and all that called it: each of them that has a name for what
    holds the error must delete it at its end, or both wait for the garbage collector.
    """
    try:
        return function(*arguments)
    except Cancelled:
        return Cancelled()  # Without a traceback: its frames would hold what should end with the engine.
    except Exception as error:  # noqa: BLE001 -- for the consumer, in its turn.
        return error


def name_of(function: Any) -> str:
    """The name of a function and the place where it was defined, such as `double at train.py:12`."""
    code = getattr(function, "__code__", None)
    where = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return f"{getattr(function, '__qualname__', type(function).__name__)}{where}"


def call(verb: str, function: Callable[..., Any], *arguments: Any, number: int = -1) -> Any:
    """Calls a user's function.

    Raises:
      StageError: The function raised; `row` is the number of the element in what the verb takes.
    """
    try:
        return function(*arguments)
    except WellfedError:
        raise
    except Exception as error:
        raise failed(verb, function, f"{type(error).__name__}: {error}", number) from error


def failed(verb: str, function: Callable[..., Any], what: str, number: int = -1) -> StageError:
    """The error of a user's function: what was wrong, at which number of element."""
    return StageError(f"{verb}({name_of(function)})", number, "", what)


def judge(verb: str, predicate: Callable[[Any], Any], element: Any, number: int) -> bool:
    """What a user's predicate says of an element.

    Raises:
      StageError: It raised, or gave no truth value.
    """
    found = call(verb, predicate, element, number=number)
    try:
        if found is not None:
            return bool(found)
    except ValueError:  # An array of several.
        pass
    shown = "None: does it lack its return?" if found is None else f"an array of shape {np.shape(found)}"
    raise failed(verb, predicate, f"one truth value is due, got {shown}", number)
