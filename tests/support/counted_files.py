"""A file system behind `counted://` that lives in memory, logs each request, and fails or waits when told."""

from __future__ import annotations

import threading
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem


class CountedFiles(MemoryFileSystem):
    """As `memory://`; all its state belongs to the class, as fsspec makes instances by itself."""

    protocol = "counted"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    ranges: ClassVar[list[tuple[int, int]]] = []  # Asked for, in the order in which the requests began.
    named: ClassVar[list[tuple[str, int, int]]] = []  # The same with the files' names.
    looks = 0  # Requests for a file's size.
    failures: ClassVar[list[Exception]] = []  # Raised by the next requests, one each.
    gate = None  # Called in each request for bytes, with its range.
    _guard = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(str(path).removeprefix("counted://"))

    @classmethod
    def reset(cls):
        cls.store, cls.pseudo_dirs = {}, [""]
        cls.failures, cls.gate = [], None
        cls.forget()

    @classmethod
    def forget(cls):
        cls.ranges, cls.named, cls.looks = [], [], 0

    @classmethod
    def put(cls, name: str, content: bytes) -> str:
        """Makes a file and gives its URL; not a request that counts."""
        cls().pipe_file(f"/remote/{name}", content)
        return f"counted://remote/{name}"

    def _request(self):
        with self._guard:
            failure = type(self).failures.pop(0) if type(self).failures else None
        if failure is not None:
            raise failure

    def cat_file(self, path, start=None, end=None, **options):
        if end is None:  # All of an index.
            return super().cat_file(path)
        with self._guard:
            self.ranges.append((start, end))
            self.named.append((path.rpartition("/")[2], start, end))
        if self.gate is not None:
            type(self).gate(start, end)
        self._request()
        return super().cat_file(path, start=start, end=end)

    def isfile(self, path):
        """Is no request that counts; older fsspec asks info(), for each folder above a file that is written."""
        return self._strip_protocol(path) in self.store

    def info(self, path, **options):
        type(self).looks += 1
        self._request()
        return super().info(path)


fsspec.register_implementation("counted", CountedFiles, clobber=True)


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """The file system that counts its requests, empty; and a user's cache folder that no other test wrote to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    CountedFiles.reset()
    yield CountedFiles
    CountedFiles.reset()
