"""Processes that call one user's function, for heavy Python that threads would only take turns at.

    a thread of the engine    takes an idle worker, sends it a unit's elements, waits for the results, puts it back
    a worker                  see `wellfed.feed.worker`

The processes come from Python's forkserver, so they begin without the threads and locks of this one, and end with their
pipe: when it is closed, or when this process ends in any way. `stop` ends them at once; like everything that ends an
iteration it takes no lock that whoever it interrupts may hold.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from wellfed.errors import PlanError, WorkerLostError
from wellfed.feed.calls import Cancelled, name_of
from wellfed.feed.messages import receive, send
from wellfed.feed.worker import Failure, serve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess

_PATIENCE = 5.0  # How long a process that was told to end is waited for before it is killed. [s]


class RemoteTraceback(Exception):  # noqa: N818 -- no error of its own: what another one looked like where it was raised.
    """The traceback of an error in a worker process, as text; the `__cause__` of the error that arrives here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class RemoteFailure(Exception):  # noqa: N818 -- carries a user's error from the pool to the stage that names it.
    """A function raised in a worker, on the element of that number; its own error is the `__cause__`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def pickled(function: Any, processes: int) -> bytes:
    """The function as it is sent to workers.

    Raises:
      PlanError: It does not pickle.
    """
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise PlanError(
            "map",
            f"processes={processes} needs a function that pickles: one of a module's top level, functools.partial of "
            f"one, or an object with __call__; {name_of(function)} does not ({type(error).__name__}: {error})",
        ) from error


def check_processes(function: Any, processes: int) -> None:
    """Proves that a function can be called in processes.

    Raises:
      PlanError: It cannot.
    """
    if hasattr(function, "apply"):
        raise PlanError(
            "map", f"{type(function).__name__} works on columns without the interpreter: leave out processes"
        )
    pickled(function, processes)


class Worker:
    """One process and this side of its pipe."""

    def __init__(self, function: bytes, number: int) -> None:
        context = multiprocessing.get_context("forkserver")
        self.connection: Connection[Any, Any]
        self.connection, theirs = context.Pipe()
        self.process: ForkServerProcess = context.Process(
            target=serve, args=(theirs, function), name=f"wellfed-worker-{number}", daemon=True
        )
        self.process.start()
        theirs.close()  # Else the pipe would not end with the process.


class Workers:
    """A function in `count` processes.

    Args:
      function: A function that pickles.
      count: How many processes; they start with the first call.

    Thread-safety: any number of threads may call; `stop` may be called from anywhere, more than once.
    """

    def __init__(self, function: Any, count: int) -> None:
        self._function, self._count = function, count
        self._content = pickled(function, count)
        self._owner = os.getpid()
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()
        self._all: list[Worker] = []
        self._start_lock = threading.Lock()  # `stop` does not take it.
        self._started = self._stopped = False
        self._lost = ""

    def call(self, elements: Sequence[Any], seeds: Sequence[int] | None) -> list[Any]:
        """The function's results for each element, called with a generator of each of `seeds` where they are given.

        Raises:
          RemoteFailure: The function raised.
          WorkerLostError: A process ended.
          Cancelled: The workers were stopped.
        """
        return self.result(self.begin(elements, seeds))

    def begin(self, elements: Sequence[Any], seeds: Sequence[int] | None) -> Worker:
        """Gives a worker elements, once one is idle. `result` must be called for each."""
        if not self._started:
            self._start()
        worker = self._idle.get()
        if worker is None or self._stopped:
            self._idle.put(None)  # For the next one who waits.
            self._raise_ended()
        try:
            send(worker.connection, (elements, seeds))
        except OSError:
            self._lose(worker)
        except BaseException:
            self._idle.put(worker)
            raise
        return worker

    def result(self, worker: Worker) -> list[Any]:
        """What became of the elements that `begin` gave the worker."""
        try:
            answer = receive(worker.connection)
        except (EOFError, OSError):
            self._lose(worker)
        self._idle.put(worker)
        if not isinstance(answer, Failure):
            return list(answer)
        raise RemoteFailure(answer.number) from _error_of(answer)

    def _start(self) -> None:
        with self._start_lock:
            if self._started:
                return
            if multiprocessing.current_process().daemon:
                raise PlanError(
                    "map",
                    "processes= cannot start any within a daemonic process, such as a worker of PyTorch's DataLoader; "
                    "use TorchLoader, or map without processes",
                )
            for number in range(self._count):
                self._all.append(Worker(self._content, number))
                self._idle.put(self._all[-1])
            self._started = True
        if self._stopped:  # Meanwhile.
            self.stop()

    def _lose(self, worker: Worker) -> NoReturn:
        if not self._stopped:
            worker.process.join(_PATIENCE)
            code = worker.process.exitcode
            how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
            self._lost = f"process {worker.process.pid} ended {how}"
            self.stop()
        self._raise_ended()

    def _raise_ended(self) -> NoReturn:
        if self._lost:
            raise WorkerLostError(f"map({name_of(self._function)})", self._lost)
        raise Cancelled

    def belong_to(self, function: Any, count: int) -> bool:
        """Whether they were made for this function and so many processes."""
        return function is self._function and count == self._count

    def wait_for_calls(self) -> bool:
        """Whether all processes of this program's own are there and do nothing, and the function is as it was."""
        if not self._started or self._stopped or os.getpid() != self._owner or self._idle.qsize() != self._count:
            return False
        alive = all(worker.process.is_alive() for worker in self._all)
        return alive and pickled(self._function, self._count) == self._content

    def stop(self) -> None:
        """Ends the processes, also in the middle of a call."""
        self._stopped = True
        self._idle.put(None)
        if os.getpid() != self._owner:  # After a fork the processes are still the parent's.
            return
        for worker in self._all:
            worker.process.terminate()
        for worker in self._all:
            worker.process.join(_PATIENCE)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()


class Pools:
    """Processes that wait for the next epoch of one owner, who ends them with `stop`.

    An epoch that ends while they do nothing leaves them here; one that is broken off in the middle of a call ends them.
    """

    def __init__(self) -> None:
        self._waiting: list[Workers] = []
        self._stopped = False

    def take(self, function: Any, count: int) -> Workers:
        """Processes for a function: those that wait, or new ones."""
        for workers in [each for each in self._waiting if each.belong_to(function, count)]:
            self._waiting.remove(workers)
            if workers.wait_for_calls():
                return workers
            workers.stop()
        return Workers(function, count)

    def give_back(self, workers: Workers) -> None:
        """Lets processes wait, or ends them. Nothing happens the second time."""
        if workers in self._waiting:
            return
        if self._stopped or not workers.wait_for_calls():
            workers.stop()
            return
        self._waiting.append(workers)
        if self._stopped:  # Meanwhile.
            self.stop()

    def stop(self) -> None:
        """Ends all that wait, and from now on whatever is given back."""
        self._stopped = True
        while self._waiting:
            self._waiting.pop().stop()

    def __reduce__(self) -> Any:
        return Pools, ()  # Elsewhere there are no processes yet.


def _error_of(failure: Failure) -> BaseException:
    error: BaseException = RuntimeError(failure.text)
    if failure.error is not None:
        error = pickle.loads(failure.error)  # noqa: S301 -- from a process of this program.
    error.__cause__ = RemoteTraceback(failure.trace)
    return error
