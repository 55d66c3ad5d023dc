"""`wellfed pack tfrecord`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli.packing_options import pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place
from wellfed.sources import Source, TFRecords


@pack_command("tfrecord", pictures=True)
@click.argument("path", type=place)
@source_option("--from-split", help="Of a data set. Default: all its splits together.")
@source_option("--label", metavar="FEATURE", help="The feature that is the class: an int64 from 0.")
@source_option("--on-damage", type=click.Choice(["raise", "skip"]), default="raise", show_default=True, help="In PATH.")
def command(path: str, from_split: str | None, label: str | None, on_damage: str) -> Source:
    """Pack the Examples of PATH anew into OUT: other shards, another order, other splits.

    PATH is a data set's folder, a TFRecord file, or a pattern of files. Without options for pictures, records are
    written as they are.

    \b
    Example: wellfed pack tfrecord 'old-*.tfrecord' out/ --name new --shard-size 256MB
    """
    found = summary.find_target(path, from_split)
    if found.dataset is None:
        return TFRecords(found.files, None, label, on_damage)  # type: ignore[arg-type]  # click checks the choice
    files = found.files if from_split else summary.files_of(path)
    return TFRecords(files, found.dataset.schema, label, on_damage)  # type: ignore[arg-type]  # as above
