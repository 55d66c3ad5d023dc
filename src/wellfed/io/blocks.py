"""Passes in file order over files behind URLs: ranges of one length, each fetched once, some of them ahead.

    file      | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |        8 MiB each, the last one shorter
                    ^   ~   ~   ~                      block 1 is read; 2 to 4 are under way or wait

One block is fetched ahead at first; twice as many whenever somebody had to wait for a store that takes its time. So a
look at the first records does not fetch 32 MiB, and a store that is fast does not fill memory.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from wellfed.io.giving_up import may_be_given_up, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wellfed.io.remote import RemoteOptions
    from wellfed.io.remote_file import RemoteFile

_Result = TypeVar("_Result")

Content = bytes | memoryview
ALL = 1 << 62  # More bytes than a block has.
_LONG_SECONDS = 0.02  # A store that can answer sooner is no network; who waits for it waits for a core.
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

    def submit(self, read: Callable[[int, int], Content], start: int, end: int) -> Future[Content]:
        """Asks for a range by calling `read` in a thread; the answer is the future's."""
        return self.run(partial(read, start, end))

    def run(self, call: Callable[[], _Result]) -> Future[_Result]:
        """Calls a function in a thread; what it returns is the future's."""
        if self._process != os.getpid():  # Threads do not survive a fork, and its lock may have been held.
            self._lock, self._pool, self._process = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._options.max_requests, "wellfed-remote")
                weakref.finalize(self, _shut_down, self._pool)
            return self._pool.submit(copy_context().run, call)

    def cut(self, size: int) -> list[tuple[int, int]]:
        """The ranges of a whole file, `range_bytes` each."""
        step = self._options.range_bytes
        return [(start, min(start + step, size)) for start in range(0, size, step)]

    def fetch(self, file: RemoteFile, ranges: Sequence[tuple[int, int]]) -> Iterator[Content]:
        """The bytes of ranges, in their order; those under way hold `read_ahead_bytes` at most, but one at least."""
        if file.at_hand() or (len(ranges) == 1 and not may_be_given_up()):  # No thread is needed.
            yield from (file.read(start, end) for start, end in ranges)
            return
        waiting: list[Future[Content]] = []
        begun, held = 0, 0
        try:
            for number, (start, end) in enumerate(ranges):
                while begun < len(ranges) and (begun == number or self._has_room(held, ranges[begun], len(waiting))):
                    waiting.append(self.submit(file.read, *ranges[begun]))
                    held += ranges[begun][1] - ranges[begun][0]
                    begun += 1
                yield result_of(waiting.pop(0), file.path, start, end)
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
      clock: Seconds, of any start.
    """

    def __init__(self, requests: Requests, options: RemoteOptions, clock: Callable[[], float] = perf_counter) -> None:
        self._requests, self._options, self._clock = requests, options, clock
        self._lock, self._process = threading.Lock(), os.getpid()
        self._held: OrderedDict[tuple[str, int], Future[Content]] = OrderedDict()
        self._used: dict[tuple[str, int], int] = {}  # Bytes of each that somebody has taken.
        self._asked: dict[str, set[int]] = {}  # Of each file: the blocks that were asked for in this pass.
        self._ahead, self._fastest = 1, float("inf")

    @property
    def block_bytes(self) -> int:
        """Length of every block but a file's last one. [bytes]."""
        return self._options.range_bytes

    def get(self, file: RemoteFile, number: int, used: int) -> Content:
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
        if file.at_hand():
            return file.read(*self._range(file, number))
        key = (file.path, number)
        with self._lock:
            following = self._following(file, number)
            for each in (number, *following):
                self._want(file, each)
            future = self._held[key]
            self._use(key, used, min(self.block_bytes, file.size - number * self.block_bytes))
            self._drop()
        began = self._clock()
        try:
            return result_of(future, file.path, *self._range(file, number))
        except BaseException:
            with self._lock:  # It may be asked for again.
                self._held.pop(key, None)
                self._used.pop(key, None)
            raise
        finally:
            if min(self._clock() - began, self._fastest) > _LONG_SECONDS:
                self._ahead = min(2 * self._ahead, self._options.ranges_ahead)

    def prepare(self, file: RemoteFile) -> None:
        """Asks for the first block of a file that will be passed through soon."""
        if file.at_hand() or not file.size:
            return
        with self._lock:
            if not any(path == file.path for path, _ in self._held):  # Else threads are still at the pass before.
                self._asked.pop(file.path, None)
            self._want(file, 0)

    def close(self) -> None:
        """Gives up what is under way."""
        with self._lock:
            for future in self._held.values():
                future.cancel()
            self._forget()

    def _forget(self) -> None:
        self._held.clear()
        self._used.clear()
        self._asked.clear()

    def _following(self, file: RemoteFile, number: int) -> list[int]:
        """The blocks to ask for beside one: those ahead of it that nobody has asked for in this pass.

        Threads that share a pass may be many blocks apart, each with its own blocks ahead. One that was asked for and
        is not held was used up by another thread; whoever asks for such a block begins another pass.
        """
        asked = self._asked.setdefault(file.path, set())
        if number in asked and (file.path, number) not in self._held:
            asked.clear()
        if not asked:
            return []
        unclaimed = sum(key[0] == file.path and key not in self._used for key in self._held)
        room = max(1, self._options.ranges_ahead - unclaimed)
        stop = min(number + 1 + min(self._ahead, self._options.ranges_ahead - 1), -(-file.size // self.block_bytes))
        return [following for following in range(number + 1, stop) if following not in asked][:room]

    def _want(self, file: RemoteFile, number: int) -> None:
        key = (file.path, number)
        self._asked.setdefault(file.path, set()).add(number)
        if key in self._held:
            self._held.move_to_end(key)
            return
        self._held[key] = self._requests.submit(partial(self._fetch, file), *self._range(file, number))

    def _range(self, file: RemoteFile, number: int) -> tuple[int, int]:
        start = number * self.block_bytes
        return start, min(start + self.block_bytes, file.size)

    def _fetch(self, file: RemoteFile, start: int, end: int) -> Content:
        began = self._clock()
        found = file.read(start, end)
        self._fastest = min(self._fastest, self._clock() - began)
        return found

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
