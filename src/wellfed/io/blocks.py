"""Passes in file order over files behind URLs: ranges of one length, each fetched once, some of them ahead.

    file      | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |        8 MiB each, the last one shorter
                    ^   ~   ~   ~                      block 1 is read; 2 to 4 are under way or wait

How many are fetched ahead doubles with each block that is read after the one before it, so that a look at the first
records does not fetch 32 MiB.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellfed.io.remote import RemoteOptions
    from wellfed.io.remote_file import RemoteFile

_KEPT_BEHIND = 2  # Blocks; several threads read a pass, and none waits for the others.


class Requests:
    """The threads that wait for answers, made when there is something to wait for. Thread-safe; forks."""

    def __init__(self, options: RemoteOptions) -> None:
        self._options = options
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._lock = threading.Lock()

    def submit(self, file: RemoteFile, start: int, end: int) -> Future[bytes]:
        """Asks for a range; the answer is the future's."""
        if self._process != os.getpid():  # Threads do not survive a fork, and its lock may have been held.
            self._lock, self._pool, self._process = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._options.max_requests, "wellfed-remote")
                weakref.finalize(self, _shut_down, self._pool)
            return self._pool.submit(file.read, start, end)

    def cut(self, size: int) -> list[tuple[int, int]]:
        """The ranges of a whole file, `range_bytes` each."""
        step = self._options.range_bytes
        return [(start, min(start + step, size)) for start in range(0, size, step)]

    def fetch(self, file: RemoteFile, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """The bytes of ranges, in their order; those under way hold `read_ahead_bytes` at most, but one at least."""
        if len(ranges) == 1:  # One request needs no thread.
            yield file.read(*ranges[0])
            return
        waiting: list[Future[bytes]] = []
        begun, held = 0, 0
        try:
            for number, (start, end) in enumerate(ranges):
                while begun < len(ranges) and (begun == number or self._has_room(held, ranges[begun], len(waiting))):
                    waiting.append(self.submit(file, *ranges[begun]))
                    held += ranges[begun][1] - ranges[begun][0]
                    begun += 1
                yield waiting.pop(0).result()
                held -= end - start
        finally:
            for future in waiting:
                future.cancel()

    def _has_room(self, held: int, following: tuple[int, int], under_way: int) -> bool:
        size = following[1] - following[0]
        return held + size <= self._options.read_ahead_bytes and under_way < self._options.max_requests

    def __reduce__(self) -> tuple[Any, ...]:
        return (Requests, (self._options,))


class Blocks:
    """Blocks of files that are passed through in order. Thread-safe; forks.

    Args:
      requests: Fetches them.
      options: How long a block is, and how many are fetched ahead.
    """

    def __init__(self, requests: Requests, options: RemoteOptions) -> None:
        self._requests, self._options = requests, options
        self._lock, self._process = threading.Lock(), os.getpid()
        self._held: OrderedDict[tuple[str, int], Future[bytes]] = OrderedDict()
        self._passes: dict[str, tuple[int, int]] = {}  # Of each file: the last block, and how many are fetched ahead.

    @property
    def block_bytes(self) -> int:
        """Length of every block but a file's last one. [bytes]."""
        return self._options.range_bytes

    def get(self, file: RemoteFile, number: int, *, once: bool = False) -> bytes:
        """A block; the next ones are asked for meanwhile.

        Args:
          file: The file.
          number: 0-based; the block must not lie behind the file's end.
          once: Nobody will ask for it again, so it is not kept.

        Raises:
          OSError: As `RemoteFile.read`.
        """
        if self._process != os.getpid():  # The parent's requests are not answered here.
            self._lock, self._process = threading.Lock(), os.getpid()
            self._held.clear()
            self._passes.clear()
        key = (file.path, number)
        with self._lock:
            ahead = self._ahead(file, number)
            for following in range(number, number + 1 + ahead):
                self._want(file, following)
            future = self._held.pop(key) if once else self._held[key]
            self._drop()
        try:
            return future.result()
        except BaseException:
            with self._lock:  # It may be asked for again.
                self._held.pop(key, None)
            raise

    def close(self) -> None:
        """Gives up what is under way."""
        with self._lock:
            for future in self._held.values():
                future.cancel()
            self._held.clear()
            self._passes.clear()

    def _ahead(self, file: RemoteFile, number: int) -> int:
        last, ahead = self._passes.get(file.path, (-1, 0))
        most = self._options.ranges_ahead - 1
        if number == last + 1:
            ahead = min(most, max(1, 2 * ahead))
        elif not last - _KEPT_BEHIND <= number <= last:
            ahead = 0
        self._passes[file.path] = (max(number, last) if ahead else number, ahead)
        blocks = -(-file.size // self.block_bytes)
        return max(0, min(ahead, blocks - 1 - number))

    def _want(self, file: RemoteFile, number: int) -> None:
        key = (file.path, number)
        if key in self._held:
            self._held.move_to_end(key)
            return
        start = number * self.block_bytes
        self._held[key] = self._requests.submit(file, start, min(start + self.block_bytes, file.size))

    def _drop(self) -> None:
        while len(self._held) > self._options.ranges_ahead + _KEPT_BEHIND:
            _, future = self._held.popitem(last=False)
            future.cancel()


class BlockSource:
    """A `ByteSource` for those who read a remote file from front to back in small pieces.

    Args:
      blocks: Where its bytes come from.
      file: The file.
    """

    def __init__(self, blocks: Blocks, file: RemoteFile) -> None:
        self._blocks, self._file = blocks, file
        self.path, self.size = file.path, file.size

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """See `ByteSource`."""
        done, length = 0, self._blocks.block_bytes
        want = max(0, min(len(buffer), self.size - offset))
        while done < want:
            number, within = divmod(offset + done, length)
            piece = memoryview(self._blocks.get(self._file, number))[within : within + want - done]
            buffer[done : done + len(piece)] = piece
            done += len(piece)
        return done

    def close(self) -> None:
        """See `ByteSource`."""


def _shut_down(pool: ThreadPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
