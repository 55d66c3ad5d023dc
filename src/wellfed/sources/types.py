"""Which feature type holds an array that comes with a dtype, or a Python value, without loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.datasets import ByteString, FeatureType, Scalar, Tensor, Text

if TYPE_CHECKING:
    from collections.abc import Sequence


def type_of_array(shape: Sequence[int | None], dtype: np.dtype[Any]) -> FeatureType:
    """The type of arrays of one dtype; strings become `Text` (U) or `ByteString` (S).

    int64, float32 and bool stand in the Example as numbers, as do single integers. All else keeps its memory in a byte
    string, which holds any dtype whole and takes fewer bytes.

    Raises:
      ValueError: No type holds it, such as objects, complex numbers and arrays of strings.
    """
    if dtype.kind in "US" and not shape:
        return Text() if dtype.kind == "U" else ByteString()
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"shape {tuple(shape)} and dtype {dtype} have no feature type")
    plain = dtype.newbyteorder("=")
    if not shape and (plain.kind in "biu" or plain == np.float32):
        return Scalar(plain)
    if plain in (np.int64, np.float32, np.bool_) and list(shape).count(None) <= 1:
        return Tensor(tuple(shape), plain)
    return Tensor(tuple(shape), plain, encoding="bytes")
