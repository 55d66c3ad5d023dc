"""Input pipelines: `tf.data` over the feed."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellfed import feed
from wellfed.compat import experimental
from wellfed.compat.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from wellfed.compat.dataset_files import named_files, records
from wellfed.compat.deferred.eager import plain
from wellfed.compat.graphs import ConfigProto as Options
from wellfed.compat.io import TFRecordOptions
from wellfed.compat.iterators import DatasetIterator as Iterator
from wellfed.compat.iterators import OneShotIterator
from wellfed.compat.missing import refuse
from wellfed.compat.readers import FixedLengthRecordReader, ReaderBase, TextLineReader
from wellfed.compat.tracing import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Generator


class TFRecordDataset(Dataset):
    """The records of TFRecord files. See `wellfed.TFRecordDataset`.

    Args:
      filenames: A name, several, or a data set of names.
      compression_type: "", "GZIP" or "ZLIB".
      buffer_size: Ignored.
      num_parallel_reads: Ignored: all threads read, and the order is that of the files.
      name: Ignored.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, num_parallel_reads, name
        files = named_files(filenames)
        compression = TFRecordOptions(plain(compression_type)).compression_type
        super().__init__(records(files, compression), TensorSpec([], "string"), files=files)


class TextLineDataset(Dataset):
    """The lines of text files, without their ends.

    Args:
      filenames: A name, several, or a data set of names.
      compression_type: Only None or "".
      buffer_size: Ignored.
      num_parallel_reads: Ignored.
      name: Ignored.

    Raises:
      NotImplementedError: A compression is given.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, num_parallel_reads, name
        if compression_type:
            raise NotImplementedError(
                "TextLineDataset reads plain files here: gzip.open in from_generator reads others"
            )
        files = named_files(filenames)
        super().__init__(feed.from_generator(lambda: _pieces(TextLineReader(), files)), TensorSpec([], "string"))


class FixedLengthRecordDataset(Dataset):
    """The pieces of files that hold pieces of one length.

    Args:
      filenames: A name, several, or a data set of names.
      record_bytes: The length of a piece. [bytes]
      header_bytes: Left out at the beginning of each file. [bytes]
      footer_bytes: Left out at its end. [bytes]
      buffer_size: Ignored.
      compression_type: Only None or "".
      num_parallel_reads: Ignored.
      name: Ignored.

    Raises:
      NotImplementedError: A compression is given.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del buffer_size, num_parallel_reads, name
        if compression_type:
            raise NotImplementedError("FixedLengthRecordDataset reads plain files here")
        files = named_files(filenames)
        size, header, footer = (int(plain(size or 0)) for size in (record_bytes, header_bytes, footer_bytes))
        reader = FixedLengthRecordReader(size, header, footer)
        super().__init__(feed.from_generator(lambda: _pieces(reader, files)), TensorSpec([], "string"))


def _pieces(reader: ReaderBase, files: list[str]) -> Generator[bytes, None, None]:
    for file in files:
        for _, piece in reader.pieces(str(Path(file))):
            yield piece


def make_one_shot_iterator(dataset: Dataset) -> OneShotIterator:
    """Gives the deferred iterator of TensorFlow 1: each session goes through the elements once."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> OneShotIterator:
    """Gives the deferred iterator of TensorFlow 1 whose `initializer` begins anew."""
    return dataset.make_initializable_iterator(shared_name)


def get_output_shapes(dataset: Dataset) -> Any:
    """Gives what is known of the shapes of an element."""
    return dataset.output_shapes


def get_output_types(dataset: Dataset) -> Any:
    """Gives the dtypes of an element."""
    return dataset.output_types


__getattr__ = functools.partial(refuse, "data")

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
