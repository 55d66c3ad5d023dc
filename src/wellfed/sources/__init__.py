"""Raw formats. A source is a cheap listing of items plus `load(item)`; one file each."""

from wellfed.sources.arrays import Numpy
from wellfed.sources.base import ColumnSource, ListedSource, MappedSource, Place, RecordSource, Scan, Source
from wellfed.sources.binary import FixedBinary
from wellfed.sources.cifar import Cifar
from wellfed.sources.csvfile import Csv
from wellfed.sources.folders import ClassFolders
from wellfed.sources.items import Items
from wellfed.sources.listfile import ListFile
from wellfed.sources.listing import JoinedKeys, Listing, ListingBuilder, NumberedKeys, Skipped
from wellfed.sources.mnist import Mnist
from wellfed.sources.parquet import Parquet
from wellfed.sources.spooled import Spooled
from wellfed.sources.tar import Tar
from wellfed.sources.tfrecords import TFRecords
from wellfed.sources.wrap import as_source

__all__ = [
    "Cifar",
    "ClassFolders",
    "ColumnSource",
    "Csv",
    "FixedBinary",
    "Items",
    "JoinedKeys",
    "ListFile",
    "ListedSource",
    "Listing",
    "ListingBuilder",
    "MappedSource",
    "Mnist",
    "NumberedKeys",
    "Numpy",
    "Parquet",
    "Place",
    "RecordSource",
    "Scan",
    "Skipped",
    "Source",
    "Spooled",
    "TFRecords",
    "Tar",
    "as_source",
]
