"""`wellfed pack numpy`."""

from __future__ import annotations

from pathlib import Path

from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import named_file
from wellfed.sources import Numpy, Source


@pack_command("numpy", pictures=False)
@files_argument("files")
@source_option("--label", metavar="NAME", help="The array that is the class: integers from 0.")
def command(files: tuple[str, ...], label: str | None) -> Source:
    """Pack the rows of arrays into OUT: item i is row i of each.

    FILES is one .npy or .npz, or several .npy files with their features' names: x=images.npy y=labels.npy. In a .npz,
    arrays named x_train, x_test and the like are the splits of x. Pickles are not read.

    \b
    Example: wellfed pack numpy mnist.npz out/ --name mnist --label y
    """
    if len(files) == 1 and ("=" not in files[0] or Path(files[0]).exists()):
        return Numpy(files[0], label)
    return Numpy(dict(named_file(file) for file in files), label)
