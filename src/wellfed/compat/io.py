"""Records, Examples and encoded values: `tf.io`.

Each function takes values and gives a value at once, or takes tensors and gives tensors.
"""

from __future__ import annotations

import csv
import functools
import io as streams
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import io as records
from wellfed.columns import Bytes
from wellfed.compat import gfile
from wellfed.compat.deferred.dtypes import as_dtype, string
from wellfed.compat.deferred.eager import as_value, plain
from wellfed.compat.deferred.graph import Tensor
from wellfed.compat.deferred.lift import Call, lifted
from wellfed.compat.deferred.shapes import TensorShape
from wellfed.compat.missing import refuse
from wellfed.compat.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from wellfed.compat.pictures import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMPRESSIONS = {None: "", 0: "", 1: "ZLIB", 2: "GZIP", "": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


class TFRecordCompressionType:
    """The names of compressions that programs of TensorFlow 1 use."""

    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    """How records are compressed.

    Args:
      compression_type: "", "GZIP" or "ZLIB", a `TFRecordCompressionType`, or other options.
      compression_level: 0 to 9; the default where None.

    Raises:
      ValueError: No such compression.
    """

    def __init__(self, compression_type: Any = None, compression_level: int | None = None, **_: Any) -> None:
        kind = getattr(compression_type, "compression_type", compression_type)
        if kind not in _COMPRESSIONS:
            raise ValueError(f'Not a valid compression_type: {kind!r}. It is one of "", "GZIP" and "ZLIB".')
        self.compression_type = _COMPRESSIONS[kind]
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Gives the name of the compression of options, or of what options are made of."""
        return cls(options).compression_type


class TFRecordWriter:
    """Writes a TFRecord file, in place of one of that name.

    Also a writer that is never closed leaves its file, at the latest when the program ends.

    Args:
      path: The file.
      options: `TFRecordOptions`, or a compression's name.

    Differs from TensorFlow: the file appears under its name once it is closed. Its twin is `wellfed.TFRecordWriter`.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        options = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        level = -1 if options.compression_level is None else options.compression_level
        name = _path(path)
        self._writer = records.TFRecordWriter(name, options.compression_type, compression_level=level, overwrite=True)
        self._close = weakref.finalize(self, self._writer.close)

    def write(self, record: bytes) -> None:
        """Adds one record."""
        self._writer.write(plain(record))

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        self._writer.flush()

    def close(self) -> None:
        """Ends the file, which then appears under its name. May be repeated."""
        self._close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Gives the records of a file, one after another. Its twin is `wellfed.TFRecordReader`."""
    return iter(records.TFRecordReader(_path(path), TFRecordOptions(options).compression_type))


def _path(path: Any) -> str:
    path = plain(path)
    return path.decode() if isinstance(path, bytes) else str(path)


# --- Files ---------------------------------------------------------------------------------------


def _scalar_string(*_: Any, **__: Any) -> Any:
    return string, []


@lifted(static=_scalar_string)
def read_file(filename: Any) -> bytes:
    """Gives the content of a file."""
    return Path(_path(filename)).read_bytes()


@lifted(static=_scalar_string)
def write_file(filename: Any, contents: Any) -> bytes:
    """Writes a file, makes its folder where there is none, and gives the content."""
    path = Path(_path(filename))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_value(contents))
    return bytes(as_value(contents))


@lifted(static=lambda *_: (string, [None]))
def matching_files(pattern: Any) -> Any:
    """Gives the sorted names of the files that match patterns."""
    patterns = [_path(p) for p in np.atleast_1d(np.asarray(as_value(pattern), object))]
    return as_value(sorted(gfile.glob(patterns)), string)


# --- Values in strings ---------------------------------------------------------------------------


def _raw_static(input_bytes: Any, out_type: Any, *_: Any, **__: Any) -> Any:
    shape = input_bytes.shape if isinstance(input_bytes, Tensor) else TensorShape(np.shape(input_bytes))
    return as_dtype(out_type), shape.concatenate([None])


def _raw_rows(call: Call, inputs: Any, columns: Any, count: int) -> Any:
    """Copies strings of one length side by side."""
    del inputs
    (strings,) = columns
    if not isinstance(strings, Bytes) or len(strings.shape) > 1 or len(call.args) + len(call.kwargs) != 2:
        return None
    sizes = np.unique(strings.sizes)
    dtype = as_dtype(call.kwargs.get("out_type", call.args[-1])).dtype
    if len(sizes) != 1 or sizes[0] % dtype.itemsize:
        return None
    size = int(sizes[0])
    rows = np.empty((count, size), np.uint8)
    for row, start in zip(rows, strings.starts.tolist(), strict=True):
        row[:] = strings.data[start : start + size]
    return rows.view(dtype)


@lifted(static=_raw_static, style=_raw_rows)
def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True) -> Any:
    """Gives the numbers that byte strings are the memory of: one more dimension, of all numbers in a string.

    Raises:
      ValueError: A string is no whole number of them, or strings differ in length.
    """
    dtype = as_dtype(out_type).dtype.newbyteorder("<" if little_endian else ">")
    strings = as_value(input_bytes)
    if isinstance(strings, bytes):
        return np.frombuffer(strings, dtype).astype(dtype.newbyteorder("="))
    joined = np.frombuffer(b"".join(strings.reshape(-1).tolist()), dtype).astype(dtype.newbyteorder("="))
    if len({len(text) for text in strings.reshape(-1).tolist()}) > 1:
        raise ValueError("decode_raw needs strings of one length")
    return joined.reshape(*strings.shape, -1)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Gives the columns of lines of CSV, one for each default.

    Args:
      records: One line, or an array of lines.
      record_defaults: For each column a value, in a list or array, whose dtype is the column's and which stands for a
        field that is empty; an empty one makes the field due.
      field_delim: What is between fields.
      use_quote_delim: Whether double quotes hold fields together.
      na_value: What else stands for an empty field.
      select_cols: The numbers of the columns that are wanted, as many as there are defaults.
      name: The operation's.

    Raises:
      ValueError: A line has another number of fields, or a field is no value of its dtype.
    """
    defaults = [np.atleast_1d(np.asarray(as_value(_default(d)))) for d in record_defaults]
    options = (field_delim, use_quote_delim, na_value, None if select_cols is None else list(select_cols))
    shape = records.shape if isinstance(records, Tensor) else TensorShape(np.shape(as_value(records)))
    static = [(as_dtype(default.dtype), shape) for default in defaults]
    return lifted(_fields, static=lambda *_: static)(records, defaults, options, name=name)  # type: ignore[no-any-return]  # A list, as `static` is one.


def _default(default: Any) -> Any:
    return default.as_numpy_dtype(0)[None][:0] if hasattr(default, "as_numpy_dtype") else plain(default)


def _fields(records: Any, defaults: list[Any], options: tuple[Any, ...]) -> list[Any]:
    delimiter, quoted, missing, chosen = options
    lines = as_value(records)
    texts = [line.decode() for line in np.atleast_1d(np.asarray(lines, object)).reshape(-1)]
    rule: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = list(csv.reader(streams.StringIO("\n".join(texts)), delimiter=delimiter, quoting=rule))
    if chosen is not None:
        rows = [[row[i] for i in chosen] for row in rows]
    for number, row in enumerate(rows):
        if len(row) != len(defaults):
            raise ValueError(f"Expect {len(defaults)} fields but have {len(row)} in record {number}")
    columns = [_field(i, [row[i] for row in rows], default, missing) for i, default in enumerate(defaults)]
    return [column.reshape(np.shape(lines))[()] for column in columns]


def _field(number: int, texts: list[str], default: Any, missing: str) -> Any:
    empty = [text in ("", missing) for text in texts]
    if any(empty) and default.size == 0:
        raise ValueError(f"Field {number} is required but missing in record {empty.index(True)}!")
    kind = as_dtype(default.dtype)
    column = np.empty(len(texts), kind.dtype)
    for i, text in enumerate(texts):
        value = default[0] if empty[i] else text.encode() if kind is string else _number(number, text, kind, i)
        column[i] = value
    return column


def _number(field: int, text: str, kind: Any, record: int) -> Any:
    try:
        return int(text) if kind.is_integer else float(text)
    except ValueError:
        raise ValueError(f"Field {field} in record {record} is not a valid {kind.name}: {text}") from None


def serialize_tensor(*_: Any, **__: Any) -> Any:
    """Refuses: TensorProto is not kept here.

    Raises:
      NotImplementedError: Always; it says what to use instead.
    """
    raise NotImplementedError(
        "wellfed.compat keeps no TensorProto: store array.tobytes(), and read it with tf.io.decode_raw"
    )


parse_tensor = serialize_tensor

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
]

__getattr__ = functools.partial(refuse, "io")
