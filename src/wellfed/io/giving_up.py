"""Reads for which nobody waits any more are given up: a feed that is closed does not wait for a network.

with give_up_when(closed):            in the thread of whoever may be closed
    records.take(...)                 raises soon after closed() is true; the request itself ends by itself
"""

from __future__ import annotations

import contextlib
import copy
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as StillRunningError
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from wellfed.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

_Result = TypeVar("_Result")

_LOOK_SECONDS = 0.05  # How often a read looks whether somebody waits for it still.
_is_given_up: ContextVar[Callable[[], bool] | None] = ContextVar("wellfed_is_given_up", default=None)


@contextlib.contextmanager
def give_up_when(given_up: Callable[[], bool]) -> Iterator[None]:
    """Has long reads in this block, and in threads that work for it, end soon after `given_up()` is true.

    Those of remote files raise `RemoteError` then; a request that is under way is not waited for. Walks over files of
    this machine raise `CancelledError`. What a block around this one has said holds too.
    """
    around = _is_given_up.get()
    either = given_up if around is None else lambda: given_up() or around()
    token = _is_given_up.set(either)
    try:
        yield
    finally:
        _is_given_up.reset(token)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Hides from a block what was said when reads are given up: connections keep the context that they were made in."""
    token = _is_given_up.set(None)
    try:
        yield
    finally:
        _is_given_up.reset(token)


def may_be_given_up() -> bool:
    """Whether somebody has said when reads are to be given up."""
    return _is_given_up.get() is not None


def is_given_up() -> bool:
    """Whether nobody waits any more."""
    given_up = _is_given_up.get()
    return given_up is not None and given_up()


def check_wanted() -> None:
    """Ends a walk that nobody waits for.

    Raises:
      CancelledError: Nobody does.
    """
    if is_given_up():
        raise CancelledError("nobody waits for it any more")


def pause(seconds: float, sleep: Callable[[float], object]) -> bool:
    """Sleeps, by a function that takes seconds; True where the rest is given up."""
    if not may_be_given_up():
        return bool(sleep(seconds))
    while seconds > 0 and not is_given_up():
        if sleep(min(seconds, _LOOK_SECONDS)):
            return True
        seconds -= _LOOK_SECONDS
    return is_given_up()


def result_of(future: Future[_Result], path: str, start: int, end: int) -> _Result:
    """Waits for an answer.

    Raises:
      RemoteError: It was given up.
      OSError: Whatever the request raised.
    """
    looks = _LOOK_SECONDS if may_be_given_up() else None
    while True:
        try:
            error = future.exception(looks)
        except StillRunningError:
            if is_given_up():
                future.cancel()
                raise RemoteError("nobody waits for it any more", path, start, end, 0) from None
            continue
        if error is None:
            return future.result()
        # A copy for each who waits: what one raises and keeps would hold the frames of the others.
        raise copy.copy(error) from error.__cause__
