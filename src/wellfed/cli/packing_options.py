"""The options that every `wellfed pack` command has, and the run they describe."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wellfed.cli import render
from wellfed.cli.main import FOUND_SOMETHING
from wellfed.cli.progress import progress_bar
from wellfed.cli.values import ByteSize, Counts, PictureSize, Shares, Words
from wellfed.errors import WellfedError
from wellfed.packing import PackOptions, PictureOptions, pack_with, plan_pack
from wellfed.sources import Source

_OPTIONS = [
    click.option("--name", help="The data set's name, also in the shards' names. Default: OUT's own name."),
    click.option(
        "--split",
        type=Shares(),
        help="Splits and shares, such as train=0.9,test=0.1: by a hash of each item's name, so an item keeps its split. Or "
        "one name for all. Default: the source's own splits, or train.",
    ),
    click.option("--stratify", is_flag=True, help="Take the shares within each class."),
    click.option("--shards", type=Counts(), help="How many shards each split gets: 8, or train=8,test=1."),
    click.option("--shard-size", type=ByteSize(), default="256MB", show_default=True, help="About how large a shard is."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the shuffle. It does not change the splits."),
    click.option("--shuffle/--no-shuffle", default=True, show_default=True, help="Shuffle exactly, over everything."),
    click.option(
        "--compression",
        type=click.Choice(["none", "GZIP", "ZLIB", "GZIP_SEEKABLE"], case_sensitive=False),
        default="none",
        show_default=True,
        help="GZIP_SEEKABLE is GZIP that wellfed reads at random.",
    ),
    click.option("--version", "version", help="Such as 1.1.0: packed beside other versions, current when whole."),
    click.option(
        "--layout",
        type=click.Choice(["tfds", "plain"]),
        default="tfds",
        show_default=True,
        help="tfds: names and metadata of TensorFlow Datasets. plain: shards only.",
    ),
    click.option("--name-pattern", help="Names of plain shards, such as 'data_{shard:05d}.tfrecord'."),
    click.option(
        "--on-error",
        type=click.Choice(["raise", "skip", "quarantine"]),
        default="raise",
        show_default=True,
        help="What a bad item does: end the pack, be left out, or be left out and put aside in OUT/.wellfed/quarantine.",
    ),
    click.option("--overwrite", is_flag=True, help="Replace the data set that is there."),
    click.option("--workers", type=click.IntRange(min=1), help="How many. Default: one a core."),
    click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
]

_PICTURE_OPTIONS = [
    click.option(
        "--encoding",
        type=click.Choice(["keep", "jpeg", "png", "raw"]),
        default="keep",
        show_default=True,
        help="keep stores pictures as they came.",
    ),
    click.option("--channels", type=click.Choice(["rgb", "bgr", "grey"]), help="Turn pictures into these channels."),
    click.option("--resize", type=PictureSize(single=True), help="HEIGHTxWIDTH, or the shorter side's length. [pixels]"),
    click.option("--crop", type=PictureSize(single=False), help="HEIGHTxWIDTH from the middle, after --resize. [pixels]"),
    click.option("--quality", type=click.IntRange(1, 100), default=95, show_default=True, help="Of JPEGs that are encoded."),
    click.option("--exif", type=click.Choice(["keep", "apply"]), default="keep", show_default=True, help="apply turns upright."),
    click.option("--fields", type=Words(), default="", help="Store facts too: format,height,width,channels."),
    click.option("--check", is_flag=True, help="Decode every picture, and refuse those that cannot be."),
]

_PACK_NAMES = {"name", "split", "stratify", "shards", "shard_size", "seed", "shuffle", "compression", "version", "layout"}
_PACK_NAMES |= {"name_pattern", "on_error", "overwrite", "workers", "dry_run", "as_json"}
_PICTURE_NAMES = {"encoding", "channels", "resize", "crop", "quality", "exif", "fields", "check"}


def packs(*, pictures: bool) -> Callable[[Callable[..., Source]], Callable[..., None]]:
    """Makes a command of a function that makes a source: adds OUT and the options of packing, and packs.

    Args:
      pictures: Whether the source may hold pictures, so that their options are there too.
    """

    def decorate(make_source: Callable[..., Source]) -> Callable[..., None]:
        @functools.wraps(make_source)
        def run(out: str, **values: Any) -> None:
            packing = {name: values.pop(name) for name in _PACK_NAMES}
            if pictures:
                packing["pictures"] = {name: values.pop(name) for name in _PICTURE_NAMES}
            _run(functools.partial(make_source, **values), out, packing)

        wrapped: Callable[..., None] = run
        for option in reversed([*_OPTIONS, *(_PICTURE_OPTIONS if pictures else [])]):
            wrapped = option(wrapped)
        return click.argument("out")(wrapped)

    return decorate


def _run(make_source: Callable[[], Source], out: str, values: dict[str, Any]) -> None:
    how = {name: values.pop(name) for name in ("on_error", "overwrite", "workers")}
    dry_run, as_json = values.pop("dry_run"), values.pop("as_json")
    options = _options(out, values)
    source = make_source()
    if dry_run:
        render.plan(plan_pack(source, out, options), as_json=as_json)
        return
    with progress_bar() as progress:
        report = pack_with(source, out, options, progress=progress, **how)
    render.packed(report, as_json=as_json)
    if report.lost:
        raise SystemExit(FOUND_SOMETHING)


def _options(out: str, values: dict[str, Any]) -> PackOptions:
    """Returns the options; what is wrong with them is a usage error."""
    compression = values.pop("compression").upper()
    name = values.pop("name") or "".join(c if c.isalnum() else "_" for c in Path(out.rstrip("/")).name).strip("_") or "data"
    try:
        pictures = PictureOptions(**values.pop("pictures", {}))
        return PackOptions(name=name, compression="" if compression == "NONE" else compression, pictures=pictures, **values)
    except ValueError as error:
        if isinstance(error, WellfedError):
            raise
        raise click.UsageError(str(error)) from error
