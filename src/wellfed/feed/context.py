"""The run context: what joins a plan when iteration starts."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass, replace

from wellfed.errors import PlanError
from wellfed.feed.checks import check_whole


@dataclass(frozen=True, slots=True)
class RunContext:
    """Who runs a plan, and which epoch of it.

    Attributes:
      seed: Stands in for every seed that the plan leaves open: the first that it gives, or one drawn for the data set.
      epoch: 0-based.
      rank: 0-based number of this process among `world_size`.
      world_size: How many processes share the data set.
      ignoring: Whether elements that cannot be made are left out: below `ignore_errors`.
      warning: Whether each of them is logged.
      consumed: How many elements of the order that the last shard shares were taken before, by any process.
    """

    seed: int
    epoch: int = 0
    rank: int = 0
    world_size: int = 1
    ignoring: bool = False
    warning: bool = False
    consumed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, "epoch", "epoch", 0)
        if not 0 <= self.rank < self.world_size:
            raise PlanError("shard", f"rank must be in [0, {self.world_size}), got {self.rank}")

    def at(self, epoch: int) -> RunContext:
        """The same run in another epoch."""
        return replace(self, epoch=epoch)

    def without_errors(self, warning: bool) -> RunContext:
        """The same run for what stands below `ignore_errors`."""
        return replace(self, ignoring=True, warning=warning or self.warning)


def draw_seed() -> int:
    """A seed from the system's entropy."""
    return secrets.randbits(63)


def find_rank() -> tuple[int, int]:
    """(rank, world size) from torch.distributed or JAX where they run, else from RANK and WORLD_SIZE; else (0, 1).

    Raises:
      PlanError: Only one of RANK and WORLD_SIZE is set, or they are no whole numbers.
    """
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    jax = sys.modules.get("jax")
    if jax is not None and jax.process_count() > 1:
        return jax.process_index(), jax.process_count()
    rank, size = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None and size is None:
        return 0, 1
    if rank is None or size is None or not rank.isdigit() or not size.isdigit():
        raise PlanError("shard", f"RANK and WORLD_SIZE must both be whole numbers, got {rank!r} and {size!r}")
    return int(rank), int(size)
