"""What people type, as values: sizes, shares, pictures' sizes."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class ByteSize(click.ParamType):
    """A number of bytes: 256MB, 64MiB, 1000000."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns the number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b?)\s*", value.lower())
        unit = match and (match[2] if match[2] in _UNITS else f"{match[2]}b")
        if not match or unit not in _UNITS:
            self.fail(f"expected a size such as 256MB or 64MiB, got {value!r}", param, ctx)
        return int(float(match[1]) * _UNITS[unit])


class Shares(click.ParamType):
    """Splits and their shares, train=0.9,test=0.1; or one name for all."""

    name = "shares"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float] | str:
        """Returns split to share, or the one split's name."""
        if not isinstance(value, str) or "=" not in value:
            return value  # type: ignore[no-any-return]  # a name, or converted before
        shares: dict[str, float] = {}
        for part in value.split(","):
            name, _, share = (piece.strip() for piece in part.partition("="))
            if name in shares:
                self.fail(f"split {name!r} is given twice in {value!r}", param, ctx)
            try:
                shares[name] = float(share)
            except ValueError:
                self.fail(f"expected NAME=SHARE such as train=0.9, got {part!r}", param, ctx)
        return shares


class Counts(click.ParamType):
    """A number of shards, or one a split: 8, or train=8,test=1."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int] | int:
        """Returns the number, or split to number."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]  # converted before
        try:
            if "=" not in value:
                return int(value)
            pairs = (part.partition("=") for part in value.split(","))
            return {name.strip(): int(count) for name, _, count in pairs}
        except ValueError:
            self.fail(f"expected a number, or one a split such as train=8,test=1, got {value!r}", param, ctx)


class PictureSize(click.ParamType):
    """Height and width of a picture, 224x224; where `single`, also one length of the shorter side."""

    name = "size"

    def __init__(self, *, single: bool) -> None:
        self._single = single

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int] | int:
        """Returns (height, width), or the shorter side."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]  # converted before
        if self._single and value.isdecimal():
            return int(value)
        match = re.fullmatch(r"(\d+)x(\d+)", value)
        if not match:
            also = " or one number for the shorter side" if self._single else ""
            self.fail(f"expected HEIGHTxWIDTH such as 224x224{also}, got {value!r}", param, ctx)
        return int(match[1]), int(match[2])


class Words(click.ParamType):
    """Words with commas between them."""

    name = "words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Returns the words."""
        return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value
