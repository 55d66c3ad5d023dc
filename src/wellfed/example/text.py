"""Messages as protobuf's text format."""

from __future__ import annotations

from typing import Any

import numpy as np

_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}


def to_text(fields: list[tuple[str, Any]], indent: str = "") -> str:
    """Fields as (name, value) pairs, a message's value being such a list, one a line."""
    lines = []
    for name, value in fields:
        if isinstance(value, list):
            lines.append(f"{indent}{name} {{\n{to_text(value, indent + '  ')}{indent}}}\n")
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: bytes | str | int | float) -> str:
    if isinstance(value, float):
        short = f"{value:.6g}"  # As few digits as give the float32 back.
        return short if np.float32(short) == np.float32(value) else f"{value:.9g}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):  # Text keeps its letters, bytes do not.
        return '"' + "".join(letter if letter >= "\x80" else _character(ord(letter)) for letter in value) + '"'
    return '"' + "".join(map(_character, value)) + '"'


def _character(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
