"""Where data sets begin: arrays, ranges, TFRecord files, and packed data sets on disk."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.datasets import is_dataset, open_dataset, scan_files
from wellfed.errors import DatasetError, PlanError
from wellfed.example import infer_spec
from wellfed.feed import plan
from wellfed.feed.dataset import Dataset
from wellfed.feed.readers import Readers
from wellfed.feed.transforms import DecodeSchema, ParseSchema, picture_decoders
from wellfed.feed.tree import Tree, leaves, map_tree
from wellfed.io import expand_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wellfed.example import FeatureSpec
    from wellfed.feed.parsing import Features
    from wellfed.io import RemoteOptions

PathLike = str | os.PathLike[str]

_SCANNED = 1000  # Records that tell which features there are.
_PICTURES = {"jpeg", "png", "gif", "webp"}


def from_arrays(columns: Tree) -> Dataset:
    """A data set whose elements are the rows of columns in memory. Addressable.

    Args:
      columns: An array, `Bytes`, `Ragged` or `Sparse`, or a mapping or tuple of such, all of one length. Lists
        become arrays. Kept, not copied, so do not change them while they are read; what is delivered are copies.

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
    if isinstance(column, (Bytes, Ragged, Sparse)):
        return column
    try:
        array = np.asarray(column)
    except ValueError:
        what = "rows differ in shape, so they are no array: wf.Ragged.from_list(rows, dtype) makes a column of them"
        raise PlanError("from_arrays", what) from None
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
    features: Features | Literal["infer"] | None = None,
    compression_type: str | None = None,
    *,
    on_damage: str = "raise",
    check_crc: bool = True,
    remote: RemoteOptions | None = None,
) -> Dataset:
    """The records of TFRecord files, in the order of the files. Addressable.

    Args:
      filenames: A path or pattern, or several. The matches of a pattern are sorted, numbers by value.
      features: What to parse each record into, by columns. None: elements are the records' bytes.
        A mapping, such as `{"x": FixedLenFeature([], np.int64)}`: elements are mappings, batches hold a column each.
        `SequenceFeatures`, or `VersionedFeatures`: see `Dataset.parse`. "infer": those that the first 1,000 records
        have, as `infer_spec` finds them; write them down once you know them, since later records may differ.
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
      >>> wf.TFRecordDataset(f"{folder.name}/*.tfrecord", "infer").element_spec
      {'x': TensorSpec(shape=(), dtype=dtype('int64'))}
      >>> folder.cleanup()
    """
    if not isinstance(filenames, (str, os.PathLike, Iterable)):
        raise PlanError("TFRecordDataset", f"a path, a pattern or several are due, got {filenames!r}")
    files = tuple(expand_patterns(filenames))
    if features == "infer":
        features = infer_features(files, compression_type, remote, on_damage=on_damage, check_crc=check_crc)[0]
    records = _over(plan.Records(files, None, compression_type, on_damage, check_crc, remote))
    return records if features is None else records.parse(features)


def open(  # noqa: A001 -- wf.open, as gzip.open and PIL.Image.open.
    path: PathLike | Sequence[PathLike],
    split: str | None = None,
    *,
    features: Features | Literal["infer"] | None = None,
    decode: bool = True,
    on_damage: str = "raise",
    check_crc: bool = True,
    remote: RemoteOptions | None = None,
) -> Dataset:
    """Opens a data set: a folder that `wellfed pack` or TensorFlow Datasets wrote, or TFRecord files. Addressable.

    Args:
      path: The folder, or its URL; or a file, a pattern, or several, which is `TFRecordDataset(path, features)`.
      split: Which split of a folder's, such as "train"; may be left out where there is only one.
      features: What to parse instead of the folder's own schema; as in `TFRecordDataset`.
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
    if isinstance(path, (str, os.PathLike)):
        for file in expand_patterns(path):
            if "://" not in file and not os.path.exists(file):  # noqa: PTH110 -- a str, as patterns give.
                raise FileNotFoundError(errno.ENOENT, "nothing is there: no file and no folder of a data set", file)
    return TFRecordDataset(path, features, on_damage=on_damage, check_crc=check_crc, remote=remote)


def infer_features(
    files: Sequence[str],
    compression_type: str | None = None,
    remote: RemoteOptions | None = None,
    *,
    on_damage: str = "raise",
    check_crc: bool = True,
    required: bool = True,
) -> tuple[dict[str, FeatureSpec], list[str]]:
    """What the first 1,000 records of some files hold.

    Args:
      files: Paths or URLs.
      compression_type: Of the files; None has it told from the content.
      remote: How URLs are read; None for the usual way.
      on_damage: As in `TFRecordDataset`.
      check_crc: As in `TFRecordDataset`.
      required: Whether records without any feature are an error.

    Returns:
      The features that read them, and which of them are encoded pictures.

    Raises:
      MalformedExampleError: A record is no Example.
      DatasetError: There is no feature, and one is `required`.
    """
    scan = scan_files(files, compression_type, limit=_SCANNED, on_damage=on_damage, check_crc=check_crc, remote=remote)
    features = dict(infer_spec(scan).features)
    if not features and required:
        seen = f"none of the first {scan.records:,} records" if scan.records else "no record, so none"
        reason = f"features cannot be inferred: {seen} holds a feature whose kind is known"
        raise DatasetError(f"{reason}; without features= a feed gives the records' bytes", ", ".join(files[:3]))
    return features, [name for name in features if _PICTURES & set(scan.features[name].looks)]


def _open_folder(
    path: PathLike,
    split: str | None,
    features: Features | Literal["infer"] | None,
    decode: bool,
    **options: Any,
) -> Dataset:
    found = open_dataset(path)
    if split is None and len(found.splits) == 1:
        (split,) = found.splits
    if split is None or split not in found.splits:
        names = ", ".join(map(repr, found.splits))
        asked = "which split?" if split is None else f"there is no split {split!r}."
        raise DatasetError(f"{asked} This data set has {names}; name one with split=... (--split)", str(path))
    dataset = _over(plan.Records(tuple(found.splits[split].files), None, found.compression, **options))
    if features == "infer":
        features = infer_features(found.splits[split].files, found.compression, **options)[0]
    if features is not None:
        return dataset.parse(features)
    if found.schema.records == "Example":
        dataset = dataset.parse(found.schema.features())
    else:
        dataset = dataset.map(ParseSchema(found.schema))
    if decode:
        dataset = dataset.map(DecodeSchema(found.schema))
        for decoder in picture_decoders(found.schema):
            dataset = dataset.map(decoder)
    return dataset


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Sequence[float] | None = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
    rerandomize_each_iteration: bool = False,
) -> Dataset:
    """Elements of several data sets: which one gives the next is drawn. Replayable.

    `Dataset.mix` gives exact shares instead of drawn ones, and stays addressable.

    Args:
      datasets: At least one.
      weights: How likely each is; they need not sum to 1. Equal where None.
      seed: The same seed draws the same. None: the run's.
      stop_on_empty_dataset: End when a data set that was drawn has ended; else the others go on.
      rerandomize_each_iteration: Draw anew in each epoch.

    Raises:
      PlanError: There is no data set, or weights are missing, negative or all 0.

    Differs from tf.data:
      Other numbers are drawn from the same seed. Weights are numbers, not a data set of them.

    Example:
      >>> from wellfed.feed import range, sample_from_datasets
      >>> drawn = [int(n) for n in sample_from_datasets([range(3), range(10, 13)], seed=0)]
      >>> sorted(drawn), [n for n in drawn if n < 10]
      ([0, 1, 2, 10, 11, 12], [0, 1, 2])
    """
    first, *others = _several("sample_from_datasets", datasets)
    shares = (1.0,) * len(datasets) if weights is None else tuple(float(weight) for weight in weights)
    if len(shares) != len(datasets) or min(shares) < 0 or not sum(shares) > 0:
        raise PlanError(
            "sample_from_datasets", f"{len(datasets)} weights are due, not negative and not all 0; got {shares}"
        )

    if not others:
        return first

    def make(sources: tuple[plan.Node, ...]) -> plan.Node:
        return plan.SampleFromDatasets(sources, shares, seed, stop_on_empty_dataset, rerandomize_each_iteration)

    return first._over("sample_from_datasets", make, others)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
) -> Dataset:
    """Elements of several data sets: another data set names the one that gives the next. Replayable.

    Args:
      datasets: At least one.
      choice_dataset: Whole numbers, from 0 to one less than there are data sets.
      stop_on_empty_dataset: End when a data set that was named has ended; else it is passed over.

    Raises:
      PlanError: There is no data set. At iteration: a choice is no such number.

    Example:
      >>> from wellfed.feed import choose_from_datasets, range
      >>> choices = range(2).repeat(3)
      >>> [int(n) for n in choose_from_datasets([range(3), range(10, 13)], choices)]
      [0, 10, 1, 11, 2, 12]
    """
    _several("choose_from_datasets", [*datasets, choice_dataset] if datasets else [])

    def make(sources: tuple[plan.Node, ...]) -> plan.Node:
        return plan.ChooseFromDatasets(sources, stop_on_empty_dataset)

    return choice_dataset._over("choose_from_datasets", make, datasets)


def _several(verb: str, datasets: Sequence[Dataset]) -> Sequence[Dataset]:
    if not datasets:
        raise PlanError(verb, "at least one data set is due, got none")
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise PlanError(verb, f"a data set is due, got {type(dataset).__name__}")
    return datasets


def _over(source: plan.Source) -> Dataset:
    return Dataset(source, Readers([source]))
