"""The first records as people want to see them: pictures by size, classes by name, numbers by their first few."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.datasets import ClassLabel, FeatureType, Image, Schema, Sequence
from wellfed.errors import ExampleError, ImageError, MalformedExampleError, RecordError
from wellfed.example import decode_sequence_example
from wellfed.image import image_info, sniff_format
from wellfed.io import TFRecordReader
from wellfed.summary.target import find_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wellfed.io.files import PathLike

_FIRST_VALUES = 8
_FIRST_BYTES = 16
_TEXT_LETTERS = 80


@dataclass(frozen=True, slots=True)
class FeatureView:
    """One feature of a record.

    Attributes:
      name: The feature.
      text: What it holds, in a few words.
      facts: The same for programs: "value" and "name" of a class; "format", "height", "width", "channels", "bytes" of a
        picture; "text"; "shape", "dtype" and "first" of numbers; "bytes" and "first" (hexadecimal) of other bytes;
        "length" and "first" of a list.
    """

    name: str
    text: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordView:
    """One record.

    Attributes:
      file: The file it is in.
      record: Its number there, from 0.
      bytes: The size of its payload. [bytes]
      features: What it holds, in the schema's order or by name.
      payload: What its bytes look like, where they are no Example, or one without features; else None.
    """

    file: str
    record: int
    bytes: int
    features: tuple[FeatureView, ...]
    payload: FeatureView | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The first records of a data set's split, or of files.

    Attributes:
      folder: The data set's folder; "" for files.
      name: The data set's name; "" for files.
      version: Its version; "" for files.
      split: The split; "" for files.
      total: How many records the split has; None for files, which are not counted.
      records: The first ones.
      error: Why there are no more, where the next record is damaged or does not fit the schema; None else.
    """

    folder: str
    name: str
    version: str
    split: str
    total: int | None
    records: tuple[RecordView, ...]
    error: RecordError | ExampleError | None = None


def head(path: PathLike | Iterable[PathLike], *, count: int = 5, split: str | None = None) -> Head:
    """Reads the first records.

    Args:
      path: A data set's folder; or a TFRecord file, a pattern of files, or several of them.
      count: How many records.
      split: Of a data set; None for its first.

    Returns:
      What the records hold. With a data set's schema its types are shown; otherwise what the bytes look like, also of
      records that are no Examples.

    Raises:
      DatasetError: The folder holds no data set, or not this split.
      RecordError: The first record is damaged.
      ExampleError: The first record does not fit the data set's schema.
    """
    target = find_target(path, split)
    dataset = target.dataset
    schema = dataset.schema if dataset else None
    records: list[RecordView] = []
    failure = None
    try:  # What comes before an error stays.
        records.extend(view_record(*found, schema) for found in islice(_records(target.files), count))
    except (RecordError, ExampleError) as error:
        if not records:
            raise
        failure = error
    if dataset is None:
        return Head("", "", "", "", None, tuple(records), failure)
    total = dataset.splits[target.split].records
    return Head(dataset.folder, dataset.name, dataset.version, target.split, total, tuple(records), failure)


def view_record(file: str, record: int, payload: bytes, schema: Schema | None) -> RecordView:
    """Returns what a record holds.

    Args:
      file: The file it is in.
      record: Its number there.
      payload: A serialized Example; without a schema, any bytes.
      schema: Its types; None to go by the bytes.
    """
    if schema is None:
        try:  # An Example is a SequenceExample without feature lists.
            context, lists = decode_sequence_example(payload)
        except MalformedExampleError:
            return RecordView(file, record, len(payload), (), _view("no Example", None, payload))
        features = tuple(_view(name, *_guess(values)) for name, values in sorted(context.items()))
        features += tuple(_view(name, None, [_guess(step)[1] for step in lists[name]]) for name in sorted(lists))
    else:
        try:
            features = tuple(_view(name, kind, _decoded(name, schema, payload)) for name, kind in schema.items())
        except ExampleError as error:
            raise type(error)(error.reason, error.feature, 0, file, record) from None
    nothing = None if features else _view("no features", None, payload)
    return RecordView(file, record, len(payload), features, nothing)


def _records(files: list[str]) -> Iterator[tuple[str, int, bytes]]:
    for file in files:
        for number, payload in enumerate(TFRecordReader(file)):
            yield file, number, payload


def _decoded(name: str, schema: Schema, payload: bytes) -> Any:
    """Returns one feature's value; a picture stays encoded."""
    kind = schema[name]
    columns = schema.parse_stored([payload], [name])
    if isinstance(kind, Image) and kind.encoding_format != "raw":
        return columns[name][0]
    if isinstance(kind, Sequence) and isinstance(kind.feature, Image):
        return columns[name].values.to_list()
    return kind.decode(name, columns)[0]


def _guess(values: Any) -> tuple[None, Any]:
    """Returns a feature's values as they are shown without a schema: a list of one is a scalar."""
    if len(values) == 1:
        return None, values[0]
    return None, values.to_list() if isinstance(values, Bytes) else values


def _view(name: str, kind: FeatureType | None, value: Any) -> FeatureView:
    text, facts = _words(kind, value)
    return FeatureView(name, text, facts)


def _words(kind: FeatureType | None, value: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(kind, ClassLabel):
        number = int(value)
        label = kind.names[number] if 0 <= number < len(kind.names) else None
        return (str(number) if label is None else f"{number} {label!r}"), {"value": number, "name": label}
    if isinstance(value, bytes):
        return _of_bytes(value)
    if isinstance(value, Ragged | Bytes):
        value = value.to_list()
    if isinstance(value, list):
        return _of_list(kind.feature if isinstance(kind, Sequence) else None, value)
    return _of_numbers(np.asarray(value))


def _of_bytes(value: bytes) -> tuple[str, dict[str, Any]]:
    if sniff_format(value[:64]) is not None:
        try:
            info = image_info(value)
        except ImageError as error:
            return f"damaged picture, {len(value):,} bytes: {error.reason}", {
                "bytes": len(value),
                "error": error.reason,
            }
        size = f"{info.height}x{info.width}x{info.channels}"
        facts = {"format": info.format, "height": info.height, "width": info.width, "channels": info.channels}
        return f"{info.format.upper()} {size}, {len(value):,} bytes", facts | {"bytes": len(value)}
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if text.isprintable() or not set(text) - set("\n\t\r") - {letter for letter in text if letter.isprintable()}:
        shown = repr(text if len(text) <= _TEXT_LETTERS else text[: _TEXT_LETTERS - 3] + "...")
        return shown, {"text": text}
    first = value[:_FIRST_BYTES].hex()
    return f"{len(value):,} bytes: {first}{'...' if len(value) > _FIRST_BYTES else ''}", {
        "bytes": len(value),
        "first": first,
    }


def _of_list(inner: FeatureType | None, values: list[Any]) -> tuple[str, dict[str, Any]]:
    views = [_words(inner, value) for value in values[:_FIRST_VALUES]]
    more = ", ..." if len(values) > _FIRST_VALUES else ""
    text = f"[{', '.join(text for text, _ in views)}{more}]"
    return (f"{len(values)} in " if more else "") + text, {
        "length": len(values),
        "first": [facts for _, facts in views],
    }


def _of_numbers(values: np.ndarray[Any, Any]) -> tuple[str, dict[str, Any]]:
    if not values.ndim:
        return str(values[()]), {"value": values[()].item()}
    first = values.reshape(-1)[:_FIRST_VALUES]
    more = ", ..." if values.size > _FIRST_VALUES else ""
    shape = "x".join(str(size) for size in values.shape)
    text = f"{values.dtype} {shape}" + (
        f": {', '.join(str(value) for value in first)}{more}" if values.size else ": no values"
    )
    return text, {"shape": list(values.shape), "dtype": values.dtype.name, "first": first.tolist()}
