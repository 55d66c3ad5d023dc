"""`wellfed pack SOURCE ...`: the group of the sources, one module each."""

from __future__ import annotations

import click

from wellfed.cli.main import LazyGroup


@click.group(
    cls=LazyGroup,
    name="pack",
    table={
        "images": ("wellfed.cli.pack_images", "Pack pictures in class folders."),
        "list": ("wellfed.cli.pack_list", "Pack pictures that a text or CSV file lists with their labels."),
        "mnist": ("wellfed.cli.pack_mnist", "Pack MNIST's idx files, and those of its kin."),
        "cifar": ("wellfed.cli.pack_cifar", "Pack CIFAR-10 or CIFAR-100, as they are handed out."),
        "binary": ("wellfed.cli.pack_binary", "Pack files of fixed-length records."),
        "csv": ("wellfed.cli.pack_csv", "Pack the rows of CSV files."),
        "parquet": ("wellfed.cli.pack_parquet", "Pack the rows of Parquet files."),
        "numpy": ("wellfed.cli.pack_numpy", "Pack the rows of .npy and .npz files."),
        "tfrecord": ("wellfed.cli.pack_tfrecord", "Pack TFRecord files anew: other shards, order, splits."),
        "tar": ("wellfed.cli.pack_tar", "Pack the items of WebDataset's tars."),
    },
)
def command() -> None:
    """Pack raw data into TFRecord shards: shuffled, split, indexed, and whole or not at all.

    Each kind of raw data is a command of its own; all share the options of packing. A pack that was killed goes on
    when the same command is run again.

    \b
    Example: wellfed pack images photos/ out/ --name photos --split train=0.9,test=0.1
    """
