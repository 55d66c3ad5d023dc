"""Verbs that make one element of one: parsed, numbered, with fewer columns; and batches of rows of any length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.parsing import parse_records
from wellfed.feed.specs import is_dense, spec_of
from wellfed.feed.transforms import SelectColumns
from wellfed.feed.tree import leaves
from wellfed.io.files import is_url, local_path

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from wellfed.feed.dataset import Dataset
    from wellfed.feed.parsing import Features


_MEMORY_BYTES, _FILE_BYTES = 1 << 30, 1 << 40  # Where cache() is told no limit.


class ElementVerbs(ABC):
    """What can be asked of a data set's elements; `Dataset` says what holds for all verbs."""

    _node: plan.Node

    @abstractmethod
    def _with(self, node: plan.Node) -> Dataset: ...

    @abstractmethod
    def map(self, function: Callable[..., Any] | plan.Transform) -> Dataset:
        """See `Dataset.map`."""

    def _need_rows(self, verb: str) -> None:
        if not plan.is_addressable(self._node):
            lost = plan.lost_by(self._node)
            raise PlanError(verb, f"needs rows by number, which {lost} lost; put {verb} before it")

    def parse(self, features: Features) -> Dataset:
        """Parses records (bytes) by columns; after `batch`, whole batches of them. Addressable.

        Args:
          features: A mapping of names to features: elements are mappings. `SequenceFeatures`: elements are the tuple of
            context, feature lists and their lengths, as of `parse_sequence_example`. `VersionedFeatures`: mappings, in
            which what older records lack is filled.

        Raises:
          ValueError: The features cannot be compiled.
          ExampleError: At iteration: a record does not fit them; names the file and the record.

        Differs from tf.io.parse_example:
          FixedLenSequenceFeature and feature lists are padded by the `batch` that follows, to its longest row.

        Example:
          >>> import numpy as np
          >>> import wellfed as wf
          >>> records = wf.from_arrays(wf.Bytes.from_list(wf.encode_example({"x": x}) for x in range(3)))
          >>> [batch["x"].tolist() for batch in records.parse({"x": wf.FixedLenFeature([], np.int64)}).batch(2)]
          [[0, 1], [2]]
        """
        return self._with(parse_records(self._node, features))

    def ragged_batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """As `batch`, with rows as long as they are: leaves whose rows have dimensions become `Ragged`. Addressable.

        Args:
          batch_size: Elements in a batch.
          drop_remainder: Leave out the last batch where it is smaller.

        Raises:
          PlanError: `batch_size` is below 1. At iteration: rows differ in more than their first dimension.

        Differs from tf.data:
          Leaves of one shape stay arrays where the plan tells the shape (see `element_spec`); what a user's function
          made is `Ragged`, whatever its rows are like. Only the first dimension is ragged.
        """
        spec = spec_of(self._node)
        known = () if spec is None else tuple(path for path, leaf in leaves(spec) if is_dense(leaf) and leaf.shape)
        return self._with(plan.RaggedBatch(self._node, batch_size, drop_remainder, known))

    def enumerate(self, start: int = 0) -> Dataset:
        """Each element becomes the tuple of its number (int64) and itself. Addressable."""
        return self._with(plan.Enumerate(self._node, start))

    def with_row_ids(self) -> Dataset:
        """Each element becomes the tuple of where it came from and itself. Addressable.

        Where it came from is `{"source": int64, "row": int64}`: which of the sources of this data set, from 0 in the
        order in which they were given, and the number of its row there.
        """
        self._need_rows("with_row_ids")
        return self._with(plan.RowIds(self._node))

    def select_columns(self, *names: str) -> Dataset:
        """Mappings with these names only, in this order. Addressable.

        Raises:
          PlanError: There is no name. At iteration: an element has no such name.
        """
        if not names or not all(isinstance(name, str) for name in names):
            shown = ", ".join(map(repr, names)) or "none"
            raise PlanError("select_columns", f'names are due, such as select_columns("x", "y"); got {shown}')
        return self.map(SelectColumns(names))

    def cache(self, filename: str | os.PathLike[str] = "", *, limit_bytes: int | None = None) -> Dataset:
        """The elements, each made once and kept. Addressable where its source is.

        Put it after what costs (decoding) and before what should differ from epoch to epoch (shuffle): what is below
        runs as epoch 0 always. An element that is asked for first is made, by all threads; one that was kept is given
        as a copy. One that cannot be made is not kept, and is tried again in the next epoch.

        In a file elements outlast the program. The file appears once each of them was asked for, by one iteration or
        several of this process, and it is made anew where verbs, files or the share of a shard are others than those
        that it was made of. Changes inside a function are not noticed.

        After a verb that lost the rows, elements are kept once an iteration has made them all. Replayable.

        Args:
          filename: Keep them in this file; in memory where empty. Each rank needs its own.
          limit_bytes: The elements may take so much; beyond, it is an error. [bytes] None: 1 GiB in memory, 1 TiB in a
            file. Up to 28 bytes an element come on top in memory, and 32 while a file is made.

        Raises:
          PlanError: `filename` is a URL. At iteration: the elements take more; or a leaf can be kept in no file, or the
            file is something else.
          OSError: At iteration: the file cannot be written.

        Differs from tf.data:
          A part may be asked for first, in any order. An iteration that is broken off leaves no file and no error.
          Tuples with names come back from a file as plain ones.

        Example:
          >>> import numpy as np
          >>> import wellfed as wf
          >>> made = []
          >>> kept = wf.from_arrays(np.arange(4)).map(lambda x: made.append(int(x)) or x * 10).cache().shuffle(seed=0)
          >>> [sorted(int(x) for x in kept) for epoch in range(2)], sorted(made), len(kept)
          ([[0, 10, 20, 30], [0, 10, 20, 30]], [0, 1, 2, 3], 4)
        """
        name = local_path(filename)
        if is_url(name):
            raise PlanError("cache", f"a file of this machine is due, got {name}; docs/remote.md tells of cache_dir")
        limit = (_FILE_BYTES if name else _MEMORY_BYTES) if limit_bytes is None else limit_bytes
        return self._with(plan.Cache(self._node, limit, name))
