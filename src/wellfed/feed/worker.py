"""What a worker process does: it calls one function on the elements that it is sent, until its pipe ends."""

from __future__ import annotations

import pickle
import signal
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.feed.messages import receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection


@dataclass(frozen=True, slots=True)
class Failure:
    """A function that raised.

    Attributes:
      number: Which of the elements it was called with.
      error: The pickled error; None where it does not pickle.
      text: Its type and text.
      trace: Its traceback, as Python prints it.
    """

    number: int
    error: bytes | None
    text: str
    trace: str

    @classmethod
    def of(cls, number: int, error: BaseException) -> Failure:
        """What is told of `error`."""
        trace = "".join(traceback.format_exception(error))
        try:
            content = pickle.dumps(error)
            pickle.loads(content)  # noqa: S301 -- made in the line above. Some errors only fail when they arrive.
        except Exception:  # noqa: BLE001 -- whatever its own methods raise.
            return cls(number, None, f"{type(error).__name__}: {error}", trace)
        return cls(number, content, f"{type(error).__name__}: {error}", trace)


def call_each(function: Callable[..., Any], elements: Sequence[Any], seeds: Sequence[int] | None) -> Any:
    """The function's results as a list, or the first Failure."""
    results = []
    for number, element in enumerate(elements):
        try:
            if seeds is None:
                results.append(function(element))
            else:
                results.append(function(element, np.random.Generator(np.random.Philox(key=seeds[number]))))
        except Exception as error:  # noqa: BLE001 -- told to the one who asked.
            return Failure.of(number, error)
    return results


def serve(connection: Connection[Any, Any], function: bytes) -> None:
    """Answers (elements, seeds) with a list of results or a Failure, until the other side ends the pipe."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to all of a terminal's processes; the owner ends this one.
    try:
        called = pickle.loads(function)  # noqa: S301 -- from a process of this program.
    except Exception as error:  # noqa: BLE001 -- told at the first call.
        called = _Missing(Failure.of(0, error))
    while True:
        try:
            elements, seeds = receive(connection)
            answer = called.failure if isinstance(called, _Missing) else call_each(called, elements, seeds)
            _answer(connection, answer)
        except (EOFError, OSError):
            return


@dataclass(frozen=True)
class _Missing:
    """A function that could not be loaded here."""

    failure: Failure


def _answer(connection: Connection[Any, Any], answer: Any) -> None:
    try:
        send(connection, answer)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 -- a result that does not pickle.
        said = f"its result does not pickle, as what comes from another process must: {type(error).__name__}: {error}"
        send(connection, Failure.of(_at_fault(answer), pickle.PicklingError(said)))


def _at_fault(results: Sequence[Any]) -> int:
    """The number of the first result that does not pickle."""
    for number, result in enumerate(results):
        try:
            pickle.dumps(result, protocol=5)
        except Exception:  # noqa: BLE001 -- that is the question.
            return number
    return 0
