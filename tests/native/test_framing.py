"""Framing from Python: TensorFlow's bytes, what each kind of damage is called, and the search behind it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed import _native

# tensorflow.md section 1: whole records as TensorFlow writes them.
GOLDEN = {
    b"": "000000000000000029039807d8ea82a2",
    b"a": "01000000000000000175de4161786ee428",
    b"abc": "0300000000000000b099490e6162636e57f121",
    b"123456789": "090000000000000037f97139313233343536373839e5b08ac7",
}

# Record of b"foo", by hand: length, its sum, payload, its sum.
FOO = bytes.fromhex("0300000000000000b099490e666f6f618abefe")

DAMAGE = {
    "length": (0, _native.FRAME_BAD_LENGTH_CRC),
    "high byte of length": (7, _native.FRAME_BAD_LENGTH_CRC),
    "length sum": (8, _native.FRAME_BAD_LENGTH_CRC),
    "payload": (12, _native.FRAME_BAD_PAYLOAD_CRC),
    "payload sum": (15, _native.FRAME_BAD_PAYLOAD_CRC),
}


def frame(payloads):
    sizes = np.array([len(payload) for payload in payloads], np.int64)
    starts = np.cumsum(sizes) - sizes
    return _native.frame_records(b"".join(payloads), starts, sizes)


def header_starts(payloads):
    starts = [0]
    for payload in payloads:
        starts.append(starts[-1] + 16 + len(payload))
    return starts


payload_lists = st.lists(st.binary(max_size=300), max_size=8)


# --- Writing


@pytest.mark.parametrize(("payload", "due"), GOLDEN.items(), ids=repr)
def test_frames_equal_tensorflows_to_the_byte(payload, due):
    assert frame([payload]).hex() == due


def test_records_may_overlap_and_come_in_any_order():
    framed = _native.frame_records(b"abcde", np.array([2, 0]), np.array([3, 3]))

    assert framed == frame([b"cde", b"abc"])


def test_no_records_are_no_bytes():
    assert _native.frame_records(b"abc", np.empty(0, np.int64), np.empty(0, np.int64)) == b""


OUTSIDE = {
    "start behind the end": (4, 0),
    "end behind the end": (1, 3),
    "negative start": (-1, 1),
    "negative size": (0, -1),
    "sum that wraps": (2, 2**63 - 1),
}


@pytest.mark.parametrize(("start", "size"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_record_outside_the_data_is_named(start, size):
    with pytest.raises(ValueError, match=rf"record 1 must lie inside the 3 bytes.*got start {start} and size {size}"):
        _native.frame_records(b"abc", np.array([0, start]), np.array([3, size]))


def test_starts_without_sizes_are_an_error():
    with pytest.raises(ValueError, match="equally long, got 2 and 1"):
        _native.frame_records(b"abc", np.array([0, 1]), np.array([1]))


# --- Reading


@given(payload_lists, st.booleans())
def test_what_was_framed_is_scanned_again(payloads, check):
    framed = frame(payloads)

    offsets, position, status = _native.scan_frames(framed, check=check)

    assert offsets.tolist() == header_starts(payloads)[:-1]
    assert (position, status) == (len(framed), _native.FRAME_END)


def test_offsets_are_an_array_of_their_own():
    offsets, _, _ = _native.scan_frames(FOO)

    assert offsets.dtype == np.uint64
    assert offsets.shape == (1,)
    assert offsets.flags.writeable


@given(payload_lists, st.data())
def test_a_scan_in_blocks_equals_one_scan(payloads, data):
    framed = frame(payloads)
    position, starts = 0, []
    for end in [*sorted(data.draw(st.lists(st.integers(0, len(framed)), max_size=6))), len(framed)]:
        offsets, position, status = _native.scan_frames(framed[:end], position)
        starts += offsets.tolist()
        assert status in (_native.FRAME_END, _native.FRAME_TRUNCATED)

    assert starts == header_starts(payloads)[:-1]


def test_a_scan_stops_after_max_records():
    framed = frame([b"a", b"bc", b"d"])

    offsets, position, status = _native.scan_frames(framed, 0, 2)

    assert (offsets.tolist(), position, status) == ([0, 17], 35, _native.FRAME_OK)


@pytest.mark.parametrize("call", [_native.scan_frames, _native.find_frame, _native.find_frame_in_stream])
def test_a_start_behind_the_end_is_an_error(call):
    with pytest.raises(ValueError, match=f"start must be at most the block's {len(FOO)} bytes, got {len(FOO) + 1}"):
        call(FOO, len(FOO) + 1)


# --- Damage


@pytest.mark.parametrize(("at", "due"), DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("bit", range(8))
def test_one_flipped_bit_is_named_by_the_field_it_hit(at, due, bit):
    damaged = bytearray(FOO)
    damaged[at] ^= 1 << bit

    offsets, position, status = _native.scan_frames(damaged)

    assert (offsets.tolist(), position, status) == ([], 0, due)


@pytest.mark.parametrize("size", range(1, len(FOO)))
def test_a_cut_record_is_truncated(size):
    offsets, position, status = _native.scan_frames(FOO[:size])

    assert (offsets.tolist(), position, status) == ([], 0, _native.FRAME_TRUNCATED)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5), st.data())
def test_any_flipped_bit_ends_the_scan_at_its_record(payloads, data):
    framed = bytearray(frame(payloads))
    at = data.draw(st.integers(0, 8 * len(framed) - 1))
    framed[at // 8] ^= 1 << at % 8
    before = [start for start in header_starts(payloads) if start <= at // 8]

    offsets, position, status = _native.scan_frames(framed)

    assert offsets.tolist() == before[:-1]
    assert position == before[-1]
    assert status in (_native.FRAME_BAD_LENGTH_CRC, _native.FRAME_BAD_PAYLOAD_CRC)


# --- Searching


@given(st.lists(st.binary(max_size=60), min_size=2, max_size=5), st.data())
def test_the_search_finds_the_record_behind_the_damage(payloads, data):
    framed = bytearray(frame(payloads))
    starts = header_starts(payloads)
    hit = data.draw(st.integers(0, len(payloads) - 2))
    framed[data.draw(st.integers(starts[hit], starts[hit + 1] - 1))] ^= 1 << data.draw(st.integers(0, 7))

    assert _native.find_frame(framed, starts[hit]) == starts[hit + 1]


def test_the_search_tells_the_length_where_there_is_no_record():
    assert _native.find_frame(bytes(1000), 3) == 1000


def test_a_search_in_a_stream_waits_for_a_record_that_the_block_cuts():
    block = b"noise" + FOO[:-1]

    assert _native.find_frame(block) == len(block)
    assert _native.find_frame_in_stream(block) == (5, _native.FRAME_TRUNCATED)
    assert _native.find_frame_in_stream(block + FOO[-1:]) == (5, _native.FRAME_OK)
    assert _native.find_frame_in_stream(block, 0, max_length=2)[1] == _native.FRAME_END


@given(st.binary(max_size=30), st.lists(st.binary(max_size=2000), min_size=1, max_size=4), st.data())
def test_a_search_object_gives_what_the_functions_give(noise, payloads, data):
    block = bytearray(noise + frame(payloads))
    block[data.draw(st.integers(0, len(block) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    search = _native.FrameSearch(block)

    for start in data.draw(st.lists(st.integers(0, len(block)), max_size=9)):
        offsets, *rest = search.scan(start)
        due, *others = _native.scan_frames(block, start)
        assert (offsets.tolist(), rest) == (due.tolist(), others)
        assert search.find(start) == _native.find_frame(block, start)
        assert search.find_in_stream(start) == _native.find_frame_in_stream(block, start)
        assert search.masked_crc32c(start, len(block) - start) == _native.masked_crc32c(block[start:])


def test_a_search_object_looks_at_no_byte_behind_the_block():
    search = _native.FrameSearch(FOO)

    for call in (search.scan, search.find, search.find_in_stream, lambda start: search.masked_crc32c(start, 0)):
        with pytest.raises(ValueError, match="start must be at most the block's 19 bytes, got 20"):
            call(20)
    with pytest.raises(ValueError, match="length must be at most the 9 bytes from 10 on, got 10"):
        search.masked_crc32c(10, 10)
    with pytest.raises(TypeError):
        _native.FrameSearch(7)
