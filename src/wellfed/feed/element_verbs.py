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

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellfed.feed.dataset import Dataset
    from wellfed.feed.parsing import Features


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
