"""Packing on a Ray cluster; the one file that imports ray."""

from __future__ import annotations

import importlib
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wellfed.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class RayExecutor(Executor):
    """A `concurrent.futures.Executor` whose calls are Ray tasks.

    Args:
      ray: The ray module, connected to a cluster.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._max_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts a task; Ray itself does not try it again."""
        remote = self._ray.remote(max_retries=0)(fn)
        future: Future[Any] = remote.remote(*args, **kwargs).future()
        return future


@contextmanager
def ray_executor(address: str) -> Iterator[Executor]:
    """Connects to a Ray cluster, and gives an executor for `pack(..., executor=)`.

    The workers need wellfed, and must reach the raw data and `out` by the same paths or URLs.

    Args:
      address: The cluster's, such as "ray://10.0.0.1:10001" or "auto"; "local" starts one on this machine.

    Raises:
      MissingExtraError: ray is not installed.
      ConnectionError: The cluster does not answer.
    """
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise MissingExtraError("packing on Ray", "ray", "ray") from error
    try:
        ray.init(address, log_to_driver=False)
    except ValueError as error:
        if "ray[client]" not in str(error):
            raise
        raise MissingExtraError(f"packing on {address}", "ray[client]", "ray") from error
    try:
        yield RayExecutor(ray)
    finally:
        ray.shutdown()
