"""Byte strings: `tf.strings`, and TensorFlow 1's names at the top."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.compat.deferred.dtypes import as_dtype, float32, int32, string
from wellfed.compat.deferred.eager import as_value, is_deferred
from wellfed.compat.deferred.graph import Operation
from wellfed.compat.deferred.lift import lifted
from wellfed.compat.deferred.sparse import SparseTensor
from wellfed.compat.missing import refuse
from wellfed.compat.state import deferred

if TYPE_CHECKING:
    from collections.abc import Callable


def _each(function: Callable[[bytes], Any], strings: Any, dtype: Any = string) -> Any:
    """Applies a function to each string."""
    value = as_value(strings, string)
    if isinstance(value, bytes):
        found = function(value)
        return found if as_dtype(dtype) is string else as_dtype(dtype).as_numpy_dtype(found)
    out = np.empty(value.size, as_dtype(dtype).dtype)
    out[:] = [function(text) for text in value.reshape(-1).tolist()]
    return out.reshape(value.shape)


@lifted
def length(input: Any, unit: str = "BYTE") -> Any:
    """Gives the lengths of strings, int32, in bytes or in characters ("UTF8_CHAR")."""
    count = (lambda text: len(text.decode())) if unit == "UTF8_CHAR" else len
    return _each(count, input, int32)


@lifted
def lower(input: Any, encoding: str = "") -> Any:
    """Gives strings in small letters; those beyond ASCII only with encoding="utf-8"."""
    return _each((lambda t: t.decode().lower().encode()) if encoding == "utf-8" else bytes.lower, input)


@lifted
def upper(input: Any, encoding: str = "") -> Any:
    """Gives strings in capital letters; those beyond ASCII only with encoding="utf-8"."""
    return _each((lambda t: t.decode().upper().encode()) if encoding == "utf-8" else bytes.upper, input)


@lifted
def strip(input: Any) -> Any:
    """Gives strings without white space at their ends."""
    return _each(bytes.strip, input)


@lifted
def substr(input: Any, pos: Any, len: Any) -> Any:
    """Gives the parts of strings that begin at `pos` and are `len` bytes long."""
    return _each(lambda text: text[int(pos) :][: int(len)], input)


@lifted
def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: bool = True) -> Any:
    r"""Gives strings with what matches a pattern replaced; \1 in `rewrite` is its first group."""
    rule, new = re.compile(as_value(pattern)), as_value(rewrite)
    return _each(lambda text: rule.sub(new, text, count=0 if replace_global else 1), input)


@lifted
def regex_full_match(input: Any, pattern: Any) -> Any:
    """Says of strings whether they match a pattern as a whole."""
    rule = re.compile(as_value(pattern))
    return _each(lambda text: rule.fullmatch(text) is not None, input, bool)


@lifted
def join(inputs: Any, separator: str = "") -> Any:
    """Gives strings joined one by one: the first of each input, the second of each, ..."""
    values = np.broadcast_arrays(*[np.asarray(as_value(value, string), object) for value in inputs])
    between = as_value(separator)
    joined = [between.join(texts) for texts in zip(*(value.reshape(-1).tolist() for value in values), strict=True)]
    return as_value(np.array(joined, object).reshape(values[0].shape)) if joined else np.empty(0, object)


@lifted
def to_number(input: Any, out_type: Any = float32) -> Any:
    """Gives the numbers that strings hold.

    Raises:
      ValueError: A string is no number.
    """
    kind = as_dtype(out_type)
    return _each(lambda text: int(text) if kind.is_integer else float(text), input, kind)


@lifted
def as_string(input: Any) -> Any:
    """Gives numbers as strings."""
    value = np.asarray(as_value(input))
    texts = [str(number).encode() for number in value.reshape(-1).tolist()]
    return as_value(np.array(texts, object).reshape(value.shape)) if texts else np.empty(value.shape, object)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Gives the parts of a string between `sep`, or between white space: an array; of an array of strings a `Ragged`.

    Deferred where `input` is a tensor, which has to be one string.
    """
    between = as_value(sep) if sep is not None else None

    def parts(text: Any) -> Any:
        return as_value(np.array(text.split(between or None, maxsplit), object))

    if is_deferred(input):
        return Operation("StringSplit", [input], [(string, [None])], lambda _, text: (parts(text),), name).outputs[0]
    value = as_value(input, string)
    if isinstance(value, bytes):
        return lifted(parts)(value)
    rows = [text.split(between or None, maxsplit) for text in value.tolist()]
    return Ragged.from_lengths(Bytes.from_list(part for row in rows for part in row), [len(row) for row in rows])


def string_split(source: Any, delimiter: str = " ", skip_empty: bool = True, name: str | None = None) -> SparseTensor:
    """Gives the parts of each of a vector of strings, as a `SparseTensor` with one row a string."""
    between = as_value(delimiter)

    def parts(texts: Any) -> tuple[Any, Any, Any]:
        rows = [[part for part in text.split(between) if part or not skip_empty] for text in texts.tolist()]
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        flat = np.empty(len(places), object)
        flat[:] = [part for row in rows for part in row]
        shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
        return np.array(places, np.int64).reshape(-1, 2), flat, shape

    if not is_deferred(source):
        return SparseTensor(*parts(np.asarray(as_value(source, string))))
    tensor = deferred(source)
    outputs = [("int64", [None, 2]), (string, [None]), ("int64", [2])]
    return SparseTensor(*Operation("StringSplit", [tensor], outputs, lambda _, texts: parts(texts), name).outputs)


string_to_number, string_join = to_number, join

__getattr__ = functools.partial(refuse, "strings")

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "regex_full_match",
    "regex_replace",
    "split",
    "string_join",
    "string_split",
    "string_to_number",
    "strip",
    "substr",
    "to_number",
    "upper",
]
