"""TFRecordWriter: the bytes, the names, the errors."""

from __future__ import annotations

import copy
import glob
import gzip
import os
import pickle
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import frame, frames, starts

from wellfed.columns import Bytes, Ragged
from wellfed.errors import CompressionError, CorruptRecordError, EncodeError, TruncatedRecordError
from wellfed.example import encode_examples
from wellfed.io import RecordIndex, Records, TFRecordReader, TFRecordWriter

PAYLOADS = [b"", b"pig", b"cow" * 40, bytes(100), b"ant"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tfrecord"


# --- Bytes ----------------------------------------------------------------------------------------


def test_the_framing_is_the_formats_byte_for_byte(path):
    with TFRecordWriter(path) as writer:
        for payload in PAYLOADS:
            writer.write(payload)

    assert path.read_bytes() == frames(PAYLOADS)
    assert writer.records == 5


@given(st.lists(st.binary(max_size=200), max_size=30), st.sampled_from(["", "GZIP", "ZLIB"]), st.booleans())
def test_what_is_written_is_read(tmp_path_factory, payloads, kind, seekable):
    path = tmp_path_factory.mktemp("writer") / "x"
    seekable = seekable and kind == "GZIP"
    with TFRecordWriter(path, kind, seekable=seekable, member_bytes=300) as writer:
        writer.write_many(payloads)

    assert list(TFRecordReader(path)) == payloads
    assert Records(path)[:].to_list() == payloads


@given(st.lists(st.binary(max_size=30), max_size=20), st.lists(st.integers(0, 4), max_size=8))
def test_every_way_of_writing_keeps_the_order(tmp_path_factory, payloads, ways):
    path = tmp_path_factory.mktemp("ways") / "x"
    expected = []
    with TFRecordWriter(path, index=True) as writer:
        for way in ways:
            expected += payloads
            if way == 0:
                writer.write_many(payloads)
            elif way == 1:
                writer.write_many(Bytes.from_list(payloads))
            elif way == 2:
                writer.write_framed(frames(payloads))
            elif way == 3:
                writer.write_framed(np.frombuffer(frames(payloads), np.uint8))
            else:
                writer.write_many(iter(payloads))
                writer.flush()
        assert writer.records == len(expected)

    assert path.read_bytes() == frames(expected)
    found = RecordIndex.find(path)
    assert found is not None
    assert found.offsets.tolist() == starts(expected)


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_more_than_a_chunk_is_written_whole(path, kind):
    payloads = [bytes([i % 256]) * 3000 for i in range(2000)]
    with TFRecordWriter(path, kind) as writer:
        writer.write_many(payloads[:1000])
        writer.write_many(Bytes.from_list(payloads[1000:]))

    assert list(TFRecordReader(path)) == payloads


def test_a_record_that_can_change_is_copied(path):
    record = bytearray(b"before")
    with TFRecordWriter(path) as writer:
        writer.write(record)
        writer.write(memoryview(record)[::2])
        writer.write(np.arange(3, dtype=np.int16))
        record[:] = b"after!"

    assert list(TFRecordReader(path)) == [b"before", b"bfr", b"\0\0\1\0\2\0"]


def test_bytes_that_change_after_write_many_do_not_change_the_file(path):
    data = np.frombuffer(b"abcdef", np.uint8).copy()
    with TFRecordWriter(path) as writer:
        writer.write_many(Bytes(data, [0, 3], [3, 3]))
        data[:] = 0

    assert list(TFRecordReader(path)) == [b"abc", b"def"]


def test_strings_of_any_stride_are_written(path):
    strings = Bytes.from_list([b"%d" % i for i in range(10)])
    with TFRecordWriter(path) as writer:
        writer.write_many(strings[::-3])
        writer.write_many(strings[:0])

    assert list(TFRecordReader(path)) == [b"9", b"6", b"3", b"0"]


@pytest.mark.parametrize("record", ["text", 5, None, [1, 2]])
def test_a_record_that_is_no_bytes_is_refused(path, record):
    with TFRecordWriter(path) as writer:
        with pytest.raises(TypeError, match="bytes-like object is required"):
            writer.write(record)
        writer.write(b"fine")

    assert list(TFRecordReader(path)) == [b"fine"]


@pytest.mark.parametrize("framed", [b"x", frame(b"a")[:-1], frame(b"a") + b"noise", b"\0" * 12])
def test_what_is_not_framed_is_refused(path, framed):
    with TFRecordWriter(path) as writer, pytest.raises(ValueError, match="framed must hold whole records, byte"):
        writer.write_framed(framed)


def test_an_empty_writer_makes_a_legal_file_of_no_records(path):
    for kind in ("", "GZIP", "ZLIB"):
        for seekable in {False, kind == "GZIP"}:
            TFRecordWriter(path, kind, seekable=seekable, overwrite=True).close()
            assert list(TFRecordReader(path, kind)) == []
    assert path.stat().st_size > 0


# --- Examples -------------------------------------------------------------------------------------


COLUMNS = st.integers(0, 40).flatmap(
    lambda rows: st.fixed_dictionaries(
        {
            "number": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=rows, max_size=rows).map(
                lambda numbers: np.array(numbers, np.int64)
            ),
            "image": st.lists(st.binary(max_size=9), min_size=rows, max_size=rows).map(Bytes.from_list),
            "points": st.lists(st.lists(st.floats(width=32), max_size=4), min_size=rows, max_size=rows).map(
                lambda points: Ragged.from_list(points, np.float32)
            ),
            "pair": st.just(np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)),
            "name": st.lists(st.text(max_size=3), min_size=rows, max_size=rows),
        }
    )
)


@given(COLUMNS, st.integers(1, 400))
def test_columns_are_written_as_encode_examples_makes_them_whatever_the_chunk(tmp_path_factory, columns, chunk_bytes):
    path = tmp_path_factory.mktemp("examples") / "x"
    with TFRecordWriter(path, index=True) as writer:
        writer._chunk_bytes = chunk_bytes
        writer.write(b"before")
        writer.write_examples(columns)
        writer.write(b"after")

    expected = [b"before", *encode_examples(columns), b"after"]
    assert path.read_bytes() == frames(expected)
    assert writer.records == len(expected)
    assert RecordIndex.find(path).offsets.tolist() == starts(expected)


def test_columns_that_lose_information_add_nothing(path):
    with TFRecordWriter(path) as writer:
        with pytest.raises(EncodeError, match=r'feature "x": .*0.1.* is a number that float32 cannot hold'):
            writer.write_examples({"x": np.array([0.5] * 5000 + [0.1])})
        assert writer.records == 0

    assert list(TFRecordReader(path)) == []


def test_a_closed_writer_refuses_columns(path):
    writer = TFRecordWriter(path)
    writer.close()

    with pytest.raises(ValueError, match="the writer is closed"):
        writer.write_examples({"x": np.arange(3)})


# --- Compression ----------------------------------------------------------------------------------


def test_compressed_files_are_one_stream(path):
    for kind, bits in (("GZIP", 31), ("ZLIB", 15)):
        with TFRecordWriter(path, kind, overwrite=True) as writer:
            writer.write_many(PAYLOADS)
        assert zlib.decompress(path.read_bytes(), bits) == frames(PAYLOADS)


def test_a_seekable_file_begins_members_between_records_and_is_plain_gzip(path):
    payloads = [bytes(90) for _ in range(100)]
    with TFRecordWriter(path, "GZIP", seekable=True, member_bytes=1000) as writer:
        writer.write_many(payloads)

    assert gzip.decompress(path.read_bytes()) == frames(payloads)
    members = RecordIndex.build(path).members
    assert 9 <= len(members) <= 11
    assert set(members[:, 1].tolist()) <= set(starts(payloads))


def test_framed_records_are_cut_into_members_too(path):
    payloads = [bytes(90) for _ in range(100)]
    with TFRecordWriter(path, "GZIP", seekable=True, member_bytes=1000, index=True) as writer:
        writer.write_framed(frames(payloads))

    assert 9 <= len(RecordIndex.find(path).members) <= 12
    assert Records(path)[:].to_list() == payloads


def test_flush_brings_a_compressed_stream_so_far_to_the_file(path):
    writer = TFRecordWriter(path, "GZIP")
    writer.write_many(PAYLOADS)
    writer.flush()
    partial = next(path.parent.glob(".*.partial"))

    assert zlib.decompressobj(31).decompress(partial.read_bytes()) == frames(PAYLOADS)
    writer.discard()


# --- Names ----------------------------------------------------------------------------------------


def names(path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def visible(path) -> list[str]:
    """What a pattern such as `*` picks up."""
    return glob.glob(f"{path.parent}/*")  # noqa: PTH207 -- Path.glob gives hidden files too.


def test_nothing_is_visible_before_close(path):
    writer = TFRecordWriter(path)
    writer.write(b"a")
    writer.flush()

    assert visible(path) == []
    writer.close()
    assert names(path) == ["x.tfrecord"]
    writer.close()


def write_and_fail(path, **options) -> None:
    with TFRecordWriter(path, **options) as writer:
        writer.write_many([bytes(3000)] * 1000)
        writer.flush()
        raise KeyError("oops")


def test_an_exception_leaves_no_file(path):
    with pytest.raises(KeyError, match="oops"):
        write_and_fail(path)

    assert names(path) == []


def test_an_exception_leaves_the_old_file_as_it_was(path):
    path.write_bytes(b"old")
    with pytest.raises(KeyError, match="oops"):
        write_and_fail(path, overwrite=True)

    assert path.read_bytes() == b"old"
    assert names(path) == ["x.tfrecord"]


@pytest.mark.parametrize("name", [None, 3, b"x.tfrecord", ["x.tfrecord"]], ids=repr)
def test_what_is_no_path_is_refused(name):
    with pytest.raises(TypeError, match=r"a path must be a str or a pathlib\.Path, got "):
        TFRecordWriter(name)
    with pytest.raises(TypeError, match=r"a path must be a str or a pathlib\.Path, got "):
        TFRecordReader(name)


def test_a_folder_that_is_missing_is_named_without_the_temporary_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"No such folder: '{tmp_path / 'no'}'"):
        TFRecordWriter(tmp_path / "no" / "x.tfrecord")
    with pytest.raises(OSError, match=f"too long: '{tmp_path / ('x' * 300)}'"):
        TFRecordWriter(tmp_path / ("x" * 300))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_writer_is_neither_copied_nor_pickled(path, copied):
    with TFRecordWriter(path) as writer, pytest.raises(TypeError, match="is neither copied nor pickled"):
        copied(writer)


def test_an_existing_file_is_not_overwritten_unless_told(path):
    path.write_bytes(b"old")

    with pytest.raises(FileExistsError, match="exists already: overwrite=True replaces it, append=True adds to it"):
        TFRecordWriter(path)
    assert path.read_bytes() == b"old"
    with TFRecordWriter(path, overwrite=True) as writer:
        writer.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == frame(b"new")


def test_a_file_that_appears_meanwhile_is_not_overwritten(path):
    writer = TFRecordWriter(path)
    path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError, match="exists already"):
        writer.close()
    assert path.read_bytes() == b"theirs"
    assert names(path) == ["x.tfrecord"]


def test_overwriting_through_a_link_replaces_the_file_behind_it(path):
    path.write_bytes(b"old")
    link = path.parent / "link"
    link.symlink_to(path)
    with TFRecordWriter(link, overwrite=True) as writer:
        writer.write(b"new")

    assert link.is_symlink()
    assert path.read_bytes() == frame(b"new")


def test_a_mapped_reader_of_an_overwritten_file_keeps_the_old_bytes(path):
    path.write_bytes(frames([b"old"] * 5))
    records = Records(path)
    assert records[0] == b"old"
    with TFRecordWriter(path, overwrite=True) as writer:
        writer.write(b"new")

    assert records[4] == b"old"


def test_a_file_may_be_written_over_itself(path):
    path.write_bytes(frames([b"%d" % i for i in range(10)]))
    with TFRecordWriter(path, overwrite=True) as writer:
        writer.write_many(Records(path)[::2])

    assert list(TFRecordReader(path)) == [b"0", b"2", b"4", b"6", b"8"]


def test_a_writer_that_nobody_closes_is_thrown_away_loudly(path):
    with pytest.warns(RuntimeWarning, match=r"x\.tfrecord: a TFRecordWriter was never closed; its records were thrown"):
        TFRecordWriter(path).write(b"lost")
    assert names(path) == []


def test_a_closed_writer_refuses_records(path):
    writer = TFRecordWriter(path)
    writer.close()

    for write in (writer.write, writer.write_framed, lambda record: writer.write_many(Bytes.from_list([record]))):
        with pytest.raises(ValueError, match="the writer is closed"):
            write(b"")
    writer.flush()
    writer.discard()
    assert path.exists()


def test_no_thread_is_left(path):
    before = threading.active_count()
    for end in ("close", "discard"):
        writer = TFRecordWriter(path, overwrite=True)
        writer.write_many([bytes(1 << 20)] * 3)
        assert threading.active_count() == before + 1
        getattr(writer, end)()
        assert threading.active_count() == before


@pytest.mark.skipif(os.name == "nt", reason="kill by signal")
def test_a_killed_writer_leaves_nothing_under_the_final_name(path):
    program = (
        "import sys; from wellfed.io import TFRecordWriter\n"
        "writer = TFRecordWriter(sys.argv[1])\n"
        "writer.write_many([bytes(3000)] * 1000); writer.flush(); print('ready', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)

    assert visible(path) == []


# --- Errors of the system -------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        TFRecordWriter(tmp_path / "nowhere" / "x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_a_full_disk_is_an_error_of_the_write_that_meets_it(kind):
    writer = TFRecordWriter("/dev/full", kind)
    with pytest.raises(OSError, match="No space left on device"):
        writer.write_many(os.urandom(1 << 20) for _ in range(4))
    with pytest.raises(OSError, match="No space left on device"):
        writer.flush()
    with pytest.raises(OSError, match="No space left on device"):
        writer.close()
    writer.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
def test_a_full_disk_is_an_error_of_close_where_nothing_was_written_before():
    writer = TFRecordWriter("/dev/full")
    writer.write(b"small")

    with pytest.raises(OSError, match="No space left on device"):
        writer.close()


def test_a_disk_that_fills_up_leaves_no_file(path, monkeypatch):
    writer = TFRecordWriter(path)
    monkeypatch.setattr(writer._sink._output, "write", _no_space)

    with pytest.raises(OSError, match="no space"), writer:
        writer.write_many([bytes(1 << 20)] * 4)
    assert names(path) == []


def _no_space(content):
    raise OSError(28, "no space")


# --- Appending ------------------------------------------------------------------------------------


def test_records_are_added_to_a_plain_file(path):
    for count, payloads in ((2, PAYLOADS[:2]), (5, PAYLOADS[2:])):
        with TFRecordWriter(path, append=True, index=True) as writer:
            writer.write_many(payloads)
        assert list(TFRecordReader(path)) == PAYLOADS[:count]
        assert RecordIndex.find(path).offsets.tolist() == starts(PAYLOADS[:count])


def test_an_exception_while_adding_cuts_the_file_back(path):
    path.write_bytes(frames(PAYLOADS))
    with pytest.raises(KeyError, match="oops"):
        write_and_fail(path, append=True)

    assert path.read_bytes() == frames(PAYLOADS)


def test_a_file_that_does_not_end_on_a_record_is_not_added_to(path):
    path.write_bytes(frames(PAYLOADS)[:-1])

    with pytest.raises(TruncatedRecordError, match="record 4 at byte 287: a record of 19 bytes is due, only 18 left"):
        TFRecordWriter(path, append=True)


def test_a_file_with_a_damaged_header_is_not_added_to(path):
    path.write_bytes(frames(PAYLOADS[:2]) + b"noise" + frames(PAYLOADS[2:]))

    with pytest.raises(CorruptRecordError, match="record 2 at byte 35"):
        TFRecordWriter(path, append=True)


def test_a_file_whose_damage_an_index_leaves_out_is_not_added_to(path):
    path.write_bytes(frames(PAYLOADS) + b"tail")
    RecordIndex.for_file(path, on_damage="skip")

    with pytest.raises(TruncatedRecordError, match="record 5 at byte 306"):
        TFRecordWriter(path, append=True)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_compressed_file_is_not_added_to(path, indexed):
    path.write_bytes(gzip.compress(frames(PAYLOADS)))
    if indexed:
        RecordIndex.for_file(path)

    with pytest.raises(CompressionError, match="the content is GZIP"):
        TFRecordWriter(path, append=True)
    with pytest.raises(ValueError, match="append=True needs a plain file, got compression_type='GZIP'"):
        TFRecordWriter(path, "GZIP", append=True)


# --- Options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"compression_type": "SNAPPY"}, '"GZIP" or "ZLIB", got .SNAPPY.'),
        ({"compression_type": "GZIP", "compression_level": 11}, "must be -1 .default. to 9, got 11"),
        ({"seekable": True}, 'seekable=True needs compression_type="GZIP"'),
        ({"compression_type": "ZLIB", "seekable": True}, 'seekable=True needs compression_type="GZIP", got .ZLIB.'),
        ({"member_bytes": 0}, "member_bytes must be at least 1 byte, got 0"),
        ({"overwrite": True, "append": True}, "overwrite and append exclude each other"),
    ],
)
def test_options_are_checked_when_given(path, options, reason):
    with pytest.raises(ValueError, match=reason):
        TFRecordWriter(path, **options)
    assert names(path) == []
