"""`wellfed pack parquet`."""

from __future__ import annotations

from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place, words
from wellfed.sources import Parquet, Source


@pack_command("parquet", pictures=True)
@files_argument("files", type=place)
@source_option("--label", metavar="COLUMN", help="The column that is the class: numbers from 0, or names.")
@source_option("--columns", type=words, metavar="NAME,...", help="The columns to keep. Default: all.")
def command(files: tuple[str, ...], label: str | None, columns: tuple[str, ...] | None) -> Source:
    """Pack the rows of Parquet FILES, paths or patterns, into OUT. Needs pyarrow.

    Columns keep their types; bytes that begin like a picture are pictures.

    \b
    Example: wellfed pack parquet 'train-*.parquet' out/ --name cats --label label
    """
    return Parquet(files, label, columns)
