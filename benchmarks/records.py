"""Records as they are: framing and checksums, nothing parsed."""

from __future__ import annotations

import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Batch, Row
from layouts import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Wellfed:
    """Every checksum of the file, as `wellfed verify` checks it."""

    def __init__(self, data: str, folder: Path) -> None:
        self._path = path_of(folder, data)
        self._mapped: Any = None

    def forget(self) -> None:
        shutil.rmtree(self._path.parent / ".wellfed", ignore_errors=True)

    def first(self) -> Iterable[Batch]:
        from wellfed import summary

        report = summary.verify_file(str(self._path))
        return [{"records": range(report.records)}]

    def later(self) -> Iterable[Batch]:
        """The file stays mapped, as a reader that is open keeps it."""
        from wellfed import summary
        from wellfed.io import MappedFile

        if self._mapped is None:
            self._mapped = MappedFile(str(self._path))
        report = summary.verify_file(str(self._path), mapped=self._mapped)
        return [{"records": range(report.records)}]

    def proof(self) -> list[Any]:
        return [len(batch["records"]) for batch in self.first()]


class TensorFlow:
    """tf.data's reader, in batches so that Python is not what is timed."""

    def __init__(self, data: str, folder: Path) -> None:
        import tensorflow as tf

        self._dataset = tf.data.TFRecordDataset([str(path_of(folder, data))]).batch(1024)

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        return ({"records": batch} for batch in self._dataset)

    later = first

    def proof(self) -> list[Any]:
        return [sum(len(batch["records"]) for batch in self.first())]


class Search:
    """Reading past damage: a file of 256 MB of noise between records, in which no header may be taken for one."""

    _KEPT, _NOISE = 1000, 256_000_000

    def __init__(self, folder: Path) -> None:
        import wellfed as wf

        self._path = folder / "damage" / "damage.tfrecord"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with wf.TFRecordWriter(str(self._path), overwrite=True) as writer:
            writer.write_many([b"x" * 3000] * self._KEPT)
        intact = self._path.read_bytes()
        noise = np.random.default_rng(0).integers(0, 256, self._NOISE, np.uint8).tobytes()
        self._path.write_bytes(intact + noise + intact)

    def _records(self) -> int:
        import wellfed as wf

        reader = wf.TFRecordReader(str(self._path), on_damage="skip")
        return sum(len(batch) for batch in reader.read_batches())

    def figure(self) -> float:
        """Bytes of the file a second."""
        start = time.perf_counter()
        self._records()
        return self._path.stat().st_size / (time.perf_counter() - start)

    def proof(self) -> list[Any]:
        found = self._records()
        assert found == 2 * self._KEPT, f"{found} of {2 * self._KEPT} records were found"
        return [found]


class OpenIndex:
    """From the path of 10 million records to any of them: the index is mapped, not read."""

    _RECORDS = 10_000_000

    def __init__(self, folder: Path) -> None:
        import wellfed as wf

        self._path = folder / "index" / "index.tfrecord"
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part")
            with wf.TFRecordWriter(str(part), overwrite=True) as writer:
                writer.write_many([b""] * self._RECORDS)
            part.replace(self._path)
        wf.RecordIndex.for_file(str(self._path))

    def figure(self) -> float:
        """Seconds to open the index and to look up the first, the middle and the last record."""
        import wellfed as wf

        start = time.perf_counter()
        index = wf.RecordIndex.find(str(self._path))
        seconds = time.perf_counter() - start if self._looked_up(index) else 0.0
        assert seconds
        return seconds

    def _looked_up(self, index: Any) -> bool:
        return [int(index.offsets[row]) // 16 for row in (0, self._RECORDS // 2, self._RECORDS - 1)] == [
            0,
            self._RECORDS // 2,
            self._RECORDS - 1,
        ]

    def proof(self) -> list[Any]:
        self.figure()
        return ["index"]


class Scan:
    """Which features a file's records hold: kinds, counts, ranges, and what byte strings look like."""

    def __init__(self, data: str, folder: Path) -> None:
        import wellfed as wf

        self._path = path_of(folder, data)
        self._records = wf.Records(str(self._path))

    def _scan(self) -> Any:
        import wellfed as wf

        return wf.scan_features(self._records[:])

    def figure(self) -> float:
        """Bytes of the file a second, reading and checking it included."""
        start = time.perf_counter()
        self._scan()
        return self._path.stat().st_size / (time.perf_counter() - start)

    def proof(self) -> list[Any]:
        found = self._scan()
        return [found.records, sorted(found.features)]


ROWS = (
    Row("scan features, 3 KB records", {"wellfed": partial(Scan, "bytes")}, "bytes", unit="bytes", limit=1e9),
    Row("search after damage", {"wellfed": Search}, unit="bytes", limit=500e6),
    Row("open an index of 10 M records", {"wellfed": OpenIndex}, unit="s", limit=0.05),
    Row(
        "check every CRC, 3 KB records",
        {"wellfed": partial(Wellfed, "bytes"), "tensorflow": partial(TensorFlow, "bytes")},
        "bytes",
        due={"tensorflow": (8, 15)},
    ),
)
