"""One pass over the pictures of a column, as data.

    decode -> crop the middle or a random box -> resize -> crop the middle -> flip -> normalize

A pass has each part at most once, in this order; `PicturePass.stage` says how far it is filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed.errors import ImageError
from wellfed.image import geometry, pixels
from wellfed.image.decode import DecodeOptions

if TYPE_CHECKING:
    import numpy.typing as npt

    from wellfed.image.geometry import Size

    RowSpec: TypeAlias = tuple[tuple[int, ...], Any]
    RowForm: TypeAlias = tuple[tuple[int | None, ...], Any]


class Stage(IntEnum):
    """The parts of a pass in their order."""

    EMPTY = 0
    DECODE = 1
    CROP = 2
    RESIZE = 3
    WINDOW = 4
    FLIP = 5
    SCALE = 6


@dataclass(frozen=True, slots=True)
class RandomBox:
    """A box drawn by `geometry.random_box` from the seeds of step `step`."""

    scale: tuple[float, float]
    ratio: tuple[float, float]
    step: int


@dataclass(frozen=True, slots=True)
class Scaling:
    """(value * scale - mean) / std, to the type `out_type`; `mean` and `std` have one value, or one a channel."""

    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    out_type: str
    planar: bool

    def factors(self, channels: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The same as value * factor + bias, (channels,) each."""
        if {len(self.mean), len(self.std)} - {1, channels}:
            raise ImageError(
                f"the picture has {channels} channels, but mean has {len(self.mean)} values and std {len(self.std)}"
            )
        mean, std = (np.broadcast_to(np.asarray(v, np.float64), (channels,)) for v in (self.mean, self.std))
        return (self.scale / std).astype(np.float32), (-mean / std).astype(np.float32)


@dataclass(frozen=True, slots=True)
class PicturePass:
    """What is done to each picture; None or 0 where nothing is."""

    decode: DecodeOptions | None = None
    shape: tuple[int, ...] | None = None
    scaled_decode: bool = False
    box: RandomBox | Size | None = None
    size: Size | int | None = None
    method: str = "none"
    rounded: str | None = None
    window: Size | None = None
    flip: float | None = None
    flip_step: int = 0
    scaling: Scaling | None = None
    stage: Stage = Stage.EMPTY

    def fixed_size(self, height: int | None, width: int | None) -> Size | None:
        """The result's size for pictures of this size; None where it depends on what is not known."""
        if self.window is not None:
            return self.window
        if isinstance(self.size, tuple):
            return self.size
        if self.size is not None:
            if isinstance(self.box, tuple):
                height, width = self.box
            return None if height is None or width is None else geometry.resized_size(height, width, self.size)
        if isinstance(self.box, tuple):
            return self.box
        return None if height is None or width is None else (height, width)

    def out_type(self, source_type: str) -> str:
        """The name of the result's type for pictures of the type `source_type`."""
        return self.scaling.out_type if self.scaling is not None else self.rounded or source_type

    @property
    def planar(self) -> bool:
        """Whether the result has its channels first."""
        return self.scaling is not None and self.scaling.planar

    @property
    def only_decodes(self) -> bool:
        """Whether no pixel is touched after decoding."""
        return self.stage <= Stage.DECODE

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, given those of a row of the column.

        Returns:
          A shape with None for sides that may differ; None where their number may differ too, or nothing is known.
        """
        if given is None:
            return None
        shape, dtype = given
        if dtype is bytes:
            options = self.decode or DecodeOptions()
            if options.frames == "all":
                return None
            channels = 1 if options.mode == "index" else options.channels or None
            shape, dtype = self.shape or (None, None, channels), options.dtype
        if len(shape) not in (2, 3):
            return None
        size = self.fixed_size(*shape[:2]) or (None, None)
        last = shape[2:]
        return (*last, *size) if self.planar else (*size, *last), pixels.array_dtype(
            self.out_type(np.dtype(dtype).name)
        )


def all_known(form: RowForm | None) -> RowSpec | None:
    """Shape and dtype of a row where nothing of them may differ; else None."""
    if form is None or None in form[0]:
        return None
    shape, dtype = form
    return tuple(side for side in shape if side is not None), dtype
