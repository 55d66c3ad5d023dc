"""`wellfed pack images`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import packs
from wellfed.sources import ClassFolders, Source


@click.command("images")
@click.argument("folder")
@packs(pictures=True)
@click.option("--nested", is_flag=True, help="The whole path of a picture's folder is its class, such as animals/cat.")
@click.option("--labels", "labels_file", help="A text file of class names, one a line, in the order of their numbers.")
@click.option(
    "--given-splits/--no-given-splits",
    default=None,
    help="Whether FOLDER holds splits that hold the classes. Default: if its folders are named train, test and the like.",
)
def command(folder: str, nested: bool, labels_file: str | None, given_splits: bool | None) -> Source:
    """Pack pictures in class folders, FOLDER/cat/1.jpg, into OUT.

    The bytes of each picture are kept unless an option asks for others. What is a picture is told from its content; hidden
    files, empty folders and files that are no pictures are left out and reported. Classes are numbered by name.

    Example: wellfed pack images photos/ out/ --name photos --split train=0.9,test=0.1
    """
    return ClassFolders(folder, nested=nested, labels_file=labels_file, given_splits=given_splits)
