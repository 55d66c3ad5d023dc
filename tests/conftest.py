"""What every test is held to: it writes nothing outside its temporary folders and leaves no thread behind."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)  # The same cases in every run.
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# A shell that starts the tests in the background leaves Ctrl-C ignored, in them and in the programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

THREAD_SECONDS = 5.0  # A pool told to stop needs a moment; a thread that blocks for ever does not end in it.

# Where a test may write: temporary folders, devices, and what Python and the tests' own tools keep.
ALLOWED_ROOTS = tuple({"/dev/", "/proc/", f"{tempfile.gettempdir()}/", f"{Path(tempfile.gettempdir()).resolve()}/"})
ALLOWED_PARTS = ("__pycache__", ".hypothesis", ".pytest_cache")

# Threads that libraries of partners keep for the process's life: distributed, asyncio's executor, fsspec, gcsfs.
KEPT_THREADS = {"Dask-Offload_0", "asyncio_0", "fsspecIO", "gcsfs-deferred-close"}

_written: list[str] = []  # Paths written outside since the test began.


def _note_write(path: object) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 -- Path would run this hook again.
    if not f"{name}/".startswith(ALLOWED_ROOTS) and not any(part in name for part in ALLOWED_PARTS):
        _written.append(name)


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event == "open":
        path, _mode, flags = args
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _note_write(path)
    elif event == "os.mkdir" and args[2] == -1:  # The last ones are folders' descriptors; -1 is none.
        _note_write(args[0])
    elif event == "os.rename" and args[3] == -1:
        _note_write(args[1])


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def _nothing_written_outside():
    """Fails a test that writes, from Python, outside the temporary folders."""
    _written.clear()
    yield
    assert not _written, f"the test wrote outside tmp_path: {_written[:5]}"


@pytest.fixture(autouse=True)
def _no_thread_left():
    """Fails a test that leaves a thread behind."""
    before = set(threading.enumerate())
    yield
    left = {thread for thread in threading.enumerate() if thread.name not in KEPT_THREADS} - before
    # The entries of native threads that called Python once, such as TensorFlow's; Python can neither end nor join them.
    left = {thread for thread in left if not isinstance(thread, threading._DummyThread)}
    if left:
        gc.collect()
    for thread in left:
        thread.join(THREAD_SECONDS)
    alive = sorted(thread.name for thread in left if thread.is_alive())
    assert not alive, f"the test left {len(alive)} threads: {alive[:5]}"


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory):
    """Gives the tests a home folder of their own, so that no cache of the user's is read or written."""
    with pytest.MonkeyPatch.context() as patch:
        home = str(tmp_path_factory.mktemp("home"))
        patch.setenv("HOME", home)
        patch.setenv("XDG_CACHE_HOME", f"{home}/.cache")
        yield
