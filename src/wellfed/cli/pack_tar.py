"""`wellfed pack tar`."""

from __future__ import annotations

from wellfed.cli.packing_options import files_argument, pack_command
from wellfed.cli.sections import source_option
from wellfed.cli.values import place, words
from wellfed.sources import Source, Tar


@pack_command("tar", pictures=True)
@files_argument("files", type=place)
@source_option(
    "--tar-fields", type=words, metavar="EXT,...", help="Which members to keep, such as jpg,cls. Default: all."
)
def command(files: tuple[str, ...], tar_fields: tuple[str, ...] | None) -> Source:
    """Pack the items of WebDataset tars, FILES or patterns, into OUT.

    An item is the members that share a name up to its first dot: 17.jpg and 17.cls are a picture and its class.

    \b
    Example: wellfed pack tar 'shard-*.tar' out/ --name web
    """
    return Tar(files, tar_fields)
