"""The options that every `wellfed pack` command has, and the run they describe."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wellfed.cli import render
from wellfed.cli.main import FOUND_SOMETHING
from wellfed.cli.progress import progress_bar
from wellfed.cli.sections import SectionedCommand, option
from wellfed.cli.values import byte_size, counts, number, picture_size, picture_size_or_side, place, shares, words
from wellfed.datasets import Image
from wellfed.errors import WellfedError
from wellfed.packing import PackOptions, PictureOptions, dask_executor, pack_with, plan_pack, ray_executor, remake_shard
from wellfed.packing.options import own_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from wellfed.sources import Source

_packing = functools.partial(option, "Packing")
_running = functools.partial(option, "Running")
_picture = functools.partial(option, "Pictures")

_PACKING = [
    _packing("--name", help="The data set's name, also in the shards' names. Default: OUT's own name."),
    _packing(
        "--split",
        type=shares,
        metavar="NAME=SHARE,...",
        help="By a hash of each item's name, so that an item keeps its split when others are added. One name alone "
        "takes all. Default: the source's own splits, or train.",
    ),
    _packing("--stratify", is_flag=True, help="Take the shares within each class."),
    _packing("--shards", type=counts, metavar="N", help="How many shards each split gets: 8, or train=8,test=1."),
    _packing(
        "--shard-size", type=byte_size, metavar="SIZE", default="256MB", show_default=True, help="About this large."
    ),
    _packing("--seed", type=int, default=0, show_default=True, help="Of the shuffle; it does not change the splits."),
    _packing("--shuffle/--no-shuffle", default=True, show_default=True, help="Exactly, over everything."),
    _packing(
        "--compression",
        type=click.Choice(["none", "GZIP", "ZLIB", "GZIP_SEEKABLE"], case_sensitive=False),
        default="none",
        show_default=True,
        help="GZIP_SEEKABLE is GZIP that wellfed reads at random.",
    ),
    _packing("--version", help="Such as 1.1.0: packed beside other versions, and current when whole."),
    _packing(
        "--layout",
        type=click.Choice(["tfds", "plain"]),
        default="tfds",
        show_default=True,
        help="tfds: names and metadata of TensorFlow Datasets. plain: shards only.",
    ),
    _packing("--name-pattern", metavar="PATTERN", help="Names of plain shards, such as 'data_{shard:05d}.tfrecord'."),
]
_RUNNING = [
    _running(
        "--on-error",
        type=click.Choice(["raise", "skip", "quarantine"]),
        default="raise",
        show_default=True,
        help="A bad item ends the pack, is left out, or is also put aside in OUT/.wellfed/quarantine.",
    ),
    _running("--only-shard", metavar="SPLIT:N", help="Write one shard of a packed data set again, such as train:3."),
    _running("--overwrite", is_flag=True, help="Replace the data set that is there."),
    _running("--workers", type=number, help="How many. Default: one a core."),
    _running("--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://10.0.0.1:8786."),
    _running("--ray", metavar="ADDRESS", help="Run on a Ray cluster, such as ray://10.0.0.1:10001, or auto."),
    _running("--dry-run", is_flag=True, help="Say what would be written, and write nothing."),
    _running("--json", "as_json", is_flag=True, help="Print one JSON object."),
]
_PICTURES = [
    _picture(
        "--encoding",
        type=click.Choice(["keep", "jpeg", "png", "raw"]),
        default="keep",
        show_default=True,
        help="keep stores the bytes as they came, raw stores pixels.",
    ),
    _picture("--channels", type=click.Choice(["rgb", "bgr", "grey"]), help="Default: those that each picture has."),
    _picture("--resize", type=picture_size_or_side, metavar="HxW|SIDE", help="SIDE is the shorter one's. [pixels]"),
    _picture("--crop", type=picture_size, metavar="HxW", help="From the middle, after --resize. [pixels]"),
    _picture(
        "--quality", type=click.IntRange(1, 100), default=95, show_default=True, help="Of JPEGs that are encoded."
    ),
    _picture(
        "--exif",
        type=click.Choice(["keep", "apply"]),
        default="keep",
        show_default=True,
        help="apply turns pictures upright.",
    ),
    _picture("--fields", type=words, metavar="FACT,...", default="", help="Store format, height, width, channels too."),
    _picture("--check", is_flag=True, help="Decode every picture; refuse what the decoder or Pillow cannot open."),
]


def files_argument(name: str, **attributes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates with the paths of raw data, one or more, before OUT."""

    def some(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:  # click takes a single path for OUT, and would say that it is the first one that is missing.
            raise click.UsageError(f"{name.upper()} and OUT are both due")
        return value

    return click.argument(name, nargs=-1, metavar=f"{name.upper()}...", callback=some, **attributes)


_HOW = ("on_error", "overwrite", "workers")


def pack_command(name: str, *, pictures: bool) -> Callable[[Callable[..., Source]], click.Command]:
    """Makes a command of a function that makes a source: adds OUT and the options of packing, and packs.

    Args:
      name: The command's name.
      pictures: Whether the source may hold pictures, so that their options are there too.
    """

    def decorate(make_source: Callable[..., Source]) -> click.Command:
        own: list[click.Parameter] = list(reversed(getattr(make_source, "__click_params__", [])))
        arguments = [
            *(param for param in own if isinstance(param, click.Argument)),
            click.Argument(["out"], type=place),
        ]
        options = [param for param in own if not isinstance(param, click.Argument)]
        shared = [*_PACKING, *(_PICTURES if pictures else []), *_RUNNING]

        def run(out: str, **values: Any) -> None:
            if Path(out).is_file():
                raise click.UsageError(f"OUT, the last argument, is the folder to pack into; {out} is a file")
            source_values = {param.name: values.pop(param.name) for param in own if param.name}
            _run(functools.partial(make_source, **source_values), out, values)

        params = [*arguments, *options, *shared]
        return SectionedCommand(name, callback=run, params=params, help=make_source.__doc__, no_args_is_help=True)

    return decorate


def _run(make_source: Callable[[], Source], out: str, values: dict[str, Any]) -> None:
    how = {name: values.pop(name) for name in _HOW}
    clusters = {name: values.pop(name) for name in ("dask", "ray")}
    dry_run, as_json, only_shard = values.pop("dry_run"), values.pop("as_json"), values.pop("only_shard")
    options = _options(out, values)
    source = _source(make_source)
    if dry_run:
        render.plan(plan_pack(source, out, options), as_json=as_json)
        return
    if only_shard is not None:
        shard = remake_shard(source, out, options, only_shard, on_error=how["on_error"])
        render.remade(shard, as_json=as_json)
        return
    with _executor(**clusters) as executor, progress_bar() as progress:
        report = pack_with(source, out, options, executor=executor, progress=progress, **how)
    holds_pictures = any(isinstance(kind, Image) for kind in source.schema.values())
    render.packed(report, as_json=as_json, holds_pictures=holds_pictures)
    if report.lost:
        raise SystemExit(FOUND_SOMETHING)


def _source(make_source: Callable[[], Source]) -> Source:
    """Returns the source; what is wrong with its options, not with its files, is a usage error."""
    try:
        return make_source()
    except (ValueError, TypeError) as error:
        if isinstance(error, WellfedError):
            raise
        raise click.UsageError(str(error)) from error


def _executor(dask: str | None, ray: str | None) -> AbstractContextManager[Executor | None]:
    """Returns the executor that was asked for; None for this machine's own."""
    if dask is not None and ray is not None:
        raise click.UsageError("give either --dask or --ray")
    if dask is not None:
        return dask_executor(dask)
    return ray_executor(ray) if ray is not None else nullcontext()


def _options(out: str, values: dict[str, Any]) -> PackOptions:
    """Returns the options; what is wrong with them is a usage error."""
    pictures = {param.name: values.pop(param.name) for param in _PICTURES if param.name in values}
    compression = values.pop("compression").upper()
    try:
        return PackOptions(
            name=values.pop("name") or own_name(out),
            compression="" if compression == "NONE" else compression,
            pictures=PictureOptions(**pictures),
            **values,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
