"""What packing is asked for: frozen, checked when made, and the same in Python, on the command line and on disk."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from wellfed.checks import flag, one_of, whole

Layout = Literal["tfds", "plain"]
Compression = Literal["", "GZIP", "ZLIB", "GZIP_SEEKABLE"]
OnError = Literal["raise", "skip", "quarantine"]
Encoding = Literal["keep", "jpeg", "png", "raw"]
Channels = Literal["rgb", "bgr", "grey"]

FIELDS = ("format", "height", "width", "channels")
# Between 100 MB and 1 GB: large enough for sequential reading, small enough to shuffle and to copy.
SHARD_BYTES = 256_000_000
PLAIN_PATTERN = "{name}_{split}_{shard:05d}.tfrecord"

_WORD = re.compile(r"[A-Za-z0-9]\w*", re.ASCII)
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def _word(name: str, value: Any) -> None:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f'{name} becomes part of file names: expected letters, digits and "_", got {value!r}')


def own_name(out: str | os.PathLike[str]) -> str:
    """Returns the name of a folder or URL, as far as it can be a data set's name."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in Path(os.fspath(out).rstrip("/")).name)
    return letters.strip("_") or "data"


def _size(name: str, value: Any, due: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, (tuple, list)):
        if name == "crop":
            raise ValueError(f"{name} must be {due}, got {value!r}")
        return whole(name, value, 1, "pixel")
    if len(value) != 2:
        raise ValueError(f"{name} must be {due}, got {value!r}")
    return tuple(whole(name, side, 1, "pixel") for side in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOptions:
    """What is done to pictures on their way into the shards. By default nothing: the original bytes are kept.

    Attributes:
      encoding: "keep" stores the bytes as they came (pixels of sources that hold arrays stay pixels); "jpeg" and
        "png" encode what is not in that format yet; "raw" stores pixels, which needs one size for all.
      channels: Turn pictures into RGB, BGR (with "raw" only) or grey; None keeps what each has.
      resize: (height, width), or the shorter side's length. [pixels] None keeps each size.
      crop: (height, width) cut from the middle, after resizing. [pixels]
      quality: Of a JPEG that is encoded, 1 to 100.
      exif: "apply" turns pictures upright as EXIF says; "keep" stores them as they are.
      fields: Which facts of the (only) picture are stored beside it: "format", "height", "width", "channels".
      check: Decode every picture, and refuse those that the decoder or Pillow cannot open. Without it, headers and
        ends are checked.
    """

    encoding: Encoding = "keep"
    channels: Channels | None = None
    resize: tuple[int, int] | int | None = None
    crop: tuple[int, int] | None = None
    quality: int = 95
    exif: Literal["keep", "apply"] = "keep"
    fields: tuple[str, ...] = ()
    check: bool = False

    def __post_init__(self) -> None:
        one_of("encoding", self.encoding, get_args(Encoding))
        one_of("channels", self.channels, (None, *get_args(Channels)))
        one_of("exif", self.exif, ("keep", "apply"))
        for field_name in self.fields:
            one_of("fields", field_name, FIELDS)
        flag("check", self.check)
        whole("quality", self.quality)
        if self.channels == "bgr" and self.encoding != "raw":
            raise ValueError('channels="bgr" needs encoding="raw": JPEG and PNG hold RGB')
        if not 1 <= self.quality <= 100:
            raise ValueError(f"quality must be from 1 to 100, got {self.quality}")
        object.__setattr__(self, "resize", _size("resize", self.resize, "(height, width) or one number"))
        object.__setattr__(self, "crop", _size("crop", self.crop, "(height, width)"))

    @property
    def reads_pictures(self) -> bool:
        """Whether pictures are looked at beyond their headers and ends."""
        return self != PictureOptions()

    @property
    def changes_pixels(self) -> bool:
        """Whether pictures may have to be decoded and encoded again, which is work for processes."""
        return self != PictureOptions(check=self.check, fields=self.fields)


class PackFields(TypedDict, total=False):
    """The fields of `PackOptions`, as keyword arguments."""

    name: str
    split: Mapping[str, float] | str | None
    stratify: bool
    shards: int | Mapping[str, int] | None
    shard_size: int
    seed: int
    shuffle: bool
    compression: Compression
    version: str | None
    layout: Layout
    name_pattern: str | None
    pictures: PictureOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """All that the bytes of a packed data set depend on, beside the source.

    Attributes:
      name: The data set's name, also in the shards' names: letters, digits and "_".
      split: Split to share, such as `{"train": 0.9, "test": 0.1}`; one name for all; None for the source's own splits,
        or "train" where it has none.
      stratify: Take the shares within each class, not over all.
      shards: How many shards each split gets; a mapping for each split its own.
      shard_size: As many shards as give about this many bytes each. [bytes] Used where `shards` is None.
      seed: Of the shuffle.
      shuffle: Whether the listing is shuffled, exactly and as a whole.
      compression: "", "GZIP", "ZLIB", or "GZIP_SEEKABLE": GZIP that wellfed reads at random.
      version: Such as "1.1.0": in a folder of its own in `out`, beside other versions. None: in `out` itself, as
        "1.0.0".
      layout: "tfds" names shards and writes metadata as TensorFlow Datasets does; "plain" writes shards only.
      name_pattern: Names of the shards of a plain layout, with {name}, {split}, {shard} and {shards}.
      pictures: What is done to pictures.
    """

    name: str
    split: Mapping[str, float] | str | None = None
    stratify: bool = False
    shards: int | Mapping[str, int] | None = None
    shard_size: int = SHARD_BYTES
    seed: int = 0
    shuffle: bool = True
    compression: Compression = ""
    version: str | None = None
    layout: Layout = "tfds"
    name_pattern: str | None = None
    pictures: PictureOptions = field(default_factory=PictureOptions)

    def __post_init__(self) -> None:
        one_of("layout", self.layout, get_args(Layout))
        one_of("compression", self.compression, get_args(Compression))
        _word("name", self.name)
        self._check_split()
        for count in self.shards.values() if isinstance(self.shards, Mapping) else (self.shards,):
            if count is not None:
                whole("shards", count, 1)
        size: Any = self.shard_size  # 256e6 is how people write it.
        size = int(size) if isinstance(size, float) and size.is_integer() else size
        object.__setattr__(self, "shard_size", whole("shard_size", size, 1, "byte"))
        whole("seed", self.seed)
        flag("stratify", self.stratify)
        flag("shuffle", self.shuffle)
        if not isinstance(self.pictures, PictureOptions):
            reason = f"pictures must be PictureOptions(...), got {self.pictures!r}"
            raise ValueError(reason)  # noqa: TRY004 -- as every other option.
        if self.version is not None and not (isinstance(self.version, str) and _VERSION.fullmatch(self.version)):
            raise ValueError(f'version must be three numbers such as "1.1.0", got {self.version!r}')
        if self.name_pattern is not None and self.layout != "plain":
            raise ValueError('name_pattern needs layout="plain"; layout="tfds" has its own names')

    def _check_split(self) -> None:
        if isinstance(self.split, str):
            _word("split", self.split)
        elif self.split is not None:
            if not isinstance(self.split, Mapping):
                due = 'a name, or shares such as {"train": 0.9, "test": 0.1}'
                raise ValueError(f"split must be {due}, got {self.split!r}")  # noqa: TRY004 -- as every other option.
            for name, share in self.split.items():
                _word("split", name)
                if not isinstance(share, Real) or not share > 0:
                    raise ValueError(f"the share of split {name!r} must be above 0, got {share!r}")
            total = sum(self.split.values())
            if abs(total - 1) > 1e-6:
                raise ValueError(f"the shares of the splits must add up to 1, got {total:g} from {dict(self.split)}")

    def to_json(self) -> dict[str, Any]:
        """Returns the options as JSON values; equal options give equal values."""
        values = {**asdict(self), "pictures": asdict(self.pictures)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
