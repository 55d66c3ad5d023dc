"""How files behind URLs are read, and what that cost so far.

RemoteOptions   frozen, given by the user
RemoteStats     frozen, what was done so far
Counts          the running counts behind it, which many threads add to
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, fields
from typing import Any

_INDEX_POLICIES = ("publish", "local")


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How files behind URLs (`s3://`, `gs://`, `hdfs://`, `https://`, `memory://`, ...) are read.

    Nothing here changes what is read. Files of this machine take no notice of it. Credentials, endpoints and time
    limits are fsspec's: its configuration and the environment say them.

    Attributes:
      range_bytes: A pass in file order asks for this much at a time, and no request asks for more but for one record.
        [bytes]
      read_ahead_bytes: Ranges that are under way or wait to be read hold this much at most; one range at least.
        [bytes]
      gap_bytes: Records asked for together that stand at most this far apart come by one request. [bytes]
      max_requests: How many requests one data set or reader has under way at most.
      attempts: How often a request is tried that fails for a passing reason: a lost connection, a timeout, HTTP 408,
        429, 500, 502, 503 and 504.
      pause_seconds: The pause before the second attempt; it doubles for each one after that. [s]
      longest_pause_seconds: No pause is longer. A pause is cut by up to half, at random, so that readers that were
        turned away together do not come back together. [s]
      index: Where an index goes that had to be built: "publish" writes it beside the shard, for everybody, and into
        the user's cache folder where that is refused; "local" writes it into the user's cache folder alone.
      cache_dir: A folder of this machine where whole shards are kept between runs; None keeps none. Several
        processes may share it.
      cache_bytes: Shards in `cache_dir` take this much at most. Those not used for the longest time go first, those in
        use never; a shard that finds no room is read over the network. [bytes]
    """

    range_bytes: int = 8 << 20
    read_ahead_bytes: int = 32 << 20
    gap_bytes: int = 256 << 10
    max_requests: int = 8
    attempts: int = 5
    pause_seconds: float = 0.5
    longest_pause_seconds: float = 16.0
    index: str = "publish"
    cache_dir: str | os.PathLike[str] | None = None
    cache_bytes: int = 16 << 30

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.index not in _INDEX_POLICIES:
            raise ValueError(f'index must be "publish" or "local", got {self.index!r}')

    @property
    def ranges_ahead(self) -> int:
        """How many ranges of a pass may be under way or waiting; at least 1."""
        return max(1, self.read_ahead_bytes // self.range_bytes)


_LEAST = {
    "range_bytes": 4096,
    "read_ahead_bytes": 4096,
    "gap_bytes": 0,
    "max_requests": 1,
    "attempts": 1,
    "pause_seconds": 0,
    "longest_pause_seconds": 0,
    "cache_bytes": 1,
}


@dataclass(frozen=True, slots=True)
class RemoteStats:
    """What was done to read files behind URLs.

    Attributes:
      requests: Calls that went out to fsspec's file system, repeated ones too.
      bytes: What they brought. [bytes]
      retries: Requests that failed for a passing reason and were made again.
      cache_hits: Shards that were found in `cache_dir`.
      cache_fetches: Shards that were fetched into it.
      cache_refusals: Shards that found no room in it and are read over the network.
    """

    requests: int = 0
    bytes: int = 0
    retries: int = 0
    cache_hits: int = 0
    cache_fetches: int = 0
    cache_refusals: int = 0

    def __add__(self, other: RemoteStats) -> RemoteStats:
        """The sums of both."""
        return RemoteStats(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class Counts:
    """The running counts behind `RemoteStats`. Thread-safe, also across a fork; starts anew where it is unpickled."""

    def __init__(self) -> None:
        self._stats = RemoteStats()
        self._lock, self._process = threading.Lock(), os.getpid()

    def add(self, **more: int) -> None:
        """Adds to some of them."""
        if self._process != os.getpid():  # A fork may have caught another thread inside the lock.
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            self._stats += RemoteStats(**more)

    def stats(self) -> RemoteStats:
        """The counts so far."""
        return self._stats

    def __reduce__(self) -> tuple[Any, ...]:
        return (Counts, ())
