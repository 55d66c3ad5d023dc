"""`wellfed pack SOURCE ...`: the group of the sources, one module each."""

from __future__ import annotations

import click

from wellfed.cli.main import LazyGroup


@click.group(
    cls=LazyGroup,
    name="pack",
    table={
        "images": ("wellfed.cli.pack_images", "Pack pictures in class folders."),
        "mnist": ("wellfed.cli.pack_mnist", "Pack MNIST's idx files, and those of its kin."),
    },
)
def command() -> None:
    r"""Pack raw data into TFRecord shards: shuffled, split, indexed, and whole or not at all.

    Each kind of raw data is a command of its own; all share the options of packing. A pack that was killed goes on
    when the same command is run again.

    \b
    Example: wellfed pack images photos/ out/ --name photos --split train=0.9,test=0.1
    """
