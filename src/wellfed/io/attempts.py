"""Which failures of a request pass, and what the others are called.

    passing     a lost connection, a timeout, HTTP 408, 425, 429, 500, 502, 503, 504     tried again
    not there   FileNotFoundError          with the URL, and what the store said
    forbidden   PermissionError            the same
    the rest    RemoteError                the same

Each driver of fsspec has errors of its own. They are known here by what they share: Python's classes, `errno`, an
HTTP status on the error or on its cause, and, where none of these is there, the name of the class.
"""

from __future__ import annotations

import errno
import random
import re
import time
from typing import TYPE_CHECKING, TypeVar

from wellfed.errors import FileChangedError, RemoteError, WellfedError
from wellfed.io.giving_up import pause, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.io.remote import Counts, RemoteOptions

_Result = TypeVar("_Result")

_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_PASSING_ERRNO = frozenset(
    getattr(errno, name)
    for name in (
        *("EAGAIN", "EBUSY", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "EINTR", "EIO"),
        *("ENETDOWN", "ENETRESET", "ENETUNREACH", "EPIPE", "EREMOTEIO", "ETIMEDOUT"),
    )
    if hasattr(errno, name)
)
# aiohttp, botocore, urllib3 and requests name these alike: ServerDisconnectedError, ReadTimeoutError, IncompleteRead...
_PASSING_NAMES = ("Timeout", "Disconnected", "IncompleteRead", "Payload", "ConnectionClosed", "ConnectionError")
# hdfs-native (0.14) raises RuntimeError for most failures: Rust's name of the error, then what Hadoop said.
_PASSING_TEXT = "DataTransferError("  # No DataNode gave, or took, a block.
_FORBIDDEN_TEXT = "AccessControlException"
_JAVA_STACK = re.compile(r"(\\n|\n)(\\t|\t)at .*", re.DOTALL)  # Also where it stands inside a quoted text.
_FORBIDDEN_STATUS = frozenset({401, 403})
_MISSING_STATUS = frozenset({404, 410})
_OTHER_STATUS = frozenset({*_MISSING_STATUS, 412, 416})  # Not there, not as it was, not as long.


class Attempts:
    """Makes requests until they are answered.

    Args:
      options: How often, and how long the pauses are.
      counts: Where requests and retries are counted.
      sleep: Called with the length of each pause, [s]; what is true ends the attempts.
      draw: A number of [0, 1) for each pause.
    """

    def __init__(
        self,
        options: RemoteOptions,
        counts: Counts,
        sleep: Callable[[float], object] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._options, self._counts, self._sleep, self._draw = options, counts, sleep, draw

    def make(self, request: Callable[[], _Result], path: str, start: int = 0, end: int = 0) -> _Result:
        """What a request answers.

        Args:
          request: Called until it answers.
          path: The URL, for errors.
          start: First byte that is asked for; for errors.
          end: The byte after the last one; `start` where no bytes are asked for.

        Raises:
          FileNotFoundError: There is no such file, or no such bucket.
          PermissionError: It may not be read.
          RemoteError: Any other failure, or too many that pass.
        """
        for attempt in range(1, self._options.attempts + 1):
            self._counts.add(requests=1)
            try:
                with unseen():
                    return request()
            except WellfedError:
                raise
            except Exception as error:
                last = not passes(error) or attempt == self._options.attempts
                if last or pause(max(self.pause(attempt), self._asked_for(error)), self._sleep):
                    raise named(error, path, start, end, attempt) from error
            self._counts.add(retries=1)
        raise AssertionError  # The last attempt returns or raises.

    def came(self, count: int) -> None:
        """Counts bytes that an answer brought."""
        self._counts.add(bytes=count)

    def pause(self, attempt: int) -> float:
        """How long to wait after an attempt that failed, the first being 1. [s]."""
        options = self._options
        longest: float = min(options.pause_seconds * 2 ** (attempt - 1), options.longest_pause_seconds)
        return longest * (1 - self._draw() / 2)

    def _asked_for(self, error: BaseException) -> float:
        """How long the server wants to be left alone, up to the longest pause. [s]."""
        return min(_retry_after(error), self._options.longest_pause_seconds)


def passes(error: BaseException) -> bool:
    """Whether a request that failed so may be answered when it is made again."""
    status = _status(error)
    if status is not None:
        return status in _PASSING_STATUS
    return any(_passes_by_itself(one) for one in _chain(error))


def is_of_another_content(error: BaseException) -> bool:
    """Whether a request for bytes failed as it does where the file was removed or replaced."""
    status = _status(error)
    return status in _OTHER_STATUS or (status is None and _is_missing(error))


def named(error: Exception, path: str, start: int, end: int, attempts: int) -> Exception:
    """The error to raise in place of a driver's own."""
    status, said = _status(error), _said(error)
    if passes(error):  # Also where a driver says "not found" of a server that did not answer.
        return RemoteError(said, path, start, end, attempts)
    if status in _FORBIDDEN_STATUS or (status is None and _is_forbidden(error)):
        return PermissionError(f"{path}: access denied ({said}). Check the credentials and the rights of the bucket")
    if status in _MISSING_STATUS or (status is None and _is_missing(error)):
        return FileNotFoundError(f"{path}: there is no such file or bucket ({said})")
    if isinstance(error, IsADirectoryError):
        return error
    return RemoteError(said, path, start, end, attempts)


def unwritten(error: Exception, path: str) -> OSError:
    """The error for a remote file that could not be written."""
    if _is_forbidden(error):
        return PermissionError(f"{path}: may not be written ({_said(error)}). Check the credentials and the rights")
    return OSError(f"{path}: could not be written ({_said(error)})")


def changed(path: str, reason: str) -> FileChangedError:
    """The error for a remote file that is not what it was."""
    return FileChangedError(f"the remote file changed while it was read: {reason}. Open it again", path)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it, as far as somebody says so."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__


def _status(error: BaseException) -> int | None:
    """The HTTP status of the answer that an error stands for; None where none is known."""
    for one in _chain(error):
        if "Payload" in type(one).__name__:
            return None  # The answer was cut. aiohttp gives the cause of that a code, 400, which no server sent.
        response = getattr(one, "response", None)
        if isinstance(response, dict):  # botocore.
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return status if isinstance(status, int) else None
        for name in ("status", "status_code", "code"):  # One after another: aiohttp warns about its "code".
            status = getattr(one, name, None)
            if isinstance(status, int):
                if 400 <= status < 600:
                    return status
                break
    return None


def _retry_after(error: BaseException) -> float:
    """The seconds of a Retry-After, which came with an answer; 0 where there is none, or a date."""
    for one in _chain(error):
        response = getattr(one, "response", None)
        headers = getattr(one, "headers", None)
        if isinstance(response, dict):  # botocore, which spells them small.
            headers = response.get("ResponseMetadata", {}).get("HTTPHeaders")
        for name in ("Retry-After", "retry-after"):
            asked = str(headers.get(name)) if headers is not None and hasattr(headers, "get") else ""
            if asked.isdecimal():
                return float(asked)
    return 0.0


def _is_missing(error: BaseException) -> bool:
    """Whether a file is not there; fsspec says so too where a certificate is refused, or redirects do not end."""
    chain = list(_chain(error))
    caused_by = [one for one in chain if isinstance(one, OSError)]
    if any("Redirect" in type(one).__name__ for one in chain):
        return False
    return bool(caused_by) and all(isinstance(one, FileNotFoundError) for one in caused_by)


def _is_forbidden(error: BaseException) -> bool:
    return isinstance(error, PermissionError) or (isinstance(error, RuntimeError) and _FORBIDDEN_TEXT in str(error))


def _passes_by_itself(error: BaseException) -> bool:
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    if isinstance(error, OSError) and error.errno in _PASSING_ERRNO:
        return True
    if isinstance(error, RuntimeError) and str(error).startswith(_PASSING_TEXT):
        return True
    name = type(error).__name__
    return any(part in name for part in _PASSING_NAMES)


def _said(error: BaseException) -> str:
    """What a driver's error says, and what caused it in the end, in one line."""
    *_, last = (one for one in _chain(error) if isinstance(one, Exception))  # Not that a task was cancelled for it.
    return _line(error) if last is error else f"{_line(error)}, caused by {_line(last)}"


def _line(error: BaseException) -> str:
    text = " ".join(_JAVA_STACK.sub("", str(error)).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
