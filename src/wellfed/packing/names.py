"""The shards' file names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellfed.datasets.tfds import shard_name
from wellfed.errors import PackError
from wellfed.packing.options import PLAIN_PATTERN

if TYPE_CHECKING:
    from wellfed.packing.options import PackOptions
    from wellfed.packing.plan import SplitPlan

_SUFFIXES = {"": "", "GZIP": ".gz", "GZIP_SEEKABLE": ".gz", "ZLIB": ".zlib"}


def shard_names(plans: list[SplitPlan], options: PackOptions) -> list[list[str]]:
    """Returns the file name of each shard of each split.

    Raises:
      PackError: The pattern has a field that is not known, or gives two shards one name.
    """
    names = [[_name(plan, shard, options) for shard in range(plan.shards)] for plan in plans]
    every = [name for of_split in names for name in of_split]
    if len(set(every)) < len(every):
        twice = next(name for name in every if every.count(name) > 1)
        pattern = options.name_pattern or PLAIN_PATTERN
        raise PackError(f"two shards would be {twice}: name them by {{split}} and {{shard}}", pattern)
    return names


def _name(plan: SplitPlan, shard: int, options: PackOptions) -> str:
    if options.layout == "tfds":
        return shard_name(options.name, plan.name, shard, plan.shards) + _SUFFIXES[options.compression]
    pattern = options.name_pattern or PLAIN_PATTERN
    try:
        name = pattern.format(name=options.name, split=plan.name, shard=shard, shards=plan.shards)
    except (KeyError, IndexError, ValueError) as error:
        raise PackError(
            f"expected a pattern of {{name}}, {{split}}, {{shard}} and {{shards}}: {error}", pattern
        ) from error
    if "/" in name or "\\" in name or name.startswith(".") or not name:
        raise PackError(f"expected a plain file name, got {name!r}", pattern)
    return name
