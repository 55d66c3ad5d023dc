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
_NAMES = {np.dtype(name): name for name in ("uint8", "uint16", "float32", "float16")}


def type_name(dtype: Any, choices: tuple[str, ...] = TYPES) -> str:
    """The name of a type of pixels, given as such or as a NumPy dtype; one of `choices`."""
    name = dtype if dtype in choices else np.dtype(dtype).name if dtype != "bfloat16" else dtype
    if name not in choices:
        raise ValueError(f"dtype must be one of {', '.join(choices)}, got {dtype!r}")
    return str(name)


def array_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that holds pixels of the type `name`: bfloat16 as the bits in uint16."""
    return np.dtype(np.uint16 if name == "bfloat16" else name)


def name_of(dtype: np.dtype[Any]) -> str:
    """`dtype.name`, which takes NumPy 3 us."""
    return _NAMES.get(dtype) or dtype.name


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
    _native.run_pixels(
        _with_whole_rows(pictures),
        geometry,
        out,
        out_type=out_type,
        method=method,
        rounded=rounded or name_of(pictures.dtype),
        scale=scale,
        bias=bias,
        planar=planar,
        stream=_is_large(out),
    )


class RowWriter:
    """Fills rows of an array one after another, from pictures of any sizes. The GIL is released.

    Belongs to one thread. The arguments are those of `run`; pictures have the type `source` and `channels` channels.
    """

    def __init__(
        self,
        out: npt.NDArray[Any],
        source: str,
        channels: int,
        *,
        out_type: str,
        method: str,
        rounded: str | None,
        factors: tuple[npt.NDArray[np.float32] | None, npt.NDArray[np.float32] | None],
        planar: bool,
    ) -> None:
        self._native = _native.PixelRows(
            out, source, channels, out_type, method, rounded or source, *factors, planar, _is_large(out)
        )
        self.source = source
        self.run_whole = self._native.run  # `run` for pictures that are contiguous.

    def run(self, row: int, picture: npt.NDArray[Any], place: tuple[int, ...]) -> None:
        """Fills `out[row]` from a picture (H, W, C); `place` is a row of geometry."""
        self._native.run(row, _with_whole_rows(picture), place)


def _with_whole_rows(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same pictures, copied where the pixels of a row do not lie side by side."""
    channels, item = pictures.shape[-1], pictures.itemsize
    whole_rows = pictures.strides[-2] == channels * item and (channels == 1 or pictures.strides[-1] == item)
    return pictures if whole_rows else np.ascontiguousarray(pictures)


def _is_large(out: npt.NDArray[Any]) -> bool:
    return out.nbytes >= _STREAM_BYTES * len(out)


# A batch of results this large each does not stay in cache until it is used (docs/images.md has the measurement).
_STREAM_BYTES = 256 << 10
