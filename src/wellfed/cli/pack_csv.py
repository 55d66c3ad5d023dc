"""`wellfed pack csv`."""

from __future__ import annotations

from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place, words
from wellfed.sources import Csv, Source


@pack_command("csv", pictures=False)
@files_argument("files", type=place)
@source_option("--label", metavar="COLUMN", help="The column that is the class: numbers from 0, or names.")
@source_option("--columns", type=words, metavar="NAME,...", help="The columns to keep. Default: all.")
@source_option("--column-names", type=words, metavar="NAME,...", help="For files whose first row holds no names.")
@source_option("--delimiter", help="Default: the one of , ; | and tab that the first row has most of.")
def command(
    files: tuple[str, ...],
    label: str | None,
    columns: tuple[str, ...] | None,
    column_names: tuple[str, ...] | None,
    delimiter: str | None,
) -> Source:
    """Pack the rows of CSV FILES, paths or patterns, into OUT.

    A column's type is decided over all of its rows: int64, float32, bool or text. Missing numbers become NaN.

    \b
    Example: wellfed pack csv 'part-*.csv' out/ --name people --label class
    """
    return Csv(files, label, columns, column_names, delimiter)
