"""Sidecars that are stale, cut, foreign or hostile: noticed, replaced, never believed."""

from __future__ import annotations

import contextlib
import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import FakeSource, frame, frames, starts

from wellfed import _native
from wellfed.errors import IndexFileError, RecordError, WellfedError
from wellfed.io import RecordIndex, Records
from wellfed.io import sidecar as sidecars
from wellfed.io.sidecar import Tables, places, unpack_tables
from wellfed.io.stamps import Stamp, stamp

PAYLOADS = [b"%04d" % i for i in range(100)]
STAMP = Stamp(2000, bytes(16))


def pack_tables(tables, of):
    return b"".join(sidecars.pack_tables(tables, of))


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "shard"
    path.write_bytes(frames(PAYLOADS))
    return path


@pytest.fixture
def sidecar(shard):
    """The sidecar of the shard, written."""
    RecordIndex.for_file(shard)
    return shard.parent / ".wellfed" / "shard.index"


def tables(offsets=(0, 20, 40), gaps=(), members=(), stream_bytes=40) -> Tables:
    pair = [np.array(table, np.uint64).reshape(-1, 2) for table in (gaps, members)]
    return Tables(np.array(offsets, np.uint64), *pair, compression="", checked=False, stream_bytes=stream_bytes)


def signed(content: bytes) -> bytes:
    """The header with its sum made right again."""
    return content[:124] + _native.crc32c(content[:124]).to_bytes(4, "little") + content[128:]


def as_array(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


def assert_found_and_right(shard):
    index = RecordIndex.for_file(shard)
    assert index.offsets.tolist() == starts(PAYLOADS)
    assert Records(shard)[:].to_list() == PAYLOADS


# --- The format -----------------------------------------------------------------------------------


def test_the_bytes_are_those_of_the_format_page():
    content = pack_tables(tables(gaps=[(40, 44)], members=[(0, 0)], stream_bytes=44), Stamp(44, b"0123456789abcdef"))

    assert len(content) == 128 + 3 * 8 + 16 + 16
    assert content[:16] == b"WFINDEX\n" + struct.pack("<II", 1, 0)
    assert content[16:40] == struct.pack("<Q", 44) + b"0123456789abcdef"
    assert struct.unpack("<QQQQ", content[40:72]) == (2, 1, 1, 44)
    assert content[72:76] == _native.crc32c(content[128:]).to_bytes(4, "little")
    assert content[76:124] == bytes(48)
    assert content[124:128] == _native.crc32c(content[:124]).to_bytes(4, "little")
    assert struct.unpack("<7Q", content[128:]) == (0, 20, 40, 40, 44, 0, 0)


@given(
    st.lists(st.integers(16, 1000), max_size=20),
    st.sampled_from(["", "GZIP", "ZLIB"]),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=3),
)
def test_what_is_packed_is_unpacked(sizes, compression, checked, pairs):
    offsets = np.cumsum([0, *sizes]).astype(np.uint64)
    pair = np.array(pairs, np.uint64).reshape(-1, 2)
    members = np.array([[0, 0], *pairs] if compression and sizes else [], np.uint64).reshape(-1, 2)
    packed = Tables(offsets, pair, members, compression, checked, stream_bytes=int(offsets[-1]))

    found = unpack_tables(as_array(pack_tables(packed, STAMP)), STAMP, "x")

    assert np.array_equal(found.offsets, offsets)
    assert np.array_equal(found.gaps, pair)
    assert np.array_equal(found.members, members)
    assert (found.compression, found.checked, found.stream_bytes) == (compression, checked, offsets[-1])


def test_the_stamp_tells_contents_apart_by_size_and_samples():
    content = bytes(100_000)
    changed = [content + b"\0", b"\1" + content[1:], content[:-1] + b"\1", content[:33_000] + b"\1" + content[33_001:]]

    assert len({stamp(FakeSource(one)) for one in [content, *changed]}) == 5
    assert stamp(FakeSource(content)) == stamp(FakeSource(bytes(100_000)))


def test_a_stamp_reads_four_samples_and_not_the_file():
    source = FakeSource(bytes(10_000_000))

    stamp(source)

    assert source.reads == 4


# --- Noticed when it is opened --------------------------------------------------------------------


HOSTILE = {
    "empty": (lambda c: b"", "no index of wellfed"),
    "another magic": (lambda c: b"X" + c[1:], "no index of wellfed"),
    "half a header": (lambda c: c[:64], "no index of wellfed"),
    "a flipped header bit": (lambda c: c[:17] + b"\1" + c[18:], "its header's CRC32C is"),
    "a later version": (lambda c: signed(c[:8] + b"\2" + c[9:]), "has version 2, this wellfed knows version 1"),
    "another size": (lambda c: signed(c[:16] + b"\1" + c[17:]), "of another content of the file"),
    "another content": (lambda c: signed(c[:24] + b"\1" + c[25:]), "of another content of the file"),
    "cut": (lambda c: c[:-1], "the index has 151 bytes, 152 are due: it was cut"),
    "too long": (lambda c: c + b"\0", "the index has 153 bytes, 152 are due"),
    "2^64 - 1 records": (lambda c: signed(c[:40] + b"\xff" * 8 + c[48:]), "bytes, 147573952589676413056 are due"),
    "2^64 - 1 gaps": (lambda c: signed(c[:48] + b"\xff" * 8 + c[56:]), "are due"),
    "2^61 records": (lambda c: signed(c[:40] + b"\0" * 7 + b"\x20" + c[48:]), "are due"),
    "a member of a plain file": (lambda c: signed(c[:56] + b"\1" + c[57:]) + bytes(16), "has 1 members for 2 records"),
    "no member of a GZIP file": (lambda c: signed(c[:12] + b"\2" + c[13:]), "has 0 members for 2 records of a 'GZIP'"),
    "an end behind the file": (lambda c: signed(c[:64] + b"\1" + c[65:]), "points behind the end of its file"),
}


@pytest.mark.parametrize(("change", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_sidecar_that_cannot_be_right_is_refused_when_opened(change, reason):
    with pytest.raises(IndexFileError, match=reason):
        unpack_tables(as_array(change(pack_tables(tables(), STAMP))), STAMP, "x")


@pytest.mark.parametrize("change", [change for change, _ in HOSTILE.values()], ids=HOSTILE)
def test_a_sidecar_that_is_refused_is_replaced(shard, sidecar, change):
    sidecar.write_bytes(change(sidecar.read_bytes()))

    assert RecordIndex.find(shard) is None
    assert_found_and_right(shard)
    assert RecordIndex.find(shard) is not None


def test_a_sidecar_of_another_file_is_refused(shard, sidecar, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(frames([b"other"] * 5))
    RecordIndex.for_file(other)
    sidecar.write_bytes((tmp_path / ".wellfed" / "other.index").read_bytes())

    assert_found_and_right(shard)


def test_an_index_is_rebuilt_when_its_file_was_written_again(shard, sidecar):
    shard.write_bytes(frames([b"new"] * 7))

    assert len(RecordIndex.for_file(shard)) == 7


def test_an_index_survives_a_copy_of_shard_and_sidecar(shard, sidecar, tmp_path, monkeypatch):
    (tmp_path / "copy" / ".wellfed").mkdir(parents=True)
    (tmp_path / "copy" / "shard").write_bytes(shard.read_bytes())
    (tmp_path / "copy" / ".wellfed" / "shard.index").write_bytes(sidecar.read_bytes())
    os.utime(tmp_path / "copy" / "shard", (1, 1))
    monkeypatch.setattr(RecordIndex, "build", None)

    assert len(RecordIndex.for_file(tmp_path / "copy" / "shard")) == 100


# --- Noticed when a record is read ----------------------------------------------------------------


def hostile_offsets(shard, sidecar, change):
    """Puts changed offsets into the sidecar, with every sum made right: only the records themselves can tell."""
    index = RecordIndex.for_file(shard)
    offsets = index.offsets.copy()
    change(offsets)
    forged = Tables(offsets, index.gaps, index.members, "", checked=False, stream_bytes=index.stream_bytes)
    found = stamp(FakeSource(shard.read_bytes()))
    sidecar.write_bytes(pack_tables(forged, found))


@pytest.mark.parametrize("value", [1, 999, 2000, 2001, 1 << 40, 2**63, 2**64 - 1, 2**64 - 12])
def test_an_offset_that_points_anywhere_is_an_error_and_no_crash(shard, sidecar, value):
    def change(offsets):
        offsets[50] = value

    hostile_offsets(shard, sidecar, change)
    records = Records(shard)

    with pytest.raises((IndexFileError, RecordError), match=r"record 50|does not fit the file"):
        records[50]
    with pytest.raises((IndexFileError, RecordError), match=r"record 50|does not fit the file"):
        records[40:60]
    assert records[10] == PAYLOADS[10]


def test_an_offset_that_points_at_another_true_record_is_noticed(shard, sidecar):
    def change(offsets):
        offsets[50] = offsets[60]

    hostile_offsets(shard, sidecar, change)

    with pytest.raises(IndexFileError, match="a record ends elsewhere than it says"):
        Records(shard)[50]


def test_an_offset_that_points_into_a_payload_that_holds_records_is_noticed(tmp_path):
    path = tmp_path / "shard"
    path.write_bytes(frame(b"first") + frame(frame(b"inner")) + frame(b"last"))
    RecordIndex.for_file(path)

    def change(offsets):
        offsets[1] += 12

    hostile_offsets(path, tmp_path / ".wellfed" / "shard.index", change)

    with pytest.raises(IndexFileError, match="a record ends elsewhere than it says"):
        Records(path)[1]


def test_a_flipped_bit_in_the_tables_is_blamed_on_the_index_and_not_on_the_file(shard, sidecar):
    content = bytearray(sidecar.read_bytes())
    content[128 + 50 * 8] ^= 4
    sidecar.write_bytes(content)

    with pytest.raises(IndexFileError, match=r"shard\.index: the index is damaged: its tables' CRC32C is .* Delete it"):
        Records(shard)[50]


def test_damage_in_the_file_is_blamed_on_the_file(shard, sidecar):
    content = bytearray(shard.read_bytes())
    content[50 * 20 + 13] ^= 1  # Between the samples of a file this small there is nothing: all of it is stamped.
    Records(shard)[50]
    shard.write_bytes(content)

    with pytest.raises(RecordError, match="record 50 at byte 1000: payload CRC32C"):
        Records(shard)[50]


@given(st.binary(min_size=0, max_size=200), st.integers(0, 300))
def test_noise_over_a_sidecar_never_crashes(noise, at):
    content = pack_tables(tables(), STAMP)
    content = content[:at] + noise + content[at + len(noise) :]
    try:
        found = unpack_tables(as_array(content), STAMP, "x")
    except WellfedError:
        return
    assert found.offsets[-1] <= found.stream_bytes


@settings(max_examples=100)
@given(data=st.data())
def test_forged_tables_of_a_compressed_file_never_crash(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("forged")
    content = gzip.compress(frames(PAYLOADS[:5])) + gzip.compress(frames(PAYLOADS[5:9]))
    (folder / "x").write_bytes(content)
    index = RecordIndex.build(folder / "x")
    number = st.one_of(st.integers(0, 200), st.integers(0, 2**64 - 1))
    pairs = st.lists(st.tuples(number, number), min_size=1, max_size=4)
    forged = Tables(
        np.array(data.draw(st.one_of(st.just(index.offsets.tolist()), st.lists(number, min_size=2))), np.uint64),
        np.array(data.draw(st.one_of(st.just([]), pairs)), np.uint64).reshape(-1, 2),
        np.array(data.draw(st.one_of(st.just(index.members.tolist()), pairs)), np.uint64).reshape(-1, 2),
        "GZIP",
        checked=False,
        stream_bytes=data.draw(st.one_of(st.just(index.stream_bytes), number)),
    )
    (folder / ".wellfed").mkdir()
    (folder / ".wellfed" / "x.index").write_bytes(pack_tables(forged, stamp(FakeSource(content))))
    records = Records(folder / "x", on_damage="skip")

    for row in range(min(len(records), 12)):
        with contextlib.suppress(WellfedError):
            assert records[row] in PAYLOADS


# --- Where it is kept -----------------------------------------------------------------------------


def test_a_sidecar_is_out_of_reach_of_patterns(shard, sidecar):
    assert [path.name for path in shard.parent.glob("*[!d]")] == []
    assert sidecar.exists()


def test_where_the_folder_cannot_be_written_the_users_cache_is_used(shard, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / ".wellfed").write_bytes(b"a file is in the way")

    assert len(RecordIndex.for_file(shard)) == 100
    cached = places(shard)[1]
    assert cached.startswith(str(tmp_path / "cache" / "wellfed" / "index"))
    assert Path(cached).stat().st_size == 128 + 101 * 8
    monkeypatch.setattr(RecordIndex, "build", None)
    assert len(RecordIndex.for_file(shard)) == 100


def test_where_nothing_can_be_written_the_index_is_kept_in_memory(shard, tmp_path, monkeypatch):
    (tmp_path / "cache").write_bytes(b"a file is in the way")
    (tmp_path / ".wellfed").write_bytes(b"and here too")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    index = RecordIndex.for_file(shard)

    assert len(index) == 100
    assert not index.save()


def test_writing_leaves_no_temporary_file(shard, sidecar):
    assert [path.name for path in sidecar.parent.iterdir()] == ["shard.index"]
