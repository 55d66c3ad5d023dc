"""Messages of a program: `tf.logging`, over Python's own."""

from __future__ import annotations

import functools
import logging as python_logging

from wellfed.compat.missing import refuse

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_log = python_logging.getLogger("wellfed.compat")
debug, info, warning, error, fatal = _log.debug, _log.info, _log.warning, _log.error, _log.critical
warn, log, vlog = _log.warning, _log.log, _log.log


def set_verbosity(level: int) -> None:
    """Says from which level on messages are shown."""
    _log.setLevel(level)


def get_verbosity() -> int:
    """Gives the level from which on messages are shown."""
    return _log.getEffectiveLevel()


__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

__getattr__ = functools.partial(refuse, "logging")
