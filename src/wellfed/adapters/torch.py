"""Batches as PyTorch tensors. The one file of this room for torch.

TorchLoader(ds)                                   threads of this process; the fast way
DataLoader(TorchDataset(ds), batch_size=None)     torch's own loader, also with worker processes

worker 0   batch 0       batch 2       batch 4       W = 2: worker w makes batches w, w + W, ...; DataLoader takes
worker 1         batch 1       batch 3               them in turn, so the order is that without workers
"""

from __future__ import annotations

import warnings
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.adapters.loader import Loader, check_dataset
from wellfed.columns import Bytes, Ragged, Sparse
from wellfed.errors import MissingExtraError, PlanError
from wellfed.feed.checks import check_wish
from wellfed.feed.tree import leaves, map_tree, native

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError as error:
    raise MissingExtraError("wellfed.adapters.torch", "PyTorch", "torch") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wellfed.feed import Dataset, DatasetIterator
    from wellfed.feed.tree import Tree

__all__ = ["TorchDataset", "TorchLoader", "to_torch"]

_TAG = (1 << 32) - 1
_KEPT = (Bytes, Ragged, Sparse, bytes, str)  # What torch has no form for, or is made a tensor of before.


def to_torch(element: Tree, move: Callable[[torch.Tensor], torch.Tensor] | None = None) -> Tree:
    """An element with its columns as tensors.

    Args:
      element: An array, a number, `Bytes`, `Ragged`, `Sparse`, or a mapping or tuple of such.
      move: Called with each tensor; what it gives is taken instead.

    Returns:
      The same tree. Arrays become tensors of the same dtype and shape over the same memory (a copy where the array is
      read-only, or has negative strides or another order of bytes, which torch has not). `Ragged` numbers become a
      nested tensor with layout `torch.jagged` over values and row_splits, `Sparse` numbers a sparse COO tensor. Byte
      strings stay `Bytes` or `bytes`: torch has none.

    Raises:
      TypeError: torch has no such dtype; names the column.
    """
    move = move or _same
    try:
        return map_tree(lambda column: _tensor(column, move), element)
    except TypeError as error:
        for path, column in leaves(element):
            if (dtype := np.asarray(column).dtype).kind not in "biufc" and not isinstance(column, _KEPT):
                to_do = "make numbers of it with map(), or leave it out with select_columns()"
                where = path or "the element"
                raise TypeError(f"to_torch: torch has no dtype for {where} ({dtype}): {to_do}") from error
        raise


def _can_pin() -> bool:
    try:
        torch.empty(1).pin_memory()
    except RuntimeError as error:
        warnings.warn(f"TorchLoader: pin_memory=True has no effect here: {error}", stacklevel=3)
        return False
    return True


def _module_with_streams(device: torch.device) -> Any:
    """The module in torch of a device that copies beside its other work (`torch.cuda`); None: it has no streams."""
    module = getattr(torch, device.type, None)
    return module if device.type != "cpu" and hasattr(module, "Stream") else None


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _tensor(column: Any, move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(column, Ragged) and isinstance(column.values, np.ndarray):
        values, splits = _tensor(column.values, move), _tensor(column.row_splits, move)
        return torch.nested.nested_tensor_from_jagged(values, splits)
    if isinstance(column, Sparse) and isinstance(column.values, np.ndarray):
        indices = move(torch.from_numpy(np.ascontiguousarray(column.indices.T)))
        values = _tensor(column.values, move)
        return torch.sparse_coo_tensor(indices, values, column.dense_shape, check_invariants=True)
    if isinstance(column, _KEPT):
        return column
    array = native(np.asarray(column))
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    return move(torch.from_numpy(array))


class TorchLoader(Loader[Any]):
    """A data set's elements as tensors, an epoch for each `iter`: what a training loop takes in place of a DataLoader.

    Reading, decoding and batching happen in the feed's threads, which do not hold the interpreter for it; no worker
    processes are needed. To a device that has streams (CUDA, ROCm, XPU and others) the next batch is copied from
    pinned memory, on a stream of its own, while the model works on the current one.

    Args:
      dataset: What to deliver; batched, as a rule.
      device: Where tensors go, such as "cuda" or "cuda:1". None: they stay in the arrays' own memory.
      pin_memory: Copy tensors to page-locked memory first. None: where the device has streams. True without an
        accelerator is a warning, as in torch's DataLoader.

    Raises:
      PlanError: An argument has a value that is none.
      RuntimeError: torch has no such device; the error is torch's.

    Example:
      >>> import numpy as np
      >>> import wellfed as wf
      >>> loader = TorchLoader(wf.from_arrays({"x": np.arange(6)}).batch(4))
      >>> [batch["x"] for batch in loader]
      [tensor([0, 1, 2, 3]), tensor([4, 5])]
    """

    def __init__(
        self, dataset: Dataset, device: str | torch.device | None = None, pin_memory: bool | None = None
    ) -> None:
        check_dataset("TorchLoader", dataset)
        check_wish("TorchLoader", "pin_memory", pin_memory)
        if isinstance(device, bool) or not isinstance(device, (str, int, torch.device, NoneType)):
            raise PlanError("TorchLoader", f"device must be one of torch's or its name, got {device!r}")
        self._device = None if device is None else torch.device(device)
        self._streams = None if self._device is None else _module_with_streams(self._device)
        self._stream = self._streams.Stream(self._device) if self._streams else None
        self._pin = self._stream is not None if pin_memory is None else bool(pin_memory) and _can_pin()
        super().__init__(dataset, ahead=1 if self._stream else 0)

    @property
    def sampler(self) -> TorchLoader:
        """Itself: Lightning calls `loader.sampler.set_epoch` before an epoch, and loads no state between two."""
        return self

    def _start(self, element: Tree) -> Any:
        parts: list[torch.Tensor] = []  # Those that nested and sparse tensors are made of, too.
        if self._streams is None or self._stream is None:
            return to_torch(element, partial(self._move, parts)), parts, None
        with self._streams.stream(self._stream):
            moved = to_torch(element, partial(self._move, parts))
            return moved, parts, self._stream.record_event()

    def _move(self, parts: list[torch.Tensor], tensor: torch.Tensor) -> torch.Tensor:
        if self._pin:
            tensor = tensor.pin_memory()
        # torch keeps the pinned memory until the copy that was started from it is done.
        parts.append(tensor if self._device is None else tensor.to(self._device, non_blocking=self._pin))
        return parts[-1]

    def _finish(self, element: Any) -> Any:
        moved, parts, copied = element
        if self._streams is not None:
            consumer = self._streams.current_stream(self._device)
            consumer.wait_event(copied)
            for part in parts:
                part.record_stream(consumer)  # Its memory is the copying stream's: not to be reused too early.
        return moved


class TorchDataset(IterableDataset):  # type: ignore[misc]  # torch may be missing where this is checked.
    """A data set for `torch.utils.data.DataLoader` and torchdata's `StatefulDataLoader`, with `batch_size=None`.

    The data set makes the batches; elements are as `to_torch` gives them. Worker w of W makes batches w, w + W, ...:
    every batch comes once, and their order is that without workers. Each epoch of the DataLoader is the next epoch of
    the data set, in all workers. A shuffle needs a seed where there is more than one worker.

    Each worker has the feed's threads: give the data set `with_options(threads=1)` where workers fill the cores.

    Args:
      dataset: What to deliver; batched, as a rule.

    Example:
      >>> import numpy as np
      >>> import wellfed as wf
      >>> from torch.utils.data import DataLoader
      >>> numbers = TorchDataset(wf.from_arrays({"x": np.arange(6)}).batch(4))
      >>> [batch["x"] for batch in DataLoader(numbers, batch_size=None)]
      [tensor([0, 1, 2, 3]), tensor([4, 5])]
    """

    def __init__(self, dataset: Dataset) -> None:
        super().__init__()
        self._dataset = check_dataset("TorchDataset", dataset)
        # Shared by all processes: (next epoch << 32) | the tag of the run over workers that is in the epoch before it.
        # One aligned word: it is read and written whole, and workers that race write the same.
        self._cell = torch.zeros(1, dtype=torch.int64).share_memory_()
        self._tag: int | None = None  # Of the last run that this process took part in.

    def __len__(self) -> int:
        """Elements in a whole epoch, over all workers.

        Raises:
          TypeError: The data set never ends, or a verb lost its length.
        """
        return len(self._dataset)

    def __iter__(self) -> TorchIterator:
        worker = get_worker_info()
        if worker is None:
            return TorchIterator(self._dataset, self._next_epoch(0), self._go_on)
        share = self._dataset if worker.num_workers == 1 else self._dataset.shard(worker.num_workers, worker.id)
        # All workers of one run over the DataLoader have one base seed, and the next run has another.
        return TorchIterator(share, self._next_epoch((worker.seed - worker.id) & _TAG | 1), self._go_on)

    def _next_epoch(self, tag: int) -> int:
        """The next epoch, or the one that another worker of the same run began already."""
        epoch, begun = divmod(int(self._cell), 1 << 32)
        if tag and tag == self._tag:
            epoch = self._own + 1  # Persistent workers keep their tag: each counts by itself, in step with the others.
        elif tag and tag == begun:
            epoch -= 1
        self._tag = tag
        self._go_on(epoch)
        return epoch

    def _go_on(self, epoch: int) -> None:
        self._own = epoch
        self._cell.fill_((epoch + 1) << 32 | (self._tag or 0))


class TorchIterator:
    """One epoch of a `TorchDataset`, or a worker's share of it, with the state that torchdata asks for."""

    def __init__(self, dataset: Dataset, epoch: int, go_on: Callable[[int], None]) -> None:
        self._feed: DatasetIterator = dataset.epoch(epoch)
        self._go_on = go_on

    def __iter__(self) -> Iterator[Tree]:
        return self

    def __next__(self) -> Tree:
        return to_torch(next(self._feed))

    def state_dict(self) -> dict[str, Any]:
        """Where this iteration stands, as `DatasetIterator.state_dict`."""
        return self._feed.state_dict()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on where a saved state stood; the next epoch is the one after it.

        Raises:
          StateError: The state belongs to another plan, other files, or another number of workers.
        """
        self._feed.load_state_dict(saved)
        self._go_on(self._feed.epoch)
