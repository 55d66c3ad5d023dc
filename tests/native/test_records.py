"""The native calls that io brings: records at scattered places, and mapped files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import frames, starts

from wellfed import _native

PAYLOADS = [b"", b"pig", b"cow" * 40, bytes(100), b"ant"]
BLOCK = frames(PAYLOADS)
STARTS = np.array(starts(PAYLOADS), np.uint64)


@given(st.lists(st.integers(0, 4), max_size=40))
def test_records_are_proved_in_any_order(rows):
    sizes, count, status = _native.read_frames(BLOCK, STARTS[rows])

    assert sizes.tolist() == [len(PAYLOADS[row]) for row in rows]
    assert (count, status) == (len(rows), _native.FRAME_OK)


@pytest.mark.parametrize("offset", [1, len(BLOCK) - 11, len(BLOCK), len(BLOCK) + 1, 2**63, 2**64 - 1])
def test_a_place_that_holds_no_record_stops_the_call_there(offset):
    offsets = np.array([0, 16, offset, 0], np.uint64)

    sizes, count, status = _native.read_frames(BLOCK, offsets)

    assert (sizes.tolist(), count) == ([0, 3], 2)
    assert status in (_native.FRAME_TRUNCATED, _native.FRAME_BAD_LENGTH_CRC)


def test_payloads_are_checked_where_asked_for():
    damaged = bytearray(BLOCK)
    damaged[16 + 12] ^= 1

    assert _native.read_frames(damaged, STARTS[:3])[1:] == (1, _native.FRAME_BAD_PAYLOAD_CRC)
    assert _native.read_frames(damaged, STARTS[:3], False)[1:] == (3, _native.FRAME_OK)


@given(st.data())
def test_spans_are_copied_to_their_places(data):
    source = data.draw(st.binary(min_size=1, max_size=50))
    spans = data.draw(st.lists(st.tuples(st.integers(0, len(source)), st.integers(0, 50)), max_size=10))
    begin = np.array([a for a, _ in spans], np.int64)
    sizes = np.array([min(n, len(source) - a) for a, n in spans], np.int64)
    places = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)

    _native.copy_spans(source, begin, sizes, out, places)

    assert out.tobytes() == b"".join(source[a : a + n] for a, n in zip(begin, sizes, strict=True))


@pytest.mark.parametrize(
    ("begin", "size", "place"), [(-1, 1, 0), (0, -1, 0), (5, 6, 0), (2**62, 1, 0), (0, 2, 9), (0, 1, -1), (0, 1, 2**62)]
)
def test_a_span_outside_is_refused(begin, size, place):
    spans = [np.array([value], np.int64) for value in (begin, size, place)]

    with pytest.raises(ValueError, match="span 0 must lie inside the 10 bytes"):
        _native.copy_spans(bytes(10), spans[0], spans[1], np.zeros(10, np.uint8), spans[2])


def test_records_are_cut_into_bytes():
    assert _native.cut_records(BLOCK, STARTS) == PAYLOADS
    assert _native.cut_records(BLOCK, STARTS[:1]) == []


@pytest.mark.parametrize("offsets", [[0, 15], [16, 0], [0, len(BLOCK) + 1], [0, 2**64 - 1], [2**64 - 20, 2]])
def test_offsets_that_hold_no_record_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must rise by 16 at least inside the block"):
        _native.cut_records(BLOCK, np.array(offsets, np.uint64))


def test_a_closed_descriptor_cannot_be_mapped():
    with pytest.raises(OSError, match="Bad file descriptor"):
        _native.map_file(-1, 10)
