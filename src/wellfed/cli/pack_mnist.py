"""`wellfed pack mnist`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place, words
from wellfed.sources import Mnist, Source


@pack_command("mnist", pictures=True)
@click.argument("folder", type=place)
@source_option("--class-names", type=words, metavar="NAME,...", default="", help="In the order of their numbers.")
def command(folder: str, class_names: tuple[str, ...]) -> Source:
    """Pack the idx files of MNIST and its kin (Fashion-MNIST, KMNIST, EMNIST), gzipped or not, into OUT.

    The splits are the files' own, unless --split says otherwise. Pixels are stored as they are; --encoding png makes
    the shards smaller.

    \b
    Example: wellfed pack mnist mnist/ out/ --name mnist
    """
    return Mnist(folder, class_names or None)
