"""`wellfed pack mnist`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import packs
from wellfed.cli.values import Words
from wellfed.sources import Mnist, Source


@click.command("mnist")
@click.argument("folder")
@packs(pictures=True)
@click.option("--class-names", type=Words(), default="", help="Names of the classes, in the order of their numbers.")
def command(folder: str, class_names: tuple[str, ...]) -> Source:
    """Pack the idx files of MNIST and its kin (Fashion-MNIST, KMNIST, EMNIST), gzipped or not, into OUT.

    The splits are the files' own, unless --split says otherwise. Pixels are stored as they are; --encoding png makes the
    shards smaller.

    Example: wellfed pack mnist mnist/ out/ --name mnist
    """
    return Mnist(folder, class_names or None)
