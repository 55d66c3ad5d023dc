"""A file that is walked as it is read: what is kept, what is let go, and the stamp of what passed by."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import frames, starts

from wellfed.io import RemoteOptions
from wellfed.io.access import Access
from wellfed.io.passing import PassedFile
from wellfed.io.stamps import Samples, sample_ranges, stamp_of
from wellfed.io.streams import open_walker

PAYLOADS = [b"%d" % i * (i % 90) for i in range(300)]
CONTENT = frames(PAYLOADS)


def passed(url: str, keep_bytes: int = 1 << 30) -> PassedFile:
    walker, _ = open_walker(url, check=False, access=Access(RemoteOptions(range_bytes=4096)))
    return PassedFile(url, walker, len(CONTENT), keep_bytes)


def lying(file: PassedFile, start: int, stop: int) -> list[bytes] | None:
    """The payloads that `held` gives."""
    found = file.held(start, stop)
    if found is None:
        return None
    return [
        block[at + 12 : at + 12 + int.from_bytes(block[at : at + 8].tobytes(), "little")].tobytes()
        for block, offsets in found
        for at in offsets.tolist()
    ]


def test_records_that_were_walked_lie_in_memory_until_they_are_read(counted):
    file = passed(counted.put("x", CONTENT))
    assert file.ensure(1000) == 300

    for start in range(0, 300, 7):
        rows = np.arange(start, min(start + 7, 300))
        assert lying(file, start, int(rows[-1]) + 1) == PAYLOADS[start : start + 7]
        file.took(rows)
    assert lying(file, 0, 1) is None
    assert lying(file, 299, 300) is None


def test_a_record_that_was_not_read_stays(counted):
    file = passed(counted.put("x", CONTENT))
    file.ensure(300)
    file.took(np.array([row for row in range(300) if row != 150]))

    assert lying(file, 150, 151) == PAYLOADS[150:151]
    assert lying(file, 0, 1) is None


def test_what_nobody_reads_is_let_go_from_the_start(counted):
    file = passed(counted.put("x", CONTENT), keep_bytes=10_000)
    file.ensure(300)

    assert lying(file, 0, 1) is None
    assert lying(file, 290, 300) == PAYLOADS[290:]


def test_the_index_so_far_is_the_start_of_the_whole_one(counted):
    file = passed(counted.put("x", CONTENT))
    file.ensure(20)
    known = len(file.index())
    assert 20 <= known < 300
    assert file.index().offsets.tolist() == starts(PAYLOADS)[: known + 1]

    file.ensure(301)
    assert file.complete
    assert file.index().offsets.tolist() == starts(PAYLOADS)


@pytest.mark.parametrize("failing", range(1, 9))
def test_a_walk_goes_on_behind_a_request_that_failed(counted, failing):
    content = frames([b"a" * 20_000, b"b" * 15_000, b"", b"c" * 9_000])
    url = counted.put("x", content)
    walker, _ = open_walker(url, check=False, access=Access(RemoteOptions(range_bytes=4096, attempts=1)))
    file = PassedFile(url, walker, len(content), 1 << 30)
    asked = []

    def fail(start, end):
        if start == 4096 * failing and not asked:
            asked.append(start)
            raise ConnectionResetError("gone")

    counted.gate = fail
    with pytest.raises(OSError, match="gone"):
        file.ensure(5)
    assert file.ensure(5) == 4
    assert lying(file, 0, 4) == [b"a" * 20_000, b"b" * 15_000, b"", b"c" * 9_000]


@given(st.integers(0, 40_000), st.lists(st.integers(0, 40_000), max_size=8), st.randoms())
def test_the_stamp_of_what_passed_by_is_the_files(size, cuts, random):
    content = bytes(i * 7 % 251 for i in range(size))
    bounds = [0, *sorted(cut for cut in cuts if cut < size), size]
    pieces = list(itertools.pairwise(bounds))
    random.shuffle(pieces)
    samples = Samples(size)
    for start, end in pieces:
        samples.note(start, content[start:end])

    assert samples.stamp == stamp_of(size, [content[start:end] for start, end in sample_ranges(size)])


def test_the_stamp_is_unknown_while_a_sample_is_missing():
    samples = Samples(100_000)
    samples.note(0, bytes(99_999))

    assert samples.stamp is None
    samples.note(99_999, bytes(1))
    assert samples.stamp is not None
