"""`wellfed pack tfrecord`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place
from wellfed.sources import Source, TFRecords


@pack_command("tfrecord", pictures=True)
@files_argument("paths", type=place)
@source_option("--from-split", help="Of a data set. Default: all its splits together.")
@source_option("--label", metavar="FEATURE", help="The feature that is the class: an int64 from 0.")
@source_option(
    "--on-damage", type=click.Choice(["raise", "skip"]), default="raise", show_default=True, help="In PATHS."
)
def command(paths: tuple[str, ...], from_split: str | None, label: str | None, on_damage: str) -> Source:
    """Pack the Examples of PATHS anew into OUT: other shards, another order, other splits.

    PATHS are TFRecord files or patterns, or the folder of one data set. Without options for pictures, records are
    written as they are.

    \b
    Example: wellfed pack tfrecord 'old-*.tfrecord' out/ --name new --shard-size 256MB
    """
    found = summary.find_target(paths, from_split)
    if found.dataset is None:
        return TFRecords(found.files, None, label, on_damage)  # type: ignore[arg-type]  # click checks the choice
    files = found.files if from_split else summary.files_of(paths[0])
    return TFRecords(files, found.dataset.schema, label, on_damage)  # type: ignore[arg-type]  # as above
