"""Where data sets begin: arrays, ranges, TFRecord files, and packed data sets on disk."""

from __future__ import annotations

import builtins
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes, Ragged
from wellfed.datasets import is_dataset, open_dataset
from wellfed.errors import DatasetError, PlanError
from wellfed.feed import plan
from wellfed.feed.dataset import Dataset
from wellfed.feed.readers import Readers
from wellfed.feed.transforms import DecodeSchema, picture_decoders
from wellfed.feed.tree import Tree, leaves, map_tree
from wellfed.io import expand_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wellfed.example import FeatureSpec
    from wellfed.io import RemoteOptions

PathLike = str | os.PathLike[str]


def from_arrays(columns: Tree) -> Dataset:
    """A data set whose elements are the rows of columns in memory. Addressable.

    Args:
      columns: An array, `Bytes` or `Ragged`, or a mapping or tuple of such, all of one length. Lists become arrays.
        Kept, not copied, so do not change them while they are read; what is delivered are copies.

    Raises:
      PlanError: There is no column, or their lengths differ.
    """
    columns = map_tree(_as_column, columns)
    lengths = {path: len(column) for path, column in leaves(columns)}
    if not lengths:
        raise PlanError("from_arrays", "at least one column is due, got none")
    first, length = next(iter(lengths.items()))
    for path, other in lengths.items():
        if other != length:
            raise PlanError(
                "from_arrays", f"all columns need one length; {first} has {length} rows and {path} has {other}"
            )
    return _over(plan.Arrays(columns, length))


def _as_column(column: object) -> object:
    if isinstance(column, (Bytes, Ragged)):
        return column
    array = np.asarray(column)
    if not array.ndim:
        raise PlanError("from_arrays", f"a column needs at least 1 dimension, got {column!r}")
    return array


def range(*arguments: int) -> Dataset:  # noqa: A001 -- tf.data's name.
    """The int64 numbers of Python's `range(*arguments)`. Addressable.

    Example:
      >>> from wellfed.feed import range
      >>> [int(n) for n in range(2, 8, 3)]
      [2, 5]
    """
    return _over(plan.Range(builtins.range(*arguments)))


def from_generator(generator: Callable[[], Iterable[Any]]) -> Dataset:
    """The elements of a Python iterable, in one thread. Opaque: forward only, and it cannot resume in the middle.

    Args:
      generator: Called once an epoch; gives an iterable of elements.

    Differs from tf.data:
      Types and shapes are what the elements have: there is no `output_signature`.

    Example:
      >>> from wellfed.feed import from_generator
      >>> [int(n) for n in from_generator(lambda: iter([1, 2, 3])).batch(2).unbatch()]
      [1, 2, 3]
    """
    if not callable(generator):
        raise PlanError("from_generator", f"a function that gives an iterable is due, got {type(generator).__name__}")
    return _over(plan.Generator(generator))


def list_files(pattern: PathLike | Sequence[PathLike], *, shuffle: bool = False, seed: int | None = None) -> Dataset:
    """The paths that match a pattern, as bytes. Addressable.

    Args:
      pattern: A path or pattern, or several.
      shuffle: Put them into another order in each epoch.
      seed: As in `Dataset.shuffle`.

    Raises:
      FileNotFoundError: A pattern matches nothing.

    Differs from tf.data:
      Sorted, and not shuffled unless asked.
    """
    files = from_arrays(Bytes.from_list(expand_patterns(pattern)))
    return files.shuffle(seed=seed) if shuffle else files


def TFRecordDataset(  # noqa: N802 -- tf.data's name.
    filenames: PathLike | Sequence[PathLike],
    features: Mapping[str, FeatureSpec] | None = None,
    compression_type: str | None = None,
    *,
    on_damage: str = "raise",
    check_crc: bool = True,
    remote: RemoteOptions | None = None,
) -> Dataset:
    """The records of TFRecord files, in the order of the files. Addressable.

    Args:
      filenames: A path or pattern, or several. The matches of a pattern are sorted, numbers by value.
      features: What to parse each record into, such as `{"x": FixedLenFeature([], np.int64)}`: elements are mappings,
        batches hold one column a feature, and all is parsed by columns. None: elements are the records' bytes.
      compression_type: "", "GZIP" or "ZLIB"; None: told from the content of each file. To reach a row, its whole GZIP
        member is inflated; a seekable GZIP has small ones.
      on_damage: "raise", or "skip": damaged records are found by a check of all sums when the files are indexed, and
        left out before the order starts.
      check_crc: Prove the sum of each payload. The header's is always proved.
      remote: How files behind URLs are read: what is fetched ahead, tried again, and kept on disk (docs/remote.md).

    Raises:
      FileNotFoundError: A pattern matches nothing.
      PlanError: An option has a value that is none.
      ValueError: `features` cannot be compiled.

    Differs from tf.data.TFRecordDataset:
      Takes patterns, and parses by itself where it is given `features`. Has a length, and an exact `shuffle`. Files are
      read in order by all threads together, so there is no `num_parallel_reads` and no `buffer_size`.

    Example:
      >>> import numpy as np, tempfile, wellfed as wf
      >>> folder = tempfile.TemporaryDirectory()
      >>> with wf.TFRecordWriter(f"{folder.name}/numbers.tfrecord") as writer:
      ...     for x in [4, 5, 6]:
      ...         writer.write(wf.encode_example({"x": x}))
      >>> dataset = wf.TFRecordDataset(f"{folder.name}/*.tfrecord", {"x": wf.FixedLenFeature([], np.int64)})
      >>> [batch["x"].tolist() for batch in dataset.batch(2)]
      [[4, 5], [6]]
      >>> folder.cleanup()
    """
    files = tuple(expand_patterns(filenames))
    spec = None if features is None else dict(features)
    return _over(plan.Records(files, spec, compression_type, on_damage, check_crc, remote))


def open(  # noqa: A001 -- wf.open, as gzip.open and PIL.Image.open.
    path: PathLike | Sequence[PathLike],
    split: str | None = None,
    *,
    features: Mapping[str, FeatureSpec] | None = None,
    decode: bool = True,
    on_damage: str = "raise",
    check_crc: bool = True,
    remote: RemoteOptions | None = None,
) -> Dataset:
    """Opens a data set: a folder that `wellfed pack` or TensorFlow Datasets wrote, or TFRecord files. Addressable.

    Args:
      path: The folder, or its URL; or a file, a pattern, or several, which is `TFRecordDataset(path, features)`.
      split: Which split of a folder's, such as "train"; may be left out where there is only one.
      features: What to parse instead of the folder's own schema.
      decode: Decode pictures and the like as the schema says. False leaves what is stored, such as encoded pictures.
      on_damage: As in `TFRecordDataset`.
      check_crc: As in `TFRecordDataset`.
      remote: As in `TFRecordDataset`.

    Raises:
      DatasetError: The folder holds no data set, or no such split.
      FileNotFoundError: Nothing is there.
    """
    if isinstance(path, (str, os.PathLike)) and is_dataset(path):
        return _open_folder(path, split, features, decode, on_damage=on_damage, check_crc=check_crc, remote=remote)
    if split is not None:
        raise DatasetError("only the folder of a data set has splits; this is no folder", str(path))
    return TFRecordDataset(path, features, on_damage=on_damage, check_crc=check_crc, remote=remote)


def _open_folder(
    path: PathLike,
    split: str | None,
    features: Mapping[str, FeatureSpec] | None,
    decode: bool,
    **options: Any,
) -> Dataset:
    found = open_dataset(path)
    if split is None and len(found.splits) == 1:
        (split,) = found.splits
    if split is None or split not in found.splits:
        names = ", ".join(map(repr, found.splits))
        asked = "which split?" if split is None else f"there is no split {split!r}."
        raise DatasetError(f"{asked} This data set has {names}", str(path))
    spec = dict(found.schema.features() if features is None else features)
    dataset = _over(plan.Records(tuple(found.splits[split].files), spec, found.compression, **options))
    if features is None and decode:
        dataset = dataset.map(DecodeSchema(found.schema))
        for decoder in picture_decoders(found.schema):
            dataset = dataset.map(decoder)
    return dataset


def _over(source: plan.Source) -> Dataset:
    return Dataset(source, Readers([source]))
