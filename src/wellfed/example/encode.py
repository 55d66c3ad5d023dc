"""Values and columns to serialized Examples, and back: `encode_example`, `encode_examples`, and their twins.

What is written is protobuf's deterministic serialization, byte for byte: keys sorted by their bytes, numbers packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native
from wellfed.columns import Bytes
from wellfed.errors import EncodeError
from wellfed.example.lists import Feature, decode, encode_features, feature_parts, field
from wellfed.lossless import BYTES, INT64, UNSET, all_parts, column_parts

if TYPE_CHECKING:
    from collections.abc import Mapping


def encode_example(features: Mapping[str, Any]) -> bytes:
    r"""Serializes one `tf.train.Example`; the kind of each feature follows from its value.

    Args:
      features: Feature name to value: bool, int, float, str, bytes, an array of any shape (flattened in C order), a
        nested list, or a `Feature` where the kind is to be said. An empty list is written with its kind unset, which
        every specification of variable length reads as no values. `np.empty(0, np.int64)` is an empty int64 list.

    Returns:
      The proto; equal for equal features, whatever their order.

    Raises:
      EncodeError: A value would lose information (an int beyond int64, a float64 array that float32 cannot hold),
        mixes kinds, or is nothing that an Example stores. The text says how to ask for it.

    Differs from tf.train.Example:
      No wrapping in lists. A Python float is rounded to float32 as there; a NumPy float64 array that would be rounded
      is refused.

    Source: tensorflow/core/example/{example,feature}.proto.

    Example:
      >>> encode_example({"x": 1})
      b'\n\x0c\n\n\n\x01x\x12\x05\x1a\x03\n\x01\x01'
    """
    return encode_features(features)


def encode_examples(columns: Mapping[str, Any], *, framed: bool = False) -> Bytes:
    """Serializes one Example for each row of the columns, in one native call.

    Args:
      columns: Feature name to column; all with the same number of rows B. An array `(B, ...)`, `Bytes`, `Ragged`, or
        a sequence of B values such as `encode_example` takes. An array of bytes-to-be (a picture's pixels) is given
        as `Bytes.from_rows(array)`; as it is, each item becomes an int64.
      framed: False: the records stand end to end in `data`. True: `data` is a TFRecord stream, ready to be written,
        and the records returned lie in it.

    Returns:
      B records, in memory of their own.

    Raises:
      EncodeError: As `encode_example`; or columns differ in their number of rows; or an Example would be larger
        than 2 GiB - 1, which protobuf cannot read.

    Example:
      >>> records = encode_examples({"x": np.arange(3), "name": ["a", "b", "c"]})
      >>> len(records), decode_example(records[1])["x"].tolist()
      (3, [1])
    """
    parts, rows = all_parts(columns)
    data, sizes = _native.encode_examples(parts, rows, framed)
    if data is None:
        raise EncodeError(f"row {sizes} would be an Example larger than 2 GiB - 1, which protobuf cannot read", "")
    before, after = (12, 4) if framed else (0, 0)  # A frame's header and footer.
    ends = np.cumsum(sizes + before + after)
    return Bytes(data, ends - sizes - after, sizes)


def encode_sequence_example(context: Mapping[str, Any], sequences: Mapping[str, Any]) -> bytes:
    """Serializes one `tf.train.SequenceExample`.

    Args:
      context: As `encode_example`'s features.
      sequences: Feature list name to its steps: an array `(steps, ...)`, `Bytes`, `Ragged`, or a sequence of values
        such as `encode_example` takes, one a step. Lists may differ in length, steps in their number of values; in
        kind only where they are `Feature`s.

    Returns:
      The proto; deterministic as `encode_example`'s.

    Raises:
      EncodeError: As `encode_example`.
    """
    keys = sorted(sequences, key=str.encode)
    lists = [field(1, field(1, key.encode()) + field(2, _feature_list(key, sequences[key]))) for key in keys]
    return encode_features(context) + field(2, b"".join(lists))


def _feature_list(key: str, steps: Any) -> bytes:
    """The inside of a FeatureList."""
    if isinstance(steps, (list, tuple)) and any(isinstance(step, Feature) for step in steps):
        return b"".join(_native.encode_feature_list(feature_parts(key, step), 1) for step in steps)
    return _native.encode_feature_list(*column_parts(key, steps))


def decode_example(serialized: bytes) -> dict[str, Any]:
    """Decodes one serialized Example, whatever is in it: the twin of `encode_example`.

    Returns:
      Feature name to values, always a list's worth: an int64 or float32 array `(n,)`, `Bytes` of n strings, or `[]`
      where the kind is unset. Arrays own their memory. (Scalars cannot be told from lists of one; a specification
      tells them, see `parse_example`.)

    Raises:
      MalformedExampleError: The bytes are no Example.
    """
    features, _ = decode(serialized)
    return {key: _value(*feature) for key, feature in features.items()}


def decode_sequence_example(serialized: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Decodes one serialized SequenceExample: the twin of `encode_sequence_example`.

    Returns:
      The context, as `decode_example` gives it; and for each feature list a list with each step's values.

    Raises:
      MalformedExampleError: The bytes are no SequenceExample.
    """
    features, sequences = decode(serialized, "SequenceExample")
    context = {key: _value(*feature) for key, feature in features.items()}
    return context, {key: [_value(*step) for step in steps] for key, steps in sequences.items()}


def _value(kind: int, values: Any) -> Any:
    if kind == UNSET:
        return []
    if kind == BYTES:
        return Bytes.from_list(values)
    return values.view(np.int64 if kind == INT64 else np.float32)
