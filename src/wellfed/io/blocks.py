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

ALL = 1 << 62  # More bytes than a block has.
# Blocks that are kept beside those ahead while not all of them was taken: threads that share a pass are some units
# apart.
_APART = max(4, (os.cpu_count() or 1) // 2)


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
      options: How long a block is, how many are fetched ahead, how far.
    """

    def __init__(self, requests: Requests, options: RemoteOptions) -> None:
        self._requests, self._options = requests, options
        self._lock, self._process = threading.Lock(), os.getpid()
        self._held: OrderedDict[tuple[str, int], Future[bytes]] = OrderedDict()
        self._used: dict[tuple[str, int], int] = {}  # Bytes of each that somebody has taken.
        self._passes: dict[
            str, tuple[int, int, int]
        ] = {}  # Of each file: the last block, how many are fetched ahead, how far.

    @property
    def block_bytes(self) -> int:
        """Length of every block but a file's last one. [bytes]."""
        return self._options.range_bytes

    def get(self, file: RemoteFile, number: int, used: int) -> bytes:
        """A block; the next ones are asked for meanwhile.

        Args:
          file: The file.
          number: 0-based; the block must not lie behind the file's end.
          used: How much of it the caller is about to take. A block of which all was taken is not kept. [bytes]

        Raises:
          OSError: As `RemoteFile.read`.
        """
        if self._process != os.getpid():  # The parent's requests are not answered here.
            self._lock, self._process = threading.Lock(), os.getpid()
            self._forget()
        key = (file.path, number)
        with self._lock:
            self._want(file, number)
            for following in self._following(file, number):
                self._want(file, following)
            future = self._held[key]
            self._use(key, used, min(self.block_bytes, file.size - number * self.block_bytes))
            self._drop()
        try:
            return future.result()
        except BaseException:
            with self._lock:  # It may be asked for again.
                self._held.pop(key, None)
                self._used.pop(key, None)
            raise

    def close(self) -> None:
        """Gives up what is under way."""
        with self._lock:
            for future in self._held.values():
                future.cancel()
            self._forget()

    def _forget(self) -> None:
        self._held.clear()
        self._used.clear()
        self._passes.clear()

    def _following(self, file: RemoteFile, number: int) -> range:
        """The blocks to ask for beside one: those ahead that nobody has asked for yet in this pass."""
        last, ahead, reach = self._passes.get(file.path, (-1, 0, -1))
        if number == last + 1:
            ahead = min(self._options.ranges_ahead - 1, max(1, 2 * ahead))
        elif not last - _APART <= number <= last + 1 + ahead:  # Another pass.
            last, ahead, reach = number, 0, number
        stop = min(number + 1 + ahead, -(-file.size // self.block_bytes))
        self._passes[file.path] = max(last, number), ahead, max(reach, stop - 1)
        return range(max(number, reach) + 1, stop)

    def _want(self, file: RemoteFile, number: int) -> None:
        key = (file.path, number)
        if key in self._held:
            self._held.move_to_end(key)
            return
        start = number * self.block_bytes
        self._held[key] = self._requests.submit(file, start, min(start + self.block_bytes, file.size))

    def _use(self, key: tuple[str, int], used: int, length: int) -> None:
        self._used[key] = self._used.get(key, 0) + used
        if self._used[key] >= length:
            del self._held[key], self._used[key]

    def _drop(self) -> None:
        """Lets go of blocks that were asked for first, but of none that is under way."""
        over = len(self._held) - self._options.ranges_ahead - _APART
        if over > 0:
            done = [key for key, future in self._held.items() if future.done()]
            for key in done[:over]:
                del self._held[key]
                self._used.pop(key, None)


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
            # Whoever inflates reads a little further than a member goes, and again from there: blocks go by their age.
            piece = memoryview(self._blocks.get(self._file, number, 0))[within : within + want - done]
            buffer[done : done + len(piece)] = piece
            done += len(piece)
        return done

    def close(self) -> None:
        """See `ByteSource`."""


def _shut_down(pool: ThreadPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
