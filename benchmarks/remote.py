"""Shards behind URLs, beside what fsspec itself gives in ranges of 8 MiB.

The peer asks for one range after another and drops it. wellfed does that, ahead of the one who reads, and delivers
records whose checksums it has checked. Both count the bytes of the files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from harness import Batch, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RANGE_BYTES = 8 << 20
SHARD_BYTES = 32 << 20
SHARDS = 4


class _Shards:
    """Shards in the store, written by wellfed when the side is made; a store on loopback is a process of its own."""

    def __init__(self, protocol: str, record_bytes: int, folder: Path) -> None:
        del folder
        import numpy as np

        import wellfed as wf

        self._server = _S3() if protocol == "s3" else None
        payload = np.random.default_rng(0).bytes(record_bytes)
        self.urls = [f"{protocol}://bench/{record_bytes}-{shard}.tfrecord" for shard in range(SHARDS)]
        for url in self.urls:
            with wf.TFRecordWriter(url, overwrite=True) as writer:
                writer.write_many([payload] * (SHARD_BYTES // (record_bytes + 16)))

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return ({"bytes": range(count)} for count in self.counts())

    def counts(self) -> Iterator[int]:
        raise NotImplementedError

    def proof(self) -> list[Any]:
        return [sum(self.counts())]


class Wellfed(_Shards):
    """Every record of every shard, in batches."""

    def counts(self) -> Iterator[int]:
        import wellfed as wf

        for url in self.urls:
            for batch in wf.TFRecordReader(url).read_batches():
                yield int(batch.sizes.sum()) + 16 * len(batch)


class Fsspec(_Shards):
    """Every byte of every shard, range by range."""

    def counts(self) -> Iterator[int]:
        import fsspec

        for url in self.urls:
            system, name = fsspec.core.url_to_fs(url)
            size = system.size(name)
            for start in range(0, size, RANGE_BYTES):
                yield len(system.cat_file(name, start=start, end=min(start + RANGE_BYTES, size)))


class _S3:
    """A moto server in a process of its own, which ends with this one."""

    def __init__(self) -> None:
        import fsspec

        program = (
            "import sys; from moto.server import ThreadedMotoServer; server = ThreadedMotoServer('127.0.0.1', 0); "
            "server.start(); print('at', *server.get_host_and_port(), flush=True); sys.stdin.read(); server.stop()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdout
        words = [b""]
        while words[0] != b"at":  # The server has something to say too.
            words = self._process.stdout.readline().split() or [b""]
        host, port = words[1].decode(), words[2].decode()
        os.environ |= {
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }
        fsspec.filesystem("s3").mkdir("bench")


ROWS = tuple(
    Row(
        f"records of {name} through {protocol}://",
        {"wellfed": partial(Wellfed, protocol, size), "fsspec": partial(Fsspec, protocol, size)},
        due={"fsspec": (0.8, None)},
        unit="bytes",
        environment="partners" if protocol == "s3" else "wellfed",
    )
    for protocol, size, name in (
        ("memory", 100_000, "100 KB"),
        ("memory", 3_000, "3 KB"),
        ("s3", 100_000, "100 KB"),
        ("s3", 3_000, "3 KB"),
    )
)
