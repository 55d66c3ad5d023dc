"""`wellfed pack images`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place
from wellfed.sources import ClassFolders, Source


@pack_command("images", pictures=True)
@click.argument("folder", type=place)
@source_option("--nested", is_flag=True, help="A picture's whole path is its class, such as animals/cat.")
@source_option(
    "--labels", "labels_file", metavar="FILE", help="Class names, one a line, in the order of their numbers."
)
@source_option(
    "--given-splits/--no-given-splits",
    default=None,
    help="FOLDER holds splits that hold the classes. Default: if its folders are named train, test and the like.",
)
def command(folder: str, nested: bool, labels_file: str | None, given_splits: bool | None) -> Source:
    """Pack pictures in class folders, FOLDER/cat/1.jpg, into OUT.

    The bytes of each picture are kept unless an option asks for others. What is a picture is told from its content;
    hidden files, empty folders and files that are no pictures are left out and reported. Classes are numbered in the
    order of their names.

    \b
    Example: wellfed pack images photos/ out/ --name photos --split train=0.9,test=0.1
    """
    return ClassFolders(folder, nested=nested, labels_file=labels_file, given_splits=given_splits)
