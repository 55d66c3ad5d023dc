"""Pictures in traced functions: decoding, resizing and scaling in one pass over the pixels.

    decode_jpeg -> (scale) -> resize -> (cast, add, subtract, multiply, divide) ->

Such a chain, of constants and with nobody else looking at what is between, becomes one transform of the image room:
each picture is decoded, resized and scaled straight into its row of the batch. Scaling is linear, as resizing is, so it
may stand before or after; results differ by the rounding of float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wellfed import image
from wellfed.compat.arrays import cast, identity
from wellfed.compat.deferred import operators
from wellfed.compat.deferred.dtypes import float32, uint8
from wellfed.compat.deferred.eager import leaves
from wellfed.compat.deferred.graph import Operation, Tensor
from wellfed.compat.deferred.lift import Call
from wellfed.compat.deferred.rows import Batch, as_column
from wellfed.compat.image import convert_image_dtype
from wellfed.compat.pictures import decode_image, decode_jpeg, decode_png
from wellfed.compat.resizing import resize, resize_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Apply: TypeAlias = "Callable[[Any, Any, Any], Any]"  # How a transform is run: transform, columns, seeds.
_DECODERS = {decode_image.__wrapped__, decode_jpeg.__wrapped__, decode_png.__wrapped__}


def apply_alone(transform: Any, columns: Any, seeds: Any) -> Any:
    """Runs a transform in this thread, into memory of its own."""
    return transform.apply(columns, seeds)


@dataclass(frozen=True, slots=True)
class Affine:
    """value * factor + bias, one number each or one a channel."""

    factor: Any = 1.0
    bias: Any = 0.0

    def then(self, factor: Any, bias: Any) -> Affine:
        """Gives this, and then another one."""
        factor, bias = np.asarray(factor, np.float64), np.asarray(bias, np.float64)
        return Affine(np.asarray(self.factor) * factor, np.asarray(self.bias) * factor + bias)


class FusedPicture:
    """A chain that is done in one pass.

    Attributes:
      inputs: The encoded pictures.
      outputs: What the last operation of the chain gives.
    """

    def __init__(self, contents: Tensor, output: Tensor, transform: Any) -> None:
        self.inputs, self.outputs = (contents,), (output,)
        self._transform = transform

    def run(self, columns: Sequence[Any], batch: Batch, apply: Apply) -> list[Any]:
        """Gives the column of the output."""
        (contents,) = columns
        encoded = as_column(contents, batch.count)
        return [apply(self._transform, {"image": encoded}, np.zeros(batch.count, np.uint64))["image"]]


def fused(plan: Sequence[Operation], outputs: Any) -> list[Operation | FusedPicture]:
    """Gives a plan with its chains of pictures fused."""
    uses: dict[Tensor, list[Any]] = {}
    for op in plan:
        for tensor in op.inputs:
            uses.setdefault(tensor, []).append(op)
    for leaf in leaves(outputs):
        if isinstance(leaf, Tensor):
            uses.setdefault(leaf, []).append(None)  # Leaves the function: nobody may skip it.
    steps: dict[Operation, Operation | FusedPicture | None] = dict(zip(plan, plan, strict=True))
    for op in plan:
        chain = _chain(op, uses)
        if chain is not None:
            done, step = chain
            for part in done:
                steps[part] = None
            steps[done[-1]] = step
    return [step for step in steps.values() if step is not None]


def _chain(decoder: Operation, uses: dict[Tensor, list[Any]]) -> tuple[list[Operation], FusedPicture] | None:
    """Gives the operations of a chain that begins with a decoder, and what does them in one pass."""
    channels = _decoded_channels(decoder)
    if channels is None:
        return None
    done, scaling, size = [decoder], Affine(), None
    while (following := _only_user(done[-1].outputs[0], uses)) is not None:
        resized = _resized(following)
        if resized is not None and size is None:
            size = resized
        else:
            changed = _scaled(following, done[-1].outputs[0], scaling, channels)
            if changed is None:
                break
            scaling = changed
        done.append(following)
    factor, bias = np.asarray(scaling.factor), np.asarray(scaling.bias)
    if size is None or not (np.all(factor > 0) and np.isfinite(factor).all() and np.isfinite(bias).all()):
        return None
    return done, FusedPicture(decoder.inputs[0], done[-1].outputs[0], _transform(decoder, channels, size, scaling))


def _only_user(tensor: Tensor, uses: dict[Tensor, list[Any]]) -> Operation | None:
    users = uses.get(tensor, [])
    return users[0] if len(users) == 1 else None


def _decoded_channels(op: Operation) -> int | None:
    """Gives how many channels an operation decodes pictures to; None where it is not that, or they may vary."""
    call = op.rows
    if not isinstance(call, Call) or call.function not in _DECODERS or len(op.inputs) != 1:
        return None
    sizes = op.outputs[0].shape.sizes
    known = op.outputs[0].dtype == uint8 and sizes is not None and len(sizes) == 3
    return sizes[-1] if known and sizes is not None and sizes[-1] in (1, 3) else None


def _resized(op: Operation) -> tuple[tuple[int, int], str] | None:
    call = op.rows
    if not isinstance(call, Call) or call.function is not resize.__wrapped__ or len(op.inputs) != 1:
        return None
    return resize_options(call)


def _scaled(op: Operation, value: Tensor, scaling: Affine, channels: int) -> Affine | None:
    """Gives the scaling after an operation; None where it does anything else to a float32 or uint8."""
    call = op.rows
    if not isinstance(call, Call) or op.inputs != (value,) or op.outputs[0].dtype != float32:
        return None
    if call.function in (cast.__wrapped__, identity.__wrapped__):
        return scaling
    if call.function is convert_image_dtype.__wrapped__:
        return scaling.then(1 / 255, 0) if value.dtype == uint8 else scaling
    if len(call.args) != 2 or call.kwargs or value.dtype != float32:
        return None
    first = call.args[0] is value
    number = _constant(call.args[1] if first else call.args[0], channels)
    if number is None:
        return None
    return _applied(call.function, scaling, number, first=first)


def _constant(other: Any, channels: int) -> Any:
    """Gives a number, or one a channel; None where it is neither."""
    if isinstance(other, Tensor):
        return None
    number = np.asarray(other, np.float64)
    return number if number.size == 1 or number.shape == (channels,) else None


def _applied(function: Any, scaling: Affine, number: Any, *, first: bool) -> Affine | None:
    if function is operators.add.__wrapped__:
        return scaling.then(1, number)
    if function is operators.multiply.__wrapped__:
        return scaling.then(number, 0)
    if function is operators.subtract.__wrapped__:
        return scaling.then(1, -number) if first else scaling.then(-1, number)
    if function in (operators.truediv.__wrapped__, operators.div.__wrapped__) and first and np.all(number != 0):
        return scaling.then(1 / number, 0)
    return None


def _transform(decoder: Operation, channels: int, size: tuple[tuple[int, int], str], scaling: Affine) -> Any:
    call = decoder.rows
    accurate = "INTEGER_ACCURATE" in (*call.args[1:], *call.kwargs.values())
    steps: list[Any] = [
        image.Decode("image", channels=channels, dct="accurate" if accurate else "fast"),  # type: ignore[arg-type]  # 1, 3.
        image.Resize("image", size[0], method=size[1], dtype="float32"),  # type: ignore[arg-type]  # One of two.
    ]
    factor, bias = np.broadcast_arrays(*map(np.atleast_1d, (scaling.factor, scaling.bias)))
    if np.any(factor != 1) or np.any(bias != 0):
        mean, std = (-bias / factor).ravel(), (1 / factor).ravel()
        steps.append(image.Normalize("image", mean=mean, std=std, scale=1.0))  # type: ignore[arg-type]  # Arrays too.
    return image.fuse(steps)
