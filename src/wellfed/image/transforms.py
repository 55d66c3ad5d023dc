"""Transforms of a column of pictures: frozen data that the feed runs on the rows of a unit, into a batch's own memory.

    Decode  ->  CenterCrop  ->  Resize or RandomResizedCrop  ->  CenterCrop  ->  RandomFlip  ->  Normalize

Neighbours in this order become one pass over each picture (`fuse`); any other order works too, in several passes.
A transform that gets encoded pictures decodes them first, as `Decode` does by default.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wellfed.image.checks import numbers, sides
from wellfed.image.decode import DecodeOptions
from wellfed.image.passes import PicturePass, RandomBox, Scaling, Stage
from wellfed.image.pixels import FLOATS, METHODS, SOURCES, type_name
from wellfed.image.run import run_pass
from wellfed.image.seeds import split_seeds
from wellfed.image.values import OneColumn, column_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from wellfed.image.passes import RowForm, RowSpec
    from wellfed.image.run import SeedsOf
    from wellfed.image.seeds import Seeds

    Columns: TypeAlias = Mapping[str, Any]
    ColumnSpecs: TypeAlias = Mapping[str, RowSpec | None]


class _Picture(OneColumn):
    """What the transforms of pictures share: each by itself is a chain of one."""

    __slots__ = ()

    def apply(self, columns: Columns, seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows of the column.

        Args:
          columns: The column by name, and any others, which are passed on. Encoded pictures (`Bytes` or a sequence of
            bytes), a uint8, uint16 or float32 array `(B, H, W, C)` or `(B, H, W)`, or an object array of `(H, W, C)`.
          seeds: uint64, (B,): all randomness of a row comes from its seed.
          out: Array of shape `(B, *shape)` with shape and dtype as `static_output` says, to be filled and given back.
            None makes one.

        Returns:
          `columns` with the new column: an array `(B, *shape)`, or an object array of arrays where sizes may differ.

        Raises:
          ImageError: A picture is damaged, refused by an option, or smaller than a crop; `source` names the row.
        """
        return _apply(self.column, plan_passes((self,)), columns, lambda _: seeds, out)

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, from those of the column; None for sides that may differ."""
        return _row_form(plan_passes((self,)), given)

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """`work` with this transform, as step `step` of a chain, behind it; None where its order has no place left."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode(DecodeOptions, _Picture):
    """Decodes the pictures of a column; see `decode_image` for the options.

    Attributes:
      column: Name of the column.
      shape: (H, W, C) that each picture must have, which makes the result one array; None for pictures of any size.
      scaled_decode: In a chain that goes on to resize a JPEG to half its size or less, let the decoder give a half, a
        quarter or an eighth: faster, and close to area resizing.
    """

    column: str = field(kw_only=False)
    shape: tuple[int, int, int] | None = None
    scaled_decode: bool = False

    def __post_init__(self) -> None:
        DecodeOptions.__post_init__(self)
        if self.shape is not None:
            _keep(self, shape=self._checked_shape(sides("shape", self.shape, 3, "(height, width, channels)")))

    def _checked_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        channels = 1 if self.mode == "index" else self.channels
        if channels not in {0, shape[2]}:
            raise ValueError(
                f"shape {shape} has {shape[2]} channels, but pictures are decoded to {channels}; see channels"
            )
        if self.frames == "all":
            raise ValueError('shape is that of one picture, and frames="all" gives several')
        return shape

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """Comes first, or not at all."""
        del step
        if work.stage >= Stage.DECODE:
            return None
        return replace(work, decode=self, shape=self.shape, scaled_decode=self.scaled_decode, stage=Stage.DECODE)


@dataclass(frozen=True, slots=True)
class Resize(_Picture):
    """Resizes pictures, as `resize` does.

    Attributes:
      column: Name of the column.
      size: (height, width) of the result, or the length of its shorter side, which keeps the proportions. [pixels]
      method: "bilinear" or "area".
      dtype: "float32", or None for the type of the pictures, with values rounded to it.
    """

    column: str
    size: tuple[int, int] | int
    _: KW_ONLY
    method: Literal["bilinear", "area"] = "bilinear"
    dtype: Any = None

    def __post_init__(self) -> None:
        _keep(self, size=_checked_size(self.size), dtype=_rounding(self.dtype))
        _check_method(self.method)

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """After a crop, before a second one."""
        del step
        if work.stage >= Stage.RESIZE:
            return None
        return replace(work, size=self.size, method=self.method, rounded=self.dtype, stage=Stage.RESIZE)


@dataclass(frozen=True, slots=True)
class CenterCrop(_Picture):
    """Takes the middle of pictures; a rest of one pixel stays at the bottom or right.

    Attributes:
      column: Name of the column.
      size: (height, width) of the result, or its side. A smaller picture raises ImageError. [pixels]
    """

    column: str
    size: tuple[int, int] | int

    def __post_init__(self) -> None:
        _keep(self, size=_checked_size(self.size))

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """Of the picture itself, or of what a crop or a resize made."""
        del step
        if work.stage < Stage.CROP:
            return replace(work, box=_pair(self.size), stage=Stage.CROP)
        return None if work.stage >= Stage.WINDOW else replace(work, window=_pair(self.size), stage=Stage.WINDOW)


@dataclass(frozen=True, slots=True)
class RandomResizedCrop(_Picture):
    """Takes a random box of each picture and resizes it: what networks for classification are trained with.

    The box has a share of the area drawn evenly from `scale` and a width to height drawn evenly in the logarithm from
    `ratio`; ten tries, then the largest middle box that `ratio` allows. The same definition as torchvision's, with
    numbers drawn from the row's seed (wellfed.image.seeds).

    Attributes:
      column: Name of the column.
      size: (height, width) of the result, or its side. [pixels]
      scale: Smallest and largest share of the picture's area.
      ratio: Smallest and largest width to height.
      method: "bilinear" or "area".
      dtype: "float32", or None for the type of the pictures, with values rounded to it.
    """

    column: str
    size: tuple[int, int] | int
    _: KW_ONLY
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    method: Literal["bilinear", "area"] = "bilinear"
    dtype: Any = None

    def __post_init__(self) -> None:
        _keep(self, size=_checked_size(self.size), dtype=_rounding(self.dtype))
        _check_method(self.method)
        for name, given in (("scale", self.scale), ("ratio", self.ratio)):
            due = "two numbers above 0, the smaller one first"
            low, high = numbers(name, given, (2,), due)
            if not 0 < low <= high:
                raise ValueError(f"{name} must be {due}, got {given!r}")
            _keep(self, **{name: (low, high)})
        if self.scale[1] > 1:
            raise ValueError(f"scale is a share of the area, at most 1, got {self.scale}")

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """A crop and a resize at once."""
        if work.stage >= Stage.CROP:
            return None
        box = RandomBox(self.scale, self.ratio, step)
        size = _pair(self.size)
        return replace(work, box=box, size=size, method=self.method, rounded=self.dtype, stage=Stage.RESIZE)


@dataclass(frozen=True, slots=True)
class RandomFlip(_Picture):
    """Mirrors some pictures left to right.

    Attributes:
      column: Name of the column.
      probability: That a picture is mirrored.
    """

    column: str
    probability: float = 0.5

    def __post_init__(self) -> None:
        (probability,) = numbers("probability", self.probability, (1,), "a number from 0 to 1")
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be a number from 0 to 1, got {self.probability!r}")
        _keep(self, probability=probability)

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """After all that crops and resizes."""
        if work.stage >= Stage.FLIP:
            return None
        return replace(work, flip=self.probability, flip_step=step, stage=Stage.FLIP)


@dataclass(frozen=True, slots=True)
class Normalize(_Picture):
    """Makes pixels floats: `(value * scale - mean) / std`.

    Attributes:
      column: Name of the column.
      mean: One number, or one a channel; on the scale of 0 to 1 that `scale` makes.
      std: Likewise.
      scale: 1/255 makes uint8 values 0 to 1; take 1/65535 for uint16.
      dtype: "float32", "float16" or "bfloat16" (whose bits are given as uint16, since NumPy has no such type).
      layout: "hwc", or "chw" for channels first.
    """

    column: str
    _: KW_ONLY
    mean: float | tuple[float, ...] = 0.0
    std: float | tuple[float, ...] = 1.0
    scale: float = 1 / 255
    dtype: Any = "float32"
    layout: Literal["hwc", "chw"] = "hwc"

    def __post_init__(self) -> None:
        due = "a number, or one for each of up to 4 channels"
        mean, std = (numbers(name, getattr(self, name), (1, 2, 3, 4), due) for name in ("mean", "std"))
        (scale,) = numbers("scale", self.scale, (1,), "a number")
        _keep(self, mean=mean, std=std, scale=scale, dtype=type_name(self.dtype, FLOATS))
        if self.layout not in ("hwc", "chw"):
            raise ValueError(f'layout must be "hwc" or "chw", got {self.layout!r}')
        if min(std) <= 0:
            raise ValueError(f"std must be above 0, got {std}")
        if len({len(mean), len(std)} - {1}) == 2:
            raise ValueError(f"mean and std must be for the same channels, got {len(mean)} and {len(std)} numbers")

    def _extend(self, work: PicturePass, step: int) -> PicturePass | None:
        """Comes last."""
        del step
        if work.stage >= Stage.SCALE:
            return None
        mean, std = (value if isinstance(value, tuple) else (value,) for value in (self.mean, self.std))
        scaling = Scaling(self.scale, mean, std, self.dtype, self.layout == "chw")
        return replace(work, scaling=scaling, stage=Stage.SCALE)


PictureTransform: TypeAlias = Decode | Resize | CenterCrop | RandomResizedCrop | RandomFlip | Normalize


@dataclass(frozen=True, slots=True)
class Fused(OneColumn):
    """Several transforms of one column, done in as few passes over each picture as their order allows.

    Attributes:
      column: Name of the column.
      steps: In the order they are applied. Step k has the seeds `wellfed.image.split_seeds(seeds, k)`.
    """

    column: str
    steps: tuple[PictureTransform, ...]

    def apply(self, columns: Columns, seeds: Seeds, out: npt.NDArray[Any] | None = None) -> dict[str, Any]:
        """Does B rows of the column, as the steps one after another do; see `Resize.apply`."""
        return _apply(self.column, plan_passes(self.steps), columns, lambda step: split_seeds(seeds, step), out)

    def row_form(self, given: RowForm | None) -> RowForm | None:
        """Shape and dtype of a row of the result, from those of the column; see `Resize.row_form`."""
        return _row_form(plan_passes(self.steps), given)


def fuse(transforms: Sequence[PictureTransform]) -> PictureTransform | Fused:
    """One transform that does the same as `transforms` one after another, in fewer passes.

    Args:
      transforms: At least one, all on the same column.

    Raises:
      ValueError: There is none, or they name several columns.

    >>> fuse([Resize("image", 256), CenterCrop("image", 224)]).static_output({"image": ((), bytes)})
    ((224, 224, 3), dtype('uint8'))
    """
    names = {transform.column for transform in transforms}
    if len(names) != 1:
        raise ValueError(f"fuse needs transforms of one column, got columns {sorted(names)}")
    return transforms[0] if len(transforms) == 1 else Fused(names.pop(), tuple(transforms))


@lru_cache(maxsize=64)  # A feed asks once a part of a batch.
def plan_passes(steps: tuple[_Picture, ...]) -> tuple[PicturePass, ...]:
    """The passes that do the steps: a new one begins where a step has no place left in the last one."""
    passes: list[PicturePass] = [PicturePass()]
    for number, step in enumerate(steps):
        longer = step._extend(passes[-1], number)
        if longer is not None:
            passes[-1] = longer
            continue
        first = step._extend(PicturePass(), number)
        if first is None:
            raise AssertionError(f"{step} fits no pass")
        passes.append(first)
    return tuple(passes)


def _apply(
    column: str, passes: Sequence[PicturePass], columns: Columns, seeds_of: SeedsOf, out: npt.NDArray[Any] | None
) -> dict[str, Any]:
    value = column_of(columns, column)
    for work in passes[:-1]:
        value = run_pass(work, value, column, seeds_of, None)
    return {**columns, column: run_pass(passes[-1], value, column, seeds_of, out)}


def _row_form(passes: Sequence[PicturePass], given: RowForm | None) -> RowForm | None:
    for work in passes:
        given = work.row_form(given)
    return given


def _pair(size: tuple[int, int] | int) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _checked_size(size: Sequence[int] | int) -> tuple[int, int] | int:
    alone = np.ndim(size) == 0
    found = sides("size", size, 1 if alone else 2, "(height, width) or one number")
    return found[0] if alone else (found[0], found[1])


def _keep(transform: Any, **values: Any) -> None:
    """Keeps checked options as plain values, so that equal transforms are equal, whatever they were made from."""
    for name, value in values.items():
        object.__setattr__(transform, name, value)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")


def _rounding(dtype: Any) -> str | None:
    return None if dtype is None else type_name(dtype, SOURCES)
