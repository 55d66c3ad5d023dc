"""Many small files, read whole into one array."""

import os

import numpy as np
import pytest

from wellfed import _native

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Python reads files there")


def read(folder, names, sizes):
    joined = "".join(names).encode()
    starts = np.cumsum([0, *(len(name.encode()) for name in names)])
    content, count = _native.read_files(os.fsencode(folder), joined, starts, np.array(sizes, np.int64))
    return content.tobytes(), count


def test_files_stand_end_to_end_in_memory_of_their_own(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "é").write_bytes(b"first")
    (tmp_path / "empty").touch()
    (tmp_path / "b").write_bytes(bytes(100_000))

    assert read(tmp_path, ["sub/é", "empty", "b"], [5, 0, 100_000]) == (b"first" + bytes(100_000), 3)


@pytest.mark.parametrize("size", [4, 6])
def test_a_file_of_another_size_ends_the_reading(tmp_path, size):
    (tmp_path / "a").write_bytes(b"first")
    (tmp_path / "b").write_bytes(b"first")

    assert read(tmp_path, ["a", "b"], [5, size])[1] == 1


def test_a_missing_file_ends_the_reading(tmp_path):
    assert read(tmp_path, ["a"], [5])[1] == 0


def test_heads_are_filled_with_zeros_and_come_with_the_sizes(tmp_path):
    (tmp_path / "long").write_bytes(b"more than four")
    (tmp_path / "short").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = ["long", "short", "folder", "pipe", "missing"]
    starts = np.cumsum([0, *map(len, names)])

    heads, sizes = _native.read_heads(os.fsencode(tmp_path), "".join(names).encode(), starts, 4)

    assert heads[:8].tobytes() == b"morex\0\0\0"
    assert sizes.tolist() == [14, 1, -1, -1, -1]


BAD = {
    "a start too few": ([0], [1]),
    "a start behind the names": ([0, 99], [1]),
    "a start that goes back": ([2, 1], [1]),
    "a negative start": ([-1, 1], [1]),
    "a negative size": ([0, 1], [-1]),
    "sizes whose sum wraps to 0": ([0, 1, 1, 1], [2**63 - 1, 2**63 - 1, 2]),
}


@pytest.mark.parametrize(("starts", "sizes"), BAD.values(), ids=BAD)
def test_numbers_that_lead_out_of_the_names_are_refused(starts, sizes):
    with pytest.raises(ValueError, match=r"starts must have|out of range"):
        _native.read_files(b"/tmp", b"ab", np.array(starts, np.int64), np.array(sizes, np.int64))
