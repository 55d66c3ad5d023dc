"""TFRecordReader: framing, errors, ownership."""

from __future__ import annotations

import gc
import gzip
import os
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import FakeBlocks, FakeSource, PlainStream, frame, frames, masked_crc, run_payloads, starts

from wellfed import _native
from wellfed.errors import CorruptRecordError, FileChangedError, NotTFRecordError, TruncatedRecordError
from wellfed.io import RecordIndex, TFRecordReader
from wellfed.io.streams import StreamWindow
from wellfed.io.walk import Walker

# Record of b"foo", by hand from docs/format.md: length, its CRC, payload, its CRC.
FOO = bytes.fromhex("0300000000000000b099490e666f6f618abefe")

DAMAGE = {
    "length": (0, "length CRC32C"),
    "length crc": (8, "length CRC32C"),
    "payload": (12, "payload CRC32C"),
    "payload crc": (15, "payload CRC32C"),
}


@pytest.fixture
def write(tmp_path):
    def written(content: bytes):
        path = tmp_path / "x.tfrecord"
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize(
    ("record", "payload"),
    [
        ("000000000000000029039807d8ea82a2", b""),
        ("01000000000000000175de4161786ee428", b"a"),
        ("090000000000000037f97139313233343536373839e5b08ac7", b"123456789"),
        ("0300000000000000b099490e666f6f618abefe", b"foo"),
    ],
)
def test_a_record_by_hand_is_read(write, record, payload):
    assert list(TFRecordReader(write(bytes.fromhex(record)))) == [payload]


@pytest.mark.parametrize(("at", "reason"), DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("bit", range(8))
def test_one_flipped_bit_is_named_by_the_field_it_hit(write, at, reason, bit):
    damaged = bytearray(FOO)
    damaged[at] ^= 1 << bit

    with pytest.raises(CorruptRecordError, match=reason) as caught:
        list(TFRecordReader(write(bytes(damaged))))

    assert (caught.value.record_index, caught.value.offset) == (0, 0)


@pytest.mark.parametrize("tail", range(1, 12))
def test_a_tail_of_1_to_11_bytes_is_a_truncated_record(write, tail):
    path = write(FOO * 3 + bytes(tail))

    with pytest.raises(TruncatedRecordError, match=f"a header of 12 bytes is due, only {tail} left") as caught:
        list(TFRecordReader(path))

    assert (caught.value.record_index, caught.value.offset) == (3, 3 * len(FOO))


def test_an_error_names_file_record_offset_and_what_to_do(write):
    path = write(FOO + FOO[:-1])

    with pytest.raises(TruncatedRecordError) as caught:
        list(TFRecordReader(path))

    assert str(caught.value) == (
        f"{path}: record 1 at byte 19: a record of 19 bytes is due, only 18 left. "
        'Skip damage with on_damage="skip"; list it with `wellfed verify`.'
    )


def test_a_tebibyte_claimed_by_a_true_header_is_not_allocated(write):
    length = (1 << 40).to_bytes(8, "little")
    header = length + _native.masked_crc32c(length).to_bytes(4, "little")

    for content in (header + b"abc", gzip.compress(header + b"abc"), zlib.compress(header + b"abc")):
        with pytest.raises(TruncatedRecordError, match="of 1099511627792 bytes is due, only 15 left"):
            list(TFRecordReader(write(content)))


@pytest.mark.parametrize("length", [2**64 - 1, 2**64 - 16, 2**63, 2**63 - 1, 2**32])
def test_a_length_near_the_end_of_its_range_is_a_truncated_record(write, length):
    field = length.to_bytes(8, "little")

    with pytest.raises(TruncatedRecordError, match=f"a record of {length + 16} bytes is due"):
        list(TFRecordReader(write(field + _native.masked_crc32c(field).to_bytes(4, "little") + bytes(100))))


def test_without_check_crc_the_payload_in_front_of_a_bad_header_is_suspected_first(write):
    content = frames([b"foo", b"bar"])
    shorter = content[:13] + content[14:]  # The header that follows stands one byte early.

    with pytest.raises(CorruptRecordError, match="record 0 at byte 0: payload CRC32C"):
        list(TFRecordReader(write(shorter), check_crc=False))


def test_an_empty_file_holds_no_records(write):
    assert list(TFRecordReader(write(b""))) == []
    assert list(TFRecordReader(write(b""), "GZIP")) == []


def test_a_file_that_does_not_exist_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tfrecord"):
        list(TFRecordReader(tmp_path / "nowhere.tfrecord"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_is_refused_and_not_taken_for_an_empty_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    for read in (lambda: list(TFRecordReader(tmp_path / "pipe")), lambda: RecordIndex.for_file(tmp_path / "pipe")):
        with pytest.raises(OSError, match="pipe is a pipe or device; records are read from files"):
            read()


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(OSError, match="directory"):
        list(TFRecordReader(tmp_path))


def test_records_keep_their_bytes_while_others_are_read(write):
    payloads = [bytes([i]) * 300 for i in range(256)]
    for content in (frames(payloads), gzip.compress(frames(payloads))):
        records = list(TFRecordReader(write(content)))  # The best-known reader gives one buffer again and again.

        assert all(type(record) is bytes for record in records)
        assert records == payloads


def test_batches_are_views_that_outlive_reader_and_file(write):
    path = write(frames([b"one", b"two", b"three"]))
    batches = list(TFRecordReader(path).read_batches(2))
    path.unlink()
    gc.collect()

    assert [batch.to_list() for batch in batches] == [[b"one", b"two"], [b"three"]]
    assert not batches[0].data.flags.writeable
    assert batches[0].data is batches[1].data


def test_batches_have_at_most_as_many_records_as_asked_for(write):
    path = write(frames([b"x"] * 25))

    assert [len(batch) for batch in TFRecordReader(path).read_batches(10)] == [10, 10, 5]


@pytest.mark.parametrize("count", [0, -1])
def test_a_batch_of_no_records_is_refused(write, count):
    with pytest.raises(ValueError, match=f"max_records must be at least 1 record, got {count}"):
        TFRecordReader(write(b"")).read_batches(count)


def test_each_iteration_starts_at_the_beginning(write):
    reader = TFRecordReader(write(frames([b"a", b"b"])))
    first = iter(reader)

    assert next(first) == b"a"
    assert list(reader) == [b"a", b"b"]
    assert list(first) == [b"b"]


def test_an_iteration_sees_the_file_as_it_is_when_it_starts(write):
    path = write(frames([b"a", b"b"]))
    reader = TFRecordReader(path)
    assert list(reader) == [b"a", b"b"]

    for payloads in ([b"a", b"b", b"c"], [b"x"], []):
        path.unlink()
        path.write_bytes(frames(payloads))
        assert list(reader) == payloads
    path.write_bytes(gzip.compress(frames([b"packed"])))
    assert list(reader) == [b"packed"]


def test_a_file_that_grew_is_read_to_its_new_end(write):
    path = write(frames([b"a"]))
    reader = TFRecordReader(path)
    assert list(reader) == [b"a"]
    with path.open("ab") as file:
        file.write(frames([b"b"]))

    assert list(reader) == [b"a", b"b"]


def test_without_check_crc_a_damaged_payload_goes_unnoticed_but_not_a_header(write):
    content = bytearray(frames([b"foo", b"bar"]))
    content[13] ^= 1
    assert list(TFRecordReader(write(bytes(content)), check_crc=False)) == [b"fno", b"bar"]

    content[13] ^= 1
    content[19] ^= 1
    with pytest.raises(CorruptRecordError, match="record 1 at byte 19: length CRC32C"):
        list(TFRecordReader(write(bytes(content)), check_crc=False))


def test_damage_belongs_to_the_last_iteration(write):
    reader = TFRecordReader(write(FOO + b"tail" + FOO), on_damage="skip")

    assert list(reader) == list(reader) == [b"foo", b"foo"]
    assert [(damage.start, damage.end) for damage in reader.damage] == [(19, 23)]


def test_damage_reads_as_a_line(write):
    reader = TFRecordReader(write(FOO + FOO[:-1]), on_damage="skip")
    list(reader)

    assert str(reader.damage[0]) == "record 1  bytes [19..37)  a record of 19 bytes is due, only 18 left"


def test_an_unknown_policy_is_refused_when_given():
    with pytest.raises(ValueError, match='on_damage must be "raise" or "skip", got \'warn\''):
        TFRecordReader("x", on_damage="warn")


def test_an_unknown_compression_is_refused_when_given():
    with pytest.raises(ValueError, match=r'must be None .*, "", "GZIP" or "ZLIB", got .SNAPPY.'):
        TFRecordReader("x", "SNAPPY")


def test_a_file_that_is_cut_while_it_is_read_gives_an_error_and_the_process_lives(write):
    path = write(frame(bytes(5000)) * 2000)
    batches = TFRecordReader(path).read_batches(100)
    next(batches)
    with path.open("r+b") as file:
        file.truncate(1 << 20)

    with pytest.raises(FileChangedError, match="was cut from 10032000 to 1048576 bytes while it was read"):
        list(batches)


def test_a_file_that_is_replaced_by_a_damaged_one_is_told_apart_from_damage(write):
    path = write(frames([b"x" * 100] * 3000))
    batches = TFRecordReader(path).read_batches(10)
    next(batches)
    path.write_bytes(b"\xff" * path.stat().st_size)

    with pytest.raises(FileChangedError, match="was written to while it was read"):
        list(batches)


def test_another_format_is_named(write):
    with pytest.raises(NotTFRecordError, match="this is a zip archive, not a TFRecord file"):
        list(TFRecordReader(write(b"PK\x03\x04\x14" + bytes(60))))


def test_another_format_inside_gzip_is_named(write):
    tar = bytes(257) + b"ustar\0" + bytes(249)

    with pytest.raises(NotTFRecordError, match="this is a tar archive"):
        list(TFRecordReader(write(gzip.compress(tar)), on_damage="skip"))


def window_over(content: bytes, block_bytes: int, join_bytes: int | None):
    """A window over a stream in blocks, or one over the blocks of a remote file."""
    if join_bytes is None:
        return StreamWindow(PlainStream(FakeSource(content)), block_bytes=block_bytes)
    return FakeBlocks(content, block_bytes).window(join_bytes)


JOINS = st.none() | st.integers(1, 60)


@given(st.lists(st.binary(max_size=70), max_size=12), st.integers(1, 100), JOINS)
def test_a_stream_in_blocks_of_any_size_gives_every_record(payloads, block_bytes, join_bytes):
    window = window_over(frames(payloads), block_bytes, join_bytes)
    walker, found, at = Walker(window, "x"), [], []

    while (run := walker.next_run()) is not None:
        found += run_payloads(run)
        at += (run.offsets[:-1] + run.base).tolist()

    assert found == payloads
    assert at == starts(payloads)[:-1]
    assert walker.position == len(frames(payloads))


@pytest.mark.parametrize("join_bytes", [None, 1, 1 << 16])
def test_a_record_longer_than_a_block_is_read_whole(join_bytes):
    payload = bytes(range(256)) * 40
    window = window_over(frame(payload) + frame(b"next"), 64, join_bytes)

    run = Walker(window, "x").next_run(1)

    assert run.block[12:-4].tobytes()[: len(payload)] == payload


@pytest.mark.parametrize("join_bytes", [None, 1024])
def test_a_block_grows_to_the_record_and_not_far_beyond(join_bytes):
    payload = bytes(100_000)
    window = window_over(frame(payload) * 3, 1024, join_bytes)
    walker, longest = Walker(window, "x"), 0

    while (run := walker.next_run()) is not None:
        longest = max(longest, len(run.block))

    assert len(frame(payload)) <= longest < 1.5 * len(frame(payload))


def test_the_blocks_of_a_remote_file_are_not_copied_but_for_the_records_between():
    blocks = FakeBlocks(frame(bytes(1000)) * 100, 10_000)
    walker, copied = Walker(blocks.window(1), "x"), 0

    while (run := walker.next_run()) is not None:
        copied += 0 if isinstance(run.block.base, (bytes, np.ndarray)) else len(run.block)

    assert walker.records == 100
    assert copied <= 10 * 2 * 1016


def test_a_length_that_lies_is_not_allocated():
    lying = (1 << 39).to_bytes(8, "little")
    header = lying + masked_crc(lying).to_bytes(4, "little")
    walker = Walker(FakeBlocks(header + bytes(10_000), 256).window(64), "x")

    with pytest.raises(TruncatedRecordError, match=r"a record of 549755813904 bytes is due, only \d+ left"):
        walker.next_run()
