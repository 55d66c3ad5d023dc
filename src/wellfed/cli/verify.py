"""`wellfed verify`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.main import COULD_NOT_RUN, FOUND_SOMETHING, sentence
from wellfed.cli.progress import bytes_bar
from wellfed.cli.values import place
from wellfed.datasets import is_dataset
from wellfed.errors import WellfedError


@click.command("verify", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("--checksums", is_flag=True, help="Check each shard's own checksum too, which a manifest has.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(paths: tuple[str, ...], checksums: bool, as_json: bool) -> None:
    """Check every sum of every record of PATHS, and say where the damage is.

    A path is a data set's folder, a TFRecord file, or a pattern of files. Of a data set, the shards, their sizes and
    their numbers of records are compared with its metadata. The exit code is 1 where something is wrong,
    and 2 where something cannot be checked; all the rest is checked then.

    \b
    Example: wellfed verify out/
    """
    codes = []
    for path in paths:
        try:
            is_folder = is_dataset(path)
            names = [path] if is_folder else summary.files_of(path)
        except (WellfedError, OSError) as error:
            codes.append(_unchecked(error))
            continue
        codes += [_verified(name, is_folder, checksums=checksums, as_json=as_json) for name in names]
    raise SystemExit(max(codes, default=0))


def _unchecked(error: Exception) -> int:
    """Says why something cannot be checked: what comes after it is to be checked too."""
    click.echo(f"wellfed: {sentence(error)}", err=True)
    return COULD_NOT_RUN


def _verified(path: str, is_folder: bool, *, checksums: bool, as_json: bool) -> int:
    """Checks a folder or a file, prints what was found, and returns the exit code."""
    try:
        with bytes_bar(lambda: summary.files_of(path) if is_folder else [path]) as progress:
            if is_folder:
                report: summary.DatasetReport | summary.FileReport
                report = summary.verify_dataset(path, checksums=checksums, progress=progress)
            else:
                report = summary.verify_file(path, progress=progress)
    except (WellfedError, OSError) as error:
        return _unchecked(error)
    if isinstance(report, summary.DatasetReport):
        render.verified_dataset(report, as_json=as_json)
    else:
        render.verified_file(report, as_json=as_json)
    return 0 if report.ok else FOUND_SOMETHING
