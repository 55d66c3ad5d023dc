"""Raw formats. A source is a cheap listing of items plus `load(item)`; one file each."""

from wellfed.sources.base import ListedSource, Scan, Source
from wellfed.sources.folders import ClassFolders
from wellfed.sources.listing import JoinedKeys, Listing, ListingBuilder, NumberedKeys, Skipped
from wellfed.sources.mnist import Mnist

__all__ = [
    "ClassFolders",
    "JoinedKeys",
    "ListedSource",
    "Listing",
    "ListingBuilder",
    "Mnist",
    "NumberedKeys",
    "Scan",
    "Skipped",
    "Source",
]
