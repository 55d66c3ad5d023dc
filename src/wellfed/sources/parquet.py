"""Parquet, through pyarrow.

A Parquet file can be read by row groups only, and a row of one is wanted at a time, in any order. So before the first
row is read, the columns asked for are laid out once as an Arrow file in the temporary folder, one row group after
another; that file is mapped by every process, and goes with the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wellfed.datasets import ByteString, ClassLabel, FeatureType, Image, Scalar, Schema, Sequence, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources.base import ListedSource, Place, Scan
from wellfed.sources.listing import Listing, NumberedKeys
from wellfed.sources.parquetspool import ParquetSpool, laid_batches, normal, open_parquet, pyarrow_module
from wellfed.sources.paths import Paths, existing_files, group_names
from wellfed.sources.sniff import HEAD_BYTES, describe, image_kind
from wellfed.sources.types import type_of_array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as SequenceOf

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Parquet(ListedSource):
    """The rows of Parquet files: a value for each column. Needs pyarrow: `pip install "wellfed[pyarrow]"`.

    Numbers, texts and bytes keep their type; numbers that an Example cannot hold, such as float64, keep their memory
    in a byte string. Bytes that begin like a picture are an `Image`, also in the structs (bytes, path) of Hugging
    Face's data sets. Lists of numbers are `Tensor`s of unknown length. Dates and times become the int64 that Parquet
    holds, in the column's unit. Missing floats are NaN; a row with another missing value fails when it is loaded.

    Attributes:
      paths: A file, several with the same columns, or a pattern.
      label: The column that is the class: numbers from 0, or names, which are sorted by code point and become
        `ClassLabel`.
      columns: The columns to keep, all if not given.

    Raises:
      MissingExtraError: pyarrow is not installed.
      SourceError: A file is no Parquet, has other columns than the first, none of those asked for, or one whose type
        has no place in an Example.

    Memory: 32 bytes a row. Disk: the columns uncompressed, in the temporary folder, from the first row that is read
    (or the first pickling) until the source ends.
    """

    paths: Paths
    label: str | None = None
    columns: SequenceOf[str] | None = None

    def __post_init__(self) -> None:
        pyarrow_module()
        object.__setattr__(self, "paths", existing_files(self.paths))

    def scan(self) -> Scan:
        """Reads the files' ends, where their columns and counts are, and the column of the class."""
        paths = cast("tuple[str, ...]", self.paths)
        schema = open_parquet(paths[0]).schema_arrow
        names = self._used(schema.names)
        counts, sizes = {}, []
        for group, path in zip(group_names(paths), paths, strict=True):
            file = open_parquet(path)
            if not file.schema_arrow.equals(schema):
                raise SourceError(f"has other columns or types than {paths[0]}. Pack it by itself", path)
            counts[group] = file.metadata.num_rows
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            sizes += [np.full(one.num_rows, one.total_byte_size // max(1, one.num_rows), np.int64) for one in groups]
        if not sum(counts.values()):
            raise SourceError("holds no row", paths[0])
        types = {name: _feature_type(name, schema.field(name).type, paths[0]) for name in names}
        labels = None
        if self.label is not None:
            types[self.label], labels = self._classes(types[self.label])
        listing = Listing(NumberedKeys.of_counts(counts), np.concatenate(sizes), labels)
        return Scan(Schema(types), listing, ParquetSpool(paths, names))

    def load(self, index: int) -> dict[str, Any]:
        """Copies row `index` out of the Arrow file; arrays are read-only."""
        listing, spool = self.listing(), cast("ParquetSpool", self.kept)
        assert isinstance(listing.keys, NumberedKeys)
        columns, at = spool.locate(int(listing.keys.rows[index]))
        item = {}
        for name, kind in self.schema.items():
            try:
                if name == self.label and listing.labels is not None:
                    item[name] = _class(int(listing.labels[index]))
                else:
                    item[name] = _value(columns[name][at], kind)
            except ValueError as error:
                file, number = listing.keys.locate(index)
                path = cast("tuple[str, ...]", self.paths)[file]
                raise SourceError(f"row {number}: column {name!r} {error}", path) from error
        return item

    def places(self, start: int, stop: int) -> Iterator[Place]:
        """See `MappedSource`."""
        listing, spool = self.listing(), cast("ParquetSpool", self.kept)
        assert isinstance(listing.keys, NumberedKeys)
        yield from spool.places(listing.keys.rows[start:stop])

    def load_columns(self, start: int, stop: int) -> dict[str, Any] | None:
        """Copies the rows from `start` to `stop`; see `ColumnSource`."""
        listing, spool = self.listing(), cast("ParquetSpool", self.kept)
        assert isinstance(listing.keys, NumberedKeys)
        taken = spool.take(listing.keys.rows[start:stop])
        columns: dict[str, Any] = {}
        try:
            for name, kind in self.schema.items():
                is_class = name == self.label and listing.labels is not None
                columns[name] = listing.labels[start:stop] if is_class else _column(taken[name], kind)  # type: ignore[index]  # not None
        except ValueError:
            return None
        return None if self.label in columns and (columns[self.label] < 0).any() else columns

    def _used(self, names: list[str]) -> tuple[str, ...]:
        asked = (*(self.columns or names), *([self.label] if self.label else []))
        if twice := [name for name in asked if names.count(name) > 1]:
            path = cast("tuple[str, ...]", self.paths)[0]
            raise SourceError(f"has {names.count(twice[0])} columns named {twice[0]!r}. Rename all but one", path)
        if unknown := [name for name in asked if name not in names]:
            path = cast("tuple[str, ...]", self.paths)[0]
            raise SourceError(f"has no column {unknown[0]!r}; it has {', '.join(names)}", path)
        return tuple(dict.fromkeys(asked))

    def _classes(self, kind: FeatureType) -> tuple[FeatureType, NDArray[np.int64]]:
        """The type of the class column, and the class of each row."""
        compute, path = pyarrow_module("compute"), cast("tuple[str, ...]", self.paths)[0]
        parts = [batch.column(0) for batch in laid_batches(cast("tuple[str, ...]", self.paths), (self.label or "",))]
        column = pyarrow_module().chunked_array(parts)
        if isinstance(kind, Text):
            names = sorted(column.drop_null().unique().to_pylist())
            numbers = compute.index_in(column, value_set=pyarrow_module().array(names, column.type))
            return ClassLabel(tuple(names)), numbers.fill_null(-1).to_numpy().astype(np.int64)
        if not (isinstance(kind, Scalar) and kind.dtype.kind in "iub"):
            raise SourceError(f"column {self.label!r} is {kind}; a class is a name or a whole number", path)
        if (lowest := compute.min(column.drop_null().cast("int64")).as_py() or 0) < 0:
            raise SourceError(f"column {self.label!r} holds the class {lowest}; classes count from 0", path)
        numbers = column.cast("int64").fill_null(-1).to_numpy()
        return ClassLabel(num_classes=int(numbers.max()) + 1), numbers


def _column(column: Any, kind: FeatureType) -> Any:
    """Many cells' values.

    Raises:
      ValueError: As `_value`, without saying which of them it is.
    """
    if isinstance(kind, Scalar | Tensor) and not getattr(kind, "shape", ()):
        if column.null_count and kind.dtype.kind != "f":
            raise ValueError("has cells without a value")
        return column.to_numpy(zero_copy_only=False).astype(kind.dtype)
    if isinstance(kind, Text | ByteString) and not column.null_count:
        return column.to_pylist()
    return [_value(scalar, kind) for scalar in column]


def _class(label: int) -> int:
    if label < 0:
        raise ValueError("has no value; a class is due")
    return label


def _value(scalar: Any, kind: FeatureType) -> Any:
    """A cell's value.

    Raises:
      ValueError: It is missing, or is no picture where pictures are due.
    """
    if not scalar.is_valid:
        if isinstance(kind, Scalar | Tensor) and kind.dtype.kind == "f" and not getattr(kind, "shape", ()):
            return float("nan")
        raise ValueError("has no value. Fill it, or leave the column out with columns=[...] (--columns)")
    if isinstance(kind, Tensor) and kind.shape:
        if scalar.values.null_count and kind.dtype.kind != "f":
            raise ValueError(
                "has a list with missing values. Fill them, or leave the column out with columns=[...] (--columns)"
            )
        return scalar.values.to_numpy(zero_copy_only=False)
    value = scalar.as_py()
    if isinstance(kind, Image) and image_kind(value[:HEAD_BYTES]) is None:
        raise ValueError(f"is no picture but {describe(value[:HEAD_BYTES])}")
    return value


def _feature_type(name: str, stored: Any, path: str) -> FeatureType:
    """The feature type of a column, from its type in Parquet."""
    types = pyarrow_module("types")
    if types.is_dictionary(stored):
        return _feature_type(name, stored.value_type, path)
    if types.is_temporal(stored) and not types.is_interval(stored):
        return Scalar(np.int64)
    if _is_binary(stored):
        return Image() if _begins_like_a_picture(name, path) else ByteString()
    if types.is_struct(stored) and {field.name for field in stored} == {"bytes", "path"}:
        return Image() if _begins_like_a_picture(name, path) else ByteString()
    kind = _list_type(stored) if _is_list(stored) else _leaf_type(stored)
    if kind is None:
        raise SourceError(
            f"column {name!r} is {stored}, which has no place here. Leave it out with columns=[...] (--columns)", path
        )
    return kind


def _leaf_type(stored: Any) -> FeatureType | None:
    types = pyarrow_module("types")
    if types.is_string(stored) or types.is_large_string(stored):
        return Text()
    if _is_binary(stored):
        return ByteString()
    if types.is_boolean(stored) or types.is_integer(stored) or types.is_floating(stored):
        # Not to_pandas_dtype(): before 26, pyarrow asks for pandas in it.
        return type_of_array((), pyarrow_module().array([], stored).to_numpy(zero_copy_only=False).dtype)
    return None


def _list_type(stored: Any) -> FeatureType | None:
    types, inner = pyarrow_module("types"), stored.value_type
    if _is_list(inner):
        deeper = _list_type(inner)
        if isinstance(deeper, Tensor):  # A Sequence holds Tensors of one shape alone.
            deeper = Sequence(Scalar(deeper.dtype)) if deeper.shape == (None,) else deeper
        return None if deeper is None else Sequence(deeper)
    leaf = _leaf_type(inner)
    if isinstance(leaf, Text | ByteString):
        return Sequence(leaf)
    if isinstance(leaf, Scalar | Tensor):
        size = stored.list_size if types.is_fixed_size_list(stored) else None
        return type_of_array((size,), leaf.dtype)
    return None


def _is_list(stored: Any) -> bool:
    types = pyarrow_module("types")
    return bool(types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored))


def _is_binary(stored: Any) -> bool:
    types = pyarrow_module("types")
    return bool(types.is_binary(stored) or types.is_large_binary(stored) or types.is_fixed_size_binary(stored))


def _begins_like_a_picture(name: str, path: str) -> bool:
    """Whether the first value of a column of bytes is a picture."""
    for batch in open_parquet(path).iter_batches(1, columns=[name]):
        if (value := normal(batch.column(name))[0]).is_valid:
            return image_kind(value.as_py()[:HEAD_BYTES]) is not None
    return False
