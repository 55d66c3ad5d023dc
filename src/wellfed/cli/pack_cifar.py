"""`wellfed pack cifar`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import pack_command
from wellfed.cli.values import place
from wellfed.sources import Cifar, Source


@pack_command("cifar", pictures=True)
@click.argument("path", type=place)
def command(path: str) -> Source:
    """Pack CIFAR-10 or CIFAR-100 from PATH, a folder or a tar of its pickles or binary files, into OUT.

    Which set it is, and what is for training and what for testing, is told by content. Pixels are stored as they are;
    --encoding png makes the shards smaller.

    \b
    Example: wellfed pack cifar cifar-10-python.tar.gz out/ --name cifar10
    """
    return Cifar(path)
