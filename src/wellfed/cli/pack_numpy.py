"""`wellfed pack numpy`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import named_file
from wellfed.sources import Numpy, Source


@pack_command("numpy", pictures=False)
@click.argument("file", required=False)
@source_option(
    "--array",
    "arrays",
    type=named_file,
    metavar="NAME=FILE",
    multiple=True,
    help="A .npy file and its feature's name, instead of FILE; as often as there are arrays.",
)
@source_option("--label", metavar="NAME", help="The array that is the class: integers from 0.")
def command(file: str | None, arrays: tuple[tuple[str, str], ...], label: str | None) -> Source:
    """Pack the rows of the arrays in FILE, a .npy or .npz, into OUT: item i is row i of each.

    Arrays named x_train, x_test and the like are the splits of x. Pickles are not read.

    \b
    Example: wellfed pack numpy mnist.npz out/ --name mnist --label y
    """
    if (file is None) == (not arrays):
        raise click.UsageError("give either FILE or --array NAME=FILE")
    return Numpy(file if file is not None else dict(arrays), label)
