"""Packing on a Dask cluster; the one file that imports distributed."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wellfed.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Connects to a Dask cluster, and gives an executor for `pack(..., executor=)`.

    The workers need wellfed, and must reach the raw data and `out` by the same paths or URLs.

    Args:
      address: The scheduler's, such as "tcp://10.0.0.1:8786".

    Raises:
      MissingExtraError: distributed is not installed.
      OSError: The scheduler does not answer.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise MissingExtraError("packing on Dask", "distributed", "dask") from error
    with distributed.Client(address, set_as_default=False) as client:
        # pure=False: a task that is tried again must run again.
        yield client.get_executor(pure=False)
