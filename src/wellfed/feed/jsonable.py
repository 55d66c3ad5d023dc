"""Small Python values as JSON and back: what a verb knows of itself. Numbers, texts, bytes, arrays, trees of them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np


def pack(value: Any) -> Any:
    """`value` as JSON.

    Raises:
      TypeError: It holds something that is none of None, bool, int, float, str, bytes, list, tuple, dict with names,
        NumPy scalar or NumPy array without objects.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        content = base64.b64encode(value.tobytes()).decode("ascii")
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [value.dtype.str, list(value.shape), content]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if type(value) is list:
        return [pack(entry) for entry in value]
    if type(value) is tuple:
        return {"tuple": [pack(entry) for entry in value]}
    if type(value) is dict and all(type(name) is str for name in value):
        return {"dict": {name: pack(entry) for name, entry in value.items()}}
    raise TypeError(f"{type(value).__name__} has no form in JSON here")


def unpack(packed: Any) -> Any:
    """The value that `pack` was given; arrays own their memory."""
    if isinstance(packed, list):
        return [unpack(entry) for entry in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "dict":
        return {name: unpack(entry) for name, entry in content.items()}
    if kind == "tuple":
        return tuple(unpack(entry) for entry in content)
    if kind == "bytes":
        return base64.b64decode(content)
    dtype, shape, text = content
    array = np.frombuffer(base64.b64decode(text), np.dtype(dtype)).reshape(shape).copy()
    return array if kind == "array" else array[()]
