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
        text = str(np.float32(value))
        return text.removesuffix(".0") if "e" in text else text
    if isinstance(value, int):
        return str(value)
    data = value.encode() if isinstance(value, str) else value
    return '"' + "".join(map(_character, data)) + '"'


def _character(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
