"""`wellfed pack list`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place
from wellfed.sources import ListFile, Source


@pack_command("list", pictures=True)
@click.argument("file", type=place)
@source_option("--root", help="The folder that the paths start from. Default: FILE's own.")
@source_option(
    "--label",
    type=click.Choice(["index", "name", "onehot", "multihot", "float"]),
    default="index",
    show_default=True,
    help="What stands behind each path.",
)
@source_option(
    "--labels", "labels_file", metavar="FILE", help="Class names, one a line, in the order of their numbers."
)
@source_option("--label-offset", type=int, default=0, show_default=True, help="The list's number of the first class.")
def command(file: str, root: str | None, label: str, labels_file: str | None, label_offset: int) -> Source:
    """Pack the pictures that FILE lists with their labels, one a line, into OUT.

    A line is a path and its label or labels, with a tab, commas or spaces between them; a path may hold spaces. The
    bytes of each picture are kept unless an option asks for others.

    \b
    Example: wellfed pack list train.txt out/ --root photos/ --label multihot
    """
    return ListFile(file, root, label, labels_file, label_offset)  # type: ignore[arg-type]  # click checks the choice
