"""Runs a pass over the rows of a column: one native call for an array of pictures, one a row for any others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from wellfed.columns import Bytes
from wellfed.errors import ImageError
from wellfed.image import geometry, pixels, seeds
from wellfed.image.decode import DecodeOptions, decode, jpeg_size
from wellfed.image.jpeg import Scratch, decode_whole
from wellfed.image.passes import RandomBox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from wellfed.image.geometry import Size
    from wellfed.image.passes import PicturePass

    SeedsOf: TypeAlias = Callable[[int], seeds.Seeds]
    Array: TypeAlias = npt.NDArray[Any]
    Place: TypeAlias = tuple[int, ...]  # A row of the geometry that wellfed.image.pixels draws.


class EncodedColumn(Protocol):
    """B encoded pictures: what `wellfed.columns.Bytes` is."""

    def __len__(self) -> int: ...
    def view(self, index: int, /) -> memoryview:
        """The bytes of a picture, without a copy."""
        ...


@dataclass(frozen=True, slots=True)
class _Draws:
    """The random numbers of each row: for its box (B, RANDOM_BOX_DRAWS), and whether it is mirrored (B,)."""

    boxes: npt.NDArray[np.float64] | None
    flips: npt.NDArray[np.bool_] | None

    @property
    def vary(self) -> bool:
        """Whether rows of one size differ in their geometry."""
        return self.boxes is not None or self.flips is not None


def run_pass(
    work: PicturePass, column: Array | EncodedColumn | Sequence[bytes], name: str, seeds_of: SeedsOf, out: Array | None
) -> Array:
    """The column after the pass: `out` filled, a new array, or an object array where sizes may differ.

    Args:
      work: What to do.
      column: Encoded pictures, an array of pictures, or an object array of pictures.
      name: Of the column, for errors.
      seeds_of: Gives the seeds, (B,), of a step of the chain.
      out: (B, *shape), or None.
    """
    draws = _draw(work, seeds_of, len(column))
    if not isinstance(column, np.ndarray) or column.dtype == object:
        return _run_rows(work, column, name, draws, out)
    if column.ndim == 3:  # Grey pictures without a dimension for it: (B, H, W).
        channel = 1 if work.planar else 3
        result = _run_array(work, column[..., None], name, draws, None if out is None else np.expand_dims(out, channel))
        return result.squeeze(channel)
    return _run_array(work, column, name, draws, out)


def _run_array(work: PicturePass, pictures: Array, name: str, draws: _Draws, out: Array | None) -> Array:
    """Pictures of one size, (B, H, W, C)."""
    try:
        _check_pixels(work, pictures, 4)
        rows, height, width, _ = pictures.shape
        places = _places(work, (height, width), draws, rows)
        size = work.fixed_size(height, width) or (height, width)
        result = _allocate(work, rows, size, pictures) if out is None else out
        _run_native(work, pictures, places, result)
    except ImageError as error:
        raise ImageError(error.reason, f'column "{name}"') from error
    return result


def _run_rows(work: PicturePass, column: Any, name: str, draws: _Draws, out: Array | None) -> Array:
    """Encoded pictures, or pictures of any sizes."""
    rows = len(column)
    one_size = work.shape is not None or work.fixed_size(None, None) is not None
    result: Array | None = np.empty(rows, object) if out is None and not (one_size and rows) else out
    item_of = column.view if hasattr(column, "view") and not isinstance(column, np.ndarray) else column.__getitem__
    writer: pixels.RowWriter | None = None
    for row in range(_run_usual(work, column, draws, out), rows):
        try:
            picture, place = _read(work, item_of(row), draws, row)
            if result is None:
                result = _allocate(work, rows, work.window or (place[4], place[5]), picture)
            if result.dtype == object:
                result[row] = picture if work.only_decodes else _alone(work, picture, place)
                continue
            _check_fits(work, picture, place, result)
            if work.only_decodes:
                result[row] = picture
            else:
                writer = writer or _writer(work, picture, result)
                _check_source(picture, writer.source)
                writer.run(row, picture, place)
            del picture  # Its memory is the next one's.
        except ImageError as error:
            raise ImageError(error.reason, f'row {row} of column "{name}"') from error
    return np.empty(0, object) if result is None else result


def _run_usual(work: PicturePass, column: Any, draws: _Draws, out: Array | None) -> int:
    """Does rows from the first on while they are JPEGs without any peculiarity; gives the first that it leaves.

    Each call between two pictures costs several times what it costs in a loop by itself: a picture has just gone
    through the cache. So all that is the same for all rows is done before.
    """
    plain = (work.decode or DecodeOptions())._plain
    if out is None or not plain or work.only_decodes or work.scaled_decode or work.shape is not None:
        return 0
    if not isinstance(column, Bytes) or column.starts.ndim != 1:
        return 0
    with Scratch() as scratch:
        return _run_jpegs(work, column, draws, out, scratch)


def _run_jpegs(work: PicturePass, column: Bytes, draws: _Draws, out: Array, scratch: Scratch) -> int:
    options = work.decode or DecodeOptions()
    plain, fast, limit = options._plain, options.dct == "fast", options.max_pixels
    data = column.data.data.toreadonly()
    run: Callable[[int, Array, Place], None] | None = None
    known: tuple[int, ...] = ()
    for row, (start, size) in enumerate(zip(column.starts.tolist(), column.sizes.tolist(), strict=True)):
        picture = decode_whole(data[start : start + size], plain, fast, limit, scratch)
        if picture is None:
            return row
        if run is None or picture.shape != known or draws.vary:
            try:
                place = _place(work, picture.shape[:2], draws, row)
                _check_fits(work, picture, place, out)
                run = run or _writer(work, picture, out).run_whole
            except ImageError:
                return row  # To be met again, and named.
            known = picture.shape
        run(row, picture, place)
    return len(column)


def _alone(work: PicturePass, picture: Array, place: Place) -> Array:
    """The result of one picture as an array of its own."""
    value = _allocate(work, 1, work.window or (place[4], place[5]), picture)
    _writer(work, picture, value).run(0, picture, place)
    alone: Array = value[0]
    return alone


def _read(work: PicturePass, item: Any, draws: _Draws, row: int) -> tuple[Array, Place]:
    """The pixels of a row, and what is taken of them."""
    if isinstance(item, np.ndarray) and item.ndim > 1:
        picture = item[..., None] if item.ndim == 2 else item
        _check_pixels(work, picture, 3)
        return picture, _place(work, picture.shape[:2], draws, row)
    options = work.decode or DecodeOptions()
    full = jpeg_size(item, options) if work.scaled_decode else None
    if full is not None:
        _check_shape(work, (*full, options.channels))
        place = _place(work, full, draws, row)
        at_least = math.ceil(place[4] * full[0] / place[2]), math.ceil(place[5] * full[1] / place[3])
        picture = decode(item, options, at_least)
        box = (place[0], place[1], place[2], place[3])
        return picture, (*geometry.scaled_box(box, full, picture.shape[:2]), *place[4:])
    picture = decode(item, options)
    if picture.ndim != 3 and not work.only_decodes:
        raise ImageError('pictures decoded with frames="all" can only be decoded; no other transform may follow')
    _check_shape(work, picture.shape)
    return picture, _place(work, picture.shape[-3:-1], draws, row)


def _check_shape(work: PicturePass, shape: tuple[int, ...]) -> None:
    if work.shape is not None and shape != work.shape:
        raise ImageError(f"the picture has shape {shape}, expected {work.shape}")


def _draw(work: PicturePass, seeds_of: SeedsOf, rows: int) -> _Draws:
    boxes = flips = None
    if isinstance(work.box, RandomBox):
        boxes = seeds.uniform(_row_seeds(seeds_of, work.box.step, rows), geometry.RANDOM_BOX_DRAWS)
    if work.flip is not None:
        flips = seeds.uniform(_row_seeds(seeds_of, work.flip_step, rows), 1)[:, 0] < work.flip
    return _Draws(boxes, flips)


def _row_seeds(seeds_of: SeedsOf, step: int, rows: int) -> seeds.Seeds:
    found = seeds_of(step)
    if found.shape != (rows,):
        raise ValueError(f"a random transform needs a seed a row: {rows} rows, seeds of shape {found.shape}")
    return found


def _place(work: PicturePass, size: Size, draws: _Draws, row: int) -> Place:
    height, width = size
    box: geometry.Box = (0, 0, height, width)
    if isinstance(work.box, RandomBox) and draws.boxes is not None:
        box = geometry.random_box(height, width, work.box.scale, work.box.ratio, draws.boxes[row].tolist())
    elif isinstance(work.box, tuple):
        box = geometry.middle(height, width, work.box)
    resized = box[2:] if work.size is None else geometry.resized_size(*box[2:], work.size)
    if isinstance(work.size, int) and work.window is None:
        _check_resized(work, box, resized)
    top, left = (0, 0) if work.window is None else geometry.middle(*resized, work.window)[:2]
    return (*box, *resized, top, left, int(draws.flips is not None and draws.flips[row]))


def _check_resized(work: PicturePass, box: geometry.Box, resized: Size) -> None:
    """A picture one pixel high becomes very wide where its shorter side is set."""
    limit = (work.decode or DecodeOptions()).max_pixels
    if resized[0] * resized[1] > limit:
        raise ImageError(
            f"{box[3]} x {box[2]} pixels would become {resized[1]} x {resized[0]}, more than max_pixels={limit}; "
            "resize to (height, width)"
        )


def _places(work: PicturePass, size: Size, draws: _Draws, rows: int) -> npt.NDArray[np.int64]:
    """`_place` of all rows of one size, (rows, 9)."""
    if draws.boxes is not None:
        return np.array([_place(work, size, draws, row) for row in range(rows)], np.int64).reshape(rows, 9)
    places = np.tile(np.array(_place(work, size, _Draws(None, None), 0), np.int64), (rows, 1))
    if draws.flips is not None:
        places[:, 8] = draws.flips
    return places


def _allocate(work: PicturePass, rows: int, size: Size, like: Array) -> Array:
    """Memory for `rows` results of pictures of the channels and the type of `like`."""
    channels = like.shape[-1]
    shape = (channels, *size) if work.planar else (*size, channels)
    return np.empty((rows, *shape), pixels.array_dtype(work.out_type(pixels.name_of(like.dtype))))


def _writer(work: PicturePass, like: Array, out: Array) -> pixels.RowWriter:
    """What fills rows of `out` from pictures of the channels and the type of `like`."""
    channels, source = like.shape[-1], pixels.name_of(like.dtype)
    scaling = work.scaling
    return pixels.RowWriter(
        out,
        source,
        channels,
        out_type=work.out_type(source),
        method=work.method,
        rounded=work.rounded,
        factors=(None, None) if scaling is None else scaling.factors(channels),
        planar=work.planar,
    )


def _run_native(work: PicturePass, pictures: Array, places: npt.NDArray[np.int64], out: Array) -> None:
    scaling = work.scaling
    scale, bias = (None, None) if scaling is None else scaling.factors(pictures.shape[3])
    pixels.run(
        pictures,
        places,
        out,
        out_type=work.out_type(pixels.name_of(pictures.dtype)),
        method=work.method,
        rounded=work.rounded,
        scale=scale,
        bias=bias,
        planar=work.planar,
    )


def _check_pixels(work: PicturePass, pictures: Array, ndim: int) -> None:
    found = f"found {pictures.dtype} of shape {pictures.shape}"
    if work.decode is not None:
        raise ImageError(f"Decode needs encoded pictures, {found}; wf.open(..., decode=False) leaves them encoded")
    if (
        pictures.ndim != ndim
        or pixels.name_of(pictures.dtype) not in pixels.SOURCES
        or not pictures.dtype.isnative
        or not 1 <= pictures.shape[-1] <= 4
        or 0 in pictures.shape[-3:-1]
    ):
        raise ImageError(
            "uint8, uint16 or float32 pixels in the machine's byte order with 1 to 4 channels are due, channels last, "
            f"{found}"
        )


def _check_source(picture: Array, source: str) -> None:
    if pixels.name_of(picture.dtype) != source:
        raise ImageError(f"the picture is {picture.dtype}, those before it are {source}; one type is due for all")


def _check_fits(work: PicturePass, picture: Array, place: Place, result: Array) -> None:
    size, channels = work.window or (place[4], place[5]), picture.shape[-1]
    due = (channels, *size) if work.planar else (*size, channels)
    if result.shape[1:] != due or picture.ndim != 3:
        raise ImageError(f"the picture becomes {due}, but rows of {result.shape[1:]} are due; see Decode's channels")
