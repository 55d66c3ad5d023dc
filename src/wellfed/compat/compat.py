"""Texts of both ages, and the two ages by name: `tf.compat`."""

from __future__ import annotations

import functools
import sys
from typing import Any

from wellfed.compat.missing import refuse


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Gives a text as bytes."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Gives bytes as a text."""
    return bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Gives bytes as a text, and anything else as `str` does."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def __getattr__(name: str) -> Any:
    if name in ("v1", "v2"):  # Both ages have their names in one module.
        return sys.modules["wellfed.compat"]
    return functools.partial(refuse, "compat")(name)


__all__ = ["as_bytes", "as_str", "as_str_any", "as_text"]
