"""Functions that TensorFlow 1 has under other names at the top: they wait for a run, whatever they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellfed.compat import io, parsing
from wellfed.compat.state import deferred

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wellfed.compat.deferred.graph import Tensor


def decode_raw(bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Tensor:
    """Gives a tensor of the numbers that strings are the memory of. See `tf.io.decode_raw`."""
    found: Tensor = io.decode_raw(deferred(bytes), out_type, little_endian, name=name)
    return found


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Gives a tensor of the content of a file. See `tf.io.read_file`."""
    found: Tensor = io.read_file(deferred(filename), name=name)
    return found


def write_file(filename: Any, contents: Any, name: str | None = None) -> Tensor:
    """Gives a tensor that writes a file in each run. See `tf.io.write_file`."""
    found: Tensor = io.write_file(deferred(filename), deferred(contents), name=name)
    return found


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Gives tensors of the features of one Example. See `tf.io.parse_single_example`."""
    return parsing.parse_single_example(deferred(serialized), features, example_names, name)


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Gives tensors of the features of many Examples. See `tf.io.parse_example`."""
    return parsing.parse_example(deferred(serialized), features, example_names, name)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gives tensors of one SequenceExample. See `tf.io.parse_single_sequence_example`."""
    return parsing.parse_single_sequence_example(
        deferred(serialized), context_features, sequence_features, example_name, name
    )
