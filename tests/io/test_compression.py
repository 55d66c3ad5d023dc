"""GZIP and ZLIB: told apart, inflated as far as they are sound, within bounded memory."""

from __future__ import annotations

import contextlib
import gzip
import random
import tracemalloc
import zlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import FakeSource, frame, frames, run_payloads

from wellfed.errors import CompressionError, NotTFRecordError, TruncatedRecordError, WellfedError
from wellfed.io import Records, TFRecordReader, TFRecordWriter
from wellfed.io.compression import check_name, choose, compressor, detect
from wellfed.io.inflate import InflateStream
from wellfed.io.streams import StreamWindow
from wellfed.io.walk import Walker

PAYLOADS = [b"", b"pig", b"cow" * 40, bytes(100), b"ant"]
PLAIN = frames(PAYLOADS)


@pytest.fixture
def write(tmp_path):
    def written(content: bytes, name: str = "x.tfrecord"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return written


def read_all(content: bytes, kind: str) -> tuple[bytes, str]:
    stream = InflateStream(FakeSource(content), kind)
    buffer = bytearray(1 << 20)
    count = stream.read_into(memoryview(buffer))
    return bytes(buffer[:count]), stream.failure


# --- Told from the content ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PLAIN, ""),
        (b"", ""),
        (gzip.compress(PLAIN), "GZIP"),
        (gzip.compress(b""), "GZIP"),
        (zlib.compress(PLAIN), "ZLIB"),
        (zlib.compress(b""), "ZLIB"),
        *((zlib.compress(PLAIN, level), "ZLIB") for level in range(10)),
    ],
)
def test_the_content_tells_its_compression_whatever_the_name(write, content, kind):
    assert detect(content[:4096]) == kind
    for name in ("x", "x.gz", "x.zlib"):
        assert list(TFRecordReader(write(content, name))) == (PAYLOADS if len(content) > 20 else [])


@pytest.mark.parametrize("length", [0x088B1F, 0x0178, 0x5E78, 0x9C78, 0xDA78])
def test_a_plain_record_whose_length_looks_like_a_magic_is_plain(write, length):
    payload = bytes(length)

    assert detect(frame(payload)[:4096]) == ""
    assert list(TFRecordReader(write(frame(payload)))) == [payload]


def test_a_damaged_plain_record_that_begins_as_zlib_does_is_plain():
    damaged = bytearray(frame(bytes(0x0178)))
    damaged[9] ^= 1

    assert damaged[:2] == b"\x78\x01"
    assert detect(bytes(damaged)) == ""


@pytest.mark.parametrize("given_type", ["gzip", "SNAPPY", "NONE", "zlib ", "GZ"])
def test_an_unknown_name_is_refused_with_the_known_ones(given_type):
    with pytest.raises(ValueError, match='"", "GZIP" or "ZLIB"'):
        check_name(given_type)


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_an_empty_file_agrees_with_every_compression(kind):
    assert choose(b"", kind, "x") == kind


def test_noise_read_as_gzip_says_how_it_begins():
    with pytest.raises(CompressionError, match=r"begins with ff fe fd fc fb fa f9 f8\); leave compression_type out"):
        choose(bytes(range(255, 0, -1)), "GZIP", "x")


# --- Members --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@pytest.mark.parametrize(
    "cuts",
    [[], [10], [0], [0, 0], [len(PLAIN)], [3, 3, 17], [16, 35], list(range(0, len(PLAIN), 5))],
    ids=lambda cuts: f"{len(cuts) + 1} members",
)
def test_members_may_be_many_empty_or_cut_inside_a_record(write, kind, cuts):
    compress = gzip.compress if kind == "GZIP" else zlib.compress
    bounds = [0, *cuts, len(PLAIN)]
    content = b"".join(compress(PLAIN[a:b]) for a, b in pairwise(bounds))

    path = write(content)

    assert list(TFRecordReader(path)) == PAYLOADS
    assert Records(path)[:].to_list() == PAYLOADS
    assert [Records(path)[i] for i in range(len(PAYLOADS))] == PAYLOADS


def test_many_tiny_members_take_no_longer_than_their_bytes():
    source = FakeSource(gzip.compress(frame(b"tiny")) * 20_000)
    walker, count = Walker(StreamWindow(InflateStream(source, "GZIP")), "x"), 0

    while (run := walker.next_run()) is not None:
        count += len(run)

    assert count == 20_000
    assert source.reads < 2 * (source.size // (256 << 10) + 2)


def test_a_second_zlib_stream_is_read_where_tensorflow_ignores_it(write):
    assert list(TFRecordReader(write(zlib.compress(frame(b"a")) + zlib.compress(frame(b"b"))))) == [b"a", b"b"]


def test_a_gzip_header_may_hold_name_comment_extra_and_its_own_sum(write):
    plain = gzip.compress(PLAIN, mtime=0)
    fields = b"\x06\x00BC\x02\x00\x00\x00" + b"name\0" + b"comment\0" + b"\x12\x34"
    content = plain[:3] + bytes([4 | 8 | 16 | 2]) + plain[4:10] + fields + plain[10:]

    assert list(TFRecordReader(write(content))) == PAYLOADS


def test_a_gzip_name_without_an_end_is_no_header():
    content = gzip.compress(b"")[:3] + bytes([8]) + bytes(6) + b"n" * (2 << 20)

    found, failure = read_all(content, "GZIP")

    assert found == b""
    assert "its name is longer than 1048576 bytes" in failure


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_every_cut_gives_what_was_inflated_and_says_where_it_was_cut(kind):
    content = (gzip if kind == "GZIP" else zlib).compress(PLAIN)
    whole = 8 if kind == "GZIP" else 4
    for cut in range(1, len(content)):
        found, failure = read_all(content[:cut], kind)

        assert PLAIN.startswith(found)
        assert failure
        if cut >= len(content) - whole:
            assert found == PLAIN
            assert failure == f"the {kind} stream is cut at byte {cut} of the file, in its trailer"


def test_a_cut_between_two_members_is_a_legal_file():
    content = gzip.compress(PLAIN)

    assert read_all(content + gzip.compress(b"more")[:0], "GZIP") == (PLAIN, "")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_every_flipped_bit_is_noticed_and_no_untouched_record_is_lost_before_it(write, kind):
    payloads = [random.Random(i).randbytes(12) for i in range(12)]
    content = (gzip if kind == "GZIP" else zlib).compress(frames(payloads))
    silent = []
    for at in range(len(content)):
        for bit in (0, 3, 7):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            path = write(bytes(damaged))
            try:
                found = list(TFRecordReader(path, kind))
            except WellfedError:
                continue
            assert found == payloads
            silent.append(at)
    # Time, flags that only describe, the system's name, and what fills up the last byte of the deflate data.
    fill = len(content) - (9 if kind == "GZIP" else 5)
    assert set(silent) <= {fill, *({3, 4, 5, 6, 7, 8, 9} if kind == "GZIP" else {0, 1})}


def test_records_in_front_of_a_fault_in_the_deflate_data_are_all_given(write):
    generator = random.Random(0)
    payloads = [generator.randbytes(100) for _ in range(2000)]
    content = bytearray(gzip.compress(frames(payloads), 1))
    half = len(content) // 2
    content[half : half + 50] = bytes(50)
    reader = TFRecordReader(write(bytes(content)), on_damage="skip")

    found = list(reader)

    intact = half // 116 - 3  # Random payloads do not shrink, so the fault is about there.
    assert found[:intact] == payloads[:intact]
    assert reader.damage


@pytest.mark.parametrize("at_member", [0, 1, 4])
def test_after_a_damaged_member_reading_goes_on_at_the_next(write, tmp_path, at_member):
    generator = random.Random(1)
    payloads = [generator.randbytes(200) for _ in range(100)]
    path = tmp_path / "seekable"
    with TFRecordWriter(path, "GZIP", seekable=True, member_bytes=20 * 216) as writer:
        writer.write_many(payloads)
    content = bytearray(path.read_bytes())
    starts = Records(path).indexes[0].members[:, 0].tolist()
    assert len(starts) == 5
    # The end-of-block code and length fields are in the first bytes of the data: all of the member is lost.
    content[starts[at_member] + 10 : starts[at_member] + 16] = b"\xff" * 6
    reader = TFRecordReader(write(bytes(content)), on_damage="skip")

    found = list(reader)

    assert found == payloads[: 20 * at_member] + payloads[20 * (at_member + 1) :]
    assert len(reader.damage) == 1
    assert "the deflate data is damaged near byte" in reader.damage[0].reason


def test_bytes_after_the_end_are_reported_after_all_records(write):
    reader = TFRecordReader(write(gzip.compress(PLAIN) + b"\0" * 512))
    found = []

    with pytest.raises(CompressionError, match=r"512 bytes from byte .* of the file on are no GZIP member") as caught:
        found.extend(iter(reader))

    assert caught.value.path == reader.path
    lenient = TFRecordReader(reader.path, on_damage="skip")
    assert list(lenient) == PAYLOADS
    assert [(one.start, one.end, one.records_lost) for one in lenient.damage] == [(len(PLAIN), len(PLAIN), 0)]


def test_a_gzip_inside_a_payload_is_not_taken_for_a_member_while_all_is_well(write):
    inner = gzip.compress(frames([b"inner"]), 0)

    assert list(TFRecordReader(write(gzip.compress(frame(inner), 0)))) == [inner]


def test_a_record_cut_by_the_end_of_the_stream_names_both(write):
    with pytest.raises(TruncatedRecordError, match="only 11 left; the GZIP stream is cut at byte"):
        list(TFRecordReader(write(gzip.compress(frame(b"abc")[:11], 0)[:-8])))


# --- Writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("level", range(-1, 10))
def test_every_level_gives_a_stream_that_zlib_reads(kind, level):
    stream = compressor(kind, level)
    content = stream.compress(PLAIN) + stream.flush()

    assert zlib.decompress(content, 47) == PLAIN
    assert detect(content) == kind


def test_level_0_stores(tmp_path):
    with TFRecordWriter(tmp_path / "x", "ZLIB", compression_level=0) as writer:
        writer.write(bytes(10_000))

    assert (tmp_path / "x").stat().st_size > 10_000


@pytest.mark.parametrize("level", [-2, 10])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(ValueError, match=f"must be -1 .default. to 9, got {level}"):
        compressor("GZIP", level)


# --- Bounds ---------------------------------------------------------------------------------------


def test_a_stream_of_any_size_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "bomb"
    with TFRecordWriter(path, "GZIP") as writer:
        for _ in range(200):
            writer.write(bytes(1 << 20))
    assert path.stat().st_size < 2 << 20

    tracemalloc.start()
    records = sum(1 for _ in TFRecordReader(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert records == 200
    assert peak < 32 << 20


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=60), max_size=8), st.data())
def test_members_cut_anywhere_and_read_in_any_blocks_give_the_same_records(payloads, data):
    plain = frames(payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(plain)), max_size=4)))
    kind = data.draw(st.sampled_from(["GZIP", "ZLIB"]))
    compress = gzip.compress if kind == "GZIP" else zlib.compress
    bounds = [0, *cuts, len(plain)]
    content = b"".join(compress(plain[a:b]) for a, b in pairwise(bounds))
    window = StreamWindow(InflateStream(FakeSource(content), kind), block_bytes=data.draw(st.integers(1, 90)))
    walker, found = Walker(window, "x"), []

    while (run := walker.next_run()) is not None:
        found += run_payloads(run)

    assert found == payloads
    assert len(window.members) == len(bounds) - 1


@settings(max_examples=200)
@given(st.binary(max_size=300), st.sampled_from(["GZIP", "ZLIB"]))
def test_noise_never_gives_a_record(noise, kind):
    magic = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" if kind == "GZIP" else b"\x78\x9c"
    window = StreamWindow(InflateStream(FakeSource(magic + noise), kind), block_bytes=64)
    walker = Walker(window, "x", on_damage="skip")
    with contextlib.suppress(NotTFRecordError):  # Noise may inflate to something that has a magic.
        assert walker.next_run() is None
