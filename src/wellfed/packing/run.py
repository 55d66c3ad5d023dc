"""Running shard tasks on any `concurrent.futures.Executor`.

Local by default: threads where bytes are kept (reading and writing wait for the disk, and native code runs beside),
processes where pictures are decoded and encoded. Dask's and Ray's clusters come through `dask.py` and `ray.py`.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from multiprocessing import connection
from typing import TYPE_CHECKING

from wellfed.errors import PackError
from wellfed.packing.encode import ITEM_ERRORS, Stopped
from wellfed.packing.write import ShardTask, write_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wellfed.packing.staging import ShardResult

_Attempt = tuple[int, "Callable[[], ShardTask]"]  # Which it is, from 1; and what makes the task.
_ATTEMPTS = 3
_POLL_SECONDS = 0.1
# Trying again helps against none of these.
_FINAL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}


class LocalPool:
    """Workers on this machine: a pool that is made anew where a worker process died.

    Args:
      workers: How many.
      processes: Whether they are processes, not threads.
    """

    def __init__(self, workers: int, *, processes: bool) -> None:
        self.workers = workers
        self.processes = processes
        self._pool = self._new()

    def submit(self, task: ShardTask) -> Future[ShardResult]:
        """Starts a task."""
        try:
            return self._pool.submit(write_shard, task)
        except BrokenExecutor:
            self._pool.shutdown(cancel_futures=True)
            self._pool = self._new()
            return self._pool.submit(write_shard, task)

    def cancel(self, running: Iterable[Future[ShardResult]]) -> None:  # noqa: ARG002 -- as `GivenPool.cancel`.
        """Cancels what has not begun, and waits for the rest; no task can be started after that."""
        # Not `Future.cancel`: where a worker died too (Ctrl-C reaches all processes), the pool's own thread dies of it
        # and the end of the program waits for ever.
        self.close()

    def close(self) -> None:
        """Ends the workers, once they have ended their tasks."""
        self._pool.shutdown(cancel_futures=True)

    def _new(self) -> Executor:
        if not self.processes:
            return ThreadPoolExecutor(self.workers, "wellfed-pack")
        _refuse_in_child()
        # Not fork: a forked child inherits the locks of threads that do not exist in it.
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        return ProcessPoolExecutor(self.workers, context, initializer=_end_with_parent)


class GivenPool:
    """An executor of the user's; it is left open."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        # Enough to keep a cluster busy; each task carries its part of the listing.
        self.workers: int = getattr(executor, "_max_workers", None) or 64

    def submit(self, task: ShardTask) -> Future[ShardResult]:
        """Starts a task."""
        return self._executor.submit(write_shard, task)

    def cancel(self, running: Iterable[Future[ShardResult]]) -> None:
        """Cancels what has not begun, and waits for the rest."""
        # Not for all of them: a future that is cancelled is never done, with some executors.
        wait([future for future in running if not future.cancel()])

    def close(self) -> None:
        """Does nothing: whoever made the executor closes it."""


Pool = LocalPool | GivenPool


def run_tasks(
    tasks: Iterable[Callable[[], ShardTask]],
    pool: Pool,
    done: Callable[[ShardResult], None],
    tick: Callable[[], None],
    stop: Callable[[], None],
) -> None:
    """Runs all tasks, a few more at a time than there are workers.

    Args:
      tasks: Makers of the tasks; each is taken and called when its task's turn comes, so that few are in memory.
      pool: Where they run.
      done: Called in this thread with each result.
      tick: Called in this thread about ten times a second.
      stop: Called once where the run ends early, to have running tasks end at their next item.

    Raises:
      WellfedError, OSError: What ended a task, after it was tried again where that can help. Running tasks are stopped
        and waited for.
    """
    fresh, again = iter(tasks), list[_Attempt]()
    running: dict[Future[ShardResult], _Attempt] = {}
    try:
        while True:
            while len(running) < 2 * pool.workers:
                make = again.pop() if again else next(((1, make) for make in fresh), None)
                if make is None:
                    break
                running[pool.submit(make[1]())] = make
            if not running:
                return
            finished, _ = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
            for future in finished:
                attempt, task = running.pop(future)
                error = future.exception()
                if error is None:
                    done(future.result())
                elif attempt < _ATTEMPTS and _may_help(error):
                    again.append((attempt + 1, task))
                else:
                    raise _explained(error)  # noqa: TRY301 -- stopping the others is the same for every end.
            tick()
    except BaseException:  # Ctrl-C too: workers must not go on behind the user's back.
        stop()
        pool.cancel(running)
        raise


def default_workers() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _may_help(error: BaseException) -> bool:
    if isinstance(error, (*ITEM_ERRORS, Stopped)) or not isinstance(error, Exception):
        return False
    return not (isinstance(error, OSError) and error.errno in _FINAL_ERRNOS)


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, BrokenExecutor):
        return PackError(
            "a worker process died, three times over. Either memory ran out: use fewer workers. Or a script calls this "
            'without `if __name__ == "__main__":`, which worker processes need: add it, or use '
            "executor=ThreadPoolExecutor()",
            "pack",
        )
    return error


def _refuse_in_child() -> None:
    """Raises where a worker, loading the user's script, is about to pack again."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise PackError(
            'worker processes load the script that started them: put the call under `if __name__ == "__main__":`, '
            "or pass executor=ThreadPoolExecutor()",
            "pack",
        )


def _end_with_parent() -> None:
    """Ends this worker process when the one that started it is gone, also by SIGKILL."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="wellfed-parent-watch", daemon=True).start()
