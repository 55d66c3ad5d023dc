"""The native pixel pass for arrays: types by name, and the geometry of a row.

A row of `geometry` says which box of a picture is taken, to which size it is resized, and which window of that
becomes the result:

    column  0    1     2       3      4               5              6           7            8
            top  left  height  width  resized height  resized width  window top  window left  flip
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed import _native

if TYPE_CHECKING:
    import numpy.typing as npt

TYPES = ("uint8", "uint16", "float32", "float16", "bfloat16")
SOURCES = ("uint8", "uint16", "float32")
FLOATS = ("float32", "float16", "bfloat16")
METHODS = ("bilinear", "area")


def type_name(dtype: Any, choices: tuple[str, ...] = TYPES) -> str:
    """The name of a type of pixels, given as such or as a NumPy dtype; one of `choices`."""
    name = dtype if dtype in choices else np.dtype(dtype).name if dtype != "bfloat16" else dtype
    if name not in choices:
        raise ValueError(f"dtype must be one of {', '.join(choices)}, got {dtype!r}")
    return str(name)


def array_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that holds pixels of the type `name`: bfloat16 as the bits in uint16."""
    return np.dtype(np.uint16 if name == "bfloat16" else name)


def whole(height: int, width: int, size: tuple[int, int]) -> tuple[int, ...]:
    """The row of geometry that resizes a whole picture to `size`."""
    return (0, 0, height, width, *size, 0, 0, 0)


def run(
    pictures: npt.NDArray[Any],
    geometry: npt.NDArray[np.int64],
    out: npt.NDArray[Any],
    *,
    out_type: str,
    method: str = "none",
    rounded: str | None = None,
    scale: npt.NDArray[np.float32] | None = None,
    bias: npt.NDArray[np.float32] | None = None,
    planar: bool = False,
) -> None:
    """Fills `out` (n, h, w, C), or (n, C, h, w) if planar, from pictures (n, H, W, C). The GIL is released.

    Args:
      pictures: uint8, uint16 or float32; channels last. Other strides than those of whole rows are copied.
      geometry: (n, 9), as drawn above.
      out: C-contiguous, of `array_dtype(out_type)`. Rows above some size are written past the cache.
      out_type: One of `TYPES`.
      method: "none", "bilinear" or "area".
      rounded: Type a resized value is rounded to; None for that of `pictures`.
      scale: With `bias`, one value a channel: the result is value * scale + bias.
      bias: See `scale`.
      planar: Channels first.
    """
    if len(out) == 0:
        return
    channels, item = pictures.shape[3], pictures.itemsize
    rows = pictures.strides[2] == channels * item and (channels == 1 or pictures.strides[3] == item)
    _native.run_pixels(
        pictures if rows else np.ascontiguousarray(pictures),
        geometry,
        out,
        out_type=out_type,
        method=method,
        rounded=rounded or pictures.dtype.name,
        scale=scale,
        bias=bias,
        planar=planar,
        stream=out.nbytes >= _STREAM_BYTES * len(out),
    )


# A batch of results this large each does not stay in cache until it is used (docs/images.md has the measurement).
_STREAM_BYTES = 256 << 10
