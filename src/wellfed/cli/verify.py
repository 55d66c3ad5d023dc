"""`wellfed verify`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.main import FOUND_SOMETHING


@click.command("verify", no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True)
@click.option("--checksums", is_flag=True, help="Check each shard's own checksum too, which a manifest has.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(paths: tuple[str, ...], checksums: bool, as_json: bool) -> None:
    """Check every sum of every record of PATHS, and say where the damage is.

    A path is a data set's folder, a TFRecord file, or a pattern of files. Of a data set, the shards, their sizes and
    their numbers of records are compared with its metadata. The exit code is 1 where something is wrong.

    \b
    Example: wellfed verify out/
    """
    good = True
    for path in paths:
        if summary.is_folder(path):
            report = summary.verify_dataset(path, checksums=checksums)
            render.verified_dataset(report, as_json=as_json)
            good = good and report.ok
        else:
            for file in summary.verify(path):
                render.verified_file(file, as_json=as_json)
                good = good and file.ok
    if not good:
        raise SystemExit(FOUND_SOMETHING)
