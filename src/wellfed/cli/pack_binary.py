"""`wellfed pack binary`."""

from __future__ import annotations

import click

from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import Field, binary_field, place, shape
from wellfed.sources import FixedBinary, Source


@pack_command("binary", pictures=False)
@files_argument("files", type=place)
@source_option(
    "--field",
    "fields",
    type=binary_field,
    metavar="NAME[:DTYPE[:SHAPE]]",
    multiple=True,
    required=True,
    help="A field of the record, such as label:uint8 or image:uint8:3x32x32; in the order in which they lie.",
)
@source_option(
    "--dtype", "dtypes", multiple=True, help="The type of a field that is given by its name alone, in order."
)
@source_option(
    "--shape", "shapes", type=shape, metavar="AxB", multiple=True, help="Likewise its shape; () for a single number."
)
@source_option(
    "--header-bytes", type=click.IntRange(min=0), default=0, help="What each file has in front of its records."
)
@source_option("--label", metavar="FIELD", help="The field that is the class.")
def command(
    files: tuple[str, ...],
    *,
    fields: tuple[Field, ...],
    dtypes: tuple[str, ...],
    shapes: tuple[tuple[int, ...], ...],
    header_bytes: int,
    label: str | None,
) -> Source:
    """Pack the fixed-length records of FILES, paths or patterns, into OUT.

    Types are NumPy's: uint8, <f4, >u2 (big-endian), S10 (10 bytes).

    \b
    Example: wellfed pack binary 'data_batch_*.bin' out/ --field label:uint8 --field image:uint8:3x32x32 --label label
    """
    described = {field.name: (field.dtype, field.shape) for field in _completed(fields, dtypes, shapes)}
    if len(described) < len(fields):
        raise click.UsageError("a field's name is given twice")
    return FixedBinary(files, described, header_bytes, label)


def _completed(fields: tuple[Field, ...], dtypes: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> list[Field]:
    """Gives the fields that are names alone their types and shapes."""
    bare = [field for field in fields if not field.dtype]
    if len(dtypes) != len(bare) or len(shapes) not in (0, len(bare)):
        raise click.UsageError(
            f"{len(bare)} of the fields are names alone: give as many --dtype, and as many --shape or none; "
            f"got {len(dtypes)} --dtype and {len(shapes)} --shape"
        )
    given = iter(zip(dtypes, shapes or [()] * len(bare), strict=True))
    return [field if field.dtype else Field(field.name, *next(given)) for field in fields]
