"""Packing: a source to TFRecord shards, shuffled, split, and whole or not at all."""

from wellfed.packing.api import pack, pack_with, plan_pack
from wellfed.packing.dask import dask_executor
from wellfed.packing.export import ExportReport, export
from wellfed.packing.options import PackOptions, PictureOptions
from wellfed.packing.progress import Progress
from wellfed.packing.ray import RayExecutor, ray_executor
from wellfed.packing.remake import remake_shard
from wellfed.packing.report import PackPlan, PackReport, PlannedSplit

__all__ = [
    "ExportReport",
    "PackOptions",
    "PackPlan",
    "PackReport",
    "PictureOptions",
    "PlannedSplit",
    "Progress",
    "RayExecutor",
    "dask_executor",
    "export",
    "pack",
    "pack_with",
    "plan_pack",
    "ray_executor",
    "remake_shard",
]
