"""Faults of the best-known reader without TensorFlow: each is right here."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from record_files import FakeSource, frame, frames

from wellfed import _native
from wellfed.errors import CorruptRecordError, TruncatedRecordError
from wellfed.io import RecordIndex, Records, TFRecordReader, expand_patterns, read_text_index, write_text_index
from wellfed.io.inflate import InflateStream
from wellfed.io.streams import StreamWindow
from wellfed.io.walk import Walker

PAYLOADS = [b"%d" % i * 20 for i in range(50)]


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "shard"
    path.write_bytes(frames(PAYLOADS))
    return path


def test_rot_does_not_pass_in_silence(shard):
    content = bytearray(shard.read_bytes())
    content[-10] ^= 1
    shard.write_bytes(content)

    with pytest.raises(CorruptRecordError, match=r"record 49 at byte .*: payload CRC32C"):
        list(TFRecordReader(shard))


def test_a_damaged_length_allocates_nothing(shard):
    length = (1 << 50).to_bytes(8, "little")
    shard.write_bytes(length + _native.masked_crc32c(length).to_bytes(4, "little") + bytes(50))

    for read in (lambda: list(TFRecordReader(shard)), lambda: RecordIndex.for_file(shard)):
        with pytest.raises(TruncatedRecordError, match="a record of 1125899906842640 bytes is due"):
            read()


def test_records_can_be_kept(shard):
    kept = list(TFRecordReader(shard))

    assert kept == PAYLOADS
    assert len({id(record) for record in kept}) == 50


def test_an_index_of_one_record_is_read(tmp_path):
    (tmp_path / "one").write_bytes(frame(b"only"))
    write_text_index(RecordIndex.for_file(tmp_path / "one"), tmp_path / "one.tfindex")

    assert len(read_text_index(tmp_path / "one", tmp_path / "one.tfindex")) == 1
    assert Records(tmp_path / "one")[:].to_list() == [b"only"]


def test_reading_starts_at_the_beginning_and_leaves_random_generators_alone(shard):
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 -- the global generator is the point.
    due = random.random(), np.random.random()  # noqa: NPY002 -- see above.
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 -- see above.

    assert list(TFRecordReader(shard)) == list(Records(shard)) == PAYLOADS
    assert (random.random(), np.random.random()) == due  # noqa: NPY002 -- see above.


def test_a_truncated_last_record_gets_no_index_entry(shard):
    os.truncate(shard, shard.stat().st_size - 1)

    with pytest.raises(TruncatedRecordError, match="record 49"):
        RecordIndex.for_file(shard)
    assert len(RecordIndex.for_file(shard, on_damage="skip")) == 49


def test_shards_of_every_name_are_found(tmp_path):
    for number in range(3):
        (tmp_path / f"mnist-train.tfrecord-0000{number}-of-00003").write_bytes(frames(PAYLOADS[:2]))

    assert len(expand_patterns(tmp_path / "mnist-train.tfrecord-*")) == 3
    assert len(Records(tmp_path / "*")) == 6


def test_the_first_record_of_a_gzip_comes_before_the_file_is_inflated():
    generator = random.Random(0)
    record = np.zeros(1000, np.int64)
    content = gzip.compress(_native.frame_records(generator.randbytes(12_000), record, record + 12_000), 0)
    source = FakeSource(content)

    run = Walker(StreamWindow(InflateStream(source, "GZIP"), block_bytes=1 << 16), "x").next_run(1)

    assert run is not None
    assert source.reads <= 2
    assert len(content) > 40 * (256 << 10)


def test_nothing_needs_a_build_tool_that_newer_pythons_lack():
    """distutils went with Python 3.12, setuptools need not be there."""
    rooms = "wellfed.io, wellfed.example, wellfed.feed, wellfed.queues, wellfed.image, wellfed.datasets, wellfed.compat"
    program = f"import sys; sys.modules.update(distutils=None, setuptools=None); import {rooms}"

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
