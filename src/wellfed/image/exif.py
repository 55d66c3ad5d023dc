"""EXIF's orientation: how a picture must be turned to stand upright.

    1 as it is    2 mirrored          3 half turn         4 flipped top to bottom
    5 transposed  6 quarter turn right  7 transversed     8 quarter turn left

Source: CIPA DC-008 (Exif 2.32), section 4.6.4, tag 0x0112; its block is a TIFF file (TIFF 6.0, section 2).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_ORIENTATION_TAG = 0x0112
_SHORT = 3


def exif_orientation(block: bytes | memoryview) -> int:
    """The orientation, 1 to 8, that a TIFF-structured EXIF block holds; 1 where it holds none that is valid.

    Never raises: damaged EXIF says nothing about the pixels.
    """
    block = bytes(block[:65536])
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", block, 4)
        (count,) = struct.unpack_from(f"{order}H", block, start)
        for entry in range(count):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", block, start + 2 + 12 * entry)
            if tag == _ORIENTATION_TAG and kind == _SHORT:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass  # An offset or a count leads out of the block.
    return 1


def turn_upright(image: npt.NDArray[Any], orientation: int) -> npt.NDArray[Any]:
    """The picture `(..., H, W, C)` as EXIF's `orientation` (1 to 8) wants it shown. A copy unless it is 1."""
    if orientation == 1:
        return image
    if orientation >= 5:
        image = image.swapaxes(-3, -2)
    # After the transposition 6 and 7 are mirrored left to right, 7 and 8 top to bottom.
    if orientation in {2, 3, 6, 7}:
        image = image[..., ::-1, :]
    if orientation in {3, 4, 7, 8}:
        image = image[..., ::-1, :, :]
    return np.ascontiguousarray(image)
