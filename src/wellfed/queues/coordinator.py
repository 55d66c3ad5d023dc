"""How threads that work together stop together, and how the first true error among them comes to light.

a thread     while not coord.should_stop(): ...; or `with coord.stop_on_exception():` around all it does
anyone       coord.request_stop(), or request_stop(error) while the error is being handled
the owner    coord.join(threads): waits, then raises the error that was recorded
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wellfed.errors import OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]

_log = logging.getLogger(__name__)

_SHORTEST_LOOK_S = 0.05  # Before a stop, `join` looks up this often where the grace period is shorter.


class Coordinator:
    """Lets any of several threads stop all, and gives the first error to whoever joins them.

    Args:
      clean_stop_exception_types: Errors that stop without being an error, such as the end of the input.
        By default `OutOfRangeError` alone.

    Example:
      >>> coord = Coordinator()
      >>> def work():
      ...     with coord.stop_on_exception():
      ...         raise RuntimeError("no disk")
      >>> thread = threading.Thread(target=work)
      >>> thread.start()
      >>> coord.join([thread])
      Traceback (most recent call last):
      RuntimeError: no disk

    Source: tensorflow/python/training/coordinator.py.
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        self._clean = (
            tuple(clean_stop_exception_types) if clean_stop_exception_types is not None else (OutOfRangeError,)
        )
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stopped_at = 0.0
        self._error: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Asks all threads to stop. Only the first call counts.

        Args:
          ex: Why: an exception that is being handled now, or what `sys.exc_info()` gave. It is recorded, and raised by
            `join`; one of the clean kinds counts as None.

        Raises:
          BaseException: `ex` itself, where `join` is over and cannot raise it any more.

        Differs from TensorFlow: an exception is recorded as given, also outside its handler. A tuple that is no
        `exc_info` records a `ValueError`, as there.
        """
        error = _exception_of(ex)
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                return
            if self._stop.is_set():
                return
            if error is not None:
                _log.info("error reported to the coordinator: %s: %s", type(error).__name__, error)
                self._error = error
            self._stopped_at = time.monotonic()
            self._stop.set()

    def clear_stop(self) -> None:
        """Forgets the stop, its error and that `join` was called, so that the coordinator can be used again."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Says whether a stop was requested."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Turns any exception of the block, `KeyboardInterrupt` and `SystemExit` included, into `request_stop`.

        Yields:
          Nothing. The exception does not leave the block; `join` raises it, unless it is of a clean kind.
        """
        try:
            yield
        except BaseException:  # noqa: BLE001 -- TensorFlow's rule: a thread's every exception is the coordinator's.
            self.request_stop(sys.exc_info())  # type: ignore[arg-type]  # Inside a handler all three are set.

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested.

        Args:
          timeout: The longest wait; None for ever. [s]

        Returns:
          True once a stop was requested, False after `timeout`.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that the next `join` waits for."""
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended, or for a grace period after the stop; then raises what was recorded.

        Args:
          threads: Threads to wait for, besides those that were registered.
          stop_grace_period_secs: How long threads may go on after the stop. [s]
          ignore_live_threads: Log threads that are still running then, instead of raising.

        Raises:
          BaseException: The error that was given to `request_stop`, before any other.
          RuntimeError: Threads are still running after the grace period; it names them.
        """
        with self._lock:
            waited_for = list(self._registered.union(threads or ()))
        for thread in waited_for:
            self._wait_for(thread, stop_grace_period_secs)
        with self._lock:
            self._joined = True
            self._registered = set()
            if self._error is not None:
                raise self._error
        names = " ".join(sorted(thread.name for thread in waited_for if thread.is_alive()))
        if names and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {names}")
        if names:
            _log.info("coordinator stopped with threads still running: %s", names)

    @property
    def joined(self) -> bool:
        """Whether `join` has come to its end."""
        return self._joined

    @property
    def requested_exception(self) -> BaseException | None:
        """The error that was given to `request_stop`, or None."""
        return self._error

    def raise_requested_exception(self) -> None:
        """Raises the error that was given to `request_stop`, if there was one."""
        with self._lock:
            if self._error is not None:
                raise self._error

    def _wait_for(self, thread: threading.Thread, grace_s: float) -> None:
        """Waits until a thread has ended, or `grace_s` after the stop."""
        while thread.is_alive():
            if self._stop.is_set():
                left = self._stopped_at + grace_s - time.monotonic()
                if left <= 0:
                    return
            else:
                left = max(grace_s, _SHORTEST_LOOK_S)  # A stop may come at any time, so its grace ends no sooner.
            thread.join(left)


class LooperThread(threading.Thread):
    """A daemon thread that calls a function until its coordinator stops; an error in it stops the coordinator.

    Args:
      coord: The coordinator; the thread is registered there.
      timer_interval_secs: The time from one call to the next; None calls without a pause. [s]
      target: The function; without it `run_loop` is called, which a subclass defines.
      args: The function's arguments.
      kwargs: The function's arguments by name.

    Raises:
      ValueError: `coord` is no `Coordinator`, or arguments are given without a function.

    Source: tensorflow/python/training/coordinator.py.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"coord must be a Coordinator, got {coord!r}")  # noqa: TRY004 -- TensorFlow's kind.
        if target is None and (args or kwargs):
            raise ValueError("args and kwargs need a target")
        super().__init__(daemon=True)
        self._coord, self._interval_s = coord, timer_interval_secs
        self._call, self._call_args, self._call_kwargs = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls `target`; the arguments are the class's."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """Calls `start_loop`, then `run_loop` again and again, then `stop_loop`."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(0 if self._interval_s is None else max(0.0, due - time.monotonic())):
                due += self._interval_s or 0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Runs once, before the first call."""

    def run_loop(self) -> None:
        """Runs at each call."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)

    def stop_loop(self) -> None:
        """Runs once, after a stop; not after an error."""


def _exception_of(ex: BaseException | ExcInfo | None) -> BaseException | None:
    """Gives the exception of what `request_stop` was given."""
    if ex is None or isinstance(ex, BaseException):
        return ex
    if isinstance(ex, tuple) and len(ex) == 3 and isinstance(ex[1], BaseException):
        return ex[1]
    return ValueError(f"ex must be an exception or what sys.exc_info() gives, got {ex!r}")
