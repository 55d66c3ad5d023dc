"""Packing: a source to TFRecord shards, shuffled, split, and whole or not at all."""

from wellfed.packing.api import pack, pack_with, plan_pack
from wellfed.packing.options import PackOptions, PictureOptions
from wellfed.packing.progress import Progress
from wellfed.packing.remake import remake_shard
from wellfed.packing.report import PackPlan, PackReport, PlannedSplit

__all__ = [
    "PackOptions",
    "PackPlan",
    "PackReport",
    "PictureOptions",
    "PlannedSplit",
    "Progress",
    "pack",
    "pack_with",
    "plan_pack",
    "remake_shard",
]
