"""What people type, as values: sizes, shares, pictures' sizes. Each is a click type: text in, value out."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

import click

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def place(text: str) -> str:
    """Returns a path or a pattern. An empty one would be the folder where the user stands.

    >>> place("train-*.tfrecord")
    'train-*.tfrecord'
    """
    if not text:
        raise click.BadParameter("expected a path, got nothing between the quotes")
    return text


def new_file(text: str) -> str:
    """Returns where a file can be written once the work is done."""
    if Path(text).is_dir():
        raise click.BadParameter(f"{text} is a folder")
    if Path(text).exists() and not Path(text).is_file():  # A pipe or device, written to as it is.
        return text
    folder = Path(text).absolute().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.BadParameter(f"{text} cannot be written: {folder} is no folder that this user may write")
    return text


def number(text: str | int) -> int:
    """Returns a whole number above 0, of things that a machine can have.

    >>> number("64")
    64
    """
    found = int(text) if re.fullmatch(r"\d{1,19}", str(text), re.ASCII) else 0
    if not 0 < found <= sys.maxsize:
        raise click.BadParameter(f"expected a whole number from 1 to {sys.maxsize}, got {text}")
    return found


def time(text: str) -> float:
    """Returns a time.

    >>> time("0.5")
    0.5
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not found > 0:  # NaN is neither.
        raise click.BadParameter(f"expected seconds above 0 such as 0.5, got {text!r}")
    return found


def byte_size(text: str) -> int:
    """Returns a number of bytes.

    >>> byte_size("256MB"), byte_size("64MiB"), byte_size("1000000")
    (256000000, 67108864, 1000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b?)\s*", text.lower())
    unit = match and (match[2] if match[2] in _UNITS else f"{match[2]}b")
    if not match or unit not in _UNITS:
        raise click.BadParameter(f"expected a size such as 256MB or 64MiB, got {text!r}")
    return int(float(match[1]) * _UNITS[unit])


def shares(text: str) -> dict[str, float] | str:
    """Returns splits and their shares, or the one split's name.

    >>> shares("train=0.9,test=0.1"), shares("train")
    ({'train': 0.9, 'test': 0.1}, 'train')
    """
    if "=" not in text:
        return text
    found: dict[str, float] = {}
    for name, share in _pairs(text):
        if name in found:
            raise click.BadParameter(f"split {name!r} is given twice in {text!r}")
        try:
            found[name] = float(share)
        except ValueError as error:
            raise click.BadParameter(f"expected NAME=SHARE such as train=0.9, got {name}={share}") from error
    return found


def counts(text: str) -> dict[str, int] | int:
    """Returns a number of shards, or one a split.

    >>> counts("8"), counts("train=8,test=1")
    (8, {'train': 8, 'test': 1})
    """
    try:
        return {name: int(count) for name, count in _pairs(text)} if "=" in text else int(text)
    except ValueError as error:
        due = "expected a number, or one a split such as train=8,test=1"
        raise click.BadParameter(f"{due}, got {text!r}") from error


def picture_size(text: str) -> tuple[int, int]:
    """Returns (height, width).

    >>> picture_size("224x112")
    (224, 112)
    """
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", text, re.ASCII)
    if not match:
        raise click.BadParameter(f"expected HEIGHTxWIDTH such as 224x224, each below a million, got {text!r}")
    return int(match[1]), int(match[2])


def picture_size_or_side(text: str) -> tuple[int, int] | int:
    """Returns (height, width), or the shorter side's length."""
    return int(text) if re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII) else picture_size(text)


def words(text: str) -> tuple[str, ...]:
    """Returns the words between commas.

    >>> words("height, width")
    ('height', 'width')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


class Field(NamedTuple):
    """A field of a record of fixed length; `dtype` is "" where the name alone was given."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def binary_field(text: str) -> Field:
    """Returns a field of a record of fixed length.

    >>> binary_field("image:uint8:3x32x32"), binary_field("label:uint8")
    (Field(name='image', dtype='uint8', shape=(3, 32, 32)), Field(name='label', dtype='uint8', shape=()))
    """
    name, *more = text.split(":")
    if not name or len(more) > 2 or "" in more:
        raise click.BadParameter(f"expected NAME:DTYPE or NAME:DTYPE:SHAPE such as image:uint8:3x32x32, got {text!r}")
    return Field(name, more[0] if more else "", shape(more[1]) if len(more) == 2 else ())


def shape(text: str) -> tuple[int, ...]:
    """Returns the shape of an array.

    >>> shape("3x32x32"), shape("()")
    ((3, 32, 32), ())
    """
    if text == "()":
        return ()
    if not re.fullmatch(r"\d+(x\d+)*", text):
        raise click.BadParameter(f"expected a shape such as 3x32x32, or () for a single number, got {text!r}")
    return tuple(int(size) for size in text.split("x"))


def named_file(text: str) -> tuple[str, str]:
    """Returns a name and a path.

    >>> named_file("x=data/x.npy")
    ('x', 'data/x.npy')
    """
    name, sign, path = text.partition("=")
    if not sign or not name or not path:
        raise click.BadParameter(f"expected NAME=FILE such as x=data/x.npy, got {text!r}")
    return name, path


def _pairs(text: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in text.split(","))
    return [(name.strip(), value.strip()) for name, _, value in parts]
